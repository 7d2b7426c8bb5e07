"""The change queue: what an act has changed and the next scan must look at.

Append only and without a unique key, so that nothing absorbs the row of a transaction that commits late. Whoever
writes a fact that the predicate *wanted* or the audience reads leaves a row here, in the same transaction.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass

from app.ledger.site_days import Day
from app.models import ScanQueue
from app.trail.act import Act


def changed(
    act: Act, *, subject_id: int | None = None, rule_id: int | None = None, wake_on: dt.date | None = None
) -> None:
    """This subject, or this rule, or (neither) everything must be looked at; from `wake_on` on, if given.

    Whatever ends by itself on a date (a snooze, a promise, a grant, a post) leaves a second row with the first local
    date on which it no longer holds.
    """
    act.session.add(ScanQueue(org_id=act.org, subject_id=subject_id, rule_id=rule_id, wake_on=wake_on))


# A wake date is a date of the subject's site. A row counts whenever a site reaches it, once for each, and is kept until
# the last one has; in between it is quiet, or all the world's midnights would make a day of full scans.
DUE = """
select n, subject_id, is_over, is_over or exists (
         select from unnest(cast(:afters as date[]), cast(:todays as date[])) as d (after, today)
         where q.wake_on > d.after and q.wake_on <= d.today) as counts
from (select n, subject_id, wake_on, wake_on is null or wake_on <= :last_today as is_over
      from scan_queue where org_id = :org and (wake_on is null or wake_on <= :first_today)) q
order by n"""

DONE = "delete from scan_queue where org_id = :org and n = any (cast(:ns as bigint[]))"


@dataclass(frozen=True)
class Queued:
    """What has changed: everything, or these subjects. `numbers` are the rows that a scan may take away."""

    everything: bool
    subjects: set[int]
    numbers: list[int]


def read_queue(act: Act, days: Collection[Day]) -> Queued:
    """The rows that are due on these sites' days. A rule's row means everything: rules change seldom."""
    todays = [day.today for day in days]
    ahead, behind = (max(todays), min(todays)) if todays else (act.now.date(), act.now.date())
    afters = [day.scanned_through for day in days]
    facts = {"first_today": ahead, "last_today": behind, "afters": afters, "todays": todays}
    rows = act.run(DUE, facts).all()
    due = {row.subject_id for row in rows if row.counts}
    return Queued(
        everything=None in due,
        subjects={subject for subject in due if subject is not None},
        numbers=[row.n for row in rows if row.is_over],
    )


def take_away(act: Act, queued: Queued) -> None:
    """Delete the rows that were read, in the transaction that looks at what they name, before it looks."""
    if queued.numbers:
        act.run(DONE, {"ns": queued.numbers})
