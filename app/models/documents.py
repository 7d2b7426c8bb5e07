"""Papers: what was issued for an entry, under which number; and the files that prove it, of papers and of answers.

Nothing of them is deleted.
"""

from __future__ import annotations

import datetime as dt

from sqlalchemy import CheckConstraint, Index, false, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, OrgId, OwnId, of_org, org_key


class Document(Base):
    """One paper of an entry: a permit, a certificate. One entered in error stays, and says when and by whom."""

    __tablename__ = "document"
    __table_args__ = (
        org_key(),
        of_org("subject_id", "subject"),
        of_org("obligation_id", "obligation"),
        of_org("replaces_id", "document"),
        of_org("added_by", "member"),
        of_org("withdrawn_by", "member"),
        CheckConstraint("valid_until >= valid_from", name="validity"),
        CheckConstraint("replaces_id <> id", name="not_its_own_successor"),
        Index("document_subject_idx", "org_id", "subject_id", "id"),  # Serves the page of an entry.
        # Serves the search by the beginning of a number: only these operators look past row-level security.
        Index("document_number_idx", "org_id", "number_key", postgresql_ops={"number_key": "text_pattern_ops"}),
        Index(
            "document_replaced_once",
            "org_id",
            "replaces_id",
            unique=True,
            postgresql_where=text("replaces_id is not null and withdrawn_at is null"),
        ),
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    subject_id: Mapped[int]
    obligation_id: Mapped[int | None]  # The one that it closed, or proves.
    is_proof: Mapped[bool] = mapped_column(server_default=false())  # Of that one, and so replaced by no renewal.
    number: Mapped[str]
    number_key: Mapped[str]
    issuer: Mapped[str] = mapped_column(server_default="")
    issued_on: Mapped[dt.date | None]
    valid_from: Mapped[dt.date | None]
    valid_until: Mapped[dt.date | None]
    replaces_id: Mapped[int | None]
    note: Mapped[str] = mapped_column(server_default="")
    added_at: Mapped[dt.datetime]
    added_by: Mapped[int | None]
    withdrawn_at: Mapped[dt.datetime | None]
    withdrawn_by: Mapped[int | None]
    disproved_at: Mapped[dt.datetime | None]  # Since then it proves its deadline no more: it was not done after all.


class Attachment(Base):
    """A file of a paper or of an answer, as it was sent. Its content is read only where it is given back.

    The same content is kept once: `same_as_id` names the file that has it. A file whose content was removed keeps its
    name and its hash.
    """

    __tablename__ = "attachment"
    __table_args__ = (
        org_key(),
        of_org("document_id", "document"),
        of_org("acknowledgement_id", "acknowledgement"),
        of_org("added_by", "member"),
        of_org("same_as_id", "attachment"),
        CheckConstraint("num_nonnulls(content, same_as_id, dropped_at) = 1", name="content_once"),
        Index("attachment_document_idx", "org_id", "document_id", "id"),  # Serves the page of an entry.
        # Serves the look for a file that is there already.
        Index("attachment_content_idx", "org_id", "sha256", postgresql_where=text("content is not null")),
        # Serves the removal of a content that others name.
        Index("attachment_same_as_idx", "org_id", "same_as_id", postgresql_where=text("same_as_id is not null")),
        CheckConstraint("document_id is not null or acknowledgement_id is not null", name="of_paper_or_answer"),
        # Serves whoever checks an answer.
        Index(
            "attachment_acknowledgement_idx",
            "org_id",
            "acknowledgement_id",
            postgresql_where=text("acknowledgement_id is not null"),
        ),
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    document_id: Mapped[int | None]
    acknowledgement_id: Mapped[int | None]
    file_name: Mapped[str]
    media_type: Mapped[str]
    size: Mapped[int]
    sha256: Mapped[str]
    content: Mapped[bytes | None] = mapped_column(deferred=True)
    added_at: Mapped[dt.datetime]
    added_by: Mapped[int | None]
    same_as_id: Mapped[int | None]
    dropped_at: Mapped[dt.datetime | None]
