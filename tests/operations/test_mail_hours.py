"""The hours of e-mail, as a person and an operator set them: what is kept, what is refused, and what the trail says."""

from __future__ import annotations

import datetime as dt

from app.domain.mail_hours import Rest
from app.operations import absences, mail_hours, people
from app.operations.mail_hours import OwnHours
from app.queries.untold import without_mail
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.operations.story import Since
from tests.operations.test_commands import Onus, onus  # noqa: F401  (fixture)
from tests.people import STAFF

NIGHT = Rest(dt.time(20), dt.time(6))


def test_hours_are_kept_once_and_what_waits_is_looked_at_again(act: Act, since: Since) -> None:
    member_id = factories.member(act)
    assert mail_hours.hours_of(act, member_id) == OwnHours()
    since.read()
    chosen = OwnHours(dt.time(8), NIGHT, "Europe/Lisbon", "PT")
    assert mail_hours.set_hours(act, member_id, chosen)
    assert not mail_hours.set_hours(act, member_id, chosen)
    assert mail_hours.hours_of(act, member_id) == chosen
    kind, detail = since.event()
    assert (kind, detail["new"]) == (
        "mail_hours_changed",
        {"timezone": "Europe/Lisbon", "country": "PT", "mail_hour": "08:00", "own_rest": True, "rest_from": "20:00",
         "rest_until": "06:00"},
    )  # fmt: skip
    assert mail_hours.set_hours(act, member_id, OwnHours(rest=Rest(days_off=True)))
    assert mail_hours.hours_of(act, member_id) == OwnHours(rest=Rest(days_off=True))
    assert since.both() == (["mail_hours_changed"], [(None, None)])


def test_the_rest_time_of_the_organisation(act: Act, since: Since) -> None:
    since.read()
    assert mail_hours.set_organisation_rest(act, NIGHT)
    assert not mail_hours.set_organisation_rest(act, NIGHT)
    assert mail_hours.organisation_rest(act) == NIGHT
    kind, detail = since.event()
    assert (kind, detail["old"]) == ("rest_time_changed", {"rest_from": None, "rest_until": None})


def test_hours_by_command(onus: Onus, acme: Acme) -> None:  # noqa: F811
    with acme.acting() as act:
        people.add_member(act, STAFF, "staff")

    def kept() -> OwnHours:
        with acme.acting() as act:
            return mail_hours.hours_of(act, people.find_member(act, STAFF).id)

    assert onus.changed("member", "mail", STAFF, "--daily-at", "08:00", "--rest", "20:00-06:00", "--days-off")
    assert kept() == OwnHours(dt.time(8), Rest(dt.time(20), dt.time(6), days_off=True))
    assert not onus.changed("member", "mail", STAFF, "--daily-at", "08:00")
    said = onus.run("member", "mail", STAFF, "--timezone", "Europe/Lisbon", "--country", "pt").stdout
    assert said == f"E-mail to {STAFF} goes once a day at 08:00; rest 20:00 to 06:00 and days off.\n"
    assert (kept().timezone, kept().country) == ("Europe/Lisbon", "PT")
    assert onus.changed("member", "mail", STAFF, "--at-once", "--rest", "none", "--timezone", "", "--country", "")
    assert kept() == OwnHours(rest=Rest())
    assert onus.changed("member", "mail", STAFF, "--rest", "default")
    assert kept() == OwnHours()
    assert onus.changed("org", "rest", "20:00-06:00")
    assert not onus.changed("org", "rest", "20:00-06:00")
    assert onus.changed("org", "rest", "none")


def test_what_would_be_left_untold_without_e_mail(onus: Onus, acme: Acme) -> None:  # noqa: F811
    """In the app alone; by nobody; by somebody else; and nothing of what does not concern the person."""
    due = dt.date(2027, 4, 1)
    with acme.acting() as act:
        bruno = people.add_member(act, STAFF, "staff")
        ana = people.add_member(act, "ana@acme.example", "officer")
        own = {"owner_member_id": bruno}
        both, alone, shared, silent = (factories.subject(act, one, due, **own).id for one in ("A", "B", "C", "D"))
        factories.subject(act, "E", due)
        factories.subject(act, "F", **own)  # No deadline.
        factories.rule(act, "Both", ("7d",), ("owner",), ("email", "in_app"), subjects=[both])
        factories.rule(act, "Alone", ("7d",), ("owner",), ("email",), subjects=[alone])
        factories.rule(act, "Shared", ("7d",), ("owner", "role:officer"), ("email",), subjects=[shared])
        factories.rule(act, "Silent", ("7d",), ("owner",), ("in_app",), subjects=[silent])
        today = act.now.date()
        absences.enter_absence(act, bruno, today, today, ana)  # They come back, and would be told nothing for good.
        untold = without_mail(act.session, act.org, bruno, act.now)
    assert (untold.in_app, untold.not_told, untold.nobody) == ({both}, {alone, shared}, {alone})
    assert untold.rules == {"Alone", "Shared"}
    said = onus.run("member", "email-alerts", STAFF, "off").stdout
    assert said == (
        f"E-mail alerts to {STAFF} are off. Of 1 deadline they would be told only in the app. Of 2 deadlines they "
        "would not be told at all: 2 rules tell by e-mail only (Alone, Shared). "
        "Of 1 deadline nobody else would be told, either.\n"
    )
    again = onus.json("member", "email-alerts", STAFF, "off")
    assert (again["changed"], again["in_app"], again["not_told"]) == (False, 1, 2), "it says what is so"
