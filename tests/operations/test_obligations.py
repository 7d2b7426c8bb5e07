from __future__ import annotations

import datetime as dt

import pytest
from sqlalchemy import select

from app.domain.errors import Refused
from app.models import Obligation, Subject
from app.operations import filings, obligations, people, register, reopenings
from app.trail.act import Act
from tests import factories
from tests.operations.story import Since, march
from tests.people import OFFICER


@pytest.fixture
def permit(act: Act, since: Since) -> Subject:
    """The permit P-1 at Madrid, due on 20 March; today is 1 March."""
    made = factories.subject(act, "P-1", march(20))
    since.read()
    return made


@pytest.fixture
def due(act: Act, permit: Subject) -> Obligation:
    return obligations.find_obligation(act, permit)


def dates(act: Act, subject: Subject) -> dict[dt.date, str | None]:
    """The due dates of the subject, each with its outcome."""
    act.session.flush()
    rows = act.session.scalars(select(Obligation).filter_by(subject_id=subject.id).order_by(Obligation.due_on))
    return {row.due_on: row.outcome for row in rows}


def test_the_one_open_deadline_is_meant(act: Act, permit: Subject, due: Obligation) -> None:
    obligations.close(act, due.id, "met")
    later = obligations.open_obligation(act, permit, march(25))
    assert obligations.find_obligation(act, permit) is later
    assert obligations.find_obligation(act, permit, closed=True) is due
    assert obligations.find_obligation(act, permit, march(20)) is due


@pytest.mark.parametrize(
    ("due_on", "closed", "words"),
    [
        (None, False, "name one with --due-on: 2027-03-25, 2027-03-20"),
        (None, True, "no closed deadline"),
        (march(21), False, "no deadline on 2027-03-21"),
    ],
)
def test_a_deadline_that_is_not_clear_is_refused(
    act: Act, permit: Subject, due_on: dt.date | None, closed: bool, words: str
) -> None:
    obligations.open_obligation(act, permit, march(25))
    with pytest.raises(Refused, match=words):
        obligations.find_obligation(act, permit, due_on, closed)


def test_opening_twice_opens_once(act: Act, permit: Subject, since: Since) -> None:
    first = obligations.open_obligation(act, permit, march(25))
    assert since.both() == (["obligation_opened"], [(permit.id, None)])
    assert obligations.open_obligation(act, permit, march(25)) is first
    assert since.both() == ([], [])


@pytest.mark.parametrize(
    ("outcome", "met_on", "reason", "kept"),
    [
        ("met", None, None, march(1)),
        ("met", dt.date(2027, 2, 12), None, dt.date(2027, 2, 12)),
        ("failed", None, None, march(1)),
        ("not_required", None, "not_required", None),
        ("entered_in_error", None, "other", None),
    ],
)
def test_a_deadline_is_closed_once(
    act: Act, due: Obligation, since: Since, outcome: str, met_on: dt.date | None, reason: str | None, kept: dt.date
) -> None:
    member_id = factories.member(act)
    since.read()
    assert obligations.close(act, due.id, outcome, met_on, reason, " paid ", member_id)
    assert (due.outcome, due.met_on, due.reason, due.note) == (outcome, kept, reason, "paid")
    assert (due.closed_at, due.closed_by) == (act.now, member_id)
    assert since.both() == (["obligation_closed"], [(due.subject_id, None)])
    assert not obligations.close(act, due.id, "failed", note="again")
    assert (due.outcome, due.note) == (outcome, "paid")
    assert since.both() == ([], [])


@pytest.mark.parametrize(
    ("outcome", "met_on", "reason", "words"),
    [
        ("done", None, None, "'done' is not an outcome: write one of met, failed"),
        (None, None, None, "needs an outcome"),
        ("met", march(2), None, "still to come: today is 2027-03-01"),
        ("met", dt.date(1989, 1, 1), None, "outside the years"),
        ("met", None, "bored", "not a reason"),
        ("not_required", None, None, "needs a reason for closing without doing: write one of not_required, replaced"),
        ("entered_in_error", None, "", "needs a reason"),
        ("not_required", march(1), "other", "leave --met-on out"),
    ],
)
def test_a_bad_closing_is_refused(
    act: Act, due: Obligation, since: Since, outcome: str | None, met_on: dt.date | None, reason: str | None, words: str
) -> None:
    with pytest.raises(Refused, match=words):
        obligations.close(act, due.id, outcome, met_on, reason)
    act.session.flush()
    assert (due.closed_at, due.met_on) == (None, None)
    assert since.both() == ([], [])


