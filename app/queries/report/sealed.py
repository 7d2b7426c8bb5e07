"""The sealed events that a report rests on, with what proves them: checkpoints, keys, and revealed values.

Of all, or of those that the report is about: every event of its alerts, so that their story is whole, and what
happened beside them to the same entries; what has another key seal, or says which events were removed, belongs to
everybody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import ARRAY, BigInteger, ColumnElement, and_, any_, cast, func, or_, select
from sqlalchemy.orm import Session

from app.models import AuditCheckpoint, AuditEvent, AuditLeaf, AuditPersonal, Subject, TrailKey
from app.queries.report.changes import LOOKS, of_entry, of_others
from app.queries.report.scope import Scope, portions

KEY_CHANGED, REMOVED, EXPORTED = "trail_key_changed", "retention_applied", "exported"


def is_whole(scope: Scope) -> bool:
    """Whether the report is about everything, from the beginning."""
    return scope.is_about_all and scope.asked.from_on is None and scope.asked.to_on is None


def read_leaves(session: Session, org: int, size: int) -> Iterator[Any]:
    """Each leaf of the log: `seq`, and `content` or what is left of it, `hash`; in their order."""
    columns = (AuditLeaf.seq, AuditLeaf.content, AuditLeaf.hash)
    return _rows(session, select(*columns).where(*_of_log(org, size)).order_by(AuditLeaf.seq))


def count_removed(session: Session, org: int, size: int) -> int:
    """Of how many leaves only the hash is left."""
    query = select(func.count()).select_from(AuditLeaf).where(*_of_log(org, size), AuditLeaf.hash.is_not(None))
    return session.execute(query).scalar_one()


def read_size(session: Session, org: int) -> int:
    """How many events are sealed."""
    return session.execute(select(func.max(AuditCheckpoint.size)).where(AuditCheckpoint.org_id == org)).scalar_one()


def read_part(session: Session, scope: Scope, size: int, claims: Collection[int]) -> Iterator[Any]:
    """The same of those that the report is about; `claims` are its alerts."""
    one = AuditEvent
    beside = and_(
        one.claim_id.is_(None), one.delivery_id.is_(None), one.type.not_in(LOOKS), scope.within(one.at),
        or_(of_entry(scope), and_(one.subject_id.is_(None), of_others(scope))),
    )  # fmt: skip
    told: ColumnElement[bool] = one.claim_id == any_(cast(list(claims), ARRAY(BigInteger)))
    query = (
        select(AuditLeaf.seq, AuditLeaf.content)
        .join(one, and_(one.org_id == AuditLeaf.org_id, one.id == AuditLeaf.event_id))
        .outerjoin(Subject, and_(Subject.org_id == one.org_id, Subject.id == one.subject_id))
        .where(*_of_log(scope.org, size), or_(told, beside, one.type.in_((KEY_CHANGED, REMOVED))))
        .order_by(AuditLeaf.seq)
    )
    return _rows(session, query)


def read_checkpoints(session: Session, org: int, size: int) -> Iterator[Any]:
    """`size` and `note` of the last of each day, of those that exports went out with, of changed keys, and the newest.

    They are what somebody may have kept; one is made whenever something happens, which is far too many.
    """
    one = AuditCheckpoint
    day = func.date_trunc("day", func.timezone("UTC", one.at))
    last = select(func.max(one.size)).where(one.org_id == org, one.size <= size).group_by(day)
    sent = select(AuditEvent.detail["sealed"].as_integer()).where(
        AuditEvent.org_id == org, AuditEvent.type == EXPORTED, AuditEvent.detail.has_key("sealed")
    )
    wanted = or_(one.size.in_(last), one.size.in_(sent), one.note.like("%\n— %\n— %"))
    query = select(one.size, one.note).where(one.org_id == org, one.size <= size, wanted).order_by(one.size)
    yield from session.execute(query)


def read_values(session: Session, org: int, size: int) -> Iterator[Any]:
    """The personal values that are still there, each with the place of its event: `seq`, `name`, `salt`, `value`."""
    one = AuditPersonal
    of_event = and_(AuditLeaf.org_id == one.org_id, AuditLeaf.event_id == one.event_id)
    query = select(AuditLeaf.seq, one.name, one.salt, one.value).join(AuditLeaf, of_event)
    return _rows(session, query.where(*_of_log(org, size)).order_by(AuditLeaf.seq, one.name))


def read_keys(session: Session) -> list[str]:
    """Every public key that has sealed here, in that order."""
    return list(session.scalars(select(TrailKey.vkey).order_by(TrailKey.id)))


def _of_log(org: int, size: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return AuditLeaf.org_id == org, AuditLeaf.seq < size


def _rows(session: Session, query: Any) -> Iterator[Any]:
    for rows in portions(session, query):
        yield from rows
