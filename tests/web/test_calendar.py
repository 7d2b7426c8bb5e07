"""Calendar feeds: what an address shows, to whom, how it follows the register, and that it stays a secret."""

from __future__ import annotations

import datetime as dt
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import structlog
from flask import Flask
from icalendar import Calendar
from sqlalchemy import text
from werkzeug.test import TestResponse

from app.database import Unreachable
from app.domain.acts import Basis
from app.domain.errors import Refused
from app.models import Site
from app.operations import feeds, members, obligations, parts, people, register, reopenings
from app.trail.act import Act
from app.web import calendar_feed
from tests import factories
from tests.factories import NOW, Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import ADMIN, forget_request
from tests.web.furnished import NO_SUCH, SignIn

HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)
DUE = dt.date(2027, 3, 20)
NAME, NOTE = "Grúa; nº 3, muelle – Íñigo", "Folder D:\\cranes; ask Ñandú, then call.\nBring the key."

LEFT = "update member set left_on = '2027-03-01' where id = :id"
BACK = "update member set left_on = null where id = :id"
SHUT = "update account set is_active = false where id = (select account_id from member where id = :id)"


@dataclass
class Reader:
    """A calendar program: no cookie, no account, an address and a clock."""

    app: Flask
    monkeypatch: pytest.MonkeyPatch
    acme: Acme

    def get(self, token: str, now: dt.datetime = NOW) -> TestResponse:
        given = replace(self.app.extensions["onus_settings"], clock=now)
        self.monkeypatch.setitem(self.app.extensions, "onus_settings", given)
        forget_request()
        return self.app.test_client().get(f"/calendar/{token}.ics")

    def events(self, token: str, now: dt.datetime = NOW) -> dict[str, Any]:
        """The events by what they are due for; read back by another program than the one that wrote them."""
        response = self.get(token, now)
        assert response.status_code == 200, response.text
        found = Calendar.from_ical(response.data).walk("VEVENT")
        assert len({event["uid"] for event in found}) == len(found)
        return {str(event["summary"]).removeprefix("Due: "): event for event in found}

    def make(self, name: str, site_id: int | None = None) -> str:
        with self.acme.acting() as act:
            return feeds.make_feed(act, self.acme.members[name], site_id)

    def do(self, deed: Callable[[Act], object], now: dt.datetime = NOW) -> None:
        with self.acme.acting(now) as act:
            deed(act)


@pytest.fixture
def reader(app: Flask, staffed: Acme, monkeypatch: pytest.MonkeyPatch) -> Reader:
    return Reader(app, monkeypatch, staffed)


@pytest.fixture
def madrid(reader: Reader) -> int:
    with reader.acme.acting() as act:
        return factories.site(act)


@pytest.fixture
def crane(reader: Reader) -> int:
    """An entry at Madrid that Bruno is responsible for; its obligation."""
    with reader.acme.acting() as act:
        subject = factories.subject(act, "C-3", title=NAME, notes=NOTE, owner_member_id=reader.acme.members["Bruno"])
        return obligations.open_obligation(act, subject, DUE).id


@pytest.fixture
def logged(app: Flask) -> Iterator[io.StringIO]:
    """What the log says, just as it is written."""
    before, written = structlog.get_config(), io.StringIO()
    structlog.configure(**before | {"logger_factory": structlog.PrintLoggerFactory(written)})
    yield written
    structlog.configure(**before)


def add(act: Act, reference: str, due_on: dt.date = DUE, **given: Any) -> int:
    return int(factories.subject(act, reference, due_on, title=reference, **given).id)


