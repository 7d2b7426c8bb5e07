"""Is this site ready? Each check open and fine; and its counts are those of Today and of `onus status`."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from flask import Flask
from sqlalchemy import event, select, update

from app.cli import main
from app.config import Settings
from app.domain.delivery import State
from app.domain.trials import TrialEnd
from app.extensions import db
from app.ledger import holds
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.models import (
    AlertRule,
    Delivery,
    MailTransport,
    MailTrial,
    Member,
    NotificationLedger,
    Obligation,
    SchedulerProcess,
    Site,
    Subject,
)
from app.operations import people
from app.queries.readiness import Readiness, read_readiness
from app.queries.readiness_checks import About, Check, Verdict
from app.queries.sight import read_sight
from app.queries.stops import read_stops
from app.queries.today import read_board
from app.queries.watch import watch_organisation
from app.queries.watched import Gap
from app.trail.act import Act
from tests import factories
from tests.factories import NOW, Acme

TODAY = NOW.date()
LATE = dt.timedelta(minutes=10)


@pytest.fixture
def chosen(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings of an installation with a mail server."""
    server = {"smtp_url": "smtp://127.0.0.1:1?tls=none", "clock": NOW}
    made = replace(app.extensions["onus_settings"], **server)
    monkeypatch.setitem(app.extensions, "onus_settings", made)
    return made


@pytest.fixture
def ready(acme: Acme, chosen: Settings) -> Acme:
    """A site at which every check is fine: Ana is responsible, holds the post, and is told; a test mail was taken."""
    with acme.acting() as act:
        acme.members["ana"] = people.add_member(act, "ana@acme.example", "officer", name="Ana")
        post_id = people.add_post(act, "plant manager")
        people.assign_post(act, post_id, acme.members["ana"], factories.site(act), TODAY)
        factories.subject(act, "P-1", TODAY + dt.timedelta(days=60), owner_member_id=acme.members["ana"])
        factories.rule(act, to=("owner", "post:Plant manager"), channels=("email", "in_app"))
        factories.subject(act, "P-2", TODAY + dt.timedelta(days=60), owner_post_id=post_id)
    with acme.watching() as act:
        scan(act, trigger="schedule")
        deliver(act)
        beat = {"heartbeat_at": NOW, "scanned_at": NOW, "delivered_at": NOW}
        act.session.add(SchedulerProcess(id=uuid.uuid4(), host="h", pid=1, version="1", started_at=NOW, **beat))
    mailed(acme, TrialEnd.taken)
    return acme


def mailed(acme: Acme, outcome: TrialEnd | None) -> None:
    """A test mail that ended so; None for one that is on its way."""
    with acme.acting() as act:
        member = act.session.execute(select(Member.id).where(Member.org_id == act.org)).scalars().first()
        made = MailTrial(org_id=act.org, member_id=member, asked_at=act.now)
        act.session.add(made)
        act.session.flush()
        trial = made.id
    if outcome is not None:
        with acme.watching() as act:
            values = {"settled_at": NOW, "outcome": str(outcome)}
            act.session.execute(update(MailTrial).where(MailTrial.id == trial).values(**values))


def read(acme: Acme, chosen: Settings, site: str | None = "Madrid") -> list[Readiness]:
    with acme.acting() as act:
        sight = read_sight(act.session, act.org, 0, act.now)
        site_id = None if site is None else factories.site(act, site)
        stops = read_stops(act.session, act.org, act.now, chosen)
        return read_readiness(act.session, sight, "acme", LATE, stops, site_id)


def found(acme: Acme, chosen: Settings, site: str = "Madrid") -> Readiness:
    (one,) = read(acme, chosen, site)
    return one


def of(one: Readiness, about: About) -> Check:
    return next(check for check in one.checks if check.about is about)


def said(check: Check) -> str:
    return " / ".join((check.sentence, *(point.text for point in check.points)))


def test_a_site_is_ready_if_every_check_is_fine(ready: Acme, chosen: Settings) -> None:
    one = found(ready, chosen)
    assert [said(check) for check in one.open] == []
    assert one.is_ready
    assert [check.about for check in one.checks] == list(About)
    assert sum(one.gaps.values()) == 0


