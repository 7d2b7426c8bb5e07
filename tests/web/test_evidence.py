"""Evidence: what has not arrived, every alert, one alert, checks and gaps, what was taken off the watch."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import pytest
from sqlalchemy import update

from app.domain.acts import Answer
from app.domain.delivery import State
from app.ledger import answers
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.models import AuditEvent, Delivery, NotificationLedger
from app.operations import obligations, people, register, rules
from app.trail.act import Act
from tests import factories
from tests.factories import NOW, Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.web.conftest import ADMIN, HTMX, Browser

SignIn = Callable[[str], Browser]
TODAY = NOW.date()
HOUR = dt.timedelta(hours=1)
LISTS = (
    "",
    "/undelivered",
    "/nobody-to-tell",
    "/doubts",
    "/returned",
    "/held",
    "/missing",
    "/silent",
    "/alerts",
    "/checks",
    "/off-the-watch",
    "/past",
)


def days(count: int) -> dt.date:
    return TODAY + dt.timedelta(days=count)


def watch(acme: Acme, at: dt.datetime = NOW, delivering: bool = True) -> None:
    with acme.watching(at) as act:
        scan(act)
        if delivering:
            deliver(act)


def references(page: str) -> list[str]:
    """The entries that a page's tables link to, in their order."""
    return re.findall(r'<a href="/o/acme/register/\d+">([^<]+)</a>', page)


def claim_of(act: Act, reference: str, standing: str = "open") -> int:
    query = act.session.query(NotificationLedger.id).filter_by(org_id=act.org, reference=reference, standing=standing)
    return int(query.order_by(NotificationLedger.id.desc()).first()[0])  # type: ignore[index]


def alert_page(browser: Browser, acme: Acme, reference: str, standing: str = "open") -> str:
    with acme.acting() as act:
        claim_id = claim_of(act, reference, standing)
    response = browser.get(f"/o/acme/evidence/alerts/{claim_id}")
    assert response.status_code == 200
    return response.text


@pytest.fixture
def told(staffed: Acme) -> Acme:
    """P-1 and P-2 of Madrid, told to Bruno ten days ago by the 30-day alert; the 90-day one is covered by it."""
    with staffed.acting(NOW - 240 * HOUR) as act:
        for reference in ("P-1", "P-2"):
            owner = staffed.members["Bruno"]
            factories.subject(act, reference, days(20), owner_member_id=owner, title=f"Boiler {reference}")
        factories.rule(act, thresholds=("90d", "30d"), to=("owner",))
    watch(staffed, NOW - 240 * HOUR)
    return staffed


def test_what_has_not_arrived_within_the_limit_is_listed_with_why(browser: SignIn, told: Acme) -> None:
    with told.acting(NOW - 25 * HOUR) as act:
        factories.subject(act, "W-1", days(20), owner_member_id=told.members["Bruno"])
        factories.subject(act, "N-1", days(20))
    watch(told, NOW - 25 * HOUR, delivering=False)
    with told.acting(NOW - 23 * HOUR) as act:
        factories.subject(act, "W-2", days(20), owner_member_id=told.members["Bruno"])
    watch(told, NOW - 23 * HOUR, delivering=False)
    dana = browser(INSPECTOR)
    page = dana.get("/o/acme/evidence/undelivered").text
    assert references(page) == ["W-1", "N-1"]
    assert "Waiting: Bruno, in the app" in page
    assert "Nobody to tell" in page
    assert references(dana.get("/o/acme/evidence/nobody-to-tell").text) == ["N-1"]
    assert "Not delivered for more than 24 hours" in dana.get("/o/acme/evidence").text


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (State.in_doubt, "May have been sent, not confirmed"),
        (State.failed, "Refused by the mail server"),
        (State.bounced, "Came back"),
    ],
)
def test_what_can_no_longer_arrive_is_flagged_at_once(browser: SignIn, told: Acme, state: State, words: str) -> None:
    with told.watching() as act:
        spoilt = update(Delivery).where(Delivery.claim_id == claim_of(act, "P-1"))
        reply = "550 no such mailbox"
        said = {"channel": "email", "last_reply": reply, "sent_to": "b@acme.example"}
        act.session.execute(spoilt.values(state=state, delivered_at=None, **said))
    dana, listed = browser(INSPECTOR), "doubts" if state is State.in_doubt else "returned"
    lists = {path: dana.get(f"/o/acme/evidence/{path}").text for path in ("doubts", "returned")}
    page = lists.pop(listed)
    assert ">P-1, 30 days before</a>" in page
    assert "P-1" not in "".join(lists.values())
    assert words in page
    assert "550 no such mailbox" in page
    assert "b@acme.example" in page
    assert references(dana.get("/o/acme/evidence/undelivered").text) == ["P-1"]
    overview = dana.get("/o/acme/evidence").text
    assert re.search(rf'>1</span>\s*<div><a href="/o/acme/evidence/{listed}">', overview)


