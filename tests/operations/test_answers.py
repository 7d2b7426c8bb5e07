from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from sqlalchemy import select, update

from app.domain.errors import Refused
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.models import Acknowledgement, Member, NotificationLedger
from app.operations import answers, obligations, people, register
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.operations.story import march
from tests.people import INSPECTOR, OFFICER, STAFF

ROLES = {OFFICER: "officer", STAFF: "staff", INSPECTOR: "inspector", "ada@acme.example": "admin"}
ADMIN = "ada@acme.example"


class Told:
    """Acme with a permit due on 20 March, its people, and what they have been told of it."""

    def __init__(self, acme: Acme) -> None:
        self.acme = acme

    def do(self, deed: Callable[[Act], object]) -> None:
        with self.acme.acting() as act:
            deed(act)

    def tell(self) -> None:
        with self.acme.watching() as act:
            scan(act, trigger="command", full=True)
            deliver(act)

    def answer(self, email: str, said: str = "seen", **given: object) -> tuple[str, bool]:
        """The threshold that was answered, and whether anything changed."""
        return self._answered(email, lambda *who: answers.acknowledge(*who, said, **given))

    def take_back(self, email: str, **given: object) -> tuple[str, bool]:
        return self._answered(email, lambda *who: answers.take_back(*who, **given))

    def _answered(self, email: str, deed: Callable[..., answers.Answered]) -> tuple[str, bool]:
        with self.acme.acting() as act:
            done = deed(act, people.find_member(act, email), register.find_subject(act, "P-1"))
            claim = act.session.scalars(select(NotificationLedger).filter_by(id=done.claim_id)).one()
            return f"{claim.due_on:%d.%m.} {claim.threshold}", done.changed

    def standing(self) -> list[tuple[str, dt.date | None, dt.date | None, str]]:
        with self.acme.acting() as act:
            query = select(Acknowledgement).where(Acknowledgement.taken_back_at.is_(None)).order_by(Acknowledgement.id)
            return [(one.answer, one.until_on, one.done_on, one.note) for one in act.session.scalars(query)]


@pytest.fixture
def told(acme: Acme) -> Told:
    def begin(act: Act) -> None:
        for email, role in ROLES.items():
            factories.member(act, email, role)
        factories.subject(act, "P-1", march(20))

    told = Told(acme)
    told.do(begin)
    return told


@pytest.fixture
def permits(told: Told) -> Told:
    """The rule "Permits" tells officers 30 days before: it has."""
    told.do(lambda act: factories.rule(act, "Permits", ("30d", "7d")))
    told.tell()
    return told


def test_an_answer_is_given_once_and_taken_back_once(permits: Told) -> None:
    assert permits.answer(OFFICER, "on_it", until_on=march(5), note=" tomorrow ") == ("20.03. 30d", True)
    assert permits.answer(OFFICER, "on_it", until_on=march(5), note="tomorrow") == ("20.03. 30d", False)
    assert permits.standing() == [("on_it", march(5), None, "tomorrow")]
    assert permits.take_back(OFFICER) == ("20.03. 30d", True)
    assert permits.take_back(OFFICER) == ("20.03. 30d", False)
    assert permits.standing() == []


@pytest.mark.parametrize(
    ("said", "given"),
    [
        ("seen", {}),
        ("not_mine", {}),
        ("help", {"note": "which form?"}),
        ("on_it", {"until_on": march(1)}),
        ("done", {}),
        ("done", {"done_on": march(1)}),
    ],
)
def test_what_may_be_answered(permits: Told, said: str, given: dict[str, object]) -> None:
    assert permits.answer(OFFICER, said, **given) == ("20.03. 30d", True)


@pytest.mark.parametrize(
    ("said", "given", "words"),
    [
        ("maybe", {}, "'maybe' is not an answer: write one of seen, on_it, done, not_mine, help"),
        ("on_it", {}, "needs the day until which"),
        ("on_it", {"until_on": dt.date(2027, 2, 28)}, "over already: today is 2027-03-01"),
        ("seen", {"until_on": march(5)}, "leave --until out"),
        ("seen", {"done_on": march(1)}, "leave --done-on out"),
        ("done", {"done_on": march(2)}, "still to come"),
        ("seen", {"due_on": march(21)}, "no such alert about P-1"),
        ("seen", {"rule": "Trainings"}, "no such alert about P-1"),
        ("seen", {"threshold": "7d"}, "no such alert about P-1"),
        ("seen", {"threshold": "a week"}, "not a threshold"),
    ],
)
def test_a_bad_answer_is_refused(permits: Told, said: str, given: dict[str, object], words: str) -> None:
    with pytest.raises(Refused, match=words):
        permits.answer(OFFICER, said, **given)