def test_h35_an_item_west_of_utc_to_the_byte_twice_and_done(reader: Reader) -> None:
    with reader.acme.acting() as act:
        site_id = people.add_site(act, "Yard", "America/Los_Angeles", "US")
        subject = factories.subject(act, "C-3", at="Yard", title=NAME, notes=NOTE)
        due = obligations.open_obligation(act, subject, dt.date(2027, 2, 28)).id
    token = reader.make("Ana", site_id)
    response = reader.get(token)
    assert response.headers["Content-Type"] == "text/calendar; charset=utf-8"
    assert (
        "SEQUENCE:0\r\nDTSTART;VALUE=DATE:20270228\r\nDTEND;VALUE=DATE:20270301\r\n"
        "SUMMARY:Due: Grúa\\; nº 3\\, muelle – Íñigo\r\n"
        "DESCRIPTION:Folder D:\\\\cranes\\; ask Ñandú\\, then call.\\nBring the key.\r\n"
        "TRANSP:TRANSPARENT\r\n"
    ) in response.text
    assert reader.get(token, NOW + HOUR).data == response.data
    reader.do(lambda act: obligations.close(act, due, "met"), NOW + HOUR)
    before, after = Calendar.from_ical(response.data).walk("VEVENT")[0], reader.events(token, NOW + 2 * HOUR)[NAME]
    assert (after["uid"], after["status"], after["sequence"]) == (before["uid"], "CANCELLED", 1)
    assert after["dtstamp"].dt == NOW + HOUR


def test_h35_each_change_of_date_and_title_and_each_end_raises_the_sequence(reader: Reader, crane: int) -> None:
    token, seen = reader.make("Bruno"), []

    def look(now: dt.datetime) -> None:
        (event,) = reader.events(token, now).values()
        said = (str(event["summary"]), event["dtstart"].dt.isoformat(), str(event["status"]))
        seen.append((event["sequence"], str(event["uid"]), event["dtstamp"].dt, *said))

    deeds: list[Callable[[Act], object]] = [
        lambda act: None,
        lambda act: obligations.move(act, crane, DUE + DAY, "agreed"),
        lambda act: obligations.close(act, crane, "met"),
        lambda act: reopenings.reopen(act, crane, "not_done"),
        lambda act: register.retitle(act, register.find_subject(act, "C-3"), "Crane"),
    ]
    for number, deed in enumerate(deeds):
        reader.do(deed, NOW + number * HOUR)
        look(NOW + number * HOUR)
    uid = seen[0][1]
    old, new = "2027-03-20", "2027-03-21"
    assert seen == [
        (0, uid, NOW, f"Due: {NAME}", old, "CONFIRMED"),
        (1, uid, NOW + HOUR, f"Due: {NAME}", new, "CONFIRMED"),
        (2, uid, NOW + 2 * HOUR, f"Due: {NAME}", new, "CANCELLED"),
        (3, uid, NOW + 3 * HOUR, f"Due: {NAME}", new, "CONFIRMED"),
        (4, uid, NOW + 4 * HOUR, "Due: Crane", new, "CONFIRMED"),
    ]


def test_what_happens_to_one_deadline_leaves_the_others_of_its_entry_as_they_are(reader: Reader, crane: int) -> None:
    entry_of = lambda act: register.find_subject(act, "C-3")  # noqa: E731
    reader.do(lambda act: obligations.add_obligation(act, entry_of(act), DUE + 9 * DAY))
    token = reader.make("Bruno")
    for deed in (lambda act: obligations.move(act, crane, DUE + DAY, "agreed"),
                 lambda act: register.retitle(act, entry_of(act), "Crane")):  # fmt: skip
        reader.do(deed, NOW + HOUR)
    reader.do(lambda act: obligations.add_obligation(act, entry_of(act), DUE + 10 * DAY), NOW + 2 * HOUR)
    found = Calendar.from_ical(reader.get(token, NOW + 2 * HOUR).data).walk("VEVENT")
    assert [(event["dtstart"].dt, event["sequence"]) for event in found] == [
        (DUE + DAY, 2),
        (DUE + 9 * DAY, 1),
        (DUE + 10 * DAY, 0),
    ]
    assert [event["dtstamp"].dt for event in found] == [NOW + HOUR, NOW + HOUR, NOW + 2 * HOUR]


def test_what_was_closed_stays_called_off_for_sixty_days(reader: Reader, crane: int) -> None:
    token = reader.make("Bruno")
    reader.do(lambda act: obligations.close(act, crane, "not_required", reason="replaced"))
    assert [str(event["status"]) for event in reader.events(token, NOW + 60 * DAY).values()] == ["CANCELLED"]
    assert reader.events(token, NOW + 60 * DAY + HOUR) == {}