def test_a_new_site_is_not_ready_and_what_nobody_tested_is_not_fine(acme: Acme, chosen: Settings) -> None:
    one = found(acme, chosen)
    assert {check.about for check in one.open} == {About.rules, About.people, About.watch, About.trial}
    assert of(one, About.trial).verdict is Verdict.untested


Change = Callable[[Acme, Act], object]


def entry(reference: str, due_in: int | None = 60, **given: Any) -> Change:
    def add(acme: Acme, act: Act) -> object:
        due_on = None if due_in is None else TODAY + dt.timedelta(days=due_in)
        return factories.subject(act, reference, due_on, **{"owner_member_id": acme.members["ana"], **given})

    return add


def of_other_kind(acme: Acme, act: Act) -> None:
    act.session.execute(update(AlertRule).values(is_active=False))
    factories.rule(act, "Other", to=("owner",), kinds=("permit",))


def without_distance(acme: Acme, act: Act) -> None:
    act.session.execute(update(AlertRule).values(is_active=False))
    factories.rule(act, "Empty", thresholds=(), to=("owner",))


def to_nobody(acme: Acme, act: Act) -> None:
    act.session.execute(update(AlertRule).values(is_active=False))
    factories.rule(act, "Nobody", to=("role:inspector",))


def closed_date(acme: Acme, act: Act) -> None:
    entry("C-1")(acme, act)
    of_entry = select(Subject.id).where(Subject.reference == "C-1").scalar_subquery()
    closing = update(Obligation).where(Obligation.subject_id == of_entry)
    act.session.execute(closing.values(closed_at=NOW, outcome="met"))


def left(acme: Acme, act: Act) -> None:
    """Bruno was responsible, and is gone; a rule still finds somebody."""
    bruno = people.add_member(act, "bruno@acme.example", "staff", name="Bruno")
    entry("L-1", owner_member_id=bruno)(acme, act)
    people.disable_member(act, bruno)


def empty_post(acme: Acme, act: Act) -> None:
    people.add_post(act, "maintenance")
    entry("M-1", owner_member_id=None, owner_post_id=people.find_post(act, "maintenance").id)(acme, act)


def rule_names(post: str, **given: Any) -> Change:
    def add(acme: Acme, act: Act) -> None:
        factories.rule(act, f"To {post}", to=("owner", f"post:{post}"), **given)

    return add


def post_ends(acme: Acme, act: Act) -> None:
    post, site = people.find_post(act, "plant manager"), factories.site(act)
    people.assign_post(act, post.id, acme.members["ana"], site, TODAY, TODAY + dt.timedelta(days=20))


def post_ends_later(acme: Acme, act: Act) -> None:
    post, site = people.find_post(act, "plant manager"), factories.site(act)
    people.assign_post(act, post.id, acme.members["ana"], site, TODAY, TODAY + dt.timedelta(days=30))


def succeeded(acme: Acme, act: Act) -> None:
    post_ends(acme, act)
    post, site = people.find_post(act, "plant manager"), factories.site(act)
    berta = people.add_member(act, "berta@acme.example", "staff", name="Berta")
    people.assign_post(act, post.id, berta, site, TODAY + dt.timedelta(days=21))


def mails_only(acme: Acme, act: Act) -> None:
    act.session.execute(update(AlertRule).values(channels=["email"]))


def no_mail_wanted(acme: Acme, act: Act) -> None:
    mails_only(acme, act)
    people.set_email_alerts(act, acme.members["ana"], wanted=False)


def unreachable_beside(acme: Acme, act: Act) -> None:
    """Carl has no address and signs in nowhere: Ana still hears of the entry, and he does not."""
    carl = Member(org_id=act.org, name="Carl", role="staff")
    act.session.add(carl)
    act.session.flush()
    entry("H-1", holder_id=carl.id)(acme, act)
    factories.rule(act, "Holders", to=("owner", "holder"))


def silent_scheduler(acme: Acme, act: Act) -> None:
    act.session.execute(update(SchedulerProcess).values(stopped_at=NOW))


def held(acme: Acme, act: Act) -> None:
    holds.hold(act, "the database was restored")


