"""The files that people sent with their answers: what a page says of them. Their content is read where it is given."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from app.domain.media import SHOWN
from app.models import Acknowledgement, Attachment, Member, NotificationLedger


@dataclass(frozen=True)
class AnswerFile:
    """One file of an answer; one that was dropped has no content any more."""

    id: int
    answer_id: int
    file_name: str
    media_type: str
    size: int
    is_dropped: bool

    @property
    def is_picture(self) -> bool:
        """Whether every browser can show it."""
        return self.media_type in SHOWN and not self.is_dropped


def read_answer_files(session: Session, org: int, answer_ids: Collection[int]) -> Mapping[int, Sequence[AnswerFile]]:
    """By answer, its files."""
    one, found = Attachment, defaultdict[int, list[AnswerFile]](list)
    columns = (one.id, one.acknowledgement_id, one.file_name, one.media_type, one.size, one.dropped_at.is_not(None))
    query = select(*columns).where(one.org_id == org, one.acknowledgement_id.in_(answer_ids)).order_by(one.id)
    rows: Sequence[Any] = session.execute(query).all() if answer_ids else ()
    for row in rows:
        found[row.acknowledgement_id].append(AnswerFile(*row))
    return found


@dataclass(frozen=True)
class SentFile:
    """A file that somebody sent with an answer about an entry, and that is kept."""

    id: int
    file_name: str
    person: str
    sent_at: dt.datetime


def read_sent_files(session: Session, org: int, subject_id: int) -> Sequence[SentFile]:
    """Those of the entry, the last one first, also of answers that stand no more."""
    answer, claim = Acknowledgement, NotificationLedger
    query = (
        select(Attachment.id, Attachment.file_name, Member.name, answer.acknowledged_at)
        .join(answer, and_(answer.org_id == org, answer.id == Attachment.acknowledgement_id))
        .join(claim, and_(claim.org_id == org, claim.id == answer.claim_id))
        .join(Member, and_(Member.org_id == org, Member.id == answer.member_id))
        .where(Attachment.org_id == org, Attachment.dropped_at.is_(None), claim.subject_id == subject_id)
        .order_by(Attachment.id.desc())
    )
    return [SentFile(*row) for row in session.execute(query)]
