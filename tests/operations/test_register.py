from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from sqlalchemy import select

from app.domain.errors import Refused
from app.models import NotificationLedger, Subject
from app.operations import people, register
from app.operations.obligations import open_dates
from app.operations.register import Entry
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.operations.story import Since, march
from tests.people import OFFICER, STAFF


@pytest.fixture
def permit(act: Act, since: Since) -> Subject:
    """The permit P-1 at Madrid, due on 20 March."""
    made = factories.subject(act, "P-1", march(20))
    since.read()
    return made


@pytest.fixture
def cork(act: Act) -> int:
    return people.add_site(act, "Cork", "Europe/Dublin")


@pytest.mark.parametrize("reference", ["p-1", " P-1\t", "P-1"])
def test_a_reference_is_found_however_it_is_spelled(act: Act, permit: Subject, reference: str) -> None:
    assert register.find_subject(act, reference) is permit


def test_a_reference_of_several_sites_must_name_one(act: Act, permit: Subject, cork: int) -> None:
    other = factories.subject(act, "p-1", at="Cork")
    with pytest.raises(Refused, match=r"'P-1' is at several sites: name one with --site: Cork, Madrid\."):
        register.find_subject(act, "P-1")
    assert register.find_subject(act, "P-1", site="cork") is other
    assert register.find_subject(act, "P-1", site="Madrid") is permit


@pytest.mark.parametrize("site", [None, "Madrid", "Atlantis"])
def test_an_entry_that_is_not_there_is_refused(act: Act, site: str | None) -> None:
    with pytest.raises(Refused, match=r"no entry 'P-9'|no such site 'Atlantis'"):
        register.find_subject(act, "P-9", site)


def entry(act: Act, **given: object) -> Entry:
    facts = {"site_id": factories.site(act), "kind_id": factories.kind(act), "reference": "P-1", **given}
    return Entry(**facts)


def test_an_entry_is_added_with_its_first_deadline(act: Act, since: Since) -> None:
    subject_id = register.add_subject(act, entry(act, reference=" 007 ", due_on=march(20), recurrence="1y"))
    added = register.find_subject(act, "007")
    assert (added.id, added.reference, added.title, added.status) == (subject_id, "007", "007", "watched")
    assert open_dates(act, subject_id) == [march(20)]
    assert since.both() == (["subject_created", "obligation_opened"], [(subject_id, None)] * 2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"reference": "  "}, "The reference is empty"),
        ({"reference": "x" * 401}, "401 characters"),
        ({"title": "x" * 501}, "501 characters"),
        ({"title": "a\x07b"}, "cannot be kept"),
        ({"recurrence": "yearly"}, "not a recurrence"),
        ({"recurrence": "1y", "recurrence_basis": "sometimes"}, "not a basis of a recurrence"),
        ({"status": "asleep"}, "not a status"),
        ({"due_on": dt.date(1989, 12, 31)}, "outside the years 1990 to 2079"),
        ({"due_on": dt.date(2080, 1, 1)}, "outside the years 1990 to 2079"),
    ],
)
def test_a_bad_entry_is_refused(act: Act, given: dict[str, object], words: str) -> None:
    with pytest.raises(Refused, match=words):
        register.add_subject(act, entry(act, **given))


def test_a_line_break_in_a_title_becomes_a_space(act: Act) -> None:
    register.add_subject(act, entry(act, title="Boiler permit\r\nBcc: intruder@evil.example"))
    assert register.find_subject(act, "P-1").title == "Boiler permit Bcc: intruder@evil.example"


def test_a_site_has_a_reference_once(act: Act, permit: Subject, cork: int) -> None:
    with pytest.raises(Refused, match="Madrid has an entry 'p-1' already"):
        register.add_subject(act, entry(act, reference="p-1"))
    assert register.add_subject(act, entry(act, reference="p-1", site_id=cork))


@pytest.mark.parametrize("role", ["owner_member_id", "holder_id"])
def test_a_new_entry_of_somebody_who_may_not_see_its_site_is_refused(act: Act, cork: int, role: str) -> None:
    member_id = factories.member(act)
    people.limit_member(act, member_id, [cork])
    with pytest.raises(Refused, match="ana may not see site Madrid"):
        register.add_subject(act, entry(act, **{role: member_id}))