def bad_zone(acme: Acme, act: Act) -> None:
    act.session.execute(update(Site).values(timezone="Mars/Olympus"))


def mail_down(acme: Acme, act: Act) -> None:
    act.session.add(MailTransport(id=1, opened_at=NOW, retry_at=NOW, faults=1, reason="connection refused"))


OPEN = {
    "other kind": (of_other_kind, About.rules, 2, "other: 2 entries have no rule"),
    "no distance": (without_distance, About.rules, 2, "no rule"),
    "nobody": (to_nobody, About.rules, 2, "nobody whom it could tell"),
    "draft": (entry("D-1", status="draft"), About.drafts, 1, "1 entry is a draft"),
    "closed": (closed_date, About.dates, 1, "1 entry has no open date"),
    "no owner": (entry("O-1", owner_member_id=None), About.responsible, 1, "neither a person nor a post"),
    "left": (left, About.responsible, 1, "Bruno is not there any more"),
    "empty post": (empty_post, About.responsible, 1, "nobody holds the post maintenance"),
    "named by entry": (empty_post, About.posts, 1, "maintenance: nobody holds it today"),
    "named by rule": (rule_names("night watch"), About.posts, 1, "night watch: nobody holds it today"),
    "ends": (post_ends, About.posts, 1, "plant manager: from 22 March 2027 on nobody holds it"),
    "no mail wanted": (no_mail_wanted, About.people, 1, "Ana: e-mail alerts are off"),
    "no channel": (unreachable_beside, About.people, 1, "Carl: the rule Holders tells in the app only"),
    "bad zone": (bad_zone, About.posts, 0, "nobody can say what day it is"),
}


@pytest.mark.parametrize("name", OPEN)
def test_a_check_is_open(ready: Acme, chosen: Settings, name: str) -> None:
    change, about, count, words = OPEN[name]
    with ready.acting() as act:
        change(ready, act)
    check = of(found(ready, chosen), about)
    assert (check.verdict, check.count) == (Verdict.open, count), said(check)
    assert words in said(check)


FINE = {
    "successor": (succeeded, About.posts),
    "ends later": (post_ends_later, About.posts),
    "never dated": (entry("N-1", None), About.dates),
    "rule of another site": (rule_names("night watch", sites=("Cork",)), About.posts),
    "mails only": (mails_only, About.people),
}


@pytest.mark.parametrize("name", FINE)
def test_a_check_stays_fine(ready: Acme, chosen: Settings, name: str) -> None:
    change, about = FINE[name]
    with ready.acting() as act:
        people.add_site(act, "Cork", "Europe/Dublin")
        change(ready, act)
    check = of(found(ready, chosen), about)
    assert check.is_fine, said(check)


def test_what_never_had_a_date_is_said_beside(ready: Acme, chosen: Settings) -> None:
    with ready.acting() as act:
        for number in (1, 2):
            entry(f"N-{number}", None)(ready, act)
    one = found(ready, chosen)
    assert "2 entries have never had a date" in of(one, About.dates).sentence
    assert one.gaps[Gap.no_date] == 2
    assert one.is_ready


def test_what_was_taken_off_on_purpose_does_not_count(ready: Acme, chosen: Settings) -> None:
    with ready.acting() as act:
        entry("R-1", status="out_of_service")(ready, act)
        entry("S-1", snoozed_until=TODAY + dt.timedelta(days=3))(ready, act)
    one = found(ready, chosen)
    assert one.is_ready
    assert one.on_purpose == {Gap.out_of_service: 1, Gap.paused: 1}


@pytest.mark.parametrize(("state", "words"), [(State.bounced, "came back"), (State.failed, "was refused")])
def test_an_address_that_came_back_is_no_channel_unless_the_app_is_one(
    ready: Acme, chosen: Settings, state: State, words: str
) -> None:
    with ready.acting() as act:
        mails_only(ready, act)
        entry("B-1", 5)(ready, act)
    with ready.watching() as act:
        scan(act, trigger="command", full=True)
        claim = act.session.query(NotificationLedger.id).filter_by(reference="B-1", standing="open").one()[0]
        spoilt = {"state": state, "sent_to": "ana@acme.example"}
        act.session.execute(update(Delivery).where(Delivery.claim_id == claim).values(**spoilt))
    check = of(found(ready, chosen), About.people)
    assert (check.verdict, check.count) == (Verdict.open, 1)
    assert f"Ana: the last mail {words}" in said(check)
    with ready.acting() as act:
        act.session.execute(update(AlertRule).values(channels=["email", "in_app"]))
    assert of(found(ready, chosen), About.people).is_fine


