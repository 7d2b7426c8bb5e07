"""Parts: a condition of a permit, a licence of a machine. An entry is part of one other at its site, one level deep.

A part may have due dates of its own, or one that is so far from each due date of its whole, and moves with it.
"""

from __future__ import annotations

from sqlalchemy import func, select

from app.domain import thresholds
from app.domain.acts import Status
from app.domain.errors import Refused
from app.ledger.followers import follow
from app.ledger.queue import changed
from app.models import Obligation, Subject
from app.trail.act import Act
from app.wording import later

PLACE = ("part_of_id", "due_from")


def check_place(
    act: Act, site_id: int, part_of_id: int | None, due_from: str | None, subject_id: int | None = None
) -> str | None:
    """The distance as it is stored. Raises Refused unless an entry at this site can be part of that one."""
    if part_of_id is None:
        if due_from:
            raise Refused("A due date that follows its whole's needs a whole: name what the entry is part of.")
        return None
    whole = act.session.scalars(select(Subject).where(Subject.org_id == act.org, Subject.id == part_of_id)).one()
    if whole.id == subject_id:
        raise Refused("%(reference)s cannot be part of itself: name another entry.", reference=whole.reference)
    if whole.site_id != site_id:
        words = later("%(reference)s is at another site: a part and its whole are at the same one.")
        raise Refused(words, reference=whole.reference)
    if whole.part_of_id is not None:
        words = later("%(reference)s is a part itself, and parts have no parts: name its whole.")
        raise Refused(words, reference=whole.reference)
    if whole.status == Status.archived:
        raise Refused("%(reference)s is archived: restore it first.", reference=whole.reference)
    if subject_id is not None and count_parts(act, subject_id):
        raise Refused("The entry has parts itself, and parts have no parts: take them off first.")
    return thresholds.parse(due_from).text if due_from else None


def count_parts(act: Act, subject_id: int) -> int:
    parts = (Subject.org_id == act.org, Subject.part_of_id == subject_id)
    return act.session.scalars(select(func.count()).select_from(Subject).where(*parts)).one()


def put_into(act: Act, subject: Subject, part_of_id: int | None, due_from: str | None) -> bool:
    """Make the entry part of another (None: of none), with due dates of its own or so far from those of its whole."""
    query = select(Subject).where(Subject.org_id == act.org, Subject.id == subject.id).with_for_update()
    act.session.scalars(query.execution_options(populate_existing=True)).one()
    distance = check_place(act, subject.site_id, part_of_id, due_from, subject.id)
    if distance and subject.recurrence:
        raise Refused(
            "%(reference)s comes again by itself: take its recurrence off first, it comes with its whole.",
            reference=subject.reference,
        )
    old = {name: getattr(subject, name) for name in PLACE}
    new = {"part_of_id": part_of_id, "due_from": distance}
    if old == new:
        return False
    subject.part_of_id, subject.due_from = part_of_id, distance
    if old["part_of_id"] != part_of_id or distance is None:
        let_go(act, subject.id)
    changed(act, subject_id=subject.id)
    act.record("subject_put_into", subject_id=subject.id, old=old, new=new)
    follow(act, [subject.id])
    return True


def let_go(act: Act, subject_id: int) -> None:
    """Its open due dates stay where they are, and follow no other any more."""
    mine = (Obligation.org_id == act.org, Obligation.subject_id == subject_id)
    following = (Obligation.follows_id.is_not(None), Obligation.closed_at.is_(None))
    for obligation in act.session.scalars(select(Obligation).where(*mine, *following)):
        obligation.follows_id = None
    act.session.flush()
