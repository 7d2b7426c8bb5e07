"""The change queue: what an act has changed and the next scan must look at.

Append only and without a unique key, so that nothing absorbs the row of a transaction that commits late. Whoever
writes a fact that the predicate *wanted* or the audience reads leaves a row here, in the same transaction.
"""

from __future__ import annotations

import datetime as dt

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
