"""Rules as sentences, the form that makes and changes them, on and off; what is refused keeps what was typed."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select
from werkzeug.test import TestResponse

from app.ledger.scan import scan
from app.models import AlertRule, AuditEvent, NotificationLedger, RuleRecipient, RuleThreshold, ScanQueue
from app.operations import filings, obligations, people, rules
from app.operations.rules import RuleText
from tests import factories
from tests.factories import Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import ADMIN, HTMX, Browser

SignIn = Callable[[str], Browser]

PERMITS = RuleText(
    "Permits",
    thresholds=("90d", "30d", "7d", "0d", "+7d"),
    channels=("email", "in_app"),
    to=("owner", f"member:{OFFICER}"),
    fallback="role:admin",
)
FORM: dict[str, Any] = {
    "name": "Permits", "notices": "+7d, 45d", "usual": ["7d", "90d", "0d"], "channels": ["in_app"], "to": ["owner"],
    "only_if": "always", "start": "now",
}  # fmt: skip


@pytest.fixture
def kept(staffed: Acme) -> int:
    """The rule Permits of acme, and one entry that it reaches, due in ten days."""
    with staffed.acting() as act:
        factories.subject(act, "P-1", dt.date(2027, 3, 11), kind="permit")
        return rules.save(act, PERMITS)


def shown(answer: TestResponse) -> str:
    """The status and the body of a page; its head carries a token of the moment."""
    return f"{answer.status_code} {answer.text.split('<main')[1]}"


def rule_of(acme: Acme, name: str = "Permits") -> RuleText | None:
    with acme.acting() as act:
        return next((text for text in rules.export(act) if text.name == name), None)


def test_a_rule_stands_there_as_a_sentence(browser: SignIn, kept: int) -> None:
    page = browser(OFFICER).get("/o/acme/rules").text
    sentence = "Everything at all sites: 90, 30, 7 days before, on the day, 7 days after; e-mail and in the app; "
    assert sentence + "to the responsible and Ana." in page
    assert "Reaches 1 watched entry now" in page
    assert "has told nobody lately" in page


def test_without_rules_the_page_says_what_to_do(browser: SignIn, staffed: Acme) -> None:
    assert "Without a rule nobody is told anything" in browser(ADMIN).get("/o/acme/rules").text


def test_a_rule_is_made_by_the_form(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        site, kind = factories.site(act), factories.kind(act, "permit")
        people.add_post(act, "Plant manager")
        factories.subject(act, "P-1", dt.date(2027, 3, 11), kind="permit")
        factories.subject(act, "P-2", dt.date(2028, 3, 11), kind="permit")
        factories.subject(act, "T-1", dt.date(2027, 3, 11), kind="training")
    person = browser(OFFICER)
    blank = person.get("/o/acme/rules/new").text
    for channel in ("in_app", "email"):
        assert f'value="{channel}" checked' in blank, channel
    assert "when the mail server refuses a message of this rule, or one comes back" in blank
    answer = person.post(
        "/o/acme/rules", **FORM | {"kinds": [kind], "sites": [site], "to": ["owner", "post:Plant manager"],
                                   "others": f" {STAFF.upper()} ", "only_if": "nobody_on_it", "fallback": "role:admin"},
    )  # fmt: skip
    assert answer.status_code == 303
    assert rule_of(staffed) == RuleText(
        "Permits", kinds=("permit",), sites=("Madrid",), thresholds=("90d", "45d", "7d", "0d", "+7d"),
        channels=("in_app",), to=(f"member:{STAFF}", "owner", "post:Plant manager"), only_if="nobody_on_it",
        fallback="role:admin",
    )  # fmt: skip
    page = person.get(str(answer.location)).text
    assert "Permit at Madrid: 90, 45, 7 days before, on the day, 7 days after; in the app; if nobody acts, to" in page
    assert "It reaches 2 watched entries now. The next check raises 1 alert at once" in page
    with staffed.acting() as act:
        event = act.session.scalars(select(AuditEvent).where(AuditEvent.type == "rule_created")).one()
        assert event.actor == f"member:{staffed.members['Ana']}"
        assert act.session.scalars(select(ScanQueue.rule_id).where(ScanQueue.rule_id.is_not(None))).all()


def test_what_the_page_foretells_is_what_the_check_raises(browser: SignIn, kept: int, staffed: Acme) -> None:
    with staffed.acting() as act:
        factories.subject(act, "P-2", dt.date(2027, 2, 25))
        factories.subject(act, "P-3", dt.date(2027, 3, 5), snoozed_until=dt.date(2027, 3, 4))
        factories.subject(act, "P-4", dt.date(2027, 9, 5))
        factories.subject(act, "P-5", dt.date(2027, 3, 5), status="draft")
        for reference, ask_again_on in (("F-1", dt.date(2027, 3, 1)), ("F-2", dt.date(2027, 3, 2))):
            filed = obligations.find_obligation(act, factories.subject(act, reference, dt.date(2027, 3, 5)))
            filings.file(act, filed.id, dt.date(2027, 2, 1), "ENT-1", "yes", ask_again_on)
    person = browser(OFFICER)
    assert "The next check raises 3 alerts at once" in person.get(f"/o/acme/rules/{kept}").text
    with staffed.watching() as act:
        assert scan(act).claimed == 3
    page = person.get(f"/o/acme/rules/{kept}").text
    assert "The next check raises no alert at once" in page


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"name": " "}, "name", "Give the rule a name."),
    ({"notices": "soon, 9x", "usual": []}, "notices", "cannot be read"),
    ({"notices": "", "usual": []}, "notices", "choose at least one"),
    ({"notices": "9999d"}, "notices", "nothing longer than ten years"),
    ({"channels": []}, "channels", "Choose at least one way."),
    ({"to": [], "others": ""}, "to", "Choose at least one"),
    ({"others": "nobody@acme.example"}, "others", "No member has the address"),
    ({"others": "not an address"}, "others", "No member has the address"),
    ({"entries": "P-404"}, "entries", "There is no entry"),
]


@pytest.mark.parametrize(("wrong", "field", "words"), WRONG)
@pytest.mark.parametrize("htmx", [False, True])
def test_what_is_wrong_stands_beside_its_field_and_nothing_typed_is_lost(
    browser: SignIn, staffed: Acme, wrong: dict[str, Any], field: str, words: str, htmx: bool
) -> None:
    person = browser(OFFICER)
    person.get("/o/acme/rules/new")
    answer = person.post("/o/acme/rules", htmx=htmx, **FORM | {"start": "next", "entries": "", **wrong})
    assert answer.status_code == 422
    assert answer.text.lstrip().startswith("<form" if htmx else "<!doctype html>")
    assert words in answer.text.split(f'id="{field}-fault"')[1].split("</p>")[0]
    assert "threshold" not in answer.text
    for value in ("next", *(FORM | wrong)["usual"], *(FORM | wrong)["to"]):
        assert f'value="{value}" checked' in answer.text
    for field_name in ("name", "notices"):
        assert f'name="{field_name}" type="text" value="{(FORM | wrong)[field_name]}"' in answer.text
    assert rule_of(staffed) is None


def test_a_name_that_is_taken_and_a_rule_that_is_there_already_are_refused(
    browser: SignIn, kept: int, staffed: Acme
) -> None:
    person = browser(OFFICER)
    person.get("/o/acme/rules/new")
    taken = person.post("/o/acme/rules", **FORM | {"name": "  Permits "})
    assert taken.status_code == 422
    assert "choose another name" in taken.text.split('id="name-fault"')[1].split("</p>")[0]
    twin = FORM | {"name": "Twin", "notices": "", "usual": list(PERMITS.thresholds), "to": list(PERMITS.to),
                   "channels": list(PERMITS.channels), "fallback": PERMITS.fallback}  # fmt: skip
    same = person.post("/o/acme/rules", **twin)
    assert same.status_code == 422
    assert "change that one instead" in same.text.split('class="refusal"')[1]
    assert "was =" not in same.text
    assert rule_of(staffed, "Twin") is None


def test_a_rule_is_changed_whole_and_keeps_its_place(browser: SignIn, kept: int, staffed: Acme) -> None:
    person = browser(ADMIN)
    page = person.get(f"/o/acme/rules/{kept}/edit").text
    for value in (*PERMITS.to, *PERMITS.channels, "90d", "+7d"):
        assert f'value="{value}" checked' in page
    assert '<option value="role:admin" selected>' in page
    answer = person.post(f"/o/acme/rules/{kept}", **FORM | {"name": "All permits", "notices": "6w", "version": "1"})
    assert (answer.status_code, answer.location) == (303, f"/o/acme/rules/{kept}")
    assert rule_of(staffed) is None
    with staffed.acting() as act:
        rule = act.session.scalars(select(AlertRule)).one()
        assert (rule.id, rule.name, rule.version, rule.channels, rule.fallback) == (
            kept, "All permits", 2, ["in_app"], None,
        )  # fmt: skip
        assert set(act.session.scalars(select(RuleThreshold.threshold))) == {"6w", "90d", "7d", "0d"}
        assert act.session.scalars(select(RuleRecipient.recipient)).all() == ["owner"]


def test_what_somebody_else_has_changed_is_not_replaced_unseen(browser: SignIn, kept: int, staffed: Acme) -> None:
    person = browser(OFFICER)
    person.get(f"/o/acme/rules/{kept}/edit")
    with staffed.acting() as act:
        rules.save(act, RuleText("Permits", thresholds=("1d",), channels=("in_app",), to=("owner",)), kept)
    first = person.post(f"/o/acme/rules/{kept}", **FORM | {"version": "1"})
    assert first.status_code == 422
    assert "Somebody has changed this rule" in first.text
    assert 'name="version" value="2"' in first.text
    assert rule_of(staffed).thresholds == ("1d",)  # type: ignore[union-attr]
    assert person.post(f"/o/acme/rules/{kept}", **FORM | {"version": "2"}).status_code == 303
    assert "45d" in rule_of(staffed).thresholds  # type: ignore[union-attr]


def test_start_next_tells_nothing_of_what_is_within_its_notice(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        factories.subject(act, "P-1", dt.date(2027, 3, 6))
    person = browser(OFFICER)
    person.get("/o/acme/rules/new")
    answer = person.post("/o/acme/rules", htmx=True, **FORM | {"start": "next"})
    assert (answer.status_code, answer.text) == (204, "")
    assert "raises no alert at once" in person.get(answer.headers["HX-Redirect"]).text
    with staffed.acting() as act:
        assert set(act.session.scalars(select(NotificationLedger.reason))) == {"start"}


def test_a_rule_is_switched_off_and_on(browser: SignIn, kept: int, staffed: Acme) -> None:
    person = browser(OFFICER)
    assert "Switch off" in person.get("/o/acme/rules").text
    assert person.post(f"/o/acme/rules/{kept}/switch", on="no").location == "/o/acme/rules"
    page = person.get("/o/acme/rules").text
    assert ">Off<" in page
    assert "tells nobody while it is off" in page
    assert "The rule is off: it tells nobody." in person.get(f"/o/acme/rules/{kept}").text
    row = person.post(f"/o/acme/rules/{kept}/switch", htmx=True, on="yes")
    assert row.text.strip().startswith(f'<li id="rule-{kept}"')
    assert ">On<" in row.text
    assert row.headers["X-Said"] == "The%20rule%20Permits%20is%20on%20now."
    with staffed.acting() as act:
        types = act.session.scalars(select(AuditEvent.type).where(AuditEvent.type.like("rule_switched%")))
        assert types.all() == ["rule_switched_off", "rule_switched_on"]


def test_the_list_is_a_fragment_for_htmx_and_has_a_next_page(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        for number in range(52):
            factories.rule(act, f"rule {number:02}")
    person = browser(OFFICER)
    part = person.client.get("/o/acme/rules", headers=HTMX)
    assert part.text.strip().startswith('<div id="rules">')
    assert "HX-Request" in part.headers["Vary"]
    assert "rule 49" in part.text
    assert "rule 50" not in part.text
    following = part.text.split('<a href="/o/acme/rules?after=')[1].split('"')[0]
    page = person.get(f"/o/acme/rules?after={following}").text
    assert "rule 50" in page
    assert "rule 49" not in page


@pytest.mark.parametrize("email", [STAFF, INSPECTOR])
def test_rules_are_for_those_who_manage_them(browser: SignIn, kept: int, email: str, staffed: Acme) -> None:
    person = browser(email)
    for address in ("/o/acme/rules", "/o/acme/rules/new", f"/o/acme/rules/{kept}", f"/o/acme/rules/{kept}/edit"):
        assert person.get(address).status_code == 403
    person.get("/o/acme/evidence")
    for address in ("/o/acme/rules", f"/o/acme/rules/{kept}", f"/o/acme/rules/{kept}/switch"):
        assert person.post(address, **FORM | {"on": "no"}).status_code == 403
    assert rule_of(staffed) == RuleText(**vars(PERMITS) | {"to": (f"member:{OFFICER}", "owner")})


def test_h38_foreign_ids_are_not_there(browser: SignIn, staffed: Acme) -> None:
    other = factories.acme("other", "Porto", "Europe/Lisbon")
    with other.acting() as act:
        foreign = factories.rule(act, "Theirs").id
        site, kind = factories.site(act, "Porto"), factories.kind(act)
    person = browser(OFFICER)
    unknown = shown(person.get("/o/acme/rules/999999"))
    for rule_id in (foreign, 999999):
        answers = [person.get(f"/o/acme/rules/{rule_id}"), person.get(f"/o/acme/rules/{rule_id}/edit")]
        answers += [
            person.post(f"/o/acme/rules/{rule_id}", **FORM),
            person.post(f"/o/acme/rules/{rule_id}/switch", on="no"),
        ]
        assert {shown(answer) for answer in answers} == {unknown}
        assert unknown.startswith("404")
    for forged in ({"sites": [site]}, {"kinds": [kind]}, {"kinds": ["x"]}, {"to": ["post:Theirs"]}):
        assert person.post("/o/acme/rules", **FORM | forged).status_code == 404
    assert person.get(f"/o/other/rules/{foreign}").status_code == 404
    assert rule_of(other, "Theirs") is not None
    assert rule_of(staffed) is None


def test_the_page_of_a_rule_says_what_it_said_before(browser: SignIn, kept: int, staffed: Acme) -> None:
    ana = browser(OFFICER)
    ana.post(f"/o/acme/rules/{kept}", **FORM | {"version": "1", "to": ["owner", "role:officer"]})
    ana.post(f"/o/acme/rules/{kept}/switch", on="no")
    page = ana.get(f"/o/acme/rules/{kept}").text.partition("Versions")[2]
    assert re.findall(r"<strong>([^<]+)</strong>: (\w+ ?\w*)", page) == [
        ("Ana", "Switched off"), ("Ana", "Changed "), ("an operator, by a command", "Made "),
    ]  # fmt: skip
    assert "version 2" in page
    before_and_after = re.findall(r">([^<]+): <del>([^<]+)</del> → <ins>([^<]+)</ins>", page)
    assert sorted(before_and_after) == [
        ("How", "e-mail and in the app", "in the app"),
        ("If a message comes back", "all administrators", "nobody else"),
        ("When", "90, 30, 7 days before, on the day, 7 days after", "90, 45, 7 days before, on the day, 7 days after"),
        ("Who is told", "Ana and the responsible", "the responsible and all compliance managers"),
    ]
