"""Kinds that ask for proof: what cannot be closed as done without it, what counts as proof, and what needs none."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from sqlalchemy import select

from app.domain.errors import Refused
from app.models import Document, Obligation, Subject
from app.operations import documents, kinds, obligations, reopenings
from app.operations.attachments import SentFile
from app.operations.documents import Paper
from app.operations.kinds import KindText
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.operations.story import Since, march
from tests.operations.test_commands import Onus, onus

__all__ = ["onus"]

PDF = b"%PDF-1.7\n%%EOF\n"
ASKED = "Proof is needed to close the deadline 2027-03-20 of P-1 as done: give the number or the file of a paper"


def strict(act: Act, reference: str = "P-1") -> Subject:
    """An entry due on 20 March, of a kind that asks for proof."""
    kinds.add_kind(act, KindText("Inspection", proof_needed=True))
    return factories.subject(act, reference, march(20), kind="Inspection", recurrence="1y")


@pytest.fixture
def due(act: Act, since: Since) -> Obligation:
    found = obligations.find_obligation(act, strict(act))
    since.read()
    return found


def numbers(act: Act) -> list[tuple[str, int | None, int | None]]:
    rows = act.session.scalars(select(Document).order_by(Document.id))
    return [(one.number, one.obligation_id, one.replaces_id) for one in rows]


def test_without_proof_it_is_not_closed_as_done(act: Act, due: Obligation, since: Since) -> None:
    with pytest.raises(Refused, match=ASKED):
        obligations.close(act, due.id, "met", march(1))
    assert (due.closed_at, due.met_on) == (None, None)
    assert since.both() == ([], [])


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [("failed", None), ("not_required", "replaced"), ("entered_in_error", "entered_in_error")],
)
def test_another_outcome_needs_no_proof(act: Act, due: Obligation, outcome: str, reason: str | None) -> None:
    assert obligations.close(act, due.id, outcome, reason=reason)


@pytest.mark.parametrize(
    ("proof", "number"),
    [(Paper("R-7"), "R-7"), (Paper(" ", file=SentFile("C:\\photos\\panel.pdf", PDF)), "panel.pdf")],
)
def test_the_proof_that_comes_with_the_act_closes_it(
    act: Act, due: Obligation, since: Since, proof: Paper, number: str
) -> None:
    assert documents.close_with(act, due.id, proof, march(1), "As told")
    assert (due.outcome, due.met_on, due.note) == ("met", march(1), "As told")
    assert numbers(act) == [(number, due.id, None)]
    events, _ = since.both()
    assert events == ["paper_added", "obligation_closed", "obligation_opened"]
    assert not documents.close_with(act, due.id, proof)  # Closed already: no second paper.
    assert len(numbers(act)) == 1


def test_what_is_refused_leaves_no_paper(act: Act, due: Obligation) -> None:
    with pytest.raises(Refused, match=ASKED):
        documents.close_with(act, due.id, Paper(" "))
    with pytest.raises(Refused, match="still to come"), act.session.begin_nested():
        documents.close_with(act, due.id, Paper("R-7"), march(2))
    assert numbers(act) == []


def test_a_paper_of_the_deadline_is_proof_until_it_is_marked_as_wrong(act: Act, due: Obligation) -> None:
    subject = act.session.get_one(Subject, (act.org, due.subject_id))
    documents.add_paper(act, subject, Paper("R-6"))  # Of the entry, not of this deadline.
    wrong = documents.add_paper(act, subject, Paper("R-7"), proves_id=due.id)
    documents.withdraw(act, subject, wrong)
    with pytest.raises(Refused, match=ASKED):
        obligations.close(act, due.id, "met")
    documents.add_paper(act, subject, Paper("R-8"), proves_id=due.id)
    assert obligations.close(act, due.id, "met")


def test_what_was_not_done_after_all_needs_a_new_proof(act: Act, due: Obligation, since: Since) -> None:
    """After a slip of typing the old one is as good as before; it may be the paper of a renewal, too."""
    made = documents.renew(act, due.id, Paper("C-1", valid_until=march(25)), met_on=march(1))
    assert reopenings.reopen(act, due.id, "typing_error")
    assert obligations.close(act, due.id, "met", dt.date(2027, 2, 28))
    since.read()
    assert reopenings.reopen(act, due.id, "not_done")
    assert made is not None
    assert since.event()[1]["disproved"] == [made.document_id]
    with pytest.raises(Refused, match=ASKED):
        obligations.close(act, due.id, "met")
    assert documents.close_with(act, due.id, Paper("R-7"))
    assert reopenings.reopen(act, due.id, "other")
    assert obligations.close(act, due.id, "met")


def test_a_report_of_the_same_name_proves_the_next_one_too(act: Act, due: Obligation) -> None:
    report = Paper("", file=SentFile("report.pdf", PDF))
    documents.close_with(act, due.id, report, march(1))
    following = obligations.find_obligation(act, act.session.get_one(Subject, (act.org, due.subject_id)))
    assert documents.close_with(act, following.id, report, march(1))


def test_a_paper_proves_a_deadline_of_its_own_entry_alone(act: Act, due: Obligation) -> None:
    other = factories.subject(act, "P-2", march(20))
    with pytest.raises(Refused, match="P-2 has no such deadline"):
        documents.add_paper(act, other, Paper("R-7"), proves_id=due.id)


def test_a_renewal_brings_its_proof(act: Act, due: Obligation) -> None:
    assert documents.renew(act, due.id, Paper("C-1", valid_until=dt.date(2029, 1, 1)))


def test_a_renewal_replaces_the_last_paper_and_no_proof(act: Act, due: Obligation) -> None:
    subject = act.session.get_one(Subject, (act.org, due.subject_id))
    licence = documents.add_paper(act, subject, Paper("C-1188"))
    documents.close_with(act, due.id, Paper("R-7"), march(1))
    following = obligations.find_obligation(act, subject)
    documents.add_paper(act, subject, Paper("R-8"), proves_id=following.id)
    made = documents.renew(act, following.id, Paper("C-1340"))
    assert made is not None
    assert made.replaces_id == licence


def test_of_another_kind_proof_may_be_given(act: Act) -> None:
    free = obligations.find_obligation(act, factories.subject(act, "P-3", march(20)))
    assert documents.close_with(act, free.id, Paper("R-7"))


def test_the_command_takes_the_proof(onus: Onus, acme: Acme, tmp_path: Path) -> None:
    with acme.acting() as act:
        strict(act)
    report = tmp_path / "report.pdf"
    report.write_bytes(PDF)
    close = ("obligation", "close", "P-1")
    assert "give the number or the file of a paper" in onus.refusal(*close)
    said = onus.refusal(*close, "--outcome", "failed", "--proof-number", "R-7")
    assert "only what is closed as done" in said
    made = onus.json(*close, "--proof", str(report), "--proof-number", "R-7", "--met-on", "2027-02-28")
    assert (made["changed"], made["outcome"], made["met_on"]) == (True, "met", "2027-02-28")
    made = onus.json(*close, "--proof", str(report), "--due-on", "2028-03-20")
    assert made["changed"]
    with acme.acting() as act:
        assert [number for number, _, _ in numbers(act)] == ["R-7", "report.pdf"]


def test_the_kind_says_so_and_its_trail_too(act: Act, since: Since) -> None:
    kind_id = kinds.add_kind(act, KindText("Permit"))
    since.read()
    assert kinds.change_kind(act, kind_id, KindText("Permit", proof_needed=True))
    (event,) = since.read()[0]
    assert (event.type, event.detail["old"], event.detail["new"]) == (
        "kind_changed", {"proof_needed": False}, {"proof_needed": True},
    )  # fmt: skip