@pytest.mark.parametrize("deed", [
    lambda act, entry: register.archive(act, entry, "gone"),
    register.take_out_of_service,
])  # fmt: skip
def test_what_is_not_on_the_watch_is_gone(reader: Reader, crane: int, deed: Callable[[Act, Any], object]) -> None:
    token = reader.make("Bruno")
    reader.do(lambda act: deed(act, register.find_subject(act, "C-3")))
    assert reader.events(token) == {}
    reader.do(lambda act: register.restore(act, register.find_subject(act, "C-3")))
    assert list(reader.events(token)) == [NAME]


def test_drafts_and_archived_sites_are_not_shown_and_a_pause_hides_nothing(reader: Reader, madrid: int) -> None:
    def furnish(act: Act) -> None:
        people.add_site(act, "Old yard", "Europe/Madrid")
        add(act, "DRAFT", status="draft")
        add(act, "CLOSED-DRAFT")
        obligations.close(act, obligations.find_obligation(act, register.find_subject(act, "CLOSED-DRAFT")).id, "met")
        register.find_subject(act, "CLOSED-DRAFT").status = "draft"
        add(act, "PAUSED", snoozed_until=NOW.date() + 9 * DAY)
        add(act, "AWAY", at="Old yard", owner_member_id=reader.acme.members["Ana"])

    reader.do(furnish)
    assert list(reader.events(reader.make("Ana", madrid))) == ["PAUSED"]
    mine = reader.make("Ana")
    assert list(reader.events(mine)) == ["AWAY"]
    reader.do(lambda act: people.archive_site(act, factories.site(act, "Old yard")))
    assert reader.events(mine) == {}


def test_a_series_by_the_calendar_lists_each_date_and_a_shorter_month_keeps_its_last_day(reader: Reader) -> None:
    """By an RRULE of the 31st February would have none."""

    def furnish(act: Act) -> None:
        factories.rule(act, thresholds=("90d",))
        facts: dict[str, Any] = {"site_id": factories.site(act), "kind_id": factories.kind(act), "reference": "S-1"}
        facts |= {"recurrence": "1m", "recurrence_basis": Basis.calendar, "due_on": dt.date(2027, 1, 31)}
        register.add_subject(act, register.Entry(**facts, owner_member_id=reader.acme.members["Bruno"]))

    reader.do(furnish, NOW - 45 * DAY)
    response = reader.get(reader.make("Bruno"))
    dates = [event["dtstart"].dt.isoformat() for event in Calendar.from_ical(response.data).walk("VEVENT")]
    assert dates[:3] == ["2027-01-31", "2027-02-28", "2027-03-31"]
    assert "RRULE" not in response.text


def test_a_part_that_follows_its_whole_moves_with_it(reader: Reader, madrid: int) -> None:
    def furnish(act: Act) -> None:
        whole = factories.subject(act, "W", title="W")
        obligations.open_obligation(act, whole, DUE)
        part = factories.subject(act, "W-1", title="W-1")
        parts.put_into(act, part, whole.id, "10d")

    reader.do(furnish)
    token = reader.make("Ana", madrid)
    assert reader.events(token)["W-1"]["dtstart"].dt == DUE - 10 * DAY
    whole_of = lambda act: obligations.find_obligation(act, register.find_subject(act, "W"))  # noqa: E731
    reader.do(lambda act: obligations.move(act, whole_of(act).id, DUE + DAY, "agreed"))
    moved = reader.events(token)["W-1"]
    assert (moved["dtstart"].dt, moved["sequence"]) == (DUE - 9 * DAY, 1)


