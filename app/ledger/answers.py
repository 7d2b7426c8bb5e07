"""Answers of people to claims. An answer closes nothing; it says that somebody has seen, or is on it.

One standing answer for a member and a claim, by the partial unique index `acknowledgement_once`; the first standing
one is copied onto the claim. Whoever answers twice, or two at once, do no harm (H28).
"""

from __future__ import annotations

import datetime as dt

from app.domain.acts import Answer
from app.ledger.queue import changed
from app.trail.act import Act

# Two at once wait for each other here, so that each sees the answer of the other.
LOCK = "select subject_id from notification_ledger where org_id = :org and id = :claim for update"

STANDING = """
select id, answer, until_on, done_on, note from acknowledgement
where org_id = :org and claim_id = :claim and member_id = :member and taken_back_at is null and sent_back_at is null"""

TAKE_BACK = "update acknowledgement set taken_back_at = :now where org_id = :org and id = :id and taken_back_at is null"

ANSWER = """
insert into acknowledgement (org_id, claim_id, member_id, acknowledged_at, answer, until_on, done_on, note)
values (:org, :claim, :member, :now, :answer, :until_on, :done_on, :note)
on conflict (org_id, claim_id, member_id) where taken_back_at is null and sent_back_at is null do nothing
returning id"""

# The first standing answer is the claim's own; without one the claim is unanswered again.
COPY_FIRST = """
update notification_ledger l set acknowledged_at = f.acknowledged_at, acknowledged_by = f.member_id
from (select min(a.acknowledged_at) as acknowledged_at,
             (array_agg(a.member_id order by a.acknowledged_at, a.id))[1] as member_id
      from acknowledgement a
      where a.org_id = :org and a.claim_id = :claim and a.taken_back_at is null and a.sent_back_at is null) f
where l.org_id = :org and l.id = :claim
  and (l.acknowledged_at, l.acknowledged_by) is distinct from (f.acknowledged_at, f.member_id)"""


def acknowledge_once(
    act: Act,
    *,
    claim_id: int,
    member_id: int,
    answer: Answer,
    until_on: dt.date | None = None,
    done_on: dt.date | None = None,
    note: str = "",
) -> bool:
    """Record the answer. The same again changes nothing (False); another one takes the member's former one back."""
    act.session.flush()
    subject = act.run(LOCK, {"claim": claim_id}).scalar_one()
    given = {"answer": str(answer), "until_on": until_on, "done_on": done_on, "note": note}
    before = act.run(STANDING, {"claim": claim_id, "member": member_id}).one_or_none()
    if before is not None:
        if all(getattr(before, name) == value for name, value in given.items()):
            return False
        act.run(TAKE_BACK, {"id": before.id})
        act.record("answer_taken_back", subject_id=subject, claim_id=claim_id, member=member_id, answer=before.answer)
    if act.run(ANSWER, {"claim": claim_id, "member": member_id, **given}).one_or_none() is None:
        return False
    act.run(COPY_FIRST, {"claim": claim_id})
    act.record(
        "acknowledged",
        subject_id=subject,
        claim_id=claim_id,
        member=member_id,
        answer=str(answer),
        until_on=until_on.isoformat() if until_on else None,
        done_on=done_on.isoformat() if done_on else None,
        note=note,
    )
    changed(act, subject_id=subject)
    if until_on is not None:
        changed(act, subject_id=subject, wake_on=until_on + dt.timedelta(days=1))
    return True


# A deadline is one line in the inbox: whoever opens it has seen its older alerts, too.
OPENED = """
update delivery x set seen_at = :now
from notification_ledger l, notification_ledger c
where c.org_id = :org and c.id = :claim
  and l.org_id = :org and l.subject_id = c.subject_id and l.due_on = c.due_on
  and x.org_id = :org and x.claim_id = l.id and x.recipient_id = :member
  and x.channel = 'in_app' and x.state = 'delivered' and x.seen_at is null
returning x.id, x.claim_id"""


def mark_opened(act: Act, *, claim_id: int, member_id: int) -> bool:
    """Record that the member has opened what the app told them of this deadline. Once; it is no answer."""
    opened = act.run(OPENED, {"claim": claim_id, "member": member_id}).all()
    for row in opened:
        act.record("opened", claim_id=row.claim_id, delivery_id=row.id, member=member_id)
    return bool(opened)


def take_back(act: Act, *, claim_id: int, member_id: int) -> bool:
    """Take the member's standing answer back; both stay on record. False if there is none."""
    act.session.flush()
    subject = act.run(LOCK, {"claim": claim_id}).scalar_one()
    before = act.run(STANDING, {"claim": claim_id, "member": member_id}).one_or_none()
    if before is None:
        return False
    act.run(TAKE_BACK, {"id": before.id})
    act.run(COPY_FIRST, {"claim": claim_id})
    act.record("answer_taken_back", subject_id=subject, claim_id=claim_id, member=member_id, answer=before.answer)
    changed(act, subject_id=subject)
    return True