def test_done_today_is_the_sites_own_today(act: Act, due: Obligation, permit: Subject) -> None:
    people.set_site_zone(act, permit.site_id, "Pacific/Kiritimati")  # There it is the second of March already.
    assert obligations.close(act, due.id, "met", march(2))


def test_what_failed_is_tested_again_on_its_day_and_never_after_the_full_interval(act: Act, since: Since) -> None:
    subject = factories.subject(act, "I-1", march(5), recurrence="1y")
    due = obligations.find_obligation(act, subject)
    with pytest.raises(Refused, match="2027-03-01 is not after 2027-03-01"), act.session.begin_nested():
        obligations.fail(act, due.id, march(1), march(1))
    since.read()
    assert obligations.fail(act, due.id, march(1), march(12), "Leak")
    assert not obligations.fail(act, due.id, march(1), march(13))
    assert dates(act, subject) == {march(5): "failed", march(12): None}
    assert since.events() == ["obligation_closed", "recurrence_anchored", "obligation_opened"]
    assert obligations.close(act, obligations.find_obligation(act, subject).id, "met")
    assert obligations.open_dates(act, subject.id) == [dt.date(2028, 3, 5)]


@pytest.mark.parametrize("outcome", ["failed", "not_required", "entered_in_error"])
def test_only_what_was_met_opens_the_next(act: Act, outcome: str) -> None:
    subject = factories.subject(act, "I-1", march(5), recurrence="1w")
    obligations.close(act, obligations.find_obligation(act, subject).id, outcome, reason="other")
    assert dates(act, subject) == {march(5): outcome}


@pytest.mark.parametrize(
    ("given", "met_on", "following"),
    [
        ({"recurrence": "1w"}, None, march(12)),
        ({"recurrence": "1w", "recurrence_basis": "due"}, dt.date(2027, 2, 20), march(12)),
        ({"recurrence": "1w", "recurrence_basis": "done"}, dt.date(2027, 2, 20), dt.date(2027, 2, 27)),
        ({"recurrence": "1m", "recurrence_basis": "done"}, dt.date(2027, 1, 31), dt.date(2027, 2, 28)),
        ({"recurrence": "1m", "series_from": dt.date(2027, 1, 31)}, None, march(31)),
        ({"recurrence": "10y", "series_from": dt.date(2027, 3, 5)}, None, dt.date(2037, 3, 5)),
    ],
)
def test_the_next_date_follows_from_its_basis(
    act: Act, given: dict[str, object], met_on: dt.date | None, following: dt.date
) -> None:
    subject = factories.subject(act, "I-1", march(5), **given)
    obligations.close(act, obligations.find_obligation(act, subject).id, "met", met_on)
    assert {day for day, outcome in dates(act, subject).items() if outcome is None} == {following}


def test_h11_the_31st_comes_back_after_february(act: Act) -> None:
    subject = factories.subject(act, "I-1", dt.date(2027, 1, 31), recurrence="1m")
    for _ in range(3):
        obligations.close(act, obligations.find_obligation(act, subject).id, "met")
    assert list(dates(act, subject)) == [dt.date(2027, 1, 31), dt.date(2027, 2, 28), march(31), dt.date(2027, 4, 30)]


def test_the_last_of_the_years_kept_can_be_closed(act: Act) -> None:
    subject = factories.subject(act, "I-1", dt.date(2079, 6, 1), recurrence="1y")
    assert obligations.close(act, obligations.find_obligation(act, subject).id, "met")
    assert dates(act, subject) == {dt.date(2079, 6, 1): "met"}


def test_h12_completed_again_and_again_leaves_one_next_occurrence(act: Act, since: Since) -> None:
    subject = factories.subject(act, "I-1", march(5), recurrence="1w")
    due = obligations.find_obligation(act, subject)
    since.read()
    assert obligations.close(act, due.id, "met")
    assert not obligations.close(act, due.id, "met")
    assert reopenings.reopen(act, due.id, "not_done")
    assert obligations.close(act, due.id, "met")
    assert register.retitle(act, subject, "Weekly round")
    assert not obligations.close(act, due.id, "met")
    assert reopenings.reopen(act, due.id, "typing_error")
    assert obligations.close(act, due.id, "met")
    assert dates(act, subject) == {march(5): "met", march(12): None}
    again = ["obligation_reopened", "obligation_closed"]
    assert since.events() == ["obligation_closed", "obligation_opened", *again, "subject_retitled", *again]