def test_an_entry_is_assigned_to_a_person_or_to_a_post(act: Act, permit: Subject, since: Since) -> None:
    member_id, post_id = factories.member(act), people.add_post(act, "EHS")
    since.read()
    assert register.assign(act, permit, member_id=member_id)
    assert not register.assign(act, permit, member_id=member_id)
    nobody = {"member_id": None, "post_id": None}
    assert since.event() == ("subject_assigned", {"old": nobody, "new": nobody | {"member_id": member_id}})
    assert register.assign(act, permit, post_id=post_id)
    assert (permit.owner_member_id, permit.owner_post_id) == (None, post_id)
    assert since.both() == (["subject_assigned"], [(permit.id, None)])


def test_the_holder_is_another_person_than_the_owner(act: Act, permit: Subject, since: Since) -> None:
    owner, holder = factories.member(act), factories.member(act, STAFF, "staff")
    register.assign(act, permit, member_id=owner)
    since.read()
    assert register.assign_holder(act, permit, holder)
    assert not register.assign_holder(act, permit, holder)
    assert (permit.owner_member_id, permit.holder_id) == (owner, holder)
    assert since.event() == ("holder_assigned", {"old": None, "new": holder})


Assigning = Callable[[Act, Subject, int], bool]
BOTH_WAYS = pytest.mark.parametrize(
    "assign", [lambda act, subject, who: register.assign(act, subject, member_id=who), register.assign_holder]
)


@BOTH_WAYS
def test_who_may_not_see_the_site_cannot_be_assigned(act: Act, permit: Subject, cork: int, assign: Assigning) -> None:
    member_id = factories.member(act)
    people.limit_member(act, member_id, [cork])
    with pytest.raises(Refused, match="ana may not see site Madrid"):
        assign(act, permit, member_id)


@BOTH_WAYS
def test_who_is_disabled_cannot_be_assigned(act: Act, permit: Subject, assign: Assigning) -> None:
    member_id = factories.member(act)
    people.disable_member(act, member_id)
    with pytest.raises(Refused, match="ana is disabled"):
        assign(act, permit, member_id)


def test_a_snooze_lasts_until_a_day_and_wakes_the_scan_on_it(act: Act, permit: Subject, since: Since) -> None:
    assert register.snooze(act, permit, march(10), "waiting", " for the lab ")
    events, rows = since.read()
    assert [(row.subject_id, row.wake_on) for row in rows] == [(permit.id, None), (permit.id, march(10))]
    assert events[0].detail == {"old": None, "new": "2027-03-10", "reason": "waiting", "note": "for the lab"}
    assert not register.snooze(act, permit, march(10), "waiting")
    assert since.both() == ([], [])
    assert register.snooze(act, permit, march(12), "planned")
    assert register.end_snooze(act, permit)
    assert not register.end_snooze(act, permit)
    assert permit.snoozed_until is None
    assert since.events() == ["subject_snoozed", "snooze_ended"]


@pytest.mark.parametrize(
    ("until", "reason", "words"),
    [
        (march(1), "waiting", "over already: today is 2027-03-01"),
        (march(10), None, "needs a reason for snoozing"),
        (march(10), "lazy", "'lazy' is not a reason for snoozing: write one of waiting, planned, other"),
        (dt.date(2080, 1, 1), "waiting", "outside the years"),
    ],
)
def test_a_bad_snooze_is_refused(act: Act, permit: Subject, until: dt.date, reason: str | None, words: str) -> None:
    with pytest.raises(Refused, match=words):
        register.snooze(act, permit, until, reason)


def test_tomorrow_comes_by_the_calendar_of_the_site(act: Act, permit: Subject) -> None:
    people.set_site_zone(act, permit.site_id, "Pacific/Kiritimati")  # There it is the second of March already.
    with pytest.raises(Refused, match="today is 2027-03-02"):
        register.snooze(act, permit, march(2), "waiting")


ARCHIVE: Callable[[Act, Subject], bool] = lambda act, subject: register.archive(act, subject, "gone")  # noqa: E731


