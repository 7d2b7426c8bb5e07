"""The Today page: the watch, what is not watched, the queues and their lists, the sites, what is missing."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Callable

import pytest
from sqlalchemy import text, update

from app.domain.acts import Answer
from app.domain.delivery import State
from app.ledger import answers
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.models import Delivery, NotificationLedger, ScanRun, SchedulerProcess, Site
from app.operations import filings, obligations, people, register
from app.queries.queues import Queue, count_by_site, count_queue, read_queue
from app.queries.sight import read_sight
from app.trail.act import Act
from tests import factories
from tests.factories import NOW, Acme
from tests.people import INSPECTOR, OFFICER, STAFF
from tests.queries.statements import asked
from tests.web.conftest import HTMX, Browser

SignIn = Callable[[str], Browser]
TODAY = NOW.date()


def days(count: int) -> dt.date:
    return TODAY + dt.timedelta(days=count)


def watch(acme: Acme, at: dt.datetime = NOW) -> None:
    """One scan and one delivery by a scheduler that is alive."""
    with acme.watching(at) as act:
        scan(act)
        deliver(act)
    with acme.watching(at) as act:
        beat = {"heartbeat_at": at, "scanned_at": at, "delivered_at": at}
        act.session.add(
            SchedulerProcess(
                id=uuid.uuid4(), host="h", pid=1, version="1", started_at=at - dt.timedelta(hours=1), **beat
            )
        )


def figure(page: str, queue: str) -> int:
    """The count that stands before the link of a queue."""
    found = re.search(rf'<span class="figure[^"]*">(\d+)</span>\s*<div>\s*<a id="queue-{queue}"', page)
    assert found, queue
    return int(found[1])


def references(page: str) -> list[str]:
    return re.findall(r'<th scope="row"><a href="[^"]+">([^<]+)</a>', page)


def claim_of(act: Act, reference: str) -> int:
    query = act.session.query(NotificationLedger.id).filter_by(org_id=act.org, reference=reference, standing="open")
    return int(query.one()[0])


def say(acme: Acme, reference: str, answer: str, at: dt.datetime = NOW, **given: object) -> None:
    with acme.acting(at) as act:
        member_id = acme.members["Bruno"]
        answers.acknowledge_once(
            act, claim_id=claim_of(act, reference), member_id=member_id, answer=Answer(answer), **given
        )


@pytest.fixture
def told(staffed: Acme) -> Acme:
    """Five entries of Madrid that were told to Bruno ten days ago: three past their date, two due in five days."""
    with staffed.acting(NOW - dt.timedelta(days=10)) as act:
        bruno = staffed.members["Bruno"]
        for number, due in enumerate((-3, -2, -1, 5, 5), 1):
            factories.subject(act, f"P-{number}", days(due), owner_member_id=bruno, title=f"Boiler {number}")
        factories.rule(act, thresholds=("30d",), to=("owner",))
    watch(staffed, NOW - dt.timedelta(days=10))
    watch(staffed)
    return staffed


def test_a_running_watch_says_so_and_a_silent_one_is_broken(browser: SignIn, told: Acme) -> None:
    ana = browser(OFFICER)
    assert "The watch is running." in ana.get("/o/acme/").text
    with told.watching() as act:
        act.session.execute(update(SchedulerProcess).values(stopped_at=NOW))
    page = ana.get("/o/acme/").text
    assert "The watch is broken." in page
    assert "no scheduler is running" in page


def test_a_site_that_is_not_checked_is_named(browser: SignIn, told: Acme) -> None:
    with told.acting() as act:
        people.add_site(act, "Cork", "Europe/Dublin")
        act.session.execute(update(Site).where(Site.name == "Madrid").values(timezone="Mars/Olympus"))
    ana = browser(OFFICER)
    page = ana.get("/o/acme/").text
    assert "Cork: not checked yet" not in page  # It came after the last check; the next one looks at it.
    assert "Madrid: its time zone cannot be used" in page
    with told.watching() as act:
        act.session.execute(update(ScanRun).values(started_at=NOW - dt.timedelta(hours=1), quiet_until=None))
    assert "Cork: not checked yet" in ana.get("/o/acme/").text


def test_each_queue_counts_what_its_list_shows(browser: SignIn, told: Acme) -> None:
    """P-1 is done, P-2 is somebody's until tomorrow, P-3 and P-4 are not mine and silent, P-5 may have been sent."""
    say(told, "P-1", "done", done_on=days(-1), note="Photo in the folder")
    say(told, "P-2", "on_it", until_on=days(1))
    say(told, "P-3", "not_mine", note="Ask Carla")
    with told.watching() as act:
        doubtful = update(Delivery).where(Delivery.claim_id == claim_of(act, "P-5"))
        act.session.execute(doubtful.values(state=State.in_doubt, delivered_at=None))
        act.session.execute(
            update(NotificationLedger).where(NotificationLedger.id == claim_of(act, "P-5")).values(delivered_at=None)
        )
    ana = browser(OFFICER)
    board = ana.get("/o/acme/").text
    expected = {
        "overdue": ["P-3"], "check": ["P-1"], "silent": ["P-4"], "attention": ["P-3"], "doubt": ["P-5"], "filed": [],
        "coming": ["P-4", "P-5"],
    }  # fmt: skip
    for queue, rows in expected.items():
        listed = ana.get(f"/o/acme/today/{queue}").text
        assert references(listed) == rows, queue
        assert figure(board, queue) == len(rows), queue
    assert "Photo in the folder" in ana.get("/o/acme/today/check").text
    assert "Ask Carla" in ana.get("/o/acme/today/attention").text
    assert "10 days" in ana.get("/o/acme/today/silent").text
    assert "Bruno" in ana.get("/o/acme/today/coming").text