def test_silence_is_listed_by_entry_with_its_days(browser: SignIn, told: Acme) -> None:
    with told.acting() as act:
        bruno = told.members["Bruno"]
        answers.acknowledge_once(act, claim_id=claim_of(act, "P-2"), member_id=bruno, answer=Answer.seen)
    page = browser(INSPECTOR).get("/o/acme/evidence/silent").text
    assert references(page) == ["P-1"]
    assert "10 days" in page


def test_every_alert_can_be_narrowed(browser: SignIn, told: Acme) -> None:
    watch(told, NOW - HOUR)
    with told.acting(NOW - HOUR) as act:
        bruno = told.members["Bruno"]
        answers.acknowledge_once(act, claim_id=claim_of(act, "P-2"), member_id=bruno, answer=Answer.seen)
        people.add_site(act, "Cork", "Europe/Dublin")
        factories.subject(act, "C-1", days(5), "Cork", owner_member_id=bruno)
        madrid, cork = factories.site(act), factories.site(act, "Cork")
        other = factories.rule(act, "Only Cork", ("7d",), to=("role:officer",), sites=["Cork"]).id
    watch(told)
    dana = browser(INSPECTOR)
    address = "/o/acme/evidence/alerts"
    assert sorted(references(dana.get(address).text)) == ["C-1"] * 3 + ["P-1"] * 2 + ["P-2"] * 2
    assert references(dana.get(address).text)[-1] in {"P-1", "P-2"}  # The newest first.
    expected = {
        f"site={cork}": ["C-1"] * 3, f"site={madrid}&state=unsent": ["P-1", "P-2"], f"rule={other}": ["C-1"],
        "state=answered": ["P-2"], "state=arrived&reference=p-": ["P-1"], "state=stopped": [],
        f"until={days(-10)}": ["P-1", "P-1", "P-2", "P-2"], f"from={days(0)}": ["C-1"] * 3,
        "reference=c-1": ["C-1"] * 3,
    }  # fmt: skip
    for query, rows in expected.items():
        assert sorted(references(dana.get(f"{address}?{query}").text)) == rows, query


def test_a_date_that_is_none_is_said_beside_its_field_and_kept(browser: SignIn, told: Acme) -> None:
    dana = browser(INSPECTOR)
    refused = dana.get("/o/acme/evidence/alerts?from=2027-02-29&reference=P-1", **HTMX)
    assert refused.status_code == 422
    assert 'value="2027-02-29" aria-invalid="true" aria-describedby="from-fault"' in refused.text
    assert 'value="P-1"' in refused.text
    assert dana.get("/o/acme/evidence/off-the-watch?from=2027-03-02&until=2027-03-01").status_code == 422
    assert dana.get("/o/acme/evidence/alerts?until=9999-12-31").status_code == 422


def test_what_no_filter_offers_is_not_found(browser: SignIn, told: Acme) -> None:
    dana = browser(INSPECTOR)
    for query in ("site=99999", "rule=99999", "state=nonsense", "site=x"):
        assert dana.get(f"/o/acme/evidence/alerts?{query}").status_code == 404, query


