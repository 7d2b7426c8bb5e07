"""The files that people sent with their answers: what a page says of them. Their content is read where it is given."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Select, and_, select
from sqlalchemy.orm import Session

from app.domain.media import SHOWN
from app.models import Acknowledgement, Attachment, Member, NotificationLedger
from app.queries.together import Asked, Found


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
    return answer_files_of(session.execute(answer_files_asked(org, answer_ids))) if answer_ids else {}


def answer_files_asked(org: int, answer_ids: Collection[int] | Select[int]) -> Asked:
    """The select whose result `answer_files_of` takes."""
    one = Attachment
    columns = (one.id, one.acknowledgement_id, one.file_name, one.media_type, one.size, one.dropped_at.is_not(None))
    return select(*columns).where(one.org_id == org, one.acknowledgement_id.in_(answer_ids)).order_by(one.id)


def answer_files_of(rows: Found) -> Mapping[int, Sequence[AnswerFile]]:
    found = defaultdict[int, list[AnswerFile]](list)
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
    return [SentFile(*row) for row in session.execute(sent_files_asked(org, subject_id))]


def sent_files_asked(org: int, subject_id: int) -> Asked:
    """The select whose rows are SentFile."""
    answer, claim = Acknowledgement, NotificationLedger
    return (
        select(Attachment.id, Attachment.file_name, Member.name, answer.acknowledged_at)
        .join(answer, and_(answer.org_id == org, answer.id == Attachment.acknowledgement_id))
        .join(claim, and_(claim.org_id == org, claim.id == answer.claim_id))
        .join(Member, and_(Member.org_id == org, Member.id == answer.member_id))
        .where(Attachment.org_id == org, Attachment.dropped_at.is_(None), claim.subject_id == subject_id)
        .order_by(Attachment.id.desc())
    )