def test_today_is_the_sites_own_today(permits: Told) -> None:
    permits.do(lambda act: people.set_site_zone(act, factories.site(act), "Pacific/Kiritimati"))
    with pytest.raises(Refused, match="today is 2027-03-02"):
        permits.answer(OFFICER, "on_it", until_on=march(1))


def test_before_anybody_was_told_there_is_nothing_to_answer(told: Told) -> None:
    with pytest.raises(Refused, match="no such alert"):
        told.answer(OFFICER)


def test_the_sharpest_alert_is_meant_unless_another_is_named(permits: Told) -> None:
    permits.acme.now += dt.timedelta(days=13)
    permits.tell()
    assert permits.answer(OFFICER) == ("20.03. 7d", True)
    assert permits.answer(OFFICER, threshold="30d") == ("20.03. 30d", True)


def test_what_was_superseded_untold_is_nobodys_to_answer(told: Told) -> None:
    told.do(lambda act: factories.rule(act, "Permits", ("60d", "30d")))
    told.tell()
    with pytest.raises(Refused, match="no such alert"):
        told.answer(OFFICER, threshold="60d")


def test_what_was_sent_to_the_member_goes_before_what_is_sharper(told: Told) -> None:
    told.do(lambda act: factories.rule(act, "For officers", ("30d",)))
    told.do(lambda act: factories.rule(act, "For staff", ("20d",), to=("role:staff",)))
    told.tell()
    assert told.answer(OFFICER) == ("20.03. 30d", True)
    assert told.answer(STAFF) == ("20.03. 20d", True)
    assert told.answer(OFFICER, rule="For staff") == ("20.03. 20d", True)
    assert told.answer(ADMIN) == ("20.03. 20d", True)  # Told by neither: the sharpest.


def test_of_two_rules_that_are_equally_sharp_the_one_sent_to_the_member_is_meant(told: Told) -> None:
    told.do(lambda act: factories.rule(act, "First", ("30d",), to=("role:staff",)))
    told.do(lambda act: factories.rule(act, "Second", ("30d",)))
    told.tell()
    for email in (OFFICER, STAFF, ADMIN):
        assert told.answer(email) == ("20.03. 30d", True)
    with told.acme.acting() as act:
        query = select(NotificationLedger.rule_id, Member.email).join(
            Acknowledgement, Acknowledgement.claim_id == NotificationLedger.id
        )
        rows = act.session.execute(query.join(Member, Member.id == Acknowledgement.member_id))
        by_email = {email: rule_id for rule_id, email in rows}
    assert by_email[STAFF] < by_email[OFFICER]
    assert by_email[ADMIN] == by_email[STAFF]


def another_deadline(act: Act) -> None:
    obligations.open_obligation(act, register.find_subject(act, "P-1"), march(25))


def test_of_several_due_dates_one_must_be_named(permits: Told) -> None:
    permits.do(another_deadline)
    permits.tell()
    with pytest.raises(Refused, match="name one with --due-on: 2027-03-20, 2027-03-25"):
        permits.answer(OFFICER)
    assert permits.answer(OFFICER, due_on=march(25)) == ("25.03. 30d", True)
    assert permits.answer(OFFICER, "done", due_on=march(20)) == ("20.03. 30d", True)
    with pytest.raises(Refused, match="name one with --due-on"):
        permits.take_back(OFFICER)
    assert permits.take_back(OFFICER, due_on=march(20)) == ("20.03. 30d", True)
    assert permits.standing() == [("seen", None, None, "")]


def test_the_due_date_that_is_open_is_meant_before_those_that_are_closed(permits: Told) -> None:
    def close_the_first(act: Act) -> None:
        due = obligations.find_obligation(act, register.find_subject(act, "P-1"))
        obligations.close(act, due.id, "met")

    permits.do(close_the_first)
    assert permits.answer(OFFICER) == ("20.03. 30d", True)  # It was told, so it may still be answered.
    permits.do(another_deadline)
    permits.tell()
    assert permits.answer(OFFICER) == ("25.03. 30d", True)


def test_of_several_due_dates_that_are_all_closed_one_must_be_named(permits: Told) -> None:
    def close_all(act: Act) -> None:
        for due_on in (march(20), march(25)):
            due = obligations.find_obligation(act, register.find_subject(act, "P-1"), due_on)
            obligations.close(act, due.id, "met")

    permits.do(another_deadline)
    permits.tell()
    permits.do(close_all)
    with pytest.raises(Refused, match="name one with --due-on: 2027-03-20, 2027-03-25"):
        permits.answer(OFFICER)