def test_h12_the_one_next_occurrence_follows_the_day_it_was_really_done(act: Act) -> None:
    subject = factories.subject(act, "I-1", march(5), recurrence="1w", recurrence_basis="done")
    due = obligations.find_obligation(act, subject)
    for met_on in (dt.date(2027, 2, 20), dt.date(2027, 2, 25), march(1)):
        reopenings.reopen(act, due.id, "typing_error")
        obligations.close(act, due.id, "met", met_on)
        assert dates(act, subject) == {march(5): "met", met_on + dt.timedelta(days=7): None}


@pytest.mark.parametrize(
    ("recurrence", "due_on", "met_on", "following"),
    [("1w", march(5), dt.date(2027, 2, 26), march(4)), ("1d", march(2), march(1), march(3))],
)
def test_done_a_whole_interval_early_the_series_goes_on(
    act: Act, recurrence: str, due_on: dt.date, met_on: dt.date, following: dt.date
) -> None:
    subject = factories.subject(act, "I-1", due_on, recurrence=recurrence, recurrence_basis="done")
    obligations.close(act, obligations.find_obligation(act, subject).id, "met", met_on)
    assert obligations.open_dates(act, subject.id) == [following]


def test_h12_an_occurrence_that_a_person_moved_stays_where_they_put_it(act: Act) -> None:
    subject = factories.subject(act, "I-1", march(5), recurrence="1w")
    due = obligations.find_obligation(act, subject)
    obligations.close(act, due.id, "met")
    obligations.move(act, obligations.find_obligation(act, subject).id, march(15), "agreed")
    reopenings.reopen(act, due.id, "not_done")
    obligations.close(act, due.id, "met")
    assert dates(act, subject) == {march(5): "met", march(15): None}


def test_the_next_occurrence_that_is_there_already_is_taken(act: Act) -> None:
    subject = factories.subject(act, "I-1", march(5), recurrence="1w")
    there = obligations.open_obligation(act, subject, march(12))
    obligations.close(act, obligations.find_obligation(act, subject, march(5)).id, "met")
    assert obligations.find_obligation(act, subject) is there


def test_h15_a_date_moves_out_and_back_and_the_first_one_stays(act: Act, due: Obligation, since: Since) -> None:
    assert obligations.move(act, due.id, dt.date(2027, 9, 1), "typing_error", "meant the next year")
    assert since.event() == (
        "date_moved",
        {
            "obligation_id": due.id,
            "old": "2027-03-20",
            "new": "2027-09-01",
            "reason": "typing_error",
            "note": "meant the next year",
        },
    )
    assert obligations.move(act, due.id, march(20), "other")
    assert (due.due_on, due.first_due_on) == (march(20), march(20))
    assert since.both() == (["date_moved"], [(due.subject_id, None)])


def test_h15_moved_for_good_the_first_date_is_still_known(act: Act, due: Obligation) -> None:
    obligations.move(act, due.id, dt.date(2027, 9, 1), "authority")
    assert (due.due_on, due.first_due_on) == (dt.date(2027, 9, 1), march(20))


def test_moving_onto_the_same_day_changes_nothing(act: Act, due: Obligation, since: Since) -> None:
    assert not obligations.move(act, due.id, march(20), "agreed")
    assert since.both() == ([], [])


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_date_cannot_move_onto_one_that_is_taken(act: Act, permit: Subject, due: Obligation, is_closed: bool) -> None:
    other = obligations.open_obligation(act, permit, march(25))
    if is_closed:
        obligations.close(act, other.id, "met")
    with pytest.raises(Refused, match="P-1 has a deadline on 2027-03-25 already"):
        obligations.move(act, due.id, march(25), "agreed")
    act.session.flush()
    assert due.due_on == march(20)


@pytest.mark.parametrize(
    ("to", "reason", "words"),
    [
        (march(25), None, "needs a reason for moving: write one of authority, typing_error, law_change, agreed, other"),
        (march(25), "whim", "'whim' is not a reason for moving"),
        (dt.date(1989, 12, 31), "agreed", "outside the years 1990 to 2079"),
        (dt.date(2080, 1, 1), "agreed", "outside the years 1990 to 2079"),
    ],
)
def test_a_bad_move_is_refused(act: Act, due: Obligation, to: dt.date, reason: str | None, words: str) -> None:
    with pytest.raises(Refused, match=words):
        obligations.move(act, due.id, to, reason)


def test_what_is_closed_is_neither_moved_nor_filed(act: Act, due: Obligation) -> None:
    obligations.close(act, due.id, "met")
    with pytest.raises(Refused, match="is closed: reopen it first"):
        obligations.move(act, due.id, march(25), "agreed")
    with pytest.raises(Refused, match="is closed: reopen it first"):
        filings.file(act, due.id, None, None, "yes")


