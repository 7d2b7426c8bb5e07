"""What waits for one person: a line a deadline, its sharpest alert, the older ones folded in.

Whoever was told by e-mail alone answers here, too, from the link in the message. An alert is in the inbox while it
is wanted (the one predicate of scan and align): done, moved or paused, it is gone.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from app.domain import calendars
from app.domain.delivery import Channel, State
from app.domain.errors import UnusableZone
from app.domain.thresholds import sharpest_first
from app.models import Delivery, Site
from app.models.wanted import REACH, WANTED
from app.queries.queues import PLAN_SIMPLY
from app.queries.what_to_do import WHAT_TO_DO

MOST = 200  # Deadlines of one inbox; nobody reads more, and the register has them all.

ARRIVED = State.delivered
# By e-mail a person may have been told from the moment on at which the message may have left.
MAY_HAVE_ARRIVED = ", ".join(f"'{state}'" for state in (State.handing_over, State.delivered, State.in_doubt))
TOLD = f"(x.channel = 'in_app' and x.state = '{ARRIVED}' or x.channel = 'email' and x.state in ({MAY_HAVE_ARRIVED}))"

# What was told stays told; but whoever is limited to other sites since sees it no more: the entry's site decides.
SUBJECTS = f"""
select distinct l.subject_id
from delivery x
join notification_ledger l on l.org_id = :org and l.id = x.claim_id and l.standing = 'open'
join subject s on s.org_id = :org and s.id = l.subject_id
where x.org_id = :org and x.recipient_id = :member and {TOLD}
  and (not exists (select from member_site v where v.org_id = :org and v.member_id = :member)
       or exists (select from member_site v
                  where v.org_id = :org and v.member_id = :member and v.site_id = s.site_id))
  and (not exists (select from member_kind v where v.org_id = :org and v.member_id = :member)
       or exists (select from member_kind v
                  where v.org_id = :org and v.member_id = :member and v.kind_id = s.kind_id))"""

ALERTS = f"""
with {REACH}, wanted as materialized ({WANTED})
select distinct on (l.id) l.id as claim_id, l.subject_id, l.due_on, l.threshold, l.crossed_on, l.reference, l.title,
       p.name as site, p.timezone, d.today, k.name as kind, k.wording, r.name as rule,
       x.because, v.name as covers, coalesce(x.delivered_at, x.handed_over_at) as delivered_at,
       x.channel = 'in_app' and x.seen_at is null as unread, {WHAT_TO_DO}
from delivery x
join notification_ledger l on l.org_id = :org and l.id = x.claim_id and l.standing = 'open'
join wanted w on w.subject_id = l.subject_id and w.rule_id = l.rule_id and w.due_on = l.due_on
             and w.threshold = l.threshold
join subject s on s.org_id = :org and s.id = l.subject_id
join site p on p.org_id = :org and p.id = s.site_id
join site_day d on d.site_id = p.id
join kind k on k.org_id = :org and k.id = s.kind_id
join alert_rule r on r.org_id = :org and r.id = l.rule_id
join member m on m.org_id = :org and m.id = x.recipient_id
left join member v on v.org_id = :org and v.id = x.covers_id
where x.org_id = :org and x.recipient_id = :member and {TOLD}
  and (cast(:claim as bigint) is null or (l.subject_id, l.due_on) in (
         select c.subject_id, c.due_on from notification_ledger c where c.org_id = :org and c.id = :claim))
order by l.id, x.channel = 'in_app' desc, x.id"""

ANSWERS = """
select a.claim_id, l.subject_id, l.due_on, a.member_id, m.name, a.answer, a.until_on, a.note, a.acknowledged_at
from acknowledgement a
join notification_ledger l on l.org_id = :org and l.id = a.claim_id
join member m on m.org_id = :org and m.id = a.member_id
where a.org_id = :org and a.taken_back_at is null and a.sent_back_at is null
  and l.subject_id = any (cast(:subjects as bigint[]))
order by a.acknowledged_at"""

ALSO_TOLD = f"""
select l.subject_id, l.due_on, array_agg(distinct m.name order by m.name) as names
from delivery x
join notification_ledger l on l.org_id = :org and l.id = x.claim_id
join member m on m.org_id = :org and m.id = x.recipient_id
where x.org_id = :org and x.state = '{ARRIVED}' and x.recipient_id <> :member
  and l.subject_id = any (cast(:subjects as bigint[]))
