"""What Today and Evidence say of the seal."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable

from markupsafe import escape

from app.ledger.checkpoint_mails import ask_for_checkpoints
from app.models import SchedulerProcess
from tests.factories import NOW, Acme
from tests.people import INSPECTOR, OFFICER
from tests.trail.conftest import sealed, signer_of
from tests.web.conftest import Browser

SignIn = Callable[[str], Browser]
LATE = "The history is not sealed since"


def test_officers_choose_who_gets_the_seal_of_each_day_and_inspectors_see_it(browser: SignIn, staffed: Acme) -> None:
    where = "/o/acme/evidence/seal"
    ana, dana = browser(OFFICER), browser(INSPECTOR)
    assert "It goes to nobody so far" in dana.get(where).text
    made = sealed(staffed, signer_of(1))
    assert made is not None
    assert escape(made.note) in ana.get(where).text
    one, other = staffed.members["Ana"], staffed.members["Dana"]
    for chosen in ([one, other], [other]):
        assert ana.post(where, readers=chosen).status_code == 303
        with staffed.acting() as act:
            assert act.run("select id from member where daily_checkpoint order by id").scalars().all() == chosen
    assert "It goes to Dana" in dana.get(where).text
    assert ana.post(where, readers=["0" * 30]).status_code == 404
    with staffed.watching() as act:
        assert ask_for_checkpoints(act) == 1
    assert "It waits to be sent." in dana.get(where).text


def test_machines_are_told_when_all_was_sealed(browser: SignIn, staffed: Acme) -> None:
    """By /healthz and /status, which name no organisation; a late seal is no broken watch."""
    page = browser(OFFICER)
    now = NOW
    assert page.get("/healthz").get_json()["seal"] == {"last_age_seconds": None, "late": True}
    for minutes, late in ((10, True), (0, False)):
        at = {"heartbeat_at": now, "sealed_at": now - dt.timedelta(minutes=minutes), "scanned_at": now}
        with staffed.watching() as act:
            act.session.add(SchedulerProcess(id=uuid.uuid4(), host="h", pid=1, version="1", started_at=now, **at))
        told = page.get("/healthz")
        seal = told.get_json()["seal"]
        assert (seal["late"], 0 <= seal["last_age_seconds"] - minutes * 60 < 60, told.status_code) == (late, True, 200)
        assert ("The history is not being sealed." in page.get("/status").text) == late


def test_today_is_loud_when_nothing_was_sealed_for_a_minute_and_evidence_shows_the_last_seal(
    browser: SignIn, staffed: Acme
) -> None:
    ana, dana, signer = browser(OFFICER), browser(INSPECTOR), signer_of(1)
    assert "The history is not sealed yet." in dana.get("/o/acme/evidence").text
    assert sealed(staffed, signer) is not None
    for seconds, is_loud in ((59, False), (61, True)):
        with staffed.acting(NOW - dt.timedelta(seconds=seconds)) as act:
            act.record("moved")
        assert (LATE in ana.get("/o/acme/").text) == is_loud
        made = sealed(staffed, signer)
        assert made is not None
    assert LATE not in ana.get("/o/acme/").text
    page = dana.get("/o/acme/evidence").text
    assert f"Sealed: {made.size} events of the history" in page
    assert f'<code title="{made.root.hex()}">{made.root.hex()[:8]}</code>' in page