def test_a_promise_that_is_over_and_a_later_alert_are_silence_again(browser: SignIn, told: Acme) -> None:
    say(told, "P-4", "seen", NOW - dt.timedelta(days=9))
    ana = browser(OFFICER)
    assert references(ana.get("/o/acme/today/silent").text) == ["P-1", "P-2", "P-3", "P-5"]
    with told.acting() as act:
        factories.rule(act, "Again", ("7d",), to=("owner",), subjects=[_subject(act, "P-4")])
    watch(told)
    listed = ana.get("/o/acme/today/silent").text
    assert references(listed) == ["P-1", "P-2", "P-3", "P-5", "P-4"]
    assert "0 days" in listed


def _subject(act: Act, reference: str) -> int:
    return register.find_subject(act, reference).id


def test_not_mine_is_settled_when_the_entry_is_handed_over(browser: SignIn, told: Acme) -> None:
    say(told, "P-3", "not_mine")
    ana = browser(OFFICER)
    assert references(ana.get("/o/acme/today/attention").text) == ["P-3"]
    with told.acting(NOW + dt.timedelta(minutes=1)) as act:
        register.assign(act, register.find_subject(act, "P-3"), member_id=told.members["Ana"])
    assert references(ana.get("/o/acme/today/attention").text) == []


def test_what_is_pending_with_the_authority_is_not_overdue_and_comes_up_to_ask_again(
    browser: SignIn, told: Acme
) -> None:
    with told.acting() as act:
        for reference, ask in (("P-1", 7), ("P-2", 8)):
            found = obligations.find_obligation(act, register.find_subject(act, reference))
            filings.file(act, found.id, days(-20), "ENT-30571", "yes", days(ask))
    ana = browser(OFFICER)
    listed = ana.get("/o/acme/today/filed").text
    assert references(listed) == ["P-1"]
    assert "ENT-30571" in listed
    assert references(ana.get("/o/acme/today/overdue").text) == ["P-3"]
    assert references(ana.get("/o/acme/today/late").text) == ["P-3"]


def test_what_is_not_watched_is_listed_by_reason(browser: SignIn, told: Acme) -> None:
    with told.acting() as act:
        factories.subject(act, "D-1", days(40), status="draft")
        factories.subject(act, "N-1")
        factories.subject(act, "Z-1", days(40))
    ana = browser(OFFICER)
    board = ana.get("/o/acme/").text
    assert figure(board, "unwatched") == 3
    assert "1 nobody to tell" in board
    assert references(ana.get("/o/acme/today/unwatched").text) == ["D-1", "N-1", "Z-1"]
    assert references(ana.get("/o/acme/today/unwatched?why=nobody_to_tell").text) == ["Z-1"]
    assert ana.get("/o/acme/today/unwatched?why=nonsense").status_code == 404