def test_an_alert_tells_its_story(browser: SignIn, told: Acme) -> None:
    with told.acting() as act:
        answers.acknowledge_once(
            act, claim_id=claim_of(act, "P-1"), member_id=told.members["Bruno"], answer=Answer.on_it,
            until_on=days(3), note="Parts are ordered",
        )  # fmt: skip
    dana = browser(INSPECTOR)
    page = alert_page(dana, told, "P-1")
    for words in (
        "30 days before", "Sunday, 21 March 2027", "Permits (version 1)", "responsible for it", "Delivered",
        "On it until 4 March 2027", "Parts are ordered", "19 February 2027, 12:00:00 +01:00", "by the watch",
    ):  # fmt: skip
        assert words in page, words
    covered = alert_page(dana, told, "P-1", "superseded")
    assert "Not sent</span> a later alert covers it" in covered
    assert "through another alert of this deadline" in covered
    assert "Parts are ordered" in covered
    assert not re.search(r"claim|crossing|threshold|lease|hand-over|standing|watermark|horizon", page.lower())


def test_a_late_alert_says_how_late_and_why(browser: SignIn, told: Acme) -> None:
    with told.acting(NOW - HOUR) as act:
        factories.subject(act, "S-1", days(10), owner_member_id=told.members["Bruno"])
        act.record("subject_created", subject_id=register.find_subject(act, "S-1").id)
        moved = obligations.find_obligation(act, register.find_subject(act, "P-2"))
        obligations.move(act, moved.id, days(8), "authority")
    watch(told)
    dana = browser(INSPECTOR)
    assert "20 days, because the entry or its date was added" in alert_page(dana, told, "S-1")
    assert "22 days, because the date was moved" in alert_page(dana, told, "P-2")
    assert "Raised late" not in alert_page(dana, told, "P-1")
    assert "60 days, because it was the first check" in alert_page(dana, told, "P-1", "superseded")


def test_an_alert_that_nobody_was_there_to_raise_names_the_gap(browser: SignIn, told: Acme) -> None:
    with told.acting(NOW - 241 * HOUR) as act:
        factories.rule(act, "Sharp", ("18d",), to=("owner",))
    watch(told, NOW - 239 * HOUR)
    watch(told, NOW + 72 * HOUR)
    page = alert_page(browser(INSPECTOR), told, "P-1")
    assert "18 days before" in page
    assert "1 day, because nobody had checked since" in page


def test_gaps_are_listed_and_quiet_checks_fill_them(browser: SignIn, told: Acme) -> None:
    for minutes in (60, 40, 20, 0):
        watch(told, NOW - dt.timedelta(minutes=minutes))
    dana = browser(INSPECTOR)
    page = dana.get("/o/acme/evidence/checks").text
    gaps = page[page.index("Gaps in the checks") : page.index("Every check")]
    assert gaps.count("<tr>") == 2  # Its head, and one gap.
    assert "9 days" in gaps
    assert "still lasts" not in gaps
    assert "nothing new, until 1 March 2027, 12:00:00 +01:00" in page


def test_a_gap_is_explained_by_a_person_and_the_words_stay_beside_it(browser: SignIn, told: Acme) -> None:
    watch(told, NOW)
    ana, where = browser(OFFICER), "/o/acme/evidence/checks"
    page = ana.get(where).text
    [since] = re.findall(r'name="since" value="([^"]+)"', page)
    assert "not explained" in page
    assert ana.post(where, since=since, note=" ").status_code == 422
    refused = ana.post(where, since=NOW.isoformat().replace("11:00", "10:59"), note="Power cut")
    assert (refused.status_code, "There is no gap from this time on" in refused.text) == (422, True)
    assert ana.post(where, since=since, note="Power cut").status_code == 303
    assert ana.post(where, since=since, note="Power cut; a second line is ordered").status_code == 303
    page = browser(INSPECTOR).get(where).text
    assert "Power cut; a second line is ordered" in page
    assert "not explained" not in page
    assert "Explain it" not in page
    with told.acting() as act:
        said = act.session.query(AuditEvent).filter_by(org_id=act.org, type="gap_explained").all()
        assert [event.detail["note"] for event in said] == ["Power cut", "Power cut; a second line is ordered"]


