"""The trail: one event for each thing that happens, append-only by grants; its seal; the imports kept as evidence."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

from sqlalchemy import CheckConstraint, Index, PrimaryKeyConstraint, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.acts import Contents
from app.models.base import Base, OrgId, OwnId, of_org, one_of, org_key

# The events of rules; a page finds those of one among them.
OF_RULES = (
    "rule_created", "rule_changed", "rule_renamed", "rule_switched_on", "rule_switched_off",
)  # fmt: skip


class AuditEvent(Base):
    """What happened. It points at nothing by a foreign key and names people by id: it outlives them all (P7)."""

    __tablename__ = "audit_event"
    __table_args__ = (
        org_key(),
        Index("audit_event_at_idx", "org_id", "at", "id"),  # Serves the history of a period.
        Index("audit_event_subject_idx", "org_id", "subject_id", "id", postgresql_where=text("subject_id is not null")),
        Index("audit_event_claim_idx", "org_id", "claim_id", "id", postgresql_where=text("claim_id is not null")),
        Index(  # Serves the versions of a rule.
            "audit_event_rule_idx", "org_id", "id", postgresql_where=text(f"type in ({', '.join(map(repr, OF_RULES))})")
        ),
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    at: Mapped[dt.datetime]
    actor: Mapped[str]
    type: Mapped[str]
    subject_id: Mapped[int | None]
    claim_id: Mapped[int | None]
    delivery_id: Mapped[int | None]
    detail: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))


class AuditUnsealed(Base):
    """The events that no seal covers yet; the sealer takes them away."""

    __tablename__ = "audit_unsealed"
    __table_args__ = (PrimaryKeyConstraint("org_id", "event_id"), of_org("event_id", "audit_event"))

    org_id: Mapped[int]
    event_id: Mapped[int]


class AuditPersonal(Base):
    """A personal value of an event, with the salt of its hash there. It goes with the person it is about."""

    __tablename__ = "audit_personal"
    __table_args__ = (
        PrimaryKeyConstraint("org_id", "event_id", "name"),
        of_org("event_id", "audit_event"),
        of_org("member_id", "member"),
        CheckConstraint("length(salt) = 32", name="salt"),
        Index(  # Serves the forgetting of a person.
            "audit_personal_member_idx", "org_id", "member_id", postgresql_where=text("member_id is not null")
        ),
    )

    org_id: Mapped[int]
    event_id: Mapped[int]
    name: Mapped[str]
    member_id: Mapped[int | None]
    salt: Mapped[bytes]
    value: Mapped[str]


class AuditLeaf(Base):
    """An event as it was sealed: its place, dense from 0, and the bytes that were hashed. Append-only by grants.

    Of an event that went by a policy of retention only the hash of the leaf is left.
    """

    __tablename__ = "audit_leaf"
    __table_args__ = (
        PrimaryKeyConstraint("org_id", "seq"),
        UniqueConstraint("org_id", "event_id"),
        of_org("event_id", "audit_event"),
        CheckConstraint(
            "num_nonnulls(content, hash) = 1 and (content is null) = (event_id is null)", name="whole_or_hash"
        ),
    )

    org_id: Mapped[int]
    seq: Mapped[int]
    event_id: Mapped[int | None]
    content: Mapped[bytes | None]
    sealed_at: Mapped[dt.datetime]
    hash: Mapped[bytes | None]


class AuditCheckpoint(Base):
    """How much was sealed, the root over it, and the note that is signed. The next seal goes on from `frontier`.

    Append-only by grants. No two have the same size: of two sealers at once one wins, whole.
    """

    __tablename__ = "audit_checkpoint"
    __table_args__ = (org_key(), UniqueConstraint("org_id", "size"))

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    at: Mapped[dt.datetime]
    size: Mapped[int]
    root: Mapped[bytes]
    frontier: Mapped[bytes]
    note: Mapped[str]


class TrailKey(Base):
    """A key that seals the trail of all organisations, in public form, from `since` on. The last one is at work."""

    __tablename__ = "trail_key"

    id: Mapped[OwnId]
    vkey: Mapped[str] = mapped_column(unique=True)
    since: Mapped[dt.datetime]


class Installation(Base):
    """The one row that gives this Onus its name among all others; a restored copy is the same one."""

    __tablename__ = "installation"
    __table_args__ = (CheckConstraint("id = 1", name="only_one"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    uuid: Mapped[uuid.UUID]


class ImportRun(Base):
    """One import that was applied: the file's hash, how it was read, and what became of each record.

    It is never deleted. One that was entered in error says since when, by whom, and why.
    """

    __tablename__ = "import_run"
    __table_args__ = (
        org_key(),
        one_of("contents", Contents),
        CheckConstraint("(in_error_at is null) = (in_error_by is null)", name="in_error_by_whom"),
        Index("import_run_at_idx", "org_id", "at", "id"),
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    at: Mapped[dt.datetime]
    actor: Mapped[str]
    file_name: Mapped[str]
    file_sha256: Mapped[str]
    mapping: Mapped[dict[str, Any]]
    counts: Mapped[dict[str, Any]]
    rows: Mapped[list[Any]]
    contents: Mapped[str] = mapped_column(server_default=Contents.register.value)
    in_error_at: Mapped[dt.datetime | None]
    in_error_by: Mapped[str | None]  # The actor, as in the trail.
    in_error_note: Mapped[str] = mapped_column(server_default="")
