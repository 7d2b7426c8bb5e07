"""What hung on somebody who has left goes to a person or a post: one act upon all of it, one batch in the trail.

Open alerts follow by themselves: the next check finds who is responsible now.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import func, select, true, update

from app.domain import calendars
from app.domain.acts import ArchiveReason, Held, Status
from app.domain.batches import BatchAct
from app.domain.recipients import MEMBER, POST
from app.ledger.queue import changed
from app.models import (
    Absence,
    AlertRule,
    CalendarFeed,
    Departure,
    Member,
    Post,
    RuleRecipient,
    Site,
    SitePost,
    Subject,
)
from app.operations import people, register
from app.operations.batch_acts import BATCH
from app.operations.batch_plan import Order
from app.operations.batches import Trail
from app.operations.imports import queue
from app.operations.promises import take_back_promises
from app.trail.act import Act


@dataclass
class Moves:
    """What becomes of each entry, as the trail says it."""

    changed: dict[int, list[tuple[str, object, object]]] = field(default_factory=dict)

    def add(self, subject_id: int, event: str, old: object, new: object) -> None:
        self.changed.setdefault(subject_id, []).append((event, old, new))


def hand_on(act: Act, departure: Departure) -> int | None:
    """Hand everything over, now; the id of the batch of its entries, if there are any."""
    batch_id = _hand_on_entries(act, departure)
    posts, rules = _end_posts(act, departure), _name_another(act, departure)
    promises = take_back_promises(act, departure.member_id)
    covers, feeds = _stand_in_no_more(act, departure), _revoke_feeds(act, departure.member_id)
    departure.done_at = act.now
    changed(act)
    counts: dict[str, Any] = {"posts": posts, "rules": rules, "stand_ins": covers, "feeds": feeds, "promises": promises}
    act.record("departure_done", departure_id=departure.id, member_id=departure.member_id, batch=batch_id, **counts)
    return batch_id


def _hand_on_entries(act: Act, departure: Departure) -> int | None:
    gone = departure.member_id
    mine = (Subject.owner_member_id == gone) | (Subject.holder_id == gone)
    query = select(Subject).where(Subject.org_id == act.org, mine, Subject.status != Status.archived)
    query = query.order_by(Subject.id).with_for_update(key_share=True).execution_options(populate_existing=True)
    moves = Moves()
    for subject in act.session.scalars(query).all():
        if subject.holder_id == gone and departure.about == Held.archive:
            register.archive(act, subject, ArchiveReason.gone)
        else:
            _hand_on_entry(subject, departure, moves)
    act.session.flush()
    if not moves.changed:
        return None
    said = Order(BatchAct.assign, member_id=departure.to_member_id, post_id=departure.to_post_id).said
    detail = {**said, "done": len(moves.changed), "left": {}, "departure": departure.id}
    batch_id = int(act.run(BATCH, {"detail": json.dumps(detail)}).scalar_one())
    trail = Trail(act, {"batch": batch_id, "others": len(moves.changed) - 1, "by_act": "", "note": ""})
    for subject_id, events in moves.changed.items():
        for event, old, new in events:
            trail.add(event, subject_id, old=old, new=new)
    trail.write()
    queue(act, list(moves.changed))
    return batch_id


def _hand_on_entry(subject: Subject, departure: Departure, moves: Moves) -> None:
    """Who is responsible, and whom it is about. A post cannot be whom it is about: then the post is responsible."""
    old = {"member_id": subject.owner_member_id, "post_id": subject.owner_post_id}
    is_nobodys = old == {"member_id": None, "post_id": None}
    if subject.holder_id == departure.member_id:
        moves.add(subject.id, "holder_assigned", subject.holder_id, departure.to_member_id)
        subject.holder_id = departure.to_member_id
    if subject.owner_member_id == departure.member_id or (is_nobodys and departure.to_post_id is not None):
        subject.owner_member_id, subject.owner_post_id = departure.to_member_id, departure.to_post_id
        new = {"member_id": departure.to_member_id, "post_id": departure.to_post_id}
        moves.add(subject.id, "subject_assigned", old, new)


def _end_posts(act: Act, departure: Departure) -> int:
    """Posts end with the day before; a person who takes over holds them from the day on, where the site is in use."""
    in_use = set(act.session.scalars(select(Site.id).where(Site.org_id == act.org, Site.archived_at.is_(None))))
    query = select(SitePost).where(SitePost.org_id == act.org, SitePost.member_id == departure.member_id)
    running = SitePost.until_on.is_(None) | (SitePost.until_on >= departure.leaves_on)
    held = act.session.scalars(query.where(running).with_for_update()).all()
    for one in held:
        until, first = one.until_on, max(one.from_on, departure.leaves_on)
        last = max(departure.leaves_on - calendars.DAY, one.from_on)
        people.end_post(act, one.post_id, one.member_id, one.site_id, one.from_on, last)
        if departure.to_member_id is not None and one.site_id in in_use:
            _hold(act, one, departure.to_member_id, first, until)
    return len(held)


def _hold(act: Act, post: SitePost, heir_id: int, first: dt.date, until: dt.date | None) -> None:
    """Whoever takes over holds it as long; longer, if they hold it longer already."""
    own = select(SitePost.until_on).where(SitePost.org_id == act.org, SitePost.member_id == heir_id)
    own = own.where(SitePost.site_id == post.site_id, SitePost.post_id == post.post_id)
    running = SitePost.until_on.is_(None) | (SitePost.until_on >= first)
    began = true() if until is None else SitePost.from_on <= until
    lasts = [until, *act.session.scalars(own.where(running, began))]
    last = None if None in lasts else max(day for day in lasts if day is not None)
    people.assign_post(act, post.post_id, heir_id, post.site_id, first, last)


def _name_another(act: Act, departure: Departure) -> list[int]:
    """Rules that name the person name the other one, or the post; the ids of those rules."""
    gone = act.session.get_one(Member, (act.org, departure.member_id))
    if gone.email is None:
        return []
    old, new = f"{MEMBER}:{gone.email}".lower(), _recipient(act, departure)
    query = select(AlertRule).where(AlertRule.org_id == act.org, AlertRule.archived_at.is_(None))
    naming = select(RuleRecipient.rule_id).where(
        RuleRecipient.org_id == act.org, func.lower(RuleRecipient.recipient) == old
    )
    found = act.session.scalars(
        query.where(AlertRule.id.in_(naming) | (func.lower(AlertRule.fallback) == old)).order_by(AlertRule.id)
    ).all()
    for rule in found:
        of_rule = select(RuleRecipient).where(RuleRecipient.org_id == act.org, RuleRecipient.rule_id == rule.id)
        present = {one.recipient: one for one in act.session.scalars(of_rule)}
        for text in [text for text in present if text.lower() == old]:
            act.session.delete(present[text])
            if new not in present:
                act.session.add(RuleRecipient(org_id=act.org, rule_id=rule.id, recipient=new))
        if rule.fallback is not None and rule.fallback.lower() == old:
            rule.fallback = new
        rule.version += 1
    return [rule.id for rule in found]


def _recipient(act: Act, departure: Departure) -> str:
    if departure.to_post_id is not None:
        return f"{POST}:{act.session.get_one(Post, (act.org, departure.to_post_id)).name}"
    return f"{MEMBER}:{act.session.get_one(Member, (act.org, departure.to_member_id)).email}"


def _stand_in_no_more(act: Act, departure: Departure) -> int:
    """Nobody is stood in for by somebody who is gone: they are told themselves, until they name another."""
    this = (Absence.org_id == act.org, Absence.stand_in_id == departure.member_id, Absence.cancelled_at.is_(None))
    ending = update(Absence).where(*this, Absence.until_on >= departure.leaves_on).values(stand_in_id=None)
    ended = act.session.execute(ending.returning(Absence.id, Absence.member_id)).all()
    for absence_id, member_id in ended:
        act.record("stand_in_left", absence_id=absence_id, member_id=member_id, stand_in_id=departure.member_id)
    return len(ended)


def _revoke_feeds(act: Act, member_id: int) -> int:
    own = (CalendarFeed.org_id == act.org, CalendarFeed.member_id == member_id, CalendarFeed.revoked_at.is_(None))
    revoked = act.session.scalars(
        update(CalendarFeed).where(*own).values(revoked_at=act.now).returning(CalendarFeed.id)
    ).all()
    for feed_id in revoked:
        act.record("calendar_feed_revoked", feed_id=feed_id, member_id=member_id)
    return len(revoked)