@pytest.mark.parametrize(
    ("change", "words"),
    [(silent_scheduler, "no scheduler is running"), (held, "All messages are held"), (bad_zone, "time zone")],
)
def test_the_watch_is_open_as_today_says_it(ready: Acme, chosen: Settings, change: Change, words: str) -> None:
    with ready.watching() as act:
        if change is not bad_zone:
            change(ready, act)
    with ready.acting() as act:
        if change is bad_zone:
            change(ready, act)
    assert words in said(of(found(ready, chosen), About.watch))


def test_a_site_that_is_not_checked_yet_is_open_and_the_others_are_not(ready: Acme, chosen: Settings) -> None:
    with ready.acting() as act:
        people.add_site(act, "Cork", "Europe/Dublin")
    assert "not checked yet" in said(of(found(ready, chosen, "Cork"), About.watch))
    assert of(found(ready, chosen), About.watch).is_fine
    late = NOW + dt.timedelta(days=1)
    ready.now = late
    assert "Checked up to 1 March 2027 only" in said(of(found(ready, chosen), About.watch))


MAIL = {
    "down": (mail_down, {}, About.line, Verdict.open, "connection refused"),
    "none": (None, {"smtp_url": None}, About.server, Verdict.open, "ONUS_SMTP_URL"),
    "no line": (None, {"smtp_url": None}, About.line, Verdict.untested, "there is no mail server"),
    "no line to files": (None, {"smtp_url": "file:"}, About.line, Verdict.untested, "written to files"),
    "files": (None, {"smtp_url": "file:"}, About.server, Verdict.open, "reaches nobody"),
}


@pytest.mark.parametrize("name", MAIL)
def test_the_mail_is_open(ready: Acme, chosen: Settings, name: str) -> None:
    change, given, about, verdict, words = MAIL[name]
    if change is not None:
        with ready.watching() as act:
            change(ready, act)
    check = of(found(ready, replace(chosen, **given)), about)
    assert (check.verdict, words in said(check)) == (verdict, True), said(check)


def test_no_mail_is_needed_where_no_rule_mails(ready: Acme, chosen: Settings) -> None:
    with ready.acting() as act:
        act.session.execute(update(AlertRule).values(channels=["in_app"]))
    assert found(ready, replace(chosen, smtp_url=None)).is_ready


@pytest.mark.parametrize("outcome", [None, *TrialEnd])
def test_the_last_test_mail_counts(ready: Acme, chosen: Settings, outcome: TrialEnd | None) -> None:
    mailed(ready, outcome)
    check = of(found(ready, chosen), About.trial)
    waits = outcome in (None, TrialEnd.filed)
    expected = Verdict.fine if outcome is TrialEnd.taken else Verdict.untested if waits else Verdict.open
    assert check.verdict is expected


def several(acme: Acme, act: Act) -> None:
    """Two sites with entries for each reason, beside an archived one."""
    people.add_site(act, "Cork", "Europe/Dublin")
    people.add_site(act, "Old", "Europe/Dublin")
    for at in ("Madrid", "Cork"):
        for change in (
            entry(f"{at}-D", status="draft", at=at), entry(f"{at}-R", status="out_of_service", at=at),
            entry(f"{at}-N", None, at=at), entry(f"{at}-S", snoozed_until=TODAY + dt.timedelta(days=3), at=at),
            entry(f"{at}-O", owner_member_id=None, at=at), entry(f"{at}-G", status="archived", at=at),
        ):  # fmt: skip
            change(acme, act)
    entry("Old-1", at="Old")(acme, act)
    factories.rule(act, "Only here", kinds=("permit",), to=("role:inspector",))
    entry("K-1", kind="permit", at="Cork", owner_member_id=None)(acme, act)
    people.archive_site(act, factories.site(act, "Old"))


