"""Test mails as the scheduler moves them: asked, handed over at most once, settled. They are no claims, no deliveries.

There is no lease: whoever first writes the hand-over, before the final dot, sends; for everybody else the row is taken,
for ever (P3). What was handed over and never settled is written as without an answer once nobody can be waiting.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from app.domain.trials import CHECKPOINT_WAITS_AT_MOST, WAITS_AT_MOST, TrialEnd
from app.trail.act import Act

AT_ONCE = 20  # Test mails of an organisation in one round; the others come with the next.
REPLY_LENGTH = 1000  # Characters kept of an answer: more than any server says that means to be read.

ANY_OPEN = "select from mail_trial t where t.org_id = :org and t.settled_at is null limit 1"

HANDED_OVER, SETTLED = "mail_trial_handed_over", "mail_trial_settled"
CHECKPOINT_HANDED_OVER, CHECKPOINT_SETTLED = "checkpoint_mail_handed_over", "checkpoint_mail_settled"

# A restored database may not know that one was sent: what was asked before a hold, or during it, stays.
MAY_LEAVE = """
t.org_id = :org and t.settled_at is null and t.handed_over_at is null
and t.asked_at > case when t.note is null then :oldest else :oldest_checkpoint end
and m.is_active and m.email is not null
and not exists (select from delivery_hold h where h.org_id = :org
                and (h.released_at is null or h.held_at >= t.asked_at))"""

DUE = f"""
select t.id, g.name as organisation, g.slug, m.name, m.email as address, m.locale, t.note
from mail_trial t
join member m on m.org_id = :org and m.id = t.member_id
join organisation g on g.id = t.org_id
where {MAY_LEAVE}
order by t.id limit :at_once"""

HAND_OVER = f"""
update mail_trial t set handed_over_at = :now, sent_to = m.email
from member m
where m.org_id = :org and m.id = t.member_id and t.id = :trial and m.email = :address and {MAY_LEAVE}
returning t.id"""

# An answer that comes late still settles what was given up as without one.
SETTLE = """
update mail_trial t set settled_at = :now, outcome = :outcome, reply = :reply
where t.org_id = :org and t.id = :trial and (t.handed_over_at is not null) = :handed_over
  and (t.settled_at is null or t.outcome = :no_answer)
returning t.id, t.note"""

GIVE_UP = """
update mail_trial t
set settled_at = :now, outcome = case when t.handed_over_at is null then :too_late else :no_answer end
where t.org_id = :org and t.settled_at is null
  and (t.handed_over_at < :silent_since or t.handed_over_at is null
       and t.asked_at <= case when t.note is null then :oldest else :oldest_checkpoint end)
returning t.id, t.outcome, t.note"""


@dataclass(frozen=True)
class DueTrial:
    """One test mail that may be sent now, and to whom; with a note it is a checkpoint."""

    id: int
    organisation: str
    slug: str
    name: str
    address: str
    locale: str
    note: str | None
    now: dt.datetime


def is_any_open(act: Act) -> bool:
    """Whether anything is to be sent or given up; asked in every tick, so that it costs next to nothing."""
    return act.run(ANY_OPEN).first() is not None


def due_trials(act: Act, answer_within: dt.timedelta) -> list[DueTrial]:
    """What may be sent now, after giving up what waited too long, or got no answer within this time."""
    give_up(act, answer_within)
    rows = act.run(DUE, oldest(act) | {"at_once": AT_ONCE})
    return [DueTrial(**row._mapping, now=act.now) for row in rows]


def oldest(act: Act) -> dict[str, dt.datetime]:
    """When what may still be sent was asked for at the earliest."""
    return {"oldest": act.now - WAITS_AT_MOST, "oldest_checkpoint": act.now - CHECKPOINT_WAITS_AT_MOST}


def give_up(act: Act, answer_within: dt.timedelta) -> None:
    ends = {"too_late": str(TrialEnd.too_late), "no_answer": str(TrialEnd.no_answer)}
    limits = oldest(act) | {"silent_since": act.now - answer_within}
    for row in act.run(GIVE_UP, ends | limits).all():
        act.record(SETTLED if row.note is None else CHECKPOINT_SETTLED, trial_id=row.id, outcome=row.outcome)


def hand_over_trial(act: Act, trial: DueTrial) -> bool:
    """Mark it as handed over, to this address; False if it is somebody else's, or may not leave any more.

    The caller commits durably before the final dot is written.
    """
    facts = oldest(act) | {"trial": trial.id, "address": trial.address}
    if act.run(HAND_OVER, facts).one_or_none() is None:
        return False
    act.record(HANDED_OVER if trial.note is None else CHECKPOINT_HANDED_OVER, trial_id=trial.id)
    return True


def settle_trial(act: Act, trial_id: int, end: TrialEnd, reply: str, *, handed_over: bool) -> bool:
    """Write what came of it. `handed_over` is whether the writer did that: nobody settles what another one sends."""
    facts = {"trial": trial_id, "outcome": str(end), "reply": reply[:REPLY_LENGTH], "handed_over": handed_over}
    settled = act.run(SETTLE, facts | {"no_answer": str(TrialEnd.no_answer)}).one_or_none()
    if settled is None:
        return False
    act.record(SETTLED if settled.note is None else CHECKPOINT_SETTLED, trial_id=trial_id, outcome=str(end))
    return True
