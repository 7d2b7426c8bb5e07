"""A large file on the pages: the scheduler works on it, and the page says how far it is in each state (both ways)."""

from __future__ import annotations

import datetime as dt
import io
import uuid
import zipfile
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from werkzeug.test import TestResponse

from app.extensions import db
from app.imports.choices import Choices
from app.imports.findings import Findings
from app.imports.limits import MOST_BYTES_AT_ONCE, MOST_LINES_AT_ONCE, is_large
from app.imports.look import Look, look_at
from app.models import SchedulerProcess
from app.operations import uploads, wishes
from app.scheduler.import_child import Child, Superseded
from app.trail.act import Act
from app.web import import_pages
from tests.factories import NOW, Acme
from tests.people import OFFICER
from tests.web.conftest import Browser
from tests.web.test_import_pages import BRING, brought, columns, shown, stored, words
from tests.web.test_import_pages import upload as sent

SignIn = Callable[[str], Browser]
LARGE = "Reference,Due date,Title\n" + "".join(f"A-{n},2027-05-05,Boiler\n" for n in range(MOST_LINES_AT_ONCE + 1))
POLLS = 'hx-trigger="every 1s"'


@pytest.fixture
def ana(browser: SignIn, staffed: Acme) -> Browser:
    signed_in = browser(OFFICER)
    signed_in.get(BRING)
    return signed_in


@pytest.fixture
def watched(staffed: Acme) -> Acme:
    """acme, with a scheduler that lives."""
    with staffed.acting(role="onus_scheduler") as act:
        beat = {"heartbeat_at": NOW, "scanned_at": NOW, "delivered_at": NOW, "started_at": NOW}
        act.session.add(SchedulerProcess(id=uuid.uuid4(), host="h", pid=1, version="1", **beat))
    return staffed


def work(acme: Acme, deed: Callable[[Act], Any], now: dt.datetime = NOW) -> Any:
    with acme.acting(now) as act:
        return deed(act)


def taken(acme: Acme) -> wishes.Wish:
    found = work(acme, wishes.take)
    assert found is not None
    return found


def done(acme: Acme) -> None:
    """What the child of a scheduler does, in this process."""
    wish = taken(acme)
    Child(acme.org, wish.upload_id, wish.asked_at).work()


def both(person: Browser, where: str) -> tuple[str, str]:
    """The page without script, and the fragment that is asked for every second."""
    fragment = person.get(where, HX_Request="true")
    assert fragment.text.lstrip().startswith('<section id="found"')
    return words(person.get(where).text), fragment.text


def test_a_large_file_is_checked_and_brought_in_by_the_scheduler(ana: Browser, watched: Acme) -> None:
    where = brought(ana, LARGE)
    form = columns(ana, where)
    asked = ana.post(where, htmx=True, **form)
    assert (asked.status_code, POLLS in asked.text) == (200, True)
    assert "Waiting for its turn" in asked.text
    assert stored(watched, "select wish, beat_at from import_work") == [("check", None)]
    page, fragment = both(ana, where)
    assert POLLS in fragment
    assert "Look again" in page
    assert 'hx-trigger="load' not in ana.get(where).text  # Looking again is not asking again.

    done(watched)
    page, fragment = both(ana, where)
    assert POLLS not in fragment
    assert f"New {MOST_LINES_AT_ONCE + 1} lines" in page
    assert unquote(ana.get(where, HX_Request="true").headers["X-Said"]) == "The check is done."
    assert stored(watched, "select count(*) from subject") == [(0,)]

    checked = shown(ana.get(where))
    assert ana.post(f"{where}/apply", htmx=True, **form).status_code == 422
    assert ana.post(where, **form).status_code == 200
    done(watched)
    applying = ana.post(f"{where}/apply", htmx=True, **form, **checked)
    assert "The file is being brought in" in applying.text
    again = ana.post(f"{where}/apply", **form, **checked)
    assert (again.status_code, "The file is being brought in" in again.text) == (200, True)
    done(watched)
    arrived = ana.get(where, HX_Request="true")
    assert (arrived.status_code, arrived.headers["HX-Redirect"]) == (204, ana.get(where).location)
    assert stored(watched, "select status, count(*) from subject group by 1") == [("draft", MOST_LINES_AT_ONCE + 1)]
    assert stored(watched, "select count(*) from import_work") == [(0,)]


