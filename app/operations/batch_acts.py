"""One act upon many entries, all of it or nothing, as one batch in the trail; and, before that, what it would tell.

Locks are taken in the order of ids, entries first, then their dates, so that of two batches at once both end right. The
lock on an entry lets a reader of its key pass: who moves one of its dates alone holds that date first.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import IntegrityError

from app.domain.batches import BatchAct
from app.domain.calendars import DAY
from app.domain.errors import Refused
from app.ledger.coming import open_coming
from app.ledger.followers import follow
from app.ledger.queue import changed
from app.ledger.site_days import columns, read_site_days
from app.ledger.start import hold_back, hold_back_raised
from app.operations import documents, releases
from app.operations.batch_plan import MOST, MOST_RENEWED, Order, Plan, checked, plan
from app.operations.batches import Trail
from app.operations.imports import queue
from app.operations.register import NEXT
from app.trail.act import Act
from app.wording import later

NAMED = 10  # Entries that a refusal names.

LOCK = """
select id from subject
where org_id = :org and (id = any (cast(:ids as bigint[])) or part_of_id = any (cast(:wholes as bigint[])))
order by id for no key update"""

LOCK_DATES = """
select o.id from obligation o join subject s on s.org_id = :org and s.id = o.subject_id
where o.org_id = :org and o.closed_at is null
  and (s.id = any (cast(:ids as bigint[])) or s.part_of_id = any (cast(:wholes as bigint[])))
order by o.id for update of o"""

# Who has touched the entries since; what Onus itself did with their alerts is left out.
TOUCHED = """
select distinct s.reference from audit_event e join subject s on s.org_id = :org and s.id = e.subject_id
where e.org_id = :org and e.id > :looked and e.subject_id = any (cast(:ids as bigint[])) and e.claim_id is null
order by s.reference limit :most"""

BATCH = """
with event as (
  insert into audit_event (org_id, at, actor, type, detail)
  values (:org, :now, :actor, 'batch_applied', cast(:detail as jsonb)) returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)
