"""The scan: what should be in the ledger and is not? Level, never edge, so running it again adds nothing (P4).

One organisation, one transaction, all or nothing. The lock lets two scans of one organisation judge one after the
other; that a claim happens once does not hang on it but on the constraint (P1).
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from app import failpoints
from app.domain.calendars import working_day_ago
from app.domain.thresholds import horizon
from app.ledger.above import COME_UP
from app.ledger.planning import judge_alone
from app.ledger.queue import Queued, read_queue, take_away
from app.ledger.routes import route_deliveries
from app.ledger.site_days import SiteDays, columns, read_site_days
from app.ledger.standings import move_standings, read_unclaimed
from app.models.ledger import GAP
from app.models.wanted import FILING_PENDING
from app.trail.act import Act

log = structlog.get_logger()

FEW = 5_000  # Subjects: of more, reading the whole register is faster than looking them up.
FULL_EVERY = dt.timedelta(hours=24)  # A full scan needs no queue and no watermark, and so finds what they missed.

# The scan before this one. What an act wrote at the start of a rule looked at nothing; and ids, not instants, since a
# failure of the clock is recorded by that clock.
LAST_RUN = """
select id, coalesce(quiet_until, started_at) as looked_at, errors,
       (select max(started_at) from scan_run where org_id = :org and is_full) as full_at
from scan_run where org_id = :org and trigger <> 'start' order by id desc limit 1"""

NEW_RUN = """
insert into scan_run (org_id, trigger, actor, started_at, is_full, errors)
values (:org, :trigger, :actor, :now, :is_full, cast(:errors as jsonb)) returning id"""

QUIET_RUN = """
update scan_run set quiet_scans = quiet_scans + 1, quiet_until = greatest(quiet_until, :now)
where org_id = :org and id = :run"""

FINISH_RUN = """
update scan_run set finished_at = :finished_at, claimed = :claimed, superseded = :superseded, reopened = :reopened,
       withdrawn = :withdrawn, deliveries = :deliveries, cancelled = :cancelled
