"""Answers of people to claims, and what whoever checks them makes of them. An answer closes nothing by itself.

One standing answer for a member and a claim, by the partial unique index `acknowledgement_once`; the first standing
one is copied onto the claim. Whoever answers twice, or two at once, do no harm (H28).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.acts import Answer
from app.ledger.queue import changed
from app.trail.act import Act

# Two at once wait for each other here, so that each sees the answer of the other.
LOCK = "select subject_id from notification_ledger where org_id = :org and id = :claim for update"

STANDING = """
select id, answer, until_on, done_on, note, whose_member_id, whose_post_id,
       (select max(f.sha256) from attachment f where f.org_id = :org and f.acknowledgement_id = a.id) as sha256
from acknowledgement a
where org_id = :org and claim_id = :claim and member_id = :member and taken_back_at is null and sent_back_at is null"""

TAKE_BACK = "update acknowledgement set taken_back_at = :now where org_id = :org and id = :id and taken_back_at is null"

ANSWER = """
insert into acknowledgement (org_id, claim_id, member_id, acknowledged_at, answer, until_on, done_on, note,
                             whose_member_id, whose_post_id)
values (:org, :claim, :member, :now, :answer, :until_on, :done_on, :note, :whose_member_id, :whose_post_id)
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
    whose_member_id: int | None = None,
    whose_post_id: int | None = None,
    file: Mapping[str, Any] | None = None,
) -> int | None:
    """Record the answer; its id. The same again changes nothing (None); another one takes the former one back.

    `file` is what the trail says of a file that the caller keeps with the answer.
    """
    given: dict[str, Any] = {"answer": str(answer), "until_on": until_on, "done_on": done_on, "note": note}
    given |= {"whose_member_id": whose_member_id, "whose_post_id": whose_post_id}
    subject = lock(act, claim_id)
    before = act.run(STANDING, {"claim": claim_id, "member": member_id}).one_or_none()
    if before is not None:
        is_same = all(getattr(before, name) == value for name, value in given.items())
        if is_same and (file is None or file["sha256"] == before.sha256):
            return None
        _take_back(act, before, claim_id, member_id, subject)
    answer_id: int | None = act.run(ANSWER, {"claim": claim_id, "member": member_id, **given}).scalar_one_or_none()
    if answer_id is None:
        return None
    act.run(COPY_FIRST, {"claim": claim_id})
    said = given | {"until_on": _iso(until_on), "done_on": _iso(done_on)} | ({"file": dict(file)} if file else {})
    said |= {"personal": {"note": said.pop("note")}, "about": member_id}
    act.record("acknowledged", subject_id=subject, claim_id=claim_id, member=member_id, answer_id=answer_id, **said)
    changed(act, subject_id=subject)
    if until_on is not None:
        changed(act, subject_id=subject, wake_on=until_on + dt.timedelta(days=1))
    return answer_id


def lock(act: Act, claim_id: int) -> int:
    """One at a time answers a claim, or checks its answers. The id of its entry."""
    act.session.flush()
    return int(act.run(LOCK, {"claim": claim_id}).scalar_one())


def _take_back(act: Act, before: Any, claim_id: int, member_id: int, subject: int) -> None:
    act.run(TAKE_BACK, {"id": before.id})
    act.record("answer_taken_back", subject_id=subject, claim_id=claim_id, member=member_id, answer=before.answer)


def _iso(day: dt.date | None) -> str | None:
    return day.isoformat() if day else None


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
    subject = lock(act, claim_id)
    before = act.run(STANDING, {"claim": claim_id, "member": member_id}).one_or_none()
    if before is None:
        return False
    _take_back(act, before, claim_id, member_id, subject)
    act.run(COPY_FIRST, {"claim": claim_id})
    changed(act, subject_id=subject)
    return True


@dataclass(frozen=True)
class Standing:
    """A standing answer that somebody checks; its claim is locked."""

    id: int
    claim_id: int
    member_id: int
    answer: str
    subject_id: int


ACCEPT = """
update acknowledgement set accepted_at = :now, checked_by = :checker
where org_id = :org and id = :id and answer = 'done' and taken_back_at is null and sent_back_at is null
returning id"""

SEND_BACK = """
update acknowledgement set sent_back_at = :now, sent_back_note = :note, checked_by = :checker
where org_id = :org and id = :id and taken_back_at is null and sent_back_at is null
returning id"""


def accept_if_standing(act: Act, one: Standing, checker: int | None) -> bool:
    """Note that what was said to be done was looked at, and is. The caller closes the deadline."""
    if act.run(ACCEPT, {"id": one.id, "checker": checker}).one_or_none() is None:
        return False
    act.record("answer_accepted", **_named(one))
    return True


def send_back_if_standing(act: Act, one: Standing, note: str, checker: int | None) -> bool:
    """The answer stands no more, and the person is told why: nobody is on it by it, and its claim is unanswered."""
    if act.run(SEND_BACK, {"id": one.id, "note": note, "checker": checker}).one_or_none() is None:
        return False
    act.run(COPY_FIRST, {"claim": one.claim_id})
    act.record("answer_sent_back", **_named(one), personal={"note": note}, about=one.member_id)
    changed(act, subject_id=one.subject_id)
    return True


def _named(one: Standing) -> dict[str, Any]:
    """What an event says of the answer that it is about."""
    facts = {"member": one.member_id, "answer": one.answer, "answer_id": one.id}
    return {"subject_id": one.subject_id, "claim_id": one.claim_id, **facts}