@pytest.mark.parametrize(("length", "large"), [(MOST_BYTES_AT_ONCE, False), (MOST_BYTES_AT_ONCE + 1, True)])
def test_a_file_is_large_by_its_bytes_or_by_what_it_expands_to(length: int, large: bool) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sheet1.xml", b"x" * length)
    assert [is_large(packed.getvalue()), is_large(b"x" * length), is_large(b"\xd0\xcf" * (length // 2 + 1))] == [
        large, large, True,
    ]  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_text_is_large_by_its_lines(end: str) -> None:
    assert [is_large((f"a,b{end}" * lines).encode()) for lines in (2_000, 2_001)] == [False, True]


def test_how_far_it_is_is_said_in_words_and_by_a_bar(ana: Browser, watched: Acme) -> None:
    where = brought(ana, LARGE)
    ana.post(where, **columns(ana, where))
    wish = taken(watched)
    page, fragment = both(ana, where)
    assert "Reading the file" in page
    assert "<progress" in fragment
    assert "max=" not in fragment
    for far, said in (((1_000, 2_001), "1,000 of 2,001 lines judged"), ((2_001, 2_001), "All 2,001 lines judged")):
        wish = work(watched, lambda act, far=far, wish=wish: wishes.beat(act, wish, *far))
        page, fragment = both(ana, where)
        assert said in page
        assert POLLS in fragment
    assert 'max="2001" value="1000"' not in fragment
    asked = stored(watched, "select asked_at from import_work")
    assert ana.post(where, **columns(ana, where)).status_code == 200  # The same again is on its way already.
    assert stored(watched, "select asked_at from import_work") == asked
    ana.post(where, **{**columns(ana, where), "column-2": "notes"})
    assert stored(watched, "select beat_at, total from import_work") == [(None, 0)]
    assert work(watched, lambda act: wishes.beat(act, wish, 1, 2)) is None


def test_a_fault_is_shown_and_leaves_everything_as_it_was(ana: Browser, watched: Acme) -> None:
    where = brought(ana, LARGE)
    form = columns(ana, where)
    ana.post(where, **form)
    done(watched)
    ana.post(f"{where}/apply", **form, **shown(ana.get(where)))
    wish = taken(watched)
    work(
        watched, lambda act: wishes.fail_if_wished(act, wish.upload_id, wish.asked_at, "the file is too wide: split it")
    )
    page, fragment = both(ana, where)
    assert "The file was not brought in The file is too wide: split it." in page
    assert POLLS not in fragment
    assert 'role="alert"' in fragment
    assert "Bring it in" in page  # What was checked stands.
    assert ana.post(f"{where}/apply", **form, **shown(ana.get(where))).status_code == 200


def test_what_the_reader_refuses_is_said_in_the_words_of_the_page(ana: Browser, watched: Acme) -> None:
    where = brought(ana, LARGE.replace("2027-05-05", "04/05/2027"))
    ana.post(where, **columns(ana, where))
    done(watched)
    page, _ = both(ana, where)
    assert "The file could not be checked" in page
    assert "choose it under “How dates are written”" in page


def test_without_a_scheduler_the_page_says_so(ana: Browser, staffed: Acme) -> None:
    where = brought(ana, LARGE)
    assert "No scheduler is running" in words(ana.post(where, **columns(ana, where)).text)
    page, fragment = both(ana, where)
    assert "No scheduler is running" in page
    assert POLLS in fragment  # It goes on by itself once there is one.
    assert "<progress" not in fragment


def test_whoever_falls_silent_is_said_to_be_replaced(ana: Browser, watched: Acme) -> None:
    where = brought(ana, LARGE)
    ana.post(where, **columns(ana, where))
    taken(watched)
    stored(watched, "update import_work set beat_at = beat_at - interval '31 seconds' returning 1")
    assert "It is begun again within a minute" in both(ana, where)[0]


def test_while_it_is_brought_in_nothing_else_is_done_with_it(ana: Browser, watched: Acme) -> None:
    where = brought(ana, LARGE)
    form = columns(ana, where)
    ana.post(where, **form)
    done(watched)
    ana.post(f"{where}/apply", **form, **shown(ana.get(where)))
    wish = taken(watched)
    assert "being brought in" in ana.post(where, **{**form, "column-2": "notes"}).text
    assert ana.post(f"{where}/drop").location == where
    assert ana.post(f"{where}/table", header_row="1").status_code == 404
    assert stored(watched, "select wish, asked_at from import_work") == [("apply", wish.asked_at)]


def test_what_is_incomplete_or_unknown_is_not_even_wished(ana: Browser, watched: Acme) -> None:
    where = brought(ana, LARGE)
    form = columns(ana, where)
    for wrong in ({"column-0": ""}, {"date_format": "pattern"}, {"on_conflict": "mine"}):
        assert ana.post(where, **form | wrong).status_code == 422
    assert stored(watched, "select count(*) from import_work") == [(0,)]


def test_another_header_or_a_drop_takes_the_wish_away(ana: Browser, watched: Acme) -> None:
    where = brought(ana, LARGE)
    ana.post(where, **columns(ana, where))
    wish = taken(watched)
    assert ana.post(f"{where}/table", header_row="1").status_code == 303
    assert stored(watched, "select count(*) from import_work") == [(0,)]
    with pytest.raises(Superseded):
        Child(watched.org, wish.upload_id, wish.asked_at).work()
    ana.post(where, **columns(ana, where))
    assert ana.post(f"{where}/drop").status_code == 303
    assert stored(watched, "select count(*) from import_upload") == [(0,)]


def test_findings_come_back_the_same_from_json(ana: Browser, watched: Acme) -> None:
    where = brought(ana, LARGE)
    ana.post(where, **columns(ana, where))
    done(watched)
    [(kept,)] = stored(watched, "select found from import_work")
    assert Findings.of_json(kept).as_json() == kept
    [(look,)] = stored(watched, "select look from import_upload")
    old = {name: value for name, value in look.items() if name != "is_large"}
    assert not Look.of_json(old).is_large
    assert Choices.of_json({"fields": {"0": "reference"}, "of": "a later version"}) == Choices({0: "reference"})


def numbers(count: int) -> str:
    rows = "".join(f"A-{n},{46023 + n},Boiler\n" for n in range(count))
    return f"Reference,Due date,Title\n{rows}B-1,2027-04-05,Lift\n"


def ticks(response: TestResponse) -> int:
    return response.text.count('name="confirmed" value="')


def test_numbers_are_confirmed_line_by_line_on_the_page(ana: Browser, staffed: Acme) -> None:
    where = brought(ana, numbers(3))
    form = columns(ana, where)
    checked = ana.post(where, **form)
    assert "the number 46023 would be 1 January 2026 in a spreadsheet" in words(checked.text)
    assert (ticks(checked), "To confirm 3 lines" in words(checked.text)) == (3, True)
    checked = ana.post(where, **form, confirmed=["2", "4"])
    assert "New 3 lines" in words(checked.text)
    assert "the number 46023 was confirmed to be 1 January 2026" in words(checked.text)
    assert ticks(checked) == 3  # They can be unticked again.
    assert ana.get(where).text.count('type="hidden" name="confirmed"') == 2
    unseen = ana.post(f"{where}/apply", **form, confirmed=["2"], **shown(checked))
    assert unseen.status_code == 422
    checked = ana.post(where, **form, confirmed=["2", "4"])
    assert ana.post(f"{where}/apply", **form, confirmed=["2", "4"], **shown(checked)).status_code == 303
    due = "select reference, due_on::text from subject s join obligation on subject_id = s.id order by 1"
    assert stored(staffed, due) == [("A-0", "2026-01-01"), ("A-2", "2026-01-03"), ("B-1", "2027-04-05")]
    assert stored(staffed, "select mapping -> 'options' -> 'confirmed' from import_run") == [([2, 4],)]

    following = brought(ana, numbers(3), "next.csv")
    assert 'name="confirmed"' not in ana.get(following).text
    assert "To confirm 3 lines" in words(ana.post(following, **form).text)


def test_all_numbers_are_confirmed_at_once(ana: Browser, staffed: Acme) -> None:
    where = brought(ana, numbers(60))
    form = columns(ana, where)
    checked = ana.post(where, **form)
    assert (ticks(checked), "All 60 of them" in words(checked.text)) == (50, True)
    checked = ana.post(where, **form, confirm_all="yes", confirmed=["2"])
    assert "New 61 lines" in words(checked.text)
    assert checked.text.count(" checked disabled>") == 50  # So that no single one is sent beside all of them.
    assert 'name="confirm_all" value="yes" form="columns">' in ana.get(where).text
    assert "To confirm" in words(ana.post(where, **{**form, "date_format": "ymd"}, confirm_all="yes").text)


def test_a_pattern_of_dates_is_typed(ana: Browser, staffed: Acme) -> None:
    where = brought(ana, "Reference,Due date\nA-1,31.12.27\n")
    form = {**columns(ana, where), "date_format": "pattern"}
    for wrong in ("", "dmy", "%d.%m", "%d.%m.%Y %z"):
        refused = ana.post(where, **form, date_pattern=wrong)
        assert refused.status_code == 422, wrong
        assert "--" not in words(refused.text)
    checked = ana.post(where, **form, date_pattern="%d.%m.%y")
    assert "New 1 line" in words(checked.text)
    assert "by the pattern %d.%m.%y" in words(checked.text)
    assert 'value="%d.%m.%y"' in ana.get(where).text


def test_lines_that_were_not_accepted_are_let_go(ana: Browser, staffed: Acme) -> None:
    source = "Reference,Due date,Nick name\nA-1,soon,Paquito\n"

    def bring() -> str:
        where = brought(ana, source)
        form = columns(ana, where)
        return ana.post(f"{where}/apply", **form, **shown(ana.post(where, **form))).location

    result = bring()
    assert "kept until 30 May 2027 only" in words(ana.get(result).text)
    assert "Paquito" in ana.get(f"{result}/left-over.csv").text
    for _ in range(2):
        assert ana.post(f"{result}/left-over/drop").location == result
        assert "Paquito" not in ana.get(f"{result}/left-over.csv").text
        assert "A-1" in ana.get(f"{result}/left-over.csv").text
    assert "kept until" not in words(ana.get(result).text)

    kept = bring()
    for days, there in ((89, True), (91, False)):
        work(staffed, uploads.let_old_go, NOW + dt.timedelta(days=days))
        assert ("Paquito" in ana.get(f"{kept}/left-over.csv").text) == there
    trail = "select detail ->> 'why' from audit_event where type = 'import_left_over_dropped' order by id"
    assert stored(staffed, trail) == [("by a person",), ("old",)]


def test_a_draft_with_a_wish_is_let_go_in_time_as_well(ana: Browser, watched: Acme) -> None:
    where = brought(ana, LARGE)
    ana.post(where, **columns(ana, where))
    stored(watched, "update import_upload set at = at - interval '8 days' returning 1")
    sent(ana, LARGE)
    left = "select count(*), (select count(*) from import_work) from import_upload"
    assert stored(watched, left) == [(1, 0)]


def test_no_transaction_is_open_while_a_file_is_looked_at(
    ana: Browser, staffed: Acme, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large workbook takes seconds, and the database cuts off who is silent in the middle of a transaction."""
    seen: list[bool] = []

    def looked(content: bytes) -> Look:
        seen.append(db.session().in_transaction())
        return look_at(content)

    monkeypatch.setattr(import_pages, "look_at", looked)
    brought(ana, LARGE)
    assert seen == [False]