where org_id = :org and id = :run"""

# The watermark goes forward only: a site whose zone was changed may live through a day again (P6).
MOVE_WATERMARK = """
insert into watermark as w (org_id, site_id, scanned_through, scan_run_id)
select :org, s.site_id, s.today, :run
from unnest(cast(:sites as bigint[]), cast(:todays as date[])) as s (site_id, today) order by s.site_id
on conflict (org_id, site_id) do update
set scanned_through = excluded.scanned_through, scan_run_id = excluded.scan_run_id
where w.scanned_through < excluded.scanned_through"""

# The subjects that time alone may have carried over a threshold since the watermark; a superset will do.
WINDOW = """
select distinct o.subject_id
from unnest(cast(:after as date[]), cast(:through as date[])) as h (due_after, due_through)
join obligation o on o.org_id = :org and o.closed_at is null and o.due_on > h.due_after and o.due_on <= h.due_through"""


# The subjects whose filings are to be followed up since the watermark.
ASKED = f"""
select distinct o.subject_id
from unnest(cast(:after as date[]), cast(:through as date[])) as h (asked_after, asked_through)
join obligation o on o.org_id = :org and o.closed_at is null and {FILING_PENDING}
                 and o.ask_again_on > h.asked_after and o.ask_again_on <= h.asked_through"""


@dataclass(frozen=True)
class Scanned:
    """What one scan of one organisation did. `errors` names site and fault of whatever could not be looked at."""

    claimed: int = 0
    superseded: int = 0
    reopened: int = 0
    deliveries: int = 0
    withdrawn: int = 0
    cancelled: int = 0
    errors: list[dict[str, str | None]] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        return {name: value for name, value in vars(self).items() if name != "errors"}

    def __add__(self, other: Scanned) -> Scanned:
        summed = {name: value + other.counts[name] for name, value in self.counts.items()}
        return Scanned(**summed, errors=self.errors + other.errors)


def scan(act: Act, *, trigger: str = "schedule", full: bool = False) -> Scanned:
    """Claim whatever has crossed and is not in the ledger, in the caller's transaction; align first, judged together.

    Steps: 1. each site's own day; 2. what changed and what the new day brings; 3. on request, and once a day,
    everything; 4. watermarks and the record of the scan.
    """
    judge_alone(act)
    days = read_site_days(act)
    last = act.run(LAST_RUN).one_or_none()
    queued = read_queue(act, days.days.values())
    take_away(act, queued)
    failpoints.reached("scan_taken")
    moving = {
        site: day for site, day in days.days.items() if not day.scanned_through or day.scanned_through < day.today
    }
    full = full or last is None or last.full_at is None or act.now - last.full_at >= FULL_EVERY
    mended = last is not None and last.errors != days.errors
    is_news = full or bool(moving) or trigger != "schedule" or last is None or mended
    run = new_run(act, trigger, full, days) if is_news else None
    # Queue rows went by while a site could not be looked at, so that its first day back needs everything.
    scope = None if mended or (full and trigger != "schedule") else changed_subjects(act, days, queued)
    done, run = look(act, days, scope, run)
    if full and scope is not None:
        found, run = look(act, days, None, run)
        report_missed(act, found, last is None)
        done += found
    if moving:
        act.run(MOVE_WATERMARK, {"sites": list(moving), "todays": [d.today for d in moving.values()], "run": run})
    close_run(act, run, last, done, days)
    return replace(done, errors=days.errors)


def changed_subjects(act: Act, days: SiteDays, queued: Queued) -> list[int] | None:
    """The subjects to look at: what the queue names, and what the days since the watermark bring. None means all."""
    if queued.everything or any(day.scanned_through is None for day in days.days.values()):
        return None
    subjects = queued.subjects | read_window(act, days)
    return sorted(subjects) if len(subjects) <= FEW else None


def read_window(act: Act, days: SiteDays) -> set[int]:
    thresholds = [row.threshold for row in act.run("select distinct threshold from rule_threshold where org_id = :org")]
    new = [(d.scanned_through, d) for d in days.days.values() if d.scanned_through and d.scanned_through < d.today]
    spans = {(horizon(t, from_, d.calendar), horizon(t, d.today, d.calendar)) for from_, d in new for t in thresholds}
    asked = {(scanned_through, day.today) for scanned_through, day in new}
    return subjects_between(act, WINDOW, spans) | subjects_between(act, ASKED, asked) | read_nobodys(act, days)


def read_nobodys(act: Act, days: SiteDays) -> set[int]:
    """The subjects of which somebody said "not mine", and whose working day has come to its end since the watermark.

    A row of the queue would stand on the wrong day once the site's calendar or zone, or the entry's site, has changed.
    """
    new = [(site, d, d.scanned_through) for site, d in days.days.items() if d.scanned_through]
    spans = [
        (site, *(working_day_ago(day, d.calendar, d.timezone) for day in (through, d.today)))
        for site, d, through in new
        if through < d.today
    ]
    facts = dict(zip(("sites", "after", "before"), columns(spans), strict=True))
    return {row.subject_id for row in act.run(COME_UP, facts)} if spans else set()


def subjects_between(act: Act, statement: str, spans: set[tuple[dt.date, dt.date]]) -> set[int]:
    facts = {"after": [after for after, _ in spans], "through": [through for _, through in spans]}
    return {row.subject_id for row in act.run(statement, facts)} if spans else set()


def look(act: Act, days: SiteDays, subjects: list[int] | None, run: int | None) -> tuple[Scanned, int | None]:
    """Judge these subjects (None: all). Makes the record of the scan before the first claim, which names it."""
    if subjects == []:
        return Scanned(), run
    scope = {"subjects": subjects}
    unclaimed = read_unclaimed(act, days, scope)
    if unclaimed and run is None:
        run = new_run(act, "schedule", False, days)
    moves = move_standings(act, days, scope, unclaimed, opening=True, run=run)
    failpoints.reached("scan_claimed")
    routed = route_deliveries(act, days, scope)
    done = Scanned(moves.claimed, moves.superseded, moves.reopened, routed.made, moves.withdrawn, routed.cancelled)
    return done, run


def report_missed(act: Act, found: Scanned, is_first: bool) -> None:
    """What the daily full scan finds behind the queue is a fault of ours: claimed all the same, and logged loudly."""
    if not is_first and found != Scanned():
        log.error("scan_found_what_the_queue_missed", org=act.org, claimed=found.claimed, reopened=found.reopened)


def record_failure(act: Act, trigger: str, error: dict[str, str | None]) -> None:
    """Keep it as evidence that a scan of this organisation failed, and why, after its transaction was rolled back."""
    run = new_run(act, trigger, False, SiteDays({}, [error]))
    act.run(FINISH_RUN, {"run": run, "finished_at": act.now, **Scanned().counts})


def new_run(act: Act, trigger: str, full: bool, days: SiteDays) -> int:
    facts = {"trigger": trigger, "is_full": full, "errors": json.dumps(days.errors)}
    return int(act.run(NEW_RUN, facts).scalar_one())


def close_run(act: Act, run: int | None, last: Any, done: Scanned, days: SiteDays) -> None:
    """Finish the record of this scan; a quiet one is counted in the record before it, unless a gap lies between."""
    if run is None and done == Scanned() and act.now - last.looked_at <= GAP:
        act.run(QUIET_RUN, {"run": last.id})
        return
    run = run or new_run(act, "schedule", False, days)
    act.run(FINISH_RUN, {"run": run, "finished_at": act.now, **done.counts})