def test_a_gap_that_has_not_ended_is_loud(browser: SignIn, told: Acme) -> None:
    page = browser(INSPECTOR).get("/o/acme/evidence/checks").text
    assert "still lasts" in page
    assert "10 days" in page


def test_what_was_taken_off_the_watch_says_who_why_and_whether_it_is_still_so(browser: SignIn, told: Acme) -> None:
    ana = f"member:{told.members['Ana']}"
    with told.acting(NOW - HOUR, actor=ana) as act:
        for reference in ("A-1", "B-1", "C-1", "D-1", "E-1"):
            factories.subject(act, reference, days(40), title=reference)
        register.archive(act, register.find_subject(act, "A-1"), "sold", "To Umbrosa")
        register.restore(act, register.find_subject(act, "A-1"))
        register.snooze(act, register.find_subject(act, "B-1"), days(9), "planned")
        for reference, outcome in (("C-1", "not_required"), ("D-1", "met")):
            found = obligations.find_obligation(act, register.find_subject(act, reference))
            obligations.close(act, found.id, outcome, reason="not_required" if outcome == "not_required" else None)
        moved = obligations.find_obligation(act, register.find_subject(act, "E-1"))
        obligations.move(act, moved.id, days(60), "law_change")
        rules.switch(act, "Permits", on=False)
    rows = {}
    page = browser(INSPECTOR).get("/o/acme/evidence/off-the-watch").text
    for row in re.findall(r"<tr>\s*<th scope=\"row\">.+?</tr>", page, re.DOTALL):
        rows[re.sub(r"<[^>]+>", " ", row.split("</td>")[1]).split()[0]] = re.sub(
            r"\s+", " ", re.sub(r"<[^>]+>", " ", row)
        )
    assert sorted(rows) == ["A-1", "B-1", "C-1", "E-1", "Permits"]
    assert "Archived" in rows["A-1"]
    assert "Sold: “To Umbrosa” no" in rows["A-1"]
    assert "Ana" in rows["A-1"]
    assert "Paused until 10 March 2027" in rows["B-1"]
    assert "yes" in rows["B-1"]
    assert "Closed without doing it, due 10 April 2027" in rows["C-1"]
    assert "Date moved, due 10 April 2027 to 30 April 2027" in rows["E-1"]
    assert "The law changed yes" in rows["E-1"]
    assert "Rule switched off" in rows["Permits"]
    older = browser(INSPECTOR).get(f"/o/acme/evidence/off-the-watch?until={days(-1)}").text
    assert "None: nothing was taken off the watch" in older


def test_the_register_as_it_stood_and_who_had_been_told_by_then(browser: SignIn, told: Acme) -> None:
    """Everything since is taken back; what was told later, or entered later, is not there."""
    with told.acting(NOW - 24 * HOUR) as act:
        one = register.find_subject(act, "P-1")
        register.retitle(act, one, "Another name")
        obligations.close(act, obligations.find_obligation(act, one).id, "not_required", reason="not_required")
        register.archive(act, one, "sold")
        place = {"site_id": factories.site(act), "kind_id": factories.kind(act)}
        register.add_subject(act, register.Entry(reference="N-1", due_on=days(90), **place))
    dana = browser(INSPECTOR)
    early, before, after = (dana.get(f"/o/acme/evidence/past?on={days(n)}").text for n in (-11, -2, -1))
    assert references(before) == ["P-1", "P-2"]
    assert references(after) == ["P-1", "P-2", "N-1"]
    assert [("Another name" in page, "Archived" in page, "Closed:" in page) for page in (before, after)] == [
        (False, False, False),
        (True, True, True),
    ]
    assert "Bruno, 30 days before, in the app" in before
    assert "Bruno, 30 days before" not in early
    assert references(dana.get(f"/o/acme/evidence/past?on={days(-1)}&q=another").text) == ["P-1"]
    assert "This day is not over yet" in dana.get(f"/o/acme/evidence/past?on={days(0)}").text