select id from event"""

MOVE = """
update obligation o set due_on = cast(g.new as date)
from unnest(cast(:ids as bigint[]), cast(:olds as text[]), cast(:news as text[])) as g (id, old, new)
where o.org_id = :org and o.id = g.id and o.due_on = cast(g.old as date) and o.closed_at is null"""

ASSIGN = """
update subject set owner_member_id = :member_id, owner_post_id = :post_id
where org_id = :org and id = any (cast(:ids as bigint[]))"""

PAUSE = """
update subject set snoozed_until = :until where org_id = :org and id = any (cast(:ids as bigint[]))"""

BECOME = """
update subject s set status = g.new
from unnest(cast(:ids as bigint[]), cast(:olds as text[]), cast(:news as text[])) as g (id, old, new)
where s.org_id = :org and s.id = g.id and s.status = g.old"""

# What lay in the time without watch is not opened.
SKIP = """
update subject s set series_through = greatest(s.series_through, d.through)
from unnest(cast(:sites as bigint[]), cast(:throughs as date[])) as d (site_id, through)
where s.org_id = :org and s.id = any (cast(:ids as bigint[])) and s.site_id = d.site_id
  and s.recurrence_basis = 'calendar' and s.status = 'watched' and s.series_through is not null"""

STOPPED = """
select n.subject_id, n.reference, n.title, n.threshold, n.due_on
from audit_event e join notification_ledger n on n.org_id = :org and n.id = e.claim_id
where e.org_id = :org and e.at = :now and e.id > :since and e.type = 'withdrawn'
order by n.due_on, n.reference, n.id"""

# Parts whose dates have moved, or were opened, with those of their wholes.
FOLLOWED = """
select distinct e.subject_id from audit_event e
where e.org_id = :org and e.at = :now and e.id > :since and e.type in ('date_moved', 'obligation_opened')
  and e.detail ->> 'source' = 'whole'"""

EVENTS = {
    BatchAct.move: "date_moved",
    BatchAct.assign: "subject_assigned",
    BatchAct.pause: "subject_snoozed",
    BatchAct.resume: "snooze_ended",
    BatchAct.release: "subject_released",
    BatchAct.out_of_service: "subject_out_of_service",
    BatchAct.archive: "subject_archived",
}


@dataclass(frozen=True)
class Stopped:
    """An alert that nobody is told of any more."""

    subject_id: int
    reference: str
    title: str
    threshold: str
    due_on: dt.date


@dataclass(frozen=True)
class Foresight:
    """What an order would do: to each entry, to parts that follow, and to alerts. `looked` is the last event seen."""

    plan: Plan
    looked: int
    parts: int = 0
    alerts: Sequence[releases.Alert] = ()
    stopped: Sequence[Stopped] = ()

    @property
    def people(self) -> list[str]:
        return sorted({person for alert in self.alerts for person in alert.people})

    @property
    def messages(self) -> int:
        return sum(alert.messages for alert in self.alerts)


class _Undone(Exception):
    """Leaves a savepoint, so that nothing of it stays."""


def foresee(act: Act, order: Order, ids: Sequence[int]) -> Foresight:
    """What applying would do now, alerts included: it is done, looked at as the next check does, and undone."""
    check_size(ids, MOST_RENEWED if order.deed == BatchAct.renew else MOST)
    order = checked(act, order)
    looked = int(act.run(releases.LAST_EVENT).scalar_one())
    planned = plan(act, order, ids)
    found = Foresight(planned, looked)
    if not planned.doing:
        return found
    try:
        with act.session.begin_nested():
            parts = _write(act, planned)[1]
            touched = sorted({*(step.subject_id for step in planned.doing), *parts})
            alerts = releases.raised(act, touched, looked)
            stopped = [Stopped(**row._mapping) for row in act.run(STOPPED, {"since": looked})]
            found = Foresight(planned, looked, len(parts), alerts, stopped)
            raise _Undone
    except _Undone:
        act.session.expire_all()
    return found


def apply(act: Act, order: Order, ids: Sequence[int], mark: str, looked: int = 0) -> int:
    """Do what the plan of this mark says; the id of the batch. Refused as a whole if it would be anything else now."""
    check_size(ids, MOST_RENEWED if order.deed == BatchAct.renew else MOST)
    order = checked(act, order)
    wholes = list(ids) if order.deed in (BatchAct.move, BatchAct.renew) else []
    act.run(LOCK, {"ids": list(ids), "wholes": wholes})
    act.run(LOCK_DATES, {"ids": list(ids), "wholes": wholes})
    planned = plan(act, order, ids)
    if planned.mark != mark:
        raise _what_changed(act, ids, looked)
    if not planned.doing:
        raise Refused("There is nothing to do for any of these entries: choose others, or something else.")
    return _write(act, planned)[0]


def check_size(ids: Sequence[int], most: int = MOST) -> None:
    if not ids:
        raise Refused("No entry is chosen: choose some in the register.")
    if len(ids) > most:
        words = later("These are %(number)s entries, and one batch takes %(most)s at most: narrow the filters.")
        raise Refused(words, number=len(ids), most=most)


def _what_changed(act: Act, ids: Sequence[int], looked: int) -> Refused:
    facts = {"ids": list(ids), "looked": looked, "most": NAMED + 1}
    names = [row.reference for row in act.run(TOUCHED, facts)]
    nothing_done = Refused("Nothing was done: look again at what would be done now.")
    words = later("Something has changed since you looked. %(then)s")
    if len(names) == 1:
        words = later("%(names)s has changed since you looked. %(then)s")
    elif len(names) > NAMED:
        words = later("%(names)s and others have changed since you looked. %(then)s")
    elif names:
        words = later("%(names)s have changed since you looked. %(then)s")
    return Refused(words, names=", ".join(names[:NAMED]), then=nothing_done)


def _write(act: Act, planned: Plan) -> tuple[int, list[int]]:
    """The id of the batch, and the parts whose dates went with those of their wholes."""
    order, steps = planned.order, planned.doing
    ids = [step.subject_id for step in steps]
    act.session.flush()
    if order.deed != BatchAct.renew:
        _change(act, planned)
    act.session.expire_all()
    batch_id = _record(act, planned)
    queue(act, ids)
    if order.deed == BatchAct.renew:
        return batch_id, _renew(act, planned, batch_id)
    if order.deed == BatchAct.pause:
        for subject_id in ids:
            changed(act, subject_id=subject_id, wake_on=order.until)
    if order.deed == BatchAct.move:
        return batch_id, sorted(set(follow(act, ids).parts) - set(ids))
    return batch_id, _go_on(act, order, ids) if order.deed == BatchAct.release else []


def _change(act: Act, planned: Plan) -> None:
    order, steps = planned.order, planned.doing
    of_dates = order.deed == BatchAct.move
    olds_and_news = [(one.obligation_id if of_dates else one.subject_id, one.old, one.new) for one in steps]
    if order.deed in (BatchAct.assign, BatchAct.pause, BatchAct.resume):
        statement = ASSIGN if order.deed == BatchAct.assign else PAUSE
        facts: dict[str, Any] = {"ids": [step.subject_id for step in steps], "until": order.until}
        facts |= {"member_id": order.member_id, "post_id": order.post_id}
    else:
        statement = MOVE if of_dates else BECOME
        facts = dict(zip(("ids", "olds", "news"), columns(olds_and_news, 3), strict=True))
    refusal = Refused("An entry has changed in this moment. Nothing was done: look again at what would be done now.")
    try:
        with act.session.begin_nested():
            count = act.run(statement, facts).rowcount
    except IntegrityError:
        raise refusal from None
    if count != len(steps):
        raise refusal


def _record(act: Act, planned: Plan) -> int:
    """The event of the batch, and one for each entry that names it."""
    order, steps = planned.order, planned.doing
    left: dict[str, list[int]] = {reason: [] for reason in planned.left}
    for step in planned.leaving:
        left[str(step.left)].append(step.subject_id)
    detail = {**order.said, "done": len(steps), "left": left}
    batch_id = int(act.run(BATCH, {"detail": json.dumps(detail)}).scalar_one())
    said: dict[str, Any] = {"batch": batch_id, "others": len(steps) - 1, "by_act": order.by_act, "note": order.note}
    if order.reason is not None:
        said["reason"] = order.reason
    if order.deed == BatchAct.release:
        said["start"] = order.start
    trail = Trail(act, said)
    for step in steps if order.deed in EVENTS else ():  # A renewal leaves its own with each paper and each date.
        more = {"obligation_id": step.obligation_id} if order.deed == BatchAct.move else {}
        trail.add(EVENTS[order.deed], step.subject_id, old=step.old, new=step.new, **more)
    trail.write()
    return batch_id


def _renew(act: Act, planned: Plan, batch_id: int) -> list[int]:
    """Renew each entry as if it were the only one; the parts whose dates follow. All of it bears the batch."""
    order, steps = planned.order, planned.doing
    if order.paper is None:
        raise ValueError("A renewal is checked before it is planned.")
    own = act.as_part_of(batch=batch_id, others=len(steps) - 1, by_act=order.by_act)
    for step in steps:
        if step.obligation_id is not None:
            documents.renew(own, step.obligation_id, order.paper, met_on=order.met_on, member_id=act.member_id)
    act.session.flush()
    return sorted({row.subject_id for row in act.run(FOLLOWED, {"since": batch_id})})


def _go_on(act: Act, order: Order, ids: list[int]) -> list[int]:
    """What released entries must have by now; with the start `next` nothing is told of what has come already."""
    days = read_site_days(act)
    throughs = {site_id: day.today - DAY for site_id, day in days.days.items()}
    act.run(SKIP, {"ids": ids, "sites": list(throughs), "throughs": list(throughs.values())})
    came = open_coming(act, ids, days)
    if order.start == NEXT:
        act.session.flush()
        dates = releases.open_dates(act, ids, came)
        hold_back(act, obligation_ids=dates)
        hold_back_raised(act, dates)  # Of an entry that has come back by an import.
    return sorted(set(came.parts) - set(ids))