def test_what_concerns_a_person_is_theirs_by_name_by_post_or_as_holder(reader: Reader) -> None:
    def furnish(act: Act) -> None:
        bruno, ana = reader.acme.members["Bruno"], reader.acme.members["Ana"]
        post, other = people.add_post(act, "keeper"), people.add_post(act, "guard")
        people.add_site(act, "Yard", "Atlantic/Canary")
        people.assign_post(act, post, bruno, factories.site(act), until_on=NOW.date() + DAY)
        people.assign_post(act, other, ana, factories.site(act))
        add(act, "OWNED", owner_member_id=bruno)
        add(act, "HELD", owner_member_id=ana, holder_id=bruno)
        add(act, "POST", owner_post_id=post)
        add(act, "ELSEWHERE", owner_post_id=post, at="Yard")
        add(act, "OTHER-POST", owner_post_id=other)
        add(act, "OTHERS", owner_member_id=ana)

    reader.do(furnish)
    token = reader.make("Bruno")
    assert set(reader.events(token)) == {"OWNED", "HELD", "POST"}
    assert set(reader.events(token, NOW + 2 * DAY)) == {"OWNED", "HELD"}


def test_a_site_is_of_all_its_dates_but_for_team_members_of_what_concerns_them(reader: Reader, madrid: int) -> None:
    def furnish(act: Act) -> None:
        people.add_site(act, "Yard", "Atlantic/Canary")
        add(act, "MINE", owner_member_id=reader.acme.members["Bruno"])
        add(act, "OTHERS")
        add(act, "AWAY", at="Yard", owner_member_id=reader.acme.members["Bruno"])

    reader.do(furnish)
    for name in ("Adela", "Ana", "Dana"):
        assert set(reader.events(reader.make(name, madrid))) == {"MINE", "OTHERS"}
    bruno = reader.make("Bruno", madrid)
    assert set(reader.events(bruno)) == {"MINE"}
    reader.do(lambda act: members.change_member(act, reader.acme.members["Bruno"], "Bruno", "officer", None))
    assert set(reader.events(bruno)) == {"MINE", "OTHERS"}, "a role counts as it is now"


def test_a_feed_follows_the_sites_that_its_member_may_see(reader: Reader, madrid: int, crane: int) -> None:
    with reader.acme.acting() as act:
        yard = people.add_site(act, "Yard", "Atlantic/Canary")
    bruno, mine, site = reader.acme.members["Bruno"], reader.make("Bruno"), reader.make("Dana", madrid)
    assert list(reader.events(mine)) == list(reader.events(site)) == [NAME]
    for member_id in (bruno, reader.acme.members["Dana"]):
        reader.do(lambda act, one=member_id: people.limit_member(act, one, [yard]))  # type: ignore[misc]
    assert reader.events(mine) == reader.events(site) == {}
    with reader.acme.acting() as act, pytest.raises(Refused):
        feeds.make_feed(act, bruno, madrid)
    reader.do(lambda act: people.limit_member(act, bruno, []))
    assert list(reader.events(mine)) == [NAME]


def test_unknown_revoked_and_departed_are_answered_with_the_same_bytes(reader: Reader, crane: int) -> None:
    org, bruno = reader.acme.org, reader.acme.members["Bruno"]
    token, other = reader.make("Bruno"), reader.make("Bruno")
    nothing = reader.get(f"{org}.{'x' * 43}")
    assert nothing.status_code == 404
    assert nothing.headers["Content-Type"] == "text/plain; charset=utf-8"

    def same(token: str, now: dt.datetime = NOW) -> bool:
        response = reader.get(token, now)
        return (response.status_code, response.data, response.headers) == (404, nothing.data, nothing.headers)

    secret = token.partition(".")[2]
    wrongs = [secret, f"0{token}", f"-{token}", f"{token}x", f"{org}..{secret}", token.swapcase()]
    wrongs += [f"{number}.{secret}" for number in (NO_SUCH, 10**25, "٣")]
    wrongs += [f"{org}.{secret[:-1]}{end}" for end in ("", "%00", "é")]
    assert [wrong for wrong in wrongs if not same(wrong)] == []
    assert reader.get(token).status_code == 200

    reader.do(lambda act: feeds.revoke_feed(act, bruno, feed_id(act)))
    assert [same(token), same(other)] == [True, False]
    reader.do(lambda act: people.disable_member(act, bruno))
    assert same(other)
    reader.do(lambda act: people.enable_member(act, bruno))
    assert reader.get(other).status_code == 200
    for ended in (LEFT, SHUT):
        assert not same(other)
        reader.do(lambda act, sql=ended: act.session.execute(text(sql), {"id": bruno}))  # type: ignore[misc]
        assert same(other)
        reader.do(lambda act: act.session.execute(text(BACK), {"id": bruno}))


