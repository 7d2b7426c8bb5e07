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

from sqlalchemy import (
    ARRAY,
    TIMESTAMP,
    BigInteger,
    Date,
    ScalarSelect,
    Text,
    and_,
    select,
    text,
    union,
)
from sqlalchemy.orm import Session

from app.domain.delivery import Channel, State
from app.domain.thresholds import asked_on, sharpest_first
from app.models import Acknowledgement, Delivery, NotificationLedger
from app.models.wanted import REACH, WANTED
from app.queries.places import IN_PLACES
from app.queries.planning import plan_simply
from app.queries.sight import Sight
from app.queries.together import Asked, together
from app.queries.what_to_do import WHAT_TO_DO
from app.queries.wholes import WHOLE

FEW = 50  # Entries: with so few it is soon done, however the database plans it.
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

# Told in the place of people who are back, each of whom has taken it up, and answered by the reader with nothing: it is
# no more than history to whoever stood in.
GIVEN_BACK = """(x.because = 'cover'
    and not exists (
      select from unnest(x.covers_id || x.also_covers) as v (id)
      where exists (select from absence a
                    where a.org_id = :org and a.member_id = v.id and a.cancelled_at is null
                      and d.today between a.from_on and a.until_on)
         or not exists (select from acknowledgement k
                        join notification_ledger n on n.org_id = :org and n.id = k.claim_id
                        where k.org_id = :org and n.obligation_id = l.obligation_id and k.member_id = v.id
                          and k.taken_back_at is null and k.sent_back_at is null
                          and k.answer not in ('not_mine', 'help')))
    and not exists (
      select from acknowledgement k
      join notification_ledger n on n.org_id = :org and n.id = k.claim_id
      where k.org_id = :org and n.obligation_id = l.obligation_id and k.member_id = :member
        and k.taken_back_at is null and k.sent_back_at is null))"""

ALERTS = f"""
with {REACH}, wanted as materialized ({WANTED})
select distinct on (l.id) l.id as claim_id, l.subject_id, l.due_on, l.threshold, l.crossed_on, l.reference, l.title,
       {WHOLE}, p.id as site_id, p.name as site, p.timezone, d.today, k.name as kind, k.wording, r.name as rule,
       x.because, {IN_PLACES} as covers, coalesce(x.delivered_at, x.handed_over_at) as delivered_at,
       x.channel = 'in_app' and x.seen_at is null as unread,
       k.proof_needed, o.filed_on, o.filed_reference as receipt, {WHAT_TO_DO}
from delivery x
join notification_ledger l on l.org_id = :org and l.id = x.claim_id and l.standing = 'open'
                          and l.subject_id = any (cast(:subjects as bigint[]))
join wanted w on w.subject_id = l.subject_id and w.rule_id = l.rule_id and w.due_on = l.due_on
             and w.threshold = l.threshold
join subject s on s.org_id = :org and s.id = l.subject_id
join site p on p.org_id = :org and p.id = s.site_id
join site_day d on d.site_id = p.id
join obligation o on o.org_id = :org and o.id = l.obligation_id
join kind k on k.org_id = :org and k.id = s.kind_id
join alert_rule r on r.org_id = :org and r.id = l.rule_id
join member m on m.org_id = :org and m.id = x.recipient_id
where x.org_id = :org and x.recipient_id = :member and {TOLD} and not {GIVEN_BACK}
  and (cast(:claim as bigint) is null or (l.subject_id, l.due_on) in (
         select c.subject_id, c.due_on from notification_ledger c where c.org_id = :org and c.id = :claim))
order by l.id, x.channel = 'in_app' desc, x.id"""

# The lines that are new to the person: not opened, or an answer was sent back and none of theirs stands.
NEW = f"""
with alert as ({ALERTS})
select count(*) from (
  select z.subject_id, z.due_on from alert z group by z.subject_id, z.due_on
  having bool_or(z.unread) or bool_or(exists (
           select from acknowledgement a join notification_ledger c on c.org_id = :org and c.id = a.claim_id
           where a.org_id = :org and a.member_id = :member and a.sent_back_at is not null
             and c.subject_id = z.subject_id and c.due_on = z.due_on))
     and not bool_or(exists (
           select from acknowledgement a join notification_ledger c on c.org_id = :org and c.id = a.claim_id
           where a.org_id = :org and a.member_id = :member and a.taken_back_at is null and a.sent_back_at is null
             and c.subject_id = z.subject_id and c.due_on = z.due_on))) as line"""