def test_a_closed_deadline_is_reopened_once_and_its_closing_stays_in_the_trail(
    act: Act, due: Obligation, since: Since
) -> None:
    obligations.close(act, due.id, "not_required", reason="replaced", note="by C-2")
    since.read()
    assert reopenings.reopen(act, due.id, "typing_error", "another one")
    assert (due.closed_at, due.outcome, due.reason, due.note, due.met_on) == (None, None, None, "", None)
    event, detail = since.event()
    assert (event, detail["reason"], detail["note"]) == ("obligation_reopened", "typing_error", "another one")
    assert detail["old"] == {"outcome": "not_required", "met_on": None, "reason": "replaced"}
    assert not reopenings.reopen(act, due.id, "other")
    with pytest.raises(Refused, match="a reason for reopening: write one of not_done, typing_error, other"):
        reopenings.reopen(act, due.id, "bored")
    assert since.both() == ([], [])


def test_a_filing_is_noted_corrected_and_ended(act: Act, due: Obligation, since: Since) -> None:
    filed = (due.id, dt.date(2027, 2, 20), " ENT-30571 ", "yes", march(18))
    assert filings.file(act, *filed)
    assert (due.filed_reference, due.in_force_meanwhile, due.ask_again_on) == ("ENT-30571", "yes", march(18))
    assert not filings.file(act, *filed)
    assert since.both() == (["obligation_filed"], [(due.subject_id, None)])
    assert filings.file(act, *filed[:3], "unclear", None)
    _, detail = since.event()
    assert (detail["old"]["in_force_meanwhile"], detail["new"]["in_force_meanwhile"]) == ("yes", "unclear")
    assert filings.end_filing(act, due.id, None, "granted")
    assert (due.filing_ended_on, due.filing_result, due.closed_at) == (march(1), "granted", None)
    assert not filings.end_filing(act, due.id, None, "granted")
    assert since.both() == (["filing_ended"], [(due.subject_id, None)])


def test_what_was_refused_can_be_filed_again(act: Act, due: Obligation) -> None:
    filings.file(act, due.id, dt.date(2027, 2, 1), "first", "no")
    filings.end_filing(act, due.id, dt.date(2027, 2, 10), "refused")
    assert filings.file(act, due.id, None, "second", "no")
    assert (due.filed_on, due.filing_ended_on, due.filing_result) == (march(1), None, None)


@pytest.mark.parametrize(
    ("filed_on", "in_force", "ask_again_on", "words"),
    [
        (None, None, None, "whether it stays in force meanwhile: write one of yes, no, unclear"),
        (None, "maybe", None, "'maybe' is not an answer"),
        (march(2), "yes", None, "The day of filing 2027-03-02 is still to come"),
        (None, "yes", march(1), "not after the day of filing"),
    ],
)
def test_a_bad_filing_is_refused(
    act: Act, due: Obligation, filed_on: dt.date | None, in_force: str | None, ask_again_on: dt.date | None, words: str
) -> None:
    with pytest.raises(Refused, match=words):
        filings.file(act, due.id, filed_on, None, in_force, ask_again_on)
    act.session.flush()
    assert due.filed_on is None


@pytest.mark.parametrize(
    ("ended_on", "result", "words"),
    [
        (None, "won", "'won' is not a result: write one of granted, refused, withdrawn"),
        (march(2), "granted", "still to come"),
        (dt.date(2027, 2, 19), "granted", "began on 2027-02-20 and cannot have ended on 2027-02-19"),
    ],
)
def test_a_bad_end_of_a_filing_is_refused(
    act: Act, due: Obligation, ended_on: dt.date | None, result: str, words: str
) -> None:
    filings.file(act, due.id, dt.date(2027, 2, 20), None, "yes")
    with pytest.raises(Refused, match=words):
        filings.end_filing(act, due.id, ended_on, result)


def test_what_was_never_filed_has_no_end(act: Act, due: Obligation) -> None:
    with pytest.raises(Refused, match="P-1 has no filing for 2027-03-20"):
        filings.end_filing(act, due.id, None, "granted")


def test_a_member_who_closes_is_named_by_id_alone(act: Act, due: Obligation, since: Since) -> None:
    member_id = factories.member(act, OFFICER, name="Ana Ficticia")
    since.read()
    obligations.close(act.by(f"member:{member_id}"), due.id, "met", member_id=member_id)
    events, _ = since.read()
    assert events[0].actor == f"member:{member_id}"
    assert "Ana" not in str(events[0].detail)