def test_an_inspector_who_is_limited_to_sites_sees_these_alone(browser: SignIn, told: Acme) -> None:
    with told.acting() as act:
        people.add_site(act, "Cork", "Europe/Dublin")
        for reference in ("C-1", "C-2"):
            factories.subject(act, reference, days(5), "Cork", owner_member_id=told.members["Bruno"])
        register.archive(act, register.find_subject(act, "C-2"), "gone")
        register.archive(act, register.find_subject(act, "P-2"), "gone")
        people.limit_member(act, told.members["Dana"], [factories.site(act, "Cork")])
        hidden, madrid = claim_of(act, "P-1"), factories.site(act)
    watch(told)
    dana = browser(INSPECTOR)
    pages = {path: dana.get(f"/o/acme/evidence{path}").text for path in LISTS}
    assert set(references(pages["/alerts"])) == {"C-1"}
    assert references(pages["/silent"]) == ["C-1"]
    assert references(pages["/off-the-watch"]) == ["C-2"]
    assert not any("P-1" in page or "P-2" in page or "Madrid" in page.split("<main")[1] for page in pages.values())
    assert dana.get(f"/o/acme/evidence/alerts/{hidden}").status_code == 404
    assert dana.get(f"/o/acme/evidence/alerts?site={madrid}").status_code == 404


def test_an_alert_of_another_organisation_and_one_that_never_was_are_the_same_404(browser: SignIn, told: Acme) -> None:
    other = factories.acme("umbrosa", "Lisbon", "Europe/Lisbon")
    with other.acting() as act:
        factories.member(act, "omar@other.example")
        factories.subject(act, "U-1", days(5), "Lisbon")
        factories.rule(act, thresholds=("30d",))
    watch(other)
    with other.acting() as act:
        foreign = claim_of(act, "U-1")
    ana = browser(OFFICER)
    answers_ = [ana.get(f"/o/acme/evidence/alerts/{claim_id}") for claim_id in (foreign, 999_999)]
    assert [answer.status_code for answer in answers_] == [404, 404]
    assert answers_[0].text == answers_[1].text


def test_every_alert_goes_on_after_fifty_with_its_filters(browser: SignIn, staffed: Acme) -> None:
    with staffed.acting() as act:
        for number in range(60):
            factories.subject(act, f"L-{number:02}", days(10))
        factories.rule(act, thresholds=("30d",))
    watch(staffed)
    dana = browser(INSPECTOR)
    first = dana.get("/o/acme/evidence/alerts?state=arrived&reference=L-").text
    onward = re.search(r'class="button second" href="([^"]+)"', first)
    assert onward
    assert "state=arrived" in onward[1]
    rest = dana.get(onward[1].replace("&amp;", "&")).text
    assert (len(references(first)), len(references(rest))) == (50, 10)
    assert len(set(references(first) + references(rest))) == 60


@pytest.mark.parametrize("path", LISTS)
def test_each_list_is_a_page_for_readers_and_a_fragment_for_htmx(browser: SignIn, told: Acme, path: str) -> None:
    address = f"/o/acme/evidence{path}"
    for email in (ADMIN, OFFICER, INSPECTOR):
        page = browser(email).get(address)
        assert (page.status_code, page.text[:15]) == (200, "<!doctype html>")
        assert page.text.count("<h1>") == 1
        ids = re.findall(r'\sid="([^"]+)"', page.text)
        assert len(ids) == len(set(ids))
    part = browser(INSPECTOR).get(address, **HTMX)
    assert part.text.lstrip().startswith("<div id=")
    assert "HX-Request" in part.headers["Vary"]
    assert browser(STAFF).get(address).status_code == 403


def test_reading_changes_nothing(browser: SignIn, told: Acme) -> None:
    """But for the note of what an inspector looked at."""
    dana = browser(INSPECTOR)
    with told.acting() as act:
        before = act.session.query(AuditEvent).count()
    for path in LISTS:
        dana.get(f"/o/acme/evidence{path}")
    with told.acting() as act:
        assert act.session.query(AuditEvent).filter(AuditEvent.type != "looked").count() == before
