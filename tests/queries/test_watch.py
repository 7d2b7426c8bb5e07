"""What the status says about the watch, on real rows: heartbeats, days of sites, scans, deliveries."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pytest
from sqlalchemy import text

from app.models import Delivery, Member, NotificationLedger, ScanRun, SchedulerProcess, Site, Subject, Watermark
from app.queries.watch import OrgWatch, problems_of_schedulers, read_schedulers, undelivered, watch_organisation
from app.trail.act import Act
from tests import factories
from tests.factories import NOW, Acme

TODAY = NOW.date()
LATE = dt.timedelta(minutes=10)
MINUTE, HOUR, DAY = dt.timedelta(minutes=1), dt.timedelta(hours=1), dt.timedelta(days=1)


# Schedulers


def beating(act: Act, age: dt.timedelta, **given: Any) -> None:
    now = act.now - age
    process = SchedulerProcess(
        id=uuid.uuid4(), host="alfa", pid=7, version="1", started_at=now, heartbeat_at=now, **given
    )
    act.session.add(process)
    act.session.flush()


def problems_of(act: Act) -> list[str]:
    return list(problems_of_schedulers(read_schedulers(act.session, act.now), act.now, LATE))


def test_no_scheduler_at_all_is_a_broken_watch(acme: Acme) -> None:
    with acme.watching() as act:
        assert problems_of(act) == ["no scheduler is running; start `onus scheduler`"]


@pytest.mark.parametrize(
    ("age", "given", "problems"),
    [
        pytest.param(59, {}, [], id="alive"),
        pytest.param(
            60, {}, ["no scheduler is running: the last sign of one was at 2027-03-01 10:59:00 UTC"], id="silent"
        ),
        pytest.param(5, {"stopped_at": NOW}, ["no scheduler is running: the last sign of one was at"], id="stopped"),
        pytest.param(5, {"fault": "the clocks disagree"}, ["(process 7) reports: the clocks disagree"], id="a fault"),
        pytest.param(5, {"scanned_at": NOW - LATE}, [], id="scans"),
        pytest.param(
            5, {"scanned_at": NOW - LATE - MINUTE}, ["its last scan was at 2027-03-01 10:49"], id="scans no more"
        ),
    ],
)
def test_schedulers(acme: Acme, age: int, given: dict[str, Any], problems: list[str]) -> None:
    with acme.watching() as act:
        beating(act, dt.timedelta(seconds=age), **given)
        found = problems_of(act)
    assert len(found) == len(problems)
    assert all(expected in sentence for expected, sentence in zip(problems, found, strict=True))


def test_one_living_scheduler_is_enough_and_the_stopped_are_not_listed(acme: Acme) -> None:
    with acme.watching() as act:
        beating(act, dt.timedelta(seconds=1))
        beating(act, 2 * HOUR)
        beating(act, 2 * DAY)
        beating(act, HOUR, stopped_at=NOW)
        assert problems_of(act) == []
        rows = read_schedulers(act.session, act.now)
    assert [(row.age_seconds, row.alive) for row in rows] == [(1, True), (7200, False)]


# Sites and scans


def scanned(act: Act, through: dt.date, at: dt.datetime = NOW, **given: Any) -> ScanRun:
    run = ScanRun(org_id=act.org, trigger="schedule", actor="system:scheduler", started_at=at, finished_at=at, **given)
    act.session.add(run)
    act.session.flush()
    for (site_id,) in act.session.query(Site.id).all():
        act.session.merge(Watermark(org_id=act.org, site_id=site_id, scanned_through=through, scan_run_id=run.id))
    act.session.flush()
    return run


def watch_of(act: Act) -> OrgWatch:
    return watch_organisation(act.session, act.org, "acme", act.now, LATE)


def test_an_organisation_that_was_scanned_today_is_sound(acme: Acme) -> None:
    with acme.watching() as act:
        scanned(act, TODAY, quiet_until=NOW + HOUR, quiet_scans=12)
        watch = watch_of(act)
    assert watch.problems == []
    (madrid,) = watch.sites
    assert (madrid.org, madrid.site, madrid.today, madrid.scanned_through) == ("acme", "Madrid", TODAY, TODAY)
    assert madrid.last_scan_at == NOW + HOUR
    assert madrid.up_to_date


def test_a_site_that_no_scan_has_seen_is_a_problem(acme: Acme) -> None:
    with acme.watching() as act:
        assert watch_of(act).problems == ["acme, Madrid: not scanned yet"]


@pytest.mark.parametrize(
    ("after_midnight", "problems"),
    [
        pytest.param(9 * MINUTE, [], id="two scan intervals have not passed yet"),
        pytest.param(10 * MINUTE, ["acme, Madrid: watched up to 2027-03-01, but there it is 2027-03-02"], id="passed"),
    ],
)
def test_the_day_of_the_site_counts(acme: Acme, after_midnight: dt.timedelta, problems: list[str]) -> None:
    """Midnight at Madrid is 23:00 UTC."""
    now = dt.datetime(2027, 3, 1, 23, 0, tzinfo=dt.UTC) + after_midnight
    with acme.watching(now) as act:
        scanned(act, TODAY)
        assert watch_of(act).problems == problems


def test_an_unusable_zone_is_one_problem_of_its_site_alone(acme: Acme) -> None:
    with acme.acting() as act:
        act.session.add(Site(org_id=act.org, name="Olympus", timezone="Mars/Olympus"))
    error = {"org": "acme", "site": "Olympus", "message": "The time zone 'Mars/Olympus' cannot be used."}
    with acme.watching() as act:
        scanned(act, TODAY, errors=[error])
        watch = watch_of(act)
    assert watch.problems == ["acme, Olympus: its time zone cannot be used, so nothing is watched there"]
    assert [(site.site, site.today, site.up_to_date) for site in watch.sites] == [
        ("Madrid", TODAY, True),
        ("Olympus", None, False),
    ]


def test_archived_sites_need_no_scan(acme: Acme) -> None:
    with acme.acting() as act:
        act.session.add(Site(org_id=act.org, name="Closed", timezone="Mars/Olympus", archived_at=NOW))
    with acme.watching() as act:
        act.session.flush()
        scanned(act, TODAY)
        assert watch_of(act).problems == []


def test_errors_of_the_last_scan_are_a_problem_until_a_scan_without_them(acme: Acme) -> None:
    error = {"org": "acme", "site": None, "message": "RuntimeError: no"}
    with acme.watching() as act:
        scanned(act, TODAY, NOW - HOUR, errors=[error], quiet_until=NOW - MINUTE)
        assert watch_of(act).problems == ["acme, all sites: the last scan failed: RuntimeError: no"]
        scanned(act, TODAY, NOW)
        assert watch_of(act).problems == []


def test_what_an_act_wrote_at_the_start_of_a_rule_is_no_scan(acme: Acme) -> None:
    with acme.watching() as act:
        scanned(act, TODAY, NOW - HOUR)
        act.session.add(
            ScanRun(org_id=act.org, trigger="start", actor="system:operator", started_at=NOW, finished_at=NOW)
        )
        act.session.flush()
        assert watch_of(act).sites[0].last_scan_at == NOW - HOUR


# Deliveries


def told(acme: Acme, claim: dict[str, Any] | None = None, deliveries: list[dict[str, Any]] | None = None) -> None:
    """One claim with these deliveries, as they would stand in the ledger."""
    with acme.acting() as act:
        if not act.session.query(Subject.id).all():
            factories.member(act)
            factories.subject(act, due_on=TODAY)
            factories.rule(act)
        subject_id, site_id = act.session.query(Subject.id, Subject.site_id).one()
        obligation_id = act.session.execute(text("select id from obligation")).scalar_one()
        rule_id = act.session.execute(text("select id from alert_rule")).scalar_one()
        member_id = act.session.query(Member.id).one()[0]
    with acme.watching() as act:
        run = scanned(act, TODAY)
        row = NotificationLedger(**{
            "org_id": act.org, "rule_id": rule_id, "rule_version": 1, "subject_id": subject_id, "site_id": site_id,
            "obligation_id": obligation_id, "reference": "P-1", "title": "Permit", "threshold": "7d", "due_on": TODAY,
            "crossed_on": TODAY, "claimed_at": NOW, "standing": "open", "scan_run_id": run.id, **(claim or {}),
        })  # fmt: skip
        act.session.add(row)
        act.session.flush()
        before = None
        for given in deliveries or []:
            resend_of = before if given.pop("again", False) else None
            delivery = Delivery(**{
                "org_id": act.org, "claim_id": row.id, "channel": "in_app", "recipient_id": member_id,
                "because": "role", "not_before": NOW, "next_attempt_at": NOW, "resend_of": resend_of, **given,
            })  # fmt: skip
            act.session.add(delivery)
            act.session.flush()
            before = delivery.id


ARRIVED = {"state": "delivered", "delivered_at": NOW}


@pytest.mark.parametrize(
    ("claim", "deliveries", "hours_later", "count"),
    [
        pytest.param({}, [{}], 24, 0, id="within the grace period"),
        pytest.param({}, [{}], 25, 1, id="beyond it"),
        pytest.param({}, [{"not_before": NOW + 2 * HOUR}], 25, 0, id="it runs from the first not_before"),
        pytest.param({}, [{"not_before": NOW - DAY}], 23, 0, id="and from the claim"),
        pytest.param(
            {}, [ARRIVED, {"channel": "email", "not_before": NOW + 60 * HOUR}], 83, 0, id="of what is expected"
        ),
        pytest.param(
            {}, [ARRIVED, {"channel": "email", "not_before": NOW + 60 * HOUR}], 85, 1, id="which is late in its turn"
        ),
        pytest.param({}, [], 25, 1, id="without a delivery"),
        pytest.param({"delivered_at": NOW}, [ARRIVED], 999, 0, id="delivered"),
        pytest.param({"reason": "nobody_to_tell"}, [], 0, 1, id="nobody to tell"),
        pytest.param({"standing": "withdrawn", "reason": "closed"}, [{"state": "cancelled"}], 999, 0, id="not open"),
        pytest.param({}, [{"state": "failed"}], 0, 1, id="failed"),
        pytest.param({}, [{"state": "in_doubt"}], 0, 1, id="in doubt"),
        pytest.param(
            {"delivered_at": NOW}, [ARRIVED, {"channel": "email", "state": "bounced"}], 0, 1, id="came back afterwards"
        ),
        pytest.param({}, [{"state": "in_doubt"}, {"again": True}], 0, 0, id="sent again, pending"),
        pytest.param({}, [{"state": "in_doubt"}, {"again": True, "state": "failed"}], 0, 1, id="sent again, failed"),
    ],
)
def test_undelivered(
    acme: Acme, claim: dict[str, Any], deliveries: list[dict[str, Any]], hours_later: int, count: int
) -> None:
    told(acme, claim, [dict(given) for given in deliveries])
    with acme.acting(NOW + hours_later * HOUR) as act:
        assert act.session.execute(undelivered(act.org, act.now)).scalar_one() == count


def test_the_grace_period_is_the_organisation_s_own(acme: Acme) -> None:
    told(acme, {}, [{}])
    with acme.acting(NOW + 2 * HOUR) as act:
        act.session.execute(text("update organisation set grace_period = interval '1 hour'"))
        assert act.session.execute(undelivered(act.org, act.now)).scalar_one() == 1


@pytest.mark.parametrize(
    ("delivery", "problem"),
    [
        pytest.param({"not_before": NOW - LATE}, False, id="just due"),
        pytest.param({"not_before": NOW - LATE - MINUTE}, True, id="due for too long"),
        pytest.param({"not_before": NOW - HOUR, "channel": "email"}, False, id="e-mail may wait for a server"),
        pytest.param({"not_before": NOW - HOUR, "state": "delivered"}, False, id="delivered"),
    ],
)
def test_an_in_app_delivery_that_waits_means_that_nobody_delivers(
    acme: Acme, delivery: dict[str, Any], problem: bool
) -> None:
    told(acme, {}, [delivery])
    with acme.acting() as act:
        assert bool(watch_of(act).problems) is problem