def feed_id(act: Act) -> int:
    """The first feed that was made."""
    return int(act.run("select min(id) from calendar_feed where org_id = :org").scalar_one())


def test_an_inspectors_feed_ends_with_the_last_day_that_was_granted(reader: Reader, madrid: int, crane: int) -> None:
    last = NOW.date() + DAY
    reader.do(lambda act: members.change_member(act, reader.acme.members["Dana"], "Dana", "inspector", last))
    token = reader.make("Dana", madrid)
    assert reader.get(token, NOW + DAY).status_code == 200
    assert reader.get(token, NOW + 2 * DAY).status_code == 404


def test_p8_a_token_of_one_organisation_opens_nothing_of_another(reader: Reader, madrid: int, crane: int) -> None:
    other = factories.acme("other")
    with other.acting() as act:
        omar = factories.member(act, "omar@other.example")
        add(act, "THEIRS", owner_member_id=omar)
        theirs = feeds.make_feed(act, omar)
        with pytest.raises(Refused):
            feeds.make_feed(act, omar, madrid)
    mine = reader.make("Bruno")
    assert (list(reader.events(mine)), list(reader.events(theirs))) == ([NAME], ["THEIRS"])
    swapped = [f"{other.org}.{mine.partition('.')[2]}", f"{reader.acme.org}.{theirs.partition('.')[2]}"]
    assert [reader.get(token).status_code for token in swapped] == [404, 404]


def test_an_answer_sets_no_cookie_and_is_kept_by_nobody(reader: Reader, browser: SignIn, crane: int) -> None:
    token = reader.make("Bruno")
    answers = [reader.get(token), reader.get("1.x"), browser(OFFICER).get(f"/calendar/{token}.ics")]
    assert [answer.status_code for answer in answers] == [200, 404, 200]
    for answer in answers:
        assert "Set-Cookie" not in answer.headers
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Robots-Tag"] == "noindex"
    assert answers[0].data == answers[2].data
    assert answers[0].headers["Content-Disposition"] == 'inline; filename="onus.ics"'


def test_the_token_is_in_no_row_and_no_event_and_no_log(
    reader: Reader, crane: int, monkeypatch: pytest.MonkeyPatch, logged: io.StringIO
) -> None:
    token = reader.make("Bruno")
    reader.get(token)
    tables = "select tablename from pg_tables where schemaname = 'public' and tablename <> 'account'"
    with reader.acme.acting() as act:
        kept = [row for table in act.session.scalars(text(tables)).all()
                for row in act.session.scalars(text(f"select t::text from {table} t"))]  # fmt: skip
        detail = act.run("select detail from audit_event where type = 'calendar_feed_made'").scalar_one()
    assert detail == {"feed_id": detail["feed_id"], "member_id": reader.acme.members["Bruno"], "site_id": None}
    assert any(feeds.hashed(token) in row for row in kept)
    assert not any(token.partition(".")[2] in row for row in kept)
    for fault in (RuntimeError("broken"), Unreachable("gone")):

        def fail(*_: object, fault: Exception = fault) -> None:
            raise fault

        monkeypatch.setattr(calendar_feed, "read_dates", fail)
        assert reader.get(token).status_code in (500, 503)
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    assert [(line["event"], line["path"]) for line in lines] == [
        ("request_failed", "/calendar/…"),
        ("database_lost", "/calendar/…"),
    ]
    assert token.partition(".")[2] not in logged.getvalue()


def test_a_reading_is_noted_once_a_day(reader: Reader, crane: int) -> None:
    token, seen = reader.make("Bruno"), []
    for now in (NOW, NOW + HOUR, NOW + DAY):
        reader.get(token, now)
        with reader.acme.acting() as act:
            seen.append(act.run("select last_read_at from calendar_feed").scalar_one())
    assert seen == [NOW, NOW, NOW + DAY]


