"""Align and deliver in the app: what has not left follows the facts of now, then goes out, in one transaction.

Align withdraws and supersedes, and routes; it opens nothing, which is the scan's. In-app delivery is one set-based
statement in the same transaction as its record, and so is truly exactly once (P3). Nothing here touches a network.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app import failpoints
from app.ledger.moves import TELL
from app.ledger.planning import judge_alone
from app.ledger.queue import read_queue
from app.ledger.routes import close_books, route_deliveries
from app.ledger.scan import FEW
from app.ledger.site_days import SiteDays, read_site_days
from app.ledger.standings import move_standings
from app.trail.act import Act

AT_ONCE = 10_000  # Deliveries of one statement: short locks, and hardly slower than all at once.

# Whatever changed stands in the queue; beside it, only what is about to leave must be looked at once more.
LEAVING = """
select distinct l.subject_id
from delivery x join notification_ledger l on l.org_id = :org and l.id = x.claim_id
where x.org_id = :org and x.channel = 'in_app' and x.state = 'pending' and x.next_attempt_at <= :now"""

# Nothing is told while the organisation is held.
IN_APP = f"""
with due as materialized (
  select id from delivery
  where org_id = :org and channel = 'in_app' and state in {TELL.FROM} and next_attempt_at <= :now
    and not exists (select from delivery_hold h where h.org_id = :org and h.released_at is null)
  order by next_attempt_at, id limit :at_once
  for update skip locked
), delivered as (
  update delivery x set state = {TELL.TO}, attempts = attempts + 1, handed_over_at = :now, delivered_at = :now
  from due where x.org_id = :org and x.id = due.id and x.state in {TELL.FROM}
  returning x.id, x.claim_id, x.recipient_id
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, claim_id, delivery_id, detail)
  select :org, :now, :actor, 'delivered', l.subject_id, d.claim_id, d.id,
         jsonb_build_object('recipient', d.recipient_id, 'channel', 'in_app')
  from delivered d join notification_ledger l on l.org_id = :org and l.id = d.claim_id order by d.id
  returning id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)
select count(*) from delivered"""

PENDING = "select count(*) from delivery where org_id = :org and state = 'pending'"


@dataclass(frozen=True)
class Delivered:
    """Counts of deliveries: what this run did, and `pending`, what is left."""

    delivered: int = 0
    retried: int = 0
    failed: int = 0
    cancelled: int = 0
    in_doubt: int = 0
    pending: int = 0

    def __add__(self, other: Delivered) -> Delivered:
        return Delivered(**{name: value + getattr(other, name) for name, value in vars(self).items()})


def align(act: Act) -> int:
    """Make what has not left follow the facts of now; the number of deliveries cancelled. Again changes nothing.

    It looks at the subjects of what is about to leave, and at those that the queue names for the next scan: what is
    told nowhere yet may be wanted no longer, and somebody may have taken over what was told already.
    """
    judge_alone(act)
    days = read_site_days(act)
    queued = read_queue(act, days.days.values())
    subjects = queued.subjects | {row.subject_id for row in act.run(LEAVING)}
    if not subjects and not queued.everything:
        return 0
    scope = {"subjects": None if queued.everything or len(subjects) > FEW else sorted(subjects)}
    return judge(act, days, scope)


def align_subjects(act: Act, days: SiteDays, subjects: Iterable[int]) -> int:
    """Align these subjects, right before something of them leaves; the number of deliveries cancelled.

    Of very many everything is aligned, which is cheaper than a list.
    """
    chosen = sorted(subjects)
    return judge(act, days, {"subjects": chosen if len(chosen) <= FEW else None})


def judge(act: Act, days: SiteDays, scope: dict[str, Any]) -> int:
    move_standings(act, days, scope, [], opening=False, run=None)
    return route_deliveries(act, days, scope).cancelled


def deliver_in_app(act: Act) -> int:
    """Deliver what is due in the app; the number of deliveries. The claims' books are closed with it."""
    total = 0
    while done := int(act.run(IN_APP, {"at_once": AT_ONCE}).scalar_one()):
        total += done
    if total:
        close_books(act, {"subjects": None})
    return total


def deliver(act: Act) -> Delivered:
    """One delivery tick of one organisation, in the caller's transaction: align, then everything that is due."""
    cancelled = align(act)
    delivered = deliver_in_app(act)
    failpoints.reached("deliver_in_app")
    return Delivered(delivered=delivered, cancelled=cancelled, pending=int(act.run(PENDING).scalar_one()))