group by l.subject_id, l.due_on"""


@dataclass(frozen=True)
class Said:
    """A standing answer of somebody to one of the alerts of a deadline."""

    claim_id: int
    member_id: int
    name: str
    answer: str
    until_on: dt.date | None
    note: str
    at: dt.datetime


@dataclass(frozen=True)
class Alert:
    """One deadline in an inbox. `older` are the notices (thresholds) of it that came before.

    Only the app knows what was opened: of what was told by e-mail alone nothing counts as unread.
    """

    claim_id: int
    subject_id: int
    reference: str
    title: str
    site: str
    timezone: str
    kind: str
    wording: str
    what_to_do: str
    due_on: dt.date
    today: dt.date
    threshold: str
    rule: str
    because: str
    covers: str | None  # In whose place.
    delivered_at: dt.datetime
    unread: bool
    older: list[str]
    mine: Said | None
    others: list[Said] = field(default_factory=list)
    also_told: list[str] = field(default_factory=list)


def count_unread(session: Session, org: int, member_id: int, now: dt.datetime) -> int:
    """How many lines of the inbox are new to the person. Most have none, and that is known at once."""
    query = select(func.count()).where(
        Delivery.org_id == org,
        Delivery.recipient_id == member_id,
        Delivery.channel == Channel.in_app,
        Delivery.state == State.delivered,
        Delivery.seen_at.is_(None),
    )
    if session.execute(query).scalar_one() == 0:
        return 0
    return sum(alert.unread for alert in read_inbox(session, org, member_id, now))


def read_inbox(
    session: Session, org: int, member_id: int, now: dt.datetime, claim_id: int | None = None
) -> list[Alert]:
    """The person's alerts, the most urgent first; or only the deadline of one of them."""
    given = {"org": org, "member": member_id, "claim": claim_id}
    subjects = [row.subject_id for row in session.execute(text(SUBJECTS), given)]
    if not subjects:
        return []
    session.execute(PLAN_SIMPLY)
    given |= {"subjects": subjects} | site_facts(session, org, now)
    families: dict[tuple[int, dt.date], list[Any]] = defaultdict(list)
    for row in session.execute(text(ALERTS), given):
        families[row.subject_id, row.due_on].append(row)
    answers: dict[tuple[int, dt.date], list[Said]] = defaultdict(list)
    for row in session.execute(text(ANSWERS), given):
        said = Said(row.claim_id, row.member_id, row.name, row.answer, row.until_on, row.note, row.acknowledged_at)
        answers[row.subject_id, row.due_on].append(said)
    told = {(row.subject_id, row.due_on): list(row.names) for row in session.execute(text(ALSO_TOLD), given)}
    alerts = [alert_of(rows, answers[key], told.get(key, []), member_id) for key, rows in families.items()]
    return sorted(alerts, key=lambda alert: ((alert.due_on - alert.today).days, alert.reference))[:MOST]


def alert_of(rows: Sequence[Any], answers: Sequence[Said], also_told: list[str], member_id: int) -> Alert:
    ordered = sorted(rows, key=lambda row: sharpest_first(row.threshold, row.crossed_on))
    top = ordered[0]
    same = ("claim_id", "subject_id", "reference", "title", "site", "timezone", "kind", "wording", "what_to_do",
            "due_on", "today", "threshold", "rule", "because", "covers", "delivered_at")  # fmt: skip
    return Alert(
        **{name: getattr(top, name) for name in same},
        unread=any(row.unread for row in rows),
        older=[notice for notice in dict.fromkeys(row.threshold for row in ordered) if notice != top.threshold],
        mine=next((said for said in reversed(answers) if said.member_id == member_id), None),
        others=[said for said in answers if said.member_id != member_id],
        also_told=also_told,
    )


def site_facts(session: Session, org: int, now: dt.datetime) -> dict[str, Any]:
    """Each usable site's own date, as the predicate *wanted* asks for it."""
    days: dict[int, dt.date] = {}
    for site_id, timezone in session.execute(select(Site.id, Site.timezone).where(Site.org_id == org)):
        try:
            days[site_id] = calendars.today(now, timezone)
        except UnusableZone:
            continue
    return {"sites": list(days), "todays": list(days.values()), "not_befores": [now] * len(days)}