@pytest.mark.parametrize("email", [ADMIN, OFFICER, STAFF, INSPECTOR])
def test_everybody_makes_an_address_sees_it_once_and_revokes_it(
    reader: Reader, browser: SignIn, crane: int, email: str
) -> None:
    person = browser(email)
    person.get("/o/acme/calendar")
    page = person.post("/o/acme/calendar", dates="mine")
    (address,) = re.findall(r'id="address"[^>]* value="([^"]+)"', page.text)
    path = re.sub(r"^https?://[^/]+", "", address)
    assert reader.get(path.removeprefix("/calendar/").removesuffix(".ics")).status_code == 200
    again = person.get("/o/acme/calendar")
    assert address not in again.text
    assert "1 March 2027" in again.text
    (number,) = re.findall(r'name="feed" value="(\d+)"', again.text)
    for _ in range(2):
        assert person.post("/o/acme/calendar/revoke", feed=number).status_code == 303
    assert "There are none." in person.get("/o/acme/calendar").text
    assert reader.get(path.removeprefix("/calendar/").removesuffix(".ics")).status_code == 404
    with reader.acme.acting() as act:
        types = act.run("select type from audit_event where type like 'calendar_feed%' order by id").scalars().all()
    assert types == ["calendar_feed_made", "calendar_feed_revoked"]


def test_the_page_offers_the_sites_that_the_person_sees_and_no_other(
    reader: Reader, browser: SignIn, madrid: int
) -> None:
    with reader.acme.acting() as act:
        yard = people.add_site(act, "Yard", "Atlantic/Canary")
        people.limit_member(act, reader.acme.members["Dana"], [yard])
    dana = browser(INSPECTOR)
    page = dana.get("/o/acme/calendar")
    assert "All dates at Yard" in page.text
    assert "Madrid" not in page.text.partition("<main")[2]
    assert dana.post("/o/acme/calendar", dates=str(yard)).status_code == 200
    for wrong in (str(madrid), str(NO_SUCH), "x", "٣", "1" * 5000):
        assert dana.post("/o/acme/calendar", dates=wrong).status_code == 404
    assert "What concerns me at Yard" in browser(STAFF).get("/o/acme/calendar").text


def test_nobody_revokes_what_is_not_theirs_but_an_administrator(reader: Reader, browser: SignIn, crane: int) -> None:
    token = reader.make("Bruno")
    with reader.acme.acting() as act:
        number = feed_id(act)
    for wrong in (str(number), str(NO_SUCH), "x", "", "9" * 30):
        ana = browser(OFFICER)
        assert ana.post("/o/acme/calendar/revoke", feed=wrong).status_code == 404
    person = f"/o/acme/settings/people/{reader.acme.members['Bruno']}"
    adela = browser(ADMIN)
    assert "Calendar addresses" in adela.get(person).text
    another = f"/o/acme/settings/people/{reader.acme.members['Ana']}"
    assert adela.post(f"{another}/calendar/revoke", feed=number).status_code == 404
    assert reader.get(token).status_code == 200
    assert adela.post(f"{person}/calendar/revoke", feed=number).status_code == 303
    assert reader.get(token).status_code == 404
    with reader.acme.acting() as act:
        actor = act.run("select actor from audit_event where type = 'calendar_feed_revoked'").scalar_one()
    assert actor == f"member:{reader.acme.members['Adela']}"


def test_a_person_has_so_many_addresses_and_no_more(reader: Reader, browser: SignIn) -> None:
    for _ in range(feeds.MOST):
        reader.make("Bruno")
    bruno = browser(STAFF)
    bruno.get("/o/acme/calendar")
    refused = bruno.post("/o/acme/calendar", dates="mine")
    assert refused.status_code == 422
    assert "revoke one that is not used any more" in refused.text


def test_a_site_whose_zone_cannot_be_used_keeps_its_dates(reader: Reader, madrid: int, crane: int) -> None:
    token = reader.make("Ana", madrid)
    reader.do(lambda act: act.session.query(Site).filter_by(id=madrid).update({"timezone": "Nowhere/Else"}))
    assert list(reader.events(token)) == [NAME]