ANSWERS = text("""
select a.claim_id, a.member_id, m.name, a.answer, a.until_on, a.done_on, a.note, a.acknowledged_at,
       coalesce(w.name, t.name) as whose,
       array(select f.file_name from attachment f where f.org_id = :org and f.acknowledgement_id = a.id order by f.id)
         as files, l.subject_id, l.due_on
from acknowledgement a
join notification_ledger l on l.org_id = :org and l.id = a.claim_id
join member m on m.org_id = :org and m.id = a.member_id
left join member w on w.org_id = :org and w.id = a.whose_member_id
left join post t on t.org_id = :org and t.id = a.whose_post_id
where a.org_id = :org and a.taken_back_at is null and a.sent_back_at is null
  and l.subject_id = any (cast(:subjects as bigint[]))
order by a.acknowledged_at""").columns(
    claim_id=BigInteger,
    member_id=BigInteger,
    name=Text,
    answer=Text,
    until_on=Date,
    done_on=Date,
    note=Text,
    acknowledged_at=TIMESTAMP(timezone=True),
    whose=Text,
    files=ARRAY(Text),
    subject_id=BigInteger,
    due_on=Date,
)

# The last of the person's answers to a deadline that was sent back; it is shown while no other one of theirs stands.
SENT_BACK = text("""
select distinct on (l.subject_id, l.due_on) l.subject_id, l.due_on,
       a.answer, a.sent_back_note as words, a.sent_back_at as at, m.name as by
from acknowledgement a
join notification_ledger l on l.org_id = :org and l.id = a.claim_id
left join member m on m.org_id = :org and m.id = a.checked_by
where a.org_id = :org and a.member_id = :member and a.sent_back_at is not null
order by l.subject_id, l.due_on, a.sent_back_at desc, a.id desc""").columns(
    subject_id=BigInteger,
    due_on=Date,
    answer=Text,
    words=Text,
    at=TIMESTAMP(timezone=True),
    by=Text,
)

ALSO_TOLD = text(f"""
select l.subject_id, l.due_on, array_agg(distinct m.name order by m.name) as names
from delivery x
join notification_ledger l on l.org_id = :org and l.id = x.claim_id
join member m on m.org_id = :org and m.id = x.recipient_id
where x.org_id = :org and x.state = '{ARRIVED}' and x.recipient_id <> :member
  and l.subject_id = any (cast(:subjects as bigint[]))
group by l.subject_id, l.due_on""").columns(
    subject_id=BigInteger,
    due_on=Date,
    names=ARRAY(Text),
)


@dataclass(frozen=True)
class Said:
    """A standing answer of somebody to one of the alerts of a deadline."""

    claim_id: int
    member_id: int
    name: str
    answer: str
    until_on: dt.date | None
    done_on: dt.date | None
    note: str
    at: dt.datetime
    whose: str | None
    files: Sequence[str]


@dataclass(frozen=True)
class SentBack:
    """What became of an answer of the person: it counts no more, and why. `by` is None where a command did it."""

    answer: str
    words: str
    at: dt.datetime
    by: str | None


@dataclass(frozen=True)
class Alert:
    """One deadline in an inbox. `older` are the notices (thresholds) of it that came before.

    Only the app knows what was opened: of what was told by e-mail alone nothing counts as unread.
    """

    claim_id: int
    subject_id: int
    reference: str
    title: str
    whole: str | None  # What it is part of, by reference and title.
    site_id: int
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
    proof_needed: bool
    filed_on: dt.date | None
    receipt: str | None
    unread: bool
    older: list[str]
    mine: Said | None
    others: list[Said] = field(default_factory=list)
    also_told: list[str] = field(default_factory=list)
    sent_back: SentBack | None = None

    @property
    def is_new(self) -> bool:
        """Not opened yet, or an answer to it was sent back: the person is wanted."""
        return self.unread or self.sent_back is not None

    @property
    def asks_again(self) -> bool:
        """Whether the authority is to be asked again; the due date is not what matters then."""
        return asked_on(self.threshold) is not None


