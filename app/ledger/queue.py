"""The change queue: what an act has changed and the next scan must look at.

Append only and without a unique key, so that nothing absorbs the row of a transaction that commits late. Whoever
writes a fact that the predicate *wanted* or the audience reads leaves a row here, in the same transaction.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass

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


# A wake date is a date of the subject's site. A row is looked at from the first site's date on, and kept until the last
# site has reached it, so that it counts at the right moment everywhere; looking too early changes nothing.
DUE = """
select n, subject_id, rule_id, wake_on is null or wake_on <= :last_today as is_over
from scan_queue where org_id = :org and (wake_on is null or wake_on <= :first_today)
order by n"""

DONE = "delete from scan_queue where org_id = :org and n = any (cast(:ns as bigint[]))"


@dataclass(frozen=True)
class Queued:
    """What has changed: everything, or these subjects. `numbers` are the rows that a scan may take away."""

    everything: bool
    subjects: set[int]
    numbers: list[int]


def read_queue(act: Act, todays: Collection[dt.date]) -> Queued:
    """The rows that are due on these sites' dates. A rule's row means everything: rules change seldom."""
    ahead, behind = (max(todays), min(todays)) if todays else (act.now.date(), act.now.date())
    rows = act.run(DUE, {"first_today": ahead, "last_today": behind}).all()
    return Queued(
        everything=any(row.subject_id is None for row in rows),
        subjects={row.subject_id for row in rows if row.subject_id is not None},
        numbers=[row.n for row in rows if row.is_over],
    )


def take_away(act: Act, queued: Queued) -> None:
    """Delete the rows that were read, in the transaction that looks at what they name, before it looks."""
    if queued.numbers:
        act.run(DONE, {"ns": queued.numbers})