@pytest.mark.parametrize(
    ("before", "deed", "after", "event"),
    [
        ("watched", ARCHIVE, "archived", "subject_archived"),
        ("draft", ARCHIVE, "archived", "subject_archived"),
        ("out_of_service", ARCHIVE, "archived", "subject_archived"),
        ("watched", register.take_out_of_service, "out_of_service", "subject_out_of_service"),
        ("draft", register.take_out_of_service, "out_of_service", "subject_out_of_service"),
        ("archived", register.restore, "watched", "subject_restored"),
        ("out_of_service", register.restore, "watched", "subject_restored"),
        ("draft", register.release, "watched", "subject_released"),
        ("archived", ARCHIVE, None, None),
        ("out_of_service", register.take_out_of_service, None, None),
        ("watched", register.restore, None, None),
        ("watched", register.release, None, None),
        ("archived", register.take_out_of_service, "archived", "restore it first"),
        ("draft", register.restore, "draft", "release it instead"),
        ("archived", register.release, "archived", "no draft: restore it"),
        ("out_of_service", register.release, "out_of_service", "no draft: restore it"),
    ],
)
def test_the_statuses_of_an_entry(
    act: Act, since: Since, before: str, deed: Callable[[Act, Subject], bool], after: str | None, event: str | None
) -> None:
    subject = factories.subject(act, "P-1", status=before)
    if after is None:
        assert not deed(act, subject)
        assert (subject.status, since.both()) == (before, ([], []))
    elif after == before:
        with pytest.raises(Refused, match=event):
            deed(act, subject)
    else:
        assert deed(act, subject)
        assert (subject.status, since.both()) == (after, ([event], [(subject.id, None)]))


@pytest.mark.parametrize("reason", [None, "", "bored"])
def test_archiving_needs_a_reason(act: Act, permit: Subject, reason: str | None) -> None:
    with pytest.raises(Refused, match="for archiving: write one of gone, replaced, sold, entered_in_error, other"):
        register.archive(act, permit, reason)


@pytest.mark.parametrize(("start", "standings"), [("now", []), ("next", [("30d", "superseded", "start")])])
def test_a_draft_that_starts_next_tells_nothing_of_what_has_crossed(
    act: Act, start: str, standings: list[tuple[str, str, str]]
) -> None:
    draft = factories.subject(act, "P-1", march(20), status="draft")
    factories.subject(act, "P-2", march(20))  # Watched already, so it is news.
    factories.member(act)
    factories.rule(act, thresholds=("30d", "7d"))
    assert register.release(act, draft, start)
    claims = act.session.scalars(select(NotificationLedger)).all()
    assert [(claim.threshold, claim.standing, claim.reason) for claim in claims] == standings


def test_a_start_is_now_or_next(act: Act, permit: Subject) -> None:
    with pytest.raises(Refused, match="'later' is not a start"):
        register.release(act, permit, "later")


def test_an_entry_moves_to_another_site_with_its_dates(act: Act, permit: Subject, cork: int, since: Since) -> None:
    since.read()
    madrid = permit.site_id
    assert register.move_to_site(act, permit, cork)
    assert not register.move_to_site(act, permit, cork)
    assert (permit.site_id, open_dates(act, permit.id)) == (cork, [march(20)])
    assert since.event() == ("subject_moved", {"old": madrid, "new": cork})


def test_an_entry_cannot_move_where_its_reference_is_taken(act: Act, permit: Subject, cork: int) -> None:
    factories.subject(act, "p-1", at="Cork")
    madrid = permit.site_id
    with pytest.raises(Refused, match="Cork has an entry 'P-1' already"):
        register.move_to_site(act, permit, cork)
    act.session.flush()
    assert permit.site_id == madrid


def test_an_entry_cannot_move_where_its_people_may_not_see_it(act: Act, permit: Subject, cork: int) -> None:
    owner, holder = factories.member(act, OFFICER), factories.member(act, STAFF, "staff")
    for who in (owner, holder):
        people.limit_member(act, who, [permit.site_id])
    register.assign(act, permit, member_id=owner)
    register.assign_holder(act, permit, holder)
    with pytest.raises(Refused, match="ana and bruno may not see site Cork"):
        register.move_to_site(act, permit, cork)


def test_nothing_moves_to_an_archived_site(act: Act, permit: Subject, cork: int) -> None:
    people.archive_site(act, cork)
    with pytest.raises(Refused, match="Cork is archived"):
        register.move_to_site(act, permit, cork)


def test_a_title_changes_once_and_the_trail_has_both(act: Act, permit: Subject, since: Since) -> None:
    assert register.retitle(act, permit, " Discharge permit ")
    assert not register.retitle(act, permit, "Discharge permit")
    assert since.event() == ("subject_retitled", {"old": "Permit P-1", "new": "Discharge permit"})


def test_an_entry_of_another_organisation_is_not_found(acme: Acme) -> None:
    with factories.acme("other").acting() as act:
        factories.subject(act, "P-1")
    with acme.acting() as act, pytest.raises(Refused, match="no entry 'P-1'"):
        register.find_subject(act, "P-1")