def test_a_site_has_its_own_date_and_its_figures_open_their_lists(browser: SignIn, told: Acme) -> None:
    late = NOW.replace(hour=23, minute=30)
    with told.acting() as act:
        people.add_site(act, "Adelaide", "Australia/Adelaide")
        factories.subject(act, "A-1", days(-1), "Adelaide")
    watch(told, late)
    page = browser(OFFICER).get("/o/acme/").text
    assert "Tuesday, 2 March 2027" not in page
    with told.acting() as act:
        adelaide = factories.site(act, "Adelaide")
    ana = browser(OFFICER)
    assert f"/o/acme/today/late?site={adelaide}" in page.replace("&amp;", "&")
    assert references(ana.get(f"/o/acme/today/late?site={adelaide}").text) == ["A-1"]


def test_counts_refresh_by_a_fragment_and_the_page_works_without_script(browser: SignIn, told: Acme) -> None:
    ana = browser(OFFICER)
    page, part = ana.get("/o/acme/"), ana.get("/o/acme/", **HTMX)
    assert page.text.startswith("<!doctype html>")
    assert 'hx-trigger="every 60s"' in page.text
    assert part.text.lstrip().startswith('<div id="board"')
    assert "HX-Request" in part.headers["Vary"]
    assert 'href="/o/acme/today/missing"' in page.text
    assert "<!doctype html>" in ana.get("/o/acme/today/missing").text


def test_an_alert_that_is_missing_is_found_by_the_second_check(browser: SignIn, told: Acme) -> None:
    ana = browser(OFFICER)
    assert "Every alert that should be there is there." in ana.get("/o/acme/today/missing", **HTMX).text
    with told.acting() as act:
        factories.subject(act, "M-1", days(3), owner_member_id=told.members["Bruno"])
    found = ana.get("/o/acme/today/missing", **HTMX).text
    assert "1 alert is missing." in found
    assert references(found) == ["M-1"]


def test_a_list_goes_on_after_fifty_rows(browser: SignIn, told: Acme) -> None:
    with told.acting() as act:
        for number in range(60):
            factories.subject(act, f"L-{number:02}", days(10))
    ana = browser(OFFICER)
    first = ana.get("/o/acme/today/coming").text
    onward = re.search(r'class="button second" href="([^"]+)"', first)
    assert onward
    rest = ana.get(onward[1].replace("&amp;", "&")).text
    assert len(references(first)) == 50
    assert len(set(references(first) + references(rest))) == 62
    assert "The next 50" not in rest


def test_an_officer_who_is_limited_to_sites_sees_these_alone(browser: SignIn, told: Acme) -> None:
    with told.acting() as act:
        people.add_site(act, "Cork", "Europe/Dublin")
        factories.subject(act, "C-1", days(-1), "Cork")
        madrid = factories.site(act)
        people.limit_member(act, told.members["Ana"], [factories.site(act, "Cork")])
    ana = browser(OFFICER)
    board = ana.get("/o/acme/").text
    assert references(ana.get("/o/acme/today/overdue").text) == ["C-1"]
    assert figure(board, "overdue") == 1
    assert figure(board, "silent") == 0
    assert 'scope="row">Madrid' not in board
    assert ana.get(f"/o/acme/today/overdue?site={madrid}").status_code == 404


def test_a_queue_is_planned_without_nested_loops(told: Acme) -> None:
    """Without statistics, right after a first import of 10,000 entries, they would take minutes."""
    for read in (read_queue, count_queue, count_by_site):
        with told.acting() as act, asked(act.session) as statements:
            read(act.session, read_sight(act.session, act.org, told.members["Ana"], NOW), Queue.overdue)
            assert act.session.execute(text("show enable_nestloop")).scalar_one() == "off", read
            read(act.session, read_sight(act.session, act.org, told.members["Ana"], NOW), Queue.overdue)
        assert sum("enable_nestloop" in one for one in statements) == 2, "said once, and shown"


@pytest.mark.parametrize("path", ["", "today/overdue", "today/unwatched", "today/missing"])
def test_staff_and_inspectors_have_no_today(browser: SignIn, path: str) -> None:
    assert browser(STAFF).get(f"/o/acme/{path}").status_code == 403
    assert browser(INSPECTOR).get(f"/o/acme/{path}").status_code == 403


def test_unknown_queues_sites_and_organisations_are_not_found(browser: SignIn) -> None:
    ana = browser(OFFICER)
    for path in ("/o/acme/today/nonsense", "/o/acme/today/overdue?site=99999", "/o/other/today/overdue"):
        assert ana.get(path).status_code == 404, path
