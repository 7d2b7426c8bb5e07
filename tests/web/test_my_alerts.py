"""My alerts: each role sets its own hours, sees what is left untold without e-mail; and Evidence says what waited."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from app.domain.delivery import Outcome
from app.domain.mail_hours import Rest
from app.operations import mail_hours
from app.operations.mail_hours import OwnHours
from app.trail.act import Act
from tests import factories
from tests.factories import NOW, Acme
from tests.people import ADMIN, INSPECTOR, OFFICER, STAFF
from tests.web.conftest import Browser
from tests.web.markup import Element, read
from tests.web.test_messages import Post, watch, words

SignIn = Callable[[str], Browser]
HERE = "/o/acme/my-alerts"
FORM = {"email_alerts": "on", "mail": "daily", "daily_at": "08:00", "rest": "own", "rest_from": "20:00",
        "rest_until": "06:00", "rest_days_off": "yes", "timezone": "Europe/Lisbon", "country": "pt"}  # fmt: skip
AS_IT_IS = {"email_alerts": "on", "mail": "at_once", "rest": "organisation"}
DUE = NOW.date() + dt.timedelta(days=20)


def hours(acme: Acme, name: str) -> OwnHours:
    with acme.acting() as act:
        return mail_hours.hours_of(act, acme.members[name])


def entries(act: Act, owner: int, channels: tuple[str, ...], *references: str) -> None:
    made = [factories.subject(act, one, DUE, owner_member_id=owner).id for one in references]
    factories.rule(act, f"Rule {references[0]}", ("30d",), ("owner",), channels, subjects=made)


@pytest.mark.parametrize(("email", "name"), [(STAFF, "Bruno"), (INSPECTOR, "Dana"), (OFFICER, "Ana"), (ADMIN, "Adela")])
def test_each_role_sets_its_own_hours(browser: SignIn, staffed: Acme, email: str, name: str) -> None:
    person = browser(email)
    assert person.post(HERE, **FORM).location == f"{HERE}?saved=yes"
    expected = OwnHours(dt.time(8), Rest(dt.time(20), dt.time(6), days_off=True), "Europe/Lisbon", "PT")
    assert hours(staffed, name) == expected
    page = person.get(f"{HERE}?saved=yes").text
    assert "Saved. What waits for you already follows it" in words(page)
    for part in ('value="daily" checked', 'value="08:00"', 'value="own" checked', 'value="20:00"', 'value="06:00"',
                 'name="rest_days_off" value="yes" checked', 'value="Europe/Lisbon"', 'value="PT"'):  # fmt: skip
        assert part in page, part
    assert person.post(HERE, **AS_IT_IS).status_code == 303
    assert hours(staffed, name) == OwnHours()


@pytest.mark.parametrize(
    ("wrong", "field", "said"),
    [
        ({"daily_at": ""}, "daily_at", "no time of day"),
        ({"daily_at": "8"}, "daily_at", "no time of day"),
        ({"rest_until": ""}, "rest_until", "both hours"),
        ({"rest_until": "20:00"}, "rest_until", "never end"),
        ({"rest_from": "late"}, "rest_from", "no time of day"),
        ({"timezone": "Mars/Olympus"}, "timezone", "cannot be used"),
        ({"country": "Portugal"}, "country", "two letters"),
        ({"country": "", "region": "PV"}, "region", "has no country"),
        ({"mail": "never"}, "mail", "Choose one"),
        ({"rest": ""}, "rest", "Choose one"),
        ({"email_alerts": "maybe"}, "email_alerts", "Choose one"),
    ],
)
def test_what_cannot_be_is_said_beside_the_field_and_nothing_is_lost(
    browser: SignIn, staffed: Acme, wrong: dict[str, str], field: str, said: str
) -> None:
    answer = browser(STAFF).post(HERE, htmx=True, **FORM | wrong)
    assert answer.status_code == 422
    fault = next(one for one in read(answer.text).walk() if one.get("id") == f"{field}-fault")
    assert said in fault.text
    for name, value in (FORM | wrong).items():
        if value and name in ("daily_at", "rest_from", "rest_until", "timezone", "country"):
            assert f'value="{value}"' in answer.text
    assert hours(staffed, "Bruno") == OwnHours()


def test_switching_e_mail_off_shows_first_what_it_leaves_untold(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        entries(act, staffed.members["Bruno"], ("email", "in_app"), "A", "B", "C")
        entries(act, staffed.members["Bruno"], ("email",), "D")
    bruno, admin = browser(STAFF), browser(ADMIN)
    off = AS_IT_IS | {"email_alerts": "off"}
    answer = bruno.post(HERE, **off)
    assert answer.status_code == 422
    said = words(answer.text)
    assert "Nothing is saved yet. Of 3 deadlines you would be told only here in the app." in said
    assert "Of 1 deadline you would not be told at all: 1 rule tells by e-mail only (Rule D)." in said
    assert "Of 1 deadline nobody else would be told, either." in said
    where = f"/o/acme/settings/people/{staffed.members['Bruno']}"
    refused = admin.post(f"{where}/alerts", **off)
    assert refused.status_code == 422
    assert "Of 1 deadline Bruno would not be told at all" in words(refused.text)
    assert bruno.post(HERE, **off, sure="yes").status_code == 303
    assert "off" in words(admin.get("/o/acme/settings/people").text)
    watch(staffed)
    assert "D" in words(admin.get("/o/acme/evidence/nobody-to-tell").text)
    assert bruno.post(HERE, **off).status_code == 303, "what is off already needs no second yes"
    told = (
        "Of 1 deadline you are not told at all: 1 rule tells by e-mail only (Rule D). Of 1 deadline nobody else is told"
    )
    page = bruno.get(HERE).text
    assert "Of 3 deadlines you are told only here in the app. " + told in words(page)
    assert [one.text for one in listed(page)] == ["D Permit D, Madrid, due 21 March 2027"]
    assert not listed(page)[0].all("a"), "staff have no page of an entry"
    page = admin.get(where).text
    assert "Of 1 deadline Bruno is not told at all" in words(page)
    assert f'href="{where}/alerts#untold"' in page
    (only,) = listed(admin.get(f"{where}/alerts").text)
    assert [one.get("href").startswith("/o/acme/register/") for one in only.all("a")] == [True]
    assert bruno.post(HERE, **AS_IT_IS).status_code == 303
    assert not listed(bruno.get(HERE).text)
    assert "not told at all" not in words(admin.get(where).text)


def listed(page: str) -> list[Element]:
    lists = [one for one in read(page).walk() if one.get("id") == "untold"]
    return [one for each in lists for one in each.all("li")]


def test_an_administrator_sets_somebody_elses_hours_and_they_read_who_did(browser: SignIn, staffed: Acme) -> None:
    adela, bruno = browser(ADMIN), browser(STAFF)
    where = f"/o/acme/settings/people/{staffed.members['Bruno']}"
    assert "On: at once." in words(adela.get(where).text)
    assert adela.post(f"{where}/alerts", **FORM | {"daily_at": "late"}).status_code == 422
    assert hours(staffed, "Bruno") == OwnHours()
    assert adela.post(f"{where}/alerts", **FORM).location == f"{where}/alerts?saved=yes"
    assert hours(staffed, "Bruno").daily_at == dt.time(8)
    assert hours(staffed, "Adela") == OwnHours()
    with staffed.acting() as act:
        by = act.run("select actor, detail ->> 'member_id' from audit_event where type = 'mail_hours_changed'").all()
    assert [tuple(row) for row in by] == [(f"member:{staffed.members['Adela']}", str(staffed.members["Bruno"]))]
    page = adela.get(f"{where}/alerts?saved=yes").text
    assert "Saved. What waits for Bruno already follows it" in words(page)
    assert 'value="daily" checked' in page
    assert "On: once a day at 08:00; rest 20:00 to 06:00 and days off." in words(adela.get(where).text)
    assert "Set by Adela on 1 March 2027." in words(bruno.get(HERE).text)
    assert bruno.post(HERE, **FORM | {"daily_at": "09:00"}).status_code == 303
    assert "Set by" not in words(bruno.get(HERE).text)
    with staffed.acting() as act:  # As a command does.
        mail_hours.set_hours(act, staffed.members["Bruno"], OwnHours(dt.time(7)))
    assert "Set by an operator, by a command, on 1 March 2027." in words(bruno.get(HERE).text)


def test_evidence_says_until_when_a_message_waits_and_why_it_did_not(browser: SignIn, staffed: Acme) -> None:
    post, bruno = Post(staffed), staffed.members["Bruno"]
    with staffed.acting() as act:
        mail_hours.set_hours(act, bruno, OwnHours(dt.time(8), timezone="Europe/Lisbon"))
        entries(act, bruno, ("email",), "A")
    watch(staffed)
    with staffed.acting() as act:
        post.claims["A"], entry = act.run("select id, subject_id from notification_ledger").one()
    dana = browser(INSPECTOR)

    def said() -> str:
        return words(dana.get(post.alert("A")).text)

    assert "It waits until 2 March 2027, 08:00:00 +00:00 in Lisbon: it goes with the daily message." in said()
    with staffed.acting() as act:
        mail_hours.set_hours(act, bruno, OwnHours(rest=Rest(dt.time(11), dt.time(14))))
    watch(staffed)
    assert "It waits until 1 March 2027, 14:00:00 +01:00 in Madrid: rest time." in said()
    assert "Set the hour of the message to Bruno (e-mail): rest time" in words(
        browser(OFFICER).get(f"/o/acme/register/{entry}").text
    )
    with staffed.acting() as act:
        mail_hours.set_hours(act, bruno, OwnHours(rest=Rest(dt.time(11), dt.time(10))))
        today = factories.subject(act, "B", NOW.date(), owner_member_id=bruno).id
        factories.rule(act, "Today", ("0d",), ("owner",), ("email",), subjects=[today])
    watch(staffed)
    post.send(Outcome.delivered, said="250 queued")
    with staffed.acting() as act:
        post.claims["B"] = act.run("select id from notification_ledger where reference = 'B'").scalar_one()
    assert "Sent in rest time: due before it would have ended." in words(dana.get(post.alert("B")).text)
    assert "It waits until 2 March 2027, 10:00:00 +01:00 in Madrid: rest time." in said()