def test_the_counts_are_those_of_today_and_of_status(ready: Acme, chosen: Settings) -> None:
    with ready.acting() as act:
        several(ready, act)
    every = read(ready, chosen, None)
    with ready.acting() as act:
        sight = read_sight(act.session, act.org, 0, act.now)
        board = read_board(
            act.session, sight, "acme", LATE, read_stops(act.session, act.org, act.now, chosen), act.now.date()
        )
        status = watch_organisation(act.session, act.org, "acme", act.now, LATE).not_watched
    gaps = Counter(dict.fromkeys(Gap, 0))
    for one in every:
        gaps.update(one.gaps)
    assert {line.site.name: line.not_watched for line in board.sites} == {
        one.site.name: sum(one.gaps.values()) for one in every
    }
    assert gaps[Gap.draft] == 2
    assert {gap: gaps[gap] for gap in Gap if gap is not Gap.site_archived} == {
        gap: status[gap] for gap in Gap if gap is not Gap.site_archived
    }
    shown = {gap: count for gap, count in board.gaps.items() if gap is not Gap.site_archived}
    assert shown == {gap: count for gap, count in gaps.items() if count}
    for about, counted in ((About.drafts, (Gap.draft,)), (About.rules, (Gap.no_rule, Gap.nobody_to_tell))):
        assert sum(of(one, about).count for one in every) == sum(status[gap] for gap in counted)
    assert [said(of(one, about)) for one in every for about in About] == [
        said(of(found(ready, chosen, one.site.name), about)) for one in every for about in About
    ]


def test_it_is_read_in_few_statements_whatever_the_number_of_entries(ready: Acme, chosen: Settings) -> None:
    def count() -> int:
        asked: list[str] = []

        def note(*given: Any) -> None:
            asked.append(given[2])

        event.listen(db.engine, "before_cursor_execute", note)
        try:
            found(ready, chosen)
        finally:
            event.remove(db.engine, "before_cursor_execute", note)
        return len(asked)

    before = count()
    with ready.acting() as act:
        for number in range(40):
            entry(f"X-{number}")(ready, act)
    assert count() == before <= 45


@pytest.fixture
def run(ready: Acme, app: Flask) -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(main, words)


def test_the_command_says_it_too(ready: Acme, run: Callable[..., Result]) -> None:
    result = run("site", "ready", "Madrid", "--org", "acme")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "Madrid: ready")
    with ready.acting() as act:
        entry("D-1", status="draft")(ready, act)
    result = run("site", "ready", "--json")
    said_of = json.loads(result.stdout)
    assert (result.exit_code, said_of["ready"]) == (1, False)
    assert said_of["sites"][0]["not_watched"] == {"draft": 1}
    (draft,) = [check for check in said_of["sites"][0]["checks"] if check["verdict"] != "fine"]
    assert (draft["about"], draft["count"]) == ("drafts", 1)
    assert "OPEN  drafts: 1 entry is a draft" in run("site", "ready").stdout


def test_a_site_that_is_not_there_is_refused(run: Callable[..., Result]) -> None:
    result = run("site", "ready", "Nowhere")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no site 'Nowhere' in use" in result.stderr


def test_a_test_mail_is_asked_for_by_command(ready: Acme, run: Callable[..., Result]) -> None:
    ready.now = NOW
    with ready.acting() as act:
        people.add_member(act, "berta@acme.example", "staff", name="Berta")
    result = run("mail", "test", "--to", "berta@acme.example", "--json")
    assert (result.exit_code, json.loads(result.stdout)["to"]) == (0, "berta@acme.example")
    again = run("mail", "test", "--to", "berta@acme.example")
    assert (again.exit_code, "less than a minute ago" in again.stderr) == (2, True)
    assert run("mail", "test", "--to", "nobody@acme.example").exit_code == 2


def test_without_a_mail_server_none_is_asked_for(
    ready: Acme, run: Callable[..., Result], app: Flask, chosen: Settings
) -> None:
    app.extensions["onus_settings"] = replace(chosen, smtp_url=None)
    result = run("mail", "test", "--to", "ana@acme.example")
    assert (result.exit_code, "ONUS_SMTP_URL" in result.stderr) == (2, True)