def new_to(org: int, member_id: int | ScalarSelect[int]) -> Asked:
    """The entries of which something was not opened, or an answer sent back: what may be new in the inbox. Cheap."""
    claim, answer = NotificationLedger, Acknowledgement
    unopened = select(claim.subject_id).join(
        Delivery, and_(Delivery.org_id == claim.org_id, Delivery.claim_id == claim.id)
    ).where(
        Delivery.org_id == org, Delivery.recipient_id == member_id, Delivery.channel == Channel.in_app,
        Delivery.state == State.delivered, Delivery.seen_at.is_(None),
    )  # fmt: skip
    returned = select(claim.subject_id).join(answer, and_(answer.org_id == claim.org_id, answer.claim_id == claim.id))
    sent_back = (answer.org_id == org, answer.member_id == member_id, answer.sent_back_at.is_not(None))
    return union(unopened, returned.where(*sent_back))


def count_unread(session: Session, sight: Sight, member_id: int, subject_ids: Sequence[int]) -> int:
    """How many lines of the inbox are new to the person, of these entries, which are those of `new_to`."""
    if not subject_ids:
        return 0
    if len(subject_ids) > FEW:
        plan_simply(session)
    given = {"org": sight.org, "member": member_id, "claim": None, "subjects": subject_ids} | site_facts(sight)
    return int(session.execute(text(NEW), given).scalar_one())


def read_inbox(session: Session, sight: Sight, member_id: int, claim_id: int | None = None) -> list[Alert]:
    """The person's alerts, the most urgent first; or only the deadline of one of them. `sight` is the person's."""
    given = {"org": sight.org, "member": member_id, "claim": claim_id}
    subjects = [row.subject_id for row in session.execute(text(SUBJECTS), given)]
    if not subjects:
        return []
    plan_simply(session)
    given |= {"subjects": subjects} | site_facts(sight)
    families: dict[tuple[int, dt.date], list[Any]] = defaultdict(list)
    for row in session.execute(text(ALERTS), given):
        families[row.subject_id, row.due_on].append(row)
    said, sent_back, also_told = together(session, ANSWERS, SENT_BACK, ALSO_TOLD, given=given)
    answers: dict[tuple[int, dt.date], list[Said]] = defaultdict(list)
    for row in said:
        answers[row.subject_id, row.due_on].append(Said(*row[:-2]))
    returned = {(row.subject_id, row.due_on): SentBack(row.answer, row.words, row.at, row.by) for row in sent_back}
    told = {(row.subject_id, row.due_on): list(row.names) for row in also_told}
    alerts = [
        alert_of(rows, answers[key], told.get(key, []), returned.get(key), member_id) for key, rows in families.items()
    ]
    return sorted(alerts, key=lambda alert: ((alert.due_on - alert.today).days, alert.reference))[:MOST]


def alert_of(
    rows: Sequence[Any], answers: Sequence[Said], also_told: list[str], returned: SentBack | None, member_id: int
) -> Alert:
    ordered = sorted(rows, key=lambda row: sharpest_first(row.threshold, row.crossed_on))
    top = ordered[0]
    mine = next((said for said in reversed(answers) if said.member_id == member_id), None)
    same = ("claim_id", "subject_id", "reference", "title", "whole", "site_id", "site", "timezone", "kind",
            "wording", "what_to_do", "due_on", "today", "threshold", "rule", "because", "covers", "delivered_at",
            "proof_needed", "filed_on", "receipt")  # fmt: skip
    return Alert(
        **{name: getattr(top, name) for name in same},
        unread=any(row.unread for row in rows),
        older=[notice for notice in dict.fromkeys(row.threshold for row in ordered) if notice != top.threshold],
        mine=mine,
        others=[said for said in answers if said.member_id != member_id],
        also_told=also_told,
        sent_back=returned if mine is None else None,
    )


def site_facts(sight: Sight) -> dict[str, Any]:
    """Each usable site's own date, as the predicate *wanted* asks for it."""
    days = {site.id: site.today for site in sight.sites.values() if site.today is not None}
    return {"sites": list(days), "todays": list(days.values()), "not_befores": [sight.now] * len(days)}
