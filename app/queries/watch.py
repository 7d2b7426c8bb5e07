"""Whether the watch is running: schedulers, scans, sites, and what has not arrived.

For `onus status` and the Today page. Evidence only, read from what scans and deliveries left; whether something is owed
is for `owed.py` to say.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from app.config import Settings
from app.domain import calendars
from app.domain.delivery import Channel, Reason, Resolution, Standing, State
from app.domain.errors import UnusableZone
from app.models import (
    Delivery,
    DeliveryHold,
    NotificationLedger,
    Organisation,
    ScanRun,
    SchedulerProcess,
    Site,
    Watermark,
)
from app.queries import watched
from app.queries.facts import read_register_and_people
from app.queries.together import Asked, Found
from app.queries.unreached import read_unreached
from app.wording import gettext, ngettext

ALIVE_WITHIN = dt.timedelta(seconds=60)  # Six heartbeats of 10 s: one or two may be late.
REMEMBERED_FOR = dt.timedelta(days=1)  # A process that died without a word is still shown, not for ever.
PATIENCE_AT_LEAST = dt.timedelta(seconds=60)  # Short scan intervals are for trying out: no alarm within seconds.
MOST_SCHEDULERS = 100  # Each start leaves a row; nobody runs more at once.
LOST = (State.failed, State.bounced, State.in_doubt)  # These can no longer arrive by themselves.
ARRIVED_OR_GONE = (State.delivered, State.cancelled)  # Of these nothing is waited for.


@dataclass(frozen=True)
class SchedulerWatch:
    """One scheduler process and its heartbeat."""

    id: str
    host: str
    pid: int
    started_at: dt.datetime
    heartbeat_at: dt.datetime
    age_seconds: int
    alive: bool
    scanned_at: dt.datetime | None
    fault: str | None
    sealed_at: dt.datetime | None


SCHEDULERS = (
    select(
        SchedulerProcess.id, SchedulerProcess.host, SchedulerProcess.pid, SchedulerProcess.started_at,
        SchedulerProcess.heartbeat_at, SchedulerProcess.stopped_at, SchedulerProcess.scanned_at,
        SchedulerProcess.fault, SchedulerProcess.sealed_at,
    )
    .where(SchedulerProcess.kind == "scheduler")
    .order_by(SchedulerProcess.heartbeat_at.desc(), SchedulerProcess.id)
    .limit(MOST_SCHEDULERS)
)  # fmt: skip


@dataclass(frozen=True)
class LastScan:
    """When it began, until when quiet ones were counted in it, and its errors by site."""

    started_at: dt.datetime
    quiet_until: dt.datetime | None
    errors: Sequence[Mapping[str, Any]]

    @property
    def looked_at(self) -> dt.datetime:
        return max(self.started_at, self.quiet_until or self.started_at)


@dataclass(frozen=True)
class SiteWatch:
    """How far one site has been watched. `today` is None where the time zone cannot be used."""

    org: str
    site: str
    today: dt.date | None
    scanned_through: dt.date | None
    last_scan_at: dt.datetime | None
    up_to_date: bool


@dataclass(frozen=True)
class OrgWatch:
    """The watch over one organisation; `problems` are sentences, and the watch is broken if there is one."""

    sites: list[SiteWatch]
    problems: list[str]
    not_watched: dict[str, int]
    pending: int
    oldest_pending_at: dt.datetime | None
    deliveries: dict[str, int]
    doubts: int  # In doubt, and nobody has decided.
    undelivered: int
    unreached: int  # Alerts of the next ninety days that would reach nobody.


def patience(settings: Settings) -> dt.timedelta:
    """How late a scan or an in-app delivery may be before it is a problem: two scan intervals."""
    return max(2 * dt.timedelta(seconds=settings.scan_every), PATIENCE_AT_LEAST)


def read_schedulers(session: Session, now: dt.datetime) -> list[SchedulerWatch]:
    """The scheduler processes that have not stopped, latest heartbeat first; the very last one if all have."""
    return schedulers_of(session.execute(SCHEDULERS), now)


def schedulers_of(asked: Found, now: dt.datetime) -> list[SchedulerWatch]:
    """The same of what SCHEDULERS was answered."""
    found = list(asked)
    running = [row for row in found if row.stopped_at is None and now - row.heartbeat_at < REMEMBERED_FOR]
    rows = []
    for row in running or found[:1]:
        age = max(now - row.heartbeat_at, dt.timedelta())
        alive = row.stopped_at is None and age < ALIVE_WITHIN
        facts = (str(row.id), row.host, row.pid, row.started_at, row.heartbeat_at)
        rows.append(SchedulerWatch(*facts, int(age.total_seconds()), alive, row.scanned_at, row.fault, row.sealed_at))
    return rows


def problems_of_schedulers(rows: Sequence[SchedulerWatch], now: dt.datetime, late: dt.timedelta) -> Iterator[str]:
    alive = [row for row in rows if row.alive]
    if not alive:
        if rows:
            yield gettext(
                "no scheduler is running: the last sign of one was at %(at)s; start `onus scheduler`",
                at=in_utc(rows[0].heartbeat_at),
            )
        else:
            yield gettext("no scheduler is running; start `onus scheduler`")
    for row in alive:
        if row.fault:
            facts = {"host": row.host, "process": row.pid, "fault": row.fault}
            yield gettext("the scheduler on %(host)s (process %(process)s) reports: %(fault)s", **facts)
    # One that hangs in its first scan has none to show: it counts from its start.
    seen = max((row.scanned_at or row.started_at for row in alive), default=now)
    if now - seen > late:
        yield gettext("the scheduler is running, but its last scan was at %(at)s", at=in_utc(seen))


def in_utc(instant: dt.datetime) -> str:
    """For whoever runs Onus, whose logs are in UTC."""
    return f"{instant.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"


def watch_organisation(session: Session, org: int, slug: str, now: dt.datetime, late: dt.timedelta) -> OrgWatch:
    """The watch over the organisation that the transaction acts for. `late` is the patience of the settings."""
    last = read_last_scan(session, org)
    seen_at = None if last is None else last.looked_at
    sites = list(read_sites(session, org, slug, now, late, seen_at))
    pending, oldest_pending_at = session.execute(
        select(func.count(), func.min(Delivery.not_before)).where(of_state(org, State.pending))
    ).one()
    facts = read_register_and_people(session, org)
    return OrgWatch(
        sites=sites,
        problems=[
            *problems_of_sites(sites),
            *problems_of_scan(slug, last, sites),
            *problems_of_delivery(session, org, slug, now - late),
            *problems_of_hold(session, org, slug),
        ],
        not_watched=watched.counts(watched.unwatched(*facts, now)),
        pending=pending,
        oldest_pending_at=oldest_pending_at,
        deliveries=count_states(session, org),
        doubts=session.execute(
            select(func.count()).where(of_state(org, State.in_doubt), Delivery.resolution.is_(None))
        ).scalar_one(),
        undelivered=session.execute(undelivered(org, now)).scalar_one(),
        unreached=len(read_unreached(session, org, now, *facts)),
    )


def read_last_scan(session: Session, org: int) -> LastScan | None:
    """The last scan; what an act wrote at the start of a rule is not one."""
    return last_scan_of(session.execute(last_scan_asked(org)))


def last_scan_asked(org: int) -> Asked:
    """The select whose result `last_scan_of` takes."""
    query = select(ScanRun.started_at, ScanRun.quiet_until, ScanRun.errors)
    return query.where(ScanRun.org_id == org, ScanRun.trigger != "start").order_by(ScanRun.id.desc()).limit(1)


def last_scan_of(asked: Found) -> LastScan | None:
    row = asked.one_or_none()
    return LastScan(*row) if row else None


def read_sites(
    session: Session, org: int, slug: str, now: dt.datetime, late: dt.timedelta, last_scan_at: dt.datetime | None
) -> Iterator[SiteWatch]:
    """The sites in use. Up to date: scanned through the day that it was there two scan intervals ago."""
    return sites_of(session.execute(sites_asked(org)), slug, now, late, last_scan_at)


def sites_asked(org: int) -> Asked:
    """The select whose result `sites_of` takes."""
    marks = and_(Watermark.org_id == Site.org_id, Watermark.site_id == Site.id)
    return (
        select(Site.name, Site.timezone, Watermark.scanned_through)
        .outerjoin(Watermark, marks)
        .where(Site.org_id == org, Site.archived_at.is_(None))
        .order_by(Site.name)
    )


def sites_of(
    asked: Found, slug: str, now: dt.datetime, late: dt.timedelta, last_scan_at: dt.datetime | None
) -> Iterator[SiteWatch]:
    for name, timezone, scanned_through in asked:
        try:
            today, needed = calendars.today(now, timezone), calendars.today(now - late, timezone)
        except UnusableZone:
            yield SiteWatch(slug, name, None, scanned_through, last_scan_at, False)
            continue
        # A site that came after the last scan is looked at by the next one: that is no fault while scans go on.
        scans_go_on = last_scan_at is not None and now - last_scan_at <= late
        up_to_date = scanned_through >= needed if scanned_through else scans_go_on
        yield SiteWatch(slug, name, today, scanned_through, last_scan_at, up_to_date)


def problems_of_sites(sites: Iterable[SiteWatch]) -> Iterator[str]:
    for site in sites:
        facts = {"org": site.org, "site": site.site, "through": site.scanned_through, "today": site.today}
        if site.today is None:
            yield gettext("%(org)s, %(site)s: its time zone cannot be used, so nothing is watched there", **facts)
        elif not site.up_to_date and site.scanned_through is None:
            yield gettext("%(org)s, %(site)s: not scanned yet", **facts)
        elif not site.up_to_date:
            yield gettext("%(org)s, %(site)s: watched up to %(through)s, but there it is %(today)s", **facts)


def problems_of_scan(
    slug: str, last: LastScan | None, sites: Iterable[SiteWatch], seen: Container[str] | None = None
) -> Iterator[str]:
    """The errors of the last scan, less what `sites` says already. Quiet scans counted in it had the same ones.

    `seen` are the sites that the reader sees; None: all.
    """
    without_day = {site.site for site in sites if site.today is None}
    for error in last.errors if last is not None else ():
        site = error.get("site")
        if site not in without_day and (seen is None or not site or site in seen):
            facts = {"org": slug, "site": site or gettext("all sites"), "fault": error.get("message")}
            yield gettext("%(org)s, %(site)s: the last scan failed: %(fault)s", **facts)


def problems_of_delivery(session: Session, org: int, slug: str, due_by: dt.datetime) -> Iterator[str]:
    """In-app delivery needs nothing but the database, so one that is late means that nobody delivers."""
    yield from problems_of_late(session.execute(late_asked(org, due_by)).scalar_one(), slug)


def late_asked(org: int, due_by: dt.datetime) -> Asked:
    """Counts the deliveries in the app that were due before this instant, for `problems_of_late`."""
    late = and_(of_state(org, State.pending), Delivery.channel == Channel.in_app, Delivery.not_before < due_by)
    return select(func.count()).select_from(Delivery).where(late)


def problems_of_late(count: int, slug: str) -> Iterator[str]:
    if count:
        yield ngettext(
            "%(org)s: %(number)d in-app delivery has been due for too long; `onus deliver` delivers it",
            "%(org)s: %(number)d in-app deliveries have been due for too long; `onus deliver` delivers them",
            count,
            org=slug,
        )


def problems_of_hold(session: Session, org: int, slug: str) -> Iterator[str]:
    """After a restore nothing leaves until an officer has looked."""
    hold = read_hold(session, org)
    if hold is not None:
        yield gettext(
            "%(org)s: all messages are held since %(at)s: %(cause)s; look at them, then `onus hold release`",
            org=slug,
            at=in_utc(hold.held_at),
            cause=hold.cause,
        )


def read_hold(session: Session, org: int) -> DeliveryHold | None:
    """The hold that is in force for the organisation."""
    statement = select(DeliveryHold).where(DeliveryHold.org_id == org, DeliveryHold.released_at.is_(None))
    return session.execute(statement.order_by(DeliveryHold.id).limit(1)).scalar()


def count_states(session: Session, org: int) -> dict[str, int]:
    """How many deliveries are in each state; every state is named."""
    statement = select(Delivery.state, func.count()).where(Delivery.org_id == org).group_by(Delivery.state)
    counted = {state.value: 0 for state in State}
    for state, count in session.execute(statement):
        counted[state] = count
    return counted


def of_state(org: int, state: State) -> ColumnElement[bool]:
    return and_(Delivery.org_id == org, Delivery.state == state)


def undelivered(org: int, now: dt.datetime) -> Select[int]:
    """Counts the claims of `is_undelivered`."""
    return select(func.count()).select_from(NotificationLedger).where(is_undelivered(org, now))


def is_undelivered(org: int, now: dt.datetime) -> ColumnElement[bool]:
    """Open claims that have not arrived within the grace period, or of which something can no longer arrive.

    The period runs from the later of the claim and the first `not_before` of what is still expected: a message that
    waits for its recipient's hours is not late, even where the same was shown in the app. A delivery that was sent
    again is judged by the new one; of one that was settled otherwise nothing more is expected.
    """
    claim, resent = NotificationLedger, aliased(Delivery)
    deliveries = and_(Delivery.org_id == claim.org_id, Delivery.claim_id == claim.id)
    grace = select(Organisation.grace_period).where(Organisation.id == org).scalar_subquery()
    again = exists().where(resent.org_id == Delivery.org_id, resent.resend_of == Delivery.id)
    is_settled = Delivery.resolution.is_not_distinct_from(Resolution.settled)
    lost = exists().where(deliveries, Delivery.state.in_(LOST), ~again, ~is_settled).correlate(claim)
    outstanding = (deliveries, Delivery.state.not_in(ARRIVED_OR_GONE), ~again, ~is_settled)
    expected = exists().where(*outstanding).correlate(claim)
    first = select(func.min(Delivery.not_before)).where(*outstanding).correlate(claim).scalar_subquery()
    only_settled = and_(exists().where(deliveries, is_settled).correlate(claim), ~expected)
    # GREATEST ignores NULL: where nothing is expected the period runs from the claim.
    overdue = and_(func.greatest(claim.claimed_at, first) + grace < now, ~only_settled)
    waiting = and_(claim.delivered_at.is_(None), or_(claim.reason == Reason.nobody_to_tell, overdue))
    return and_(claim.org_id == org, claim.standing == Standing.open, or_(waiting, lost))