def test_what_was_cancelled_on_its_way_to_staff_is_not_theirs_to_answer(told: Told) -> None:
    told.do(lambda act: factories.rule(act, "For staff", to=("role:staff",), channels=("email",)))
    told.tell()
    told.do(lambda act: people.set_email_alerts(act, people.find_member(act, STAFF).id, False))
    told.tell()
    with pytest.raises(Refused, match="was not sent to bruno"):
        told.answer(STAFF)


def test_staff_answer_what_was_sent_to_them(told: Told) -> None:
    told.do(lambda act: factories.rule(act, "For staff", to=("role:staff",)))
    told.tell()
    assert told.answer(STAFF) == ("20.03. 30d", True)


def test_staff_do_not_answer_what_was_sent_to_others(permits: Told) -> None:
    with pytest.raises(Refused, match="was not sent to bruno"):
        permits.answer(STAFF)


def own(act: Act, member_id: int) -> None:
    register.assign(act, register.find_subject(act, "P-1"), member_id=member_id)


def hold(act: Act, member_id: int) -> None:
    register.assign_holder(act, register.find_subject(act, "P-1"), member_id)


def hold_post(act: Act, member_id: int, first: dt.date = dt.date(2027, 2, 1), last: dt.date | None = None) -> None:
    post_id = people.add_post(act, "EHS")
    people.assign_post(act, post_id, member_id, factories.site(act), first, last)
    register.assign(act, register.find_subject(act, "P-1"), post_id=post_id)


def hold_another_post(act: Act, member_id: int) -> None:
    hold_post(act, member_id)
    register.assign(act, register.find_subject(act, "P-1"), post_id=people.add_post(act, "HR"))


@pytest.mark.parametrize("deed", [own, hold, hold_post])
def test_staff_answer_for_what_is_theirs(permits: Told, deed: Callable[[Act, int], None]) -> None:
    permits.do(lambda act: deed(act, people.find_member(act, STAFF).id))
    assert permits.answer(STAFF) == ("20.03. 30d", True)


@pytest.mark.parametrize(
    "deed",
    [
        lambda act, who: hold_post(act, who, dt.date(2027, 1, 1), dt.date(2027, 2, 28)),
        lambda act, who: hold_post(act, who, march(2)),
        hold_another_post,
    ],
    ids=["over", "not yet begun", "another"],
)
def test_a_post_that_is_not_theirs_today_answers_for_nothing(permits: Told, deed: Callable[[Act, int], None]) -> None:
    permits.do(lambda act: deed(act, people.find_member(act, STAFF).id))
    with pytest.raises(Refused, match="was not sent to bruno"):
        permits.answer(STAFF)


def limit_to_cork(act: Act) -> None:
    people.limit_member(act, people.find_member(act, OFFICER).id, [people.add_site(act, "Cork", "Europe/Dublin")])


def disable(act: Act) -> None:
    people.disable_member(act, people.find_member(act, OFFICER).id)


def end(column: str, day: dt.date) -> Callable[[Act], None]:
    def until(act: Act) -> None:
        act.session.execute(update(Member).where(Member.email == OFFICER).values({column: day}))

    return until


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        (disable, "ana is disabled or has left"),
        (end("valid_until", dt.date(2027, 2, 28)), "ana is disabled or has left"),
        (end("left_on", march(1)), "ana is disabled or has left"),
        (limit_to_cork, "ana may not see the site of P-1"),
    ],
)
def test_who_is_not_there_does_not_answer(permits: Told, deed: Callable[[Act], None], words: str) -> None:
    permits.do(deed)
    for give in (permits.answer, permits.take_back):
        with pytest.raises(Refused, match=words):
            give(OFFICER)


@pytest.mark.parametrize("deed", [end("valid_until", march(1)), end("left_on", march(2))])
def test_who_is_there_for_the_last_day_still_answers(permits: Told, deed: Callable[[Act], None]) -> None:
    permits.do(deed)
    assert permits.answer(OFFICER) == ("20.03. 30d", True)


def test_h38_an_inspector_answers_nothing_not_even_what_was_sent_to_them(told: Told) -> None:
    told.do(lambda act: factories.rule(act, "For inspectors", to=("role:inspector",)))
    told.tell()
    for give in (told.answer, told.take_back):
        with pytest.raises(Refused, match="dana is an inspector"):
            give(INSPECTOR)
