"""The files of papers and answers: kept once, whatever they prove, and removed where they may not be kept.

What is removed is the content alone. The name, the size and the hash stay, so that a file that turns up elsewhere can
still be told for the same one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from app.domain import media
from app.domain.acts import DropReason
from app.domain.errors import Refused
from app.models import Acknowledgement, Attachment, Document, NotificationLedger, Subject
from app.operations import typed
from app.trail.act import Act
from app.wording import later


@dataclass(frozen=True)
class SentFile:
    """A file as it came; what its name says is not believed."""

    name: str
    content: bytes


def facts_of(file: SentFile) -> dict[str, Any]:
    """What the trail says of a file, so that a third party can tell whether it is still the same. Raises Refused."""
    kind = media.media_type(file.name, file.content)
    facts = {"media_type": kind, "size": len(file.content), "sha256": hashlib.sha256(file.content).hexdigest()}
    return {"name": media.clean_file_name(file.name, kind), **facts}


def keep(act: Act, file: SentFile, member_id: int | None, **of: int) -> dict[str, Any]:
    """Keep the file with the paper or the answer that `of` names; what the trail says of it. Raises Refused."""
    facts = facts_of(file)
    stored = {name: value for name, value in facts.items() if name != "name"} | {"file_name": facts["name"]}
    keeper_id = _keeper(act, facts["sha256"])
    stored |= {"content": None if keeper_id else file.content, "same_as_id": keeper_id}
    kept = Attachment(org_id=act.org, added_at=act.now, added_by=member_id, **stored, **of)
    act.session.add(kept)
    act.session.flush()
    return {"attachment_id": kept.id, **facts}


def drop(act: Act, subject: Subject, attachment_id: int, reason: str | None, note: str = "") -> bool:
    """Remove the content of this file of a paper or an answer, once, with a reason. Others that have it keep it."""
    why, noted = typed.code(DropReason, reason, later("a reason for removing a file")), typed.note(note)
    file = _locked(act, subject, attachment_id)
    if file.dropped_at is not None:
        return False
    others = _hand_on(act, file)
    file.content = file.same_as_id = None
    file.dropped_at = act.now
    detail: dict[str, Any] = {"attachment_id": file.id, "document_id": file.document_id, "name": file.file_name}
    if file.acknowledgement_id is not None:
        detail["answer_id"] = file.acknowledgement_id
    detail |= {"sha256": file.sha256, "reason": why, "note": noted, "kept_elsewhere": others}
    act.record("file_dropped", subject_id=subject.id, **detail)
    return True


def _keeper(act: Act, sha256: str) -> int | None:
    """The file that has this content. Its content cannot be removed until this transaction ends."""
    same = select(Attachment.id).where(Attachment.org_id == act.org, Attachment.sha256 == sha256)
    query = same.where(Attachment.content.is_not(None)).order_by(Attachment.id).limit(1)
    return act.session.scalars(query.with_for_update(read=True)).one_or_none()


def _locked(act: Act, subject: Subject, attachment_id: int) -> Attachment:
    claim, answer = NotificationLedger, Acknowledgement
    own = (
        select(Attachment)
        .outerjoin(Document, (Document.org_id == act.org) & (Document.id == Attachment.document_id))
        .outerjoin(answer, (answer.org_id == act.org) & (answer.id == Attachment.acknowledgement_id))
        .outerjoin(claim, (claim.org_id == act.org) & (claim.id == answer.claim_id))
        .where((Document.subject_id == subject.id) | (claim.subject_id == subject.id))
    )
    query = own.where(Attachment.org_id == act.org, Attachment.id == attachment_id)
    locking = query.with_for_update(of=Attachment).execution_options(populate_existing=True)
    file = act.session.scalars(locking).one_or_none()
    if file is None:
        words = later("%(reference)s has no such file: choose one of its papers' or answers' files.")
        raise Refused(words, reference=subject.reference)
    return file


def _hand_on(act: Act, file: Attachment) -> int:
    """Give the content to the first of the files that name it, and the others to that; how many have it still."""
    same = (Attachment.org_id == act.org, Attachment.same_as_id == (file.same_as_id or file.id))
    if file.same_as_id is not None:
        kept = select(func.count()).select_from(Attachment).where(*same, Attachment.id != file.id)
        return act.session.scalars(kept).one() + 1
    heirs = list(act.session.scalars(select(Attachment).where(*same).order_by(Attachment.id).with_for_update()))
    for heir in heirs[1:]:
        heir.same_as_id = heirs[0].id
    if heirs:
        heirs[0].content, heirs[0].same_as_id = file.content, None
    act.session.flush()
    return len(heirs)
