"""Kinds: what one says of its entries, and that entries which say something themselves keep it."""

from __future__ import annotations

import datetime as dt

import pytest

from app.domain.errors import Refused
from app.models import AuditEvent, Kind, Subject
from app.operations import kinds, register
from app.operations.kinds import KindText
from app.trail.act import Act
from tests import factories

DUE = dt.date(2027, 3, 5)
MONTHLY = KindText("Inspection", "falls_due", recurrence="1m", recurrence_basis="calendar")


def added(act: Act, reference: str, kind_id: int, **given: object) -> Subject:
    entry = register.Entry(factories.site(act), kind_id, reference, due_on=DUE, **given)  # type: ignore[arg-type]
    return register.get_subject(act, register.add_subject(act, entry))


def test_a_new_entry_comes_again_as_its_kind_says(act: Act) -> None:
    kind_id = kinds.add_kind(act, MONTHLY)
    subject = added(act, "A-1", kind_id)
    assert (subject.recurrence, subject.recurrence_basis) == ("1m", "calendar")


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ({"recurrence": "1y"}, ("1y", None)),
        ({"recurrence": "1y", "recurrence_basis": "done"}, ("1y", "done")),
        ({"recurrence_basis": "due"}, ("1m", "due")),
        ({"comes_as_kind": False}, (None, None)),
    ],
)
def test_what_an_entry_says_itself_comes_first(
    act: Act, given: dict[str, object], right: tuple[str | None, str | None]
) -> None:
    subject = added(act, "A-1", kinds.add_kind(act, MONTHLY), **given)
    assert (subject.recurrence, subject.recurrence_basis) == right


def test_a_changed_kind_changes_no_entry_that_is_there(act: Act) -> None:
    kind_id = kinds.add_kind(act, MONTHLY)
    subject = added(act, "A-1", kind_id)
    assert kinds.change_kind(act, kind_id, KindText("Inspection", "falls_due", recurrence="1y"))
    assert not kinds.change_kind(act, kind_id, KindText("Inspection", "falls_due", recurrence="1y"))
    assert (subject.recurrence, added(act, "A-2", kind_id).recurrence) == ("1m", "1y")
    (event,) = act.session.query(AuditEvent).filter(AuditEvent.type == "kind_changed").order_by(AuditEvent.id)[1:]
    assert event.detail["old"] == {"recurrence": "1m", "recurrence_basis": "calendar"}
    assert event.detail["new"] == {"recurrence": "1y", "recurrence_basis": None}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"recurrence": "monthly"}, "not a recurrence"),
        ({"recurrence": "1m", "recurrence_basis": "moon"}, "not a basis of a recurrence"),
        ({"what_to_do_in": {"es": "x" * 5000}}, "What to do"),
    ],
)
def test_what_cannot_be_is_refused(act: Act, said: dict[str, object], words: str) -> None:
    with pytest.raises(Refused, match=words):
        kinds.add_kind(act, KindText("Inspection", **said))  # type: ignore[arg-type]


def test_what_to_do_is_kept_by_language(act: Act) -> None:
    told = {"es": "Solicítelo.", "fr": ""}
    kind_id = kinds.add_kind(act, KindText("Permit", what_to_do="Apply.", what_to_do_in=told))
    kind = act.session.query(Kind).filter(Kind.id == kind_id).one()
    assert (kind.what_to_do, kind.what_to_do_in) == ("Apply.", {"es": "Solicítelo."})
