"""Rules: which subjects, how long before the due date, whom to tell, through which channels."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import CheckConstraint, Index, PrimaryKeyConstraint, Text, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.acts import OnlyIf
from app.domain.thresholds import PATTERN
from app.models.base import Base, OrgId, OwnId, of_org, one_of, org_key


class AlertRule(Base):
    """A rule. Its name is its identity in a rules file; `version` counts its changes."""

    __tablename__ = "alert_rule"
    __table_args__ = (
        org_key(),
        one_of("only_if", OnlyIf),
        CheckConstraint("channels <@ array['email', 'in_app'] and cardinality(channels) > 0", name="channels"),
        Index("alert_rule_name_key", "org_id", "name", unique=True, postgresql_where=text("archived_at is null")),
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    name: Mapped[str]
    channels: Mapped[list[str]] = mapped_column(ARRAY(Text))
    only_if: Mapped[str] = mapped_column(server_default="always")
    fallback: Mapped[str | None]
    is_active: Mapped[bool] = mapped_column(server_default=text("true"))
    version: Mapped[int] = mapped_column(server_default=text("1"))
    archived_at: Mapped[dt.datetime | None]


class RuleThreshold(Base):
    """A distance from the due date, in canonical text: it is part of the ledger's key."""

    __tablename__ = "rule_threshold"
    __table_args__ = (
        PrimaryKeyConstraint("org_id", "rule_id", "threshold"),
        of_org("rule_id", "alert_rule"),
        CheckConstraint(f"threshold ~ '{PATTERN}'", name="threshold"),
    )

    org_id: Mapped[int]
    rule_id: Mapped[int]
    threshold: Mapped[str]


class RuleKind(Base):
    """The kinds that a rule is for; no row means all."""

    __tablename__ = "rule_kind"
    __table_args__ = (
        PrimaryKeyConstraint("org_id", "rule_id", "kind_id"),
        of_org("rule_id", "alert_rule"),
        of_org("kind_id", "kind"),
    )

    org_id: Mapped[int]
    rule_id: Mapped[int]
    kind_id: Mapped[int]


class RuleSite(Base):
    """The sites that a rule is for; no row means all."""

    __tablename__ = "rule_site"
    __table_args__ = (
        PrimaryKeyConstraint("org_id", "rule_id", "site_id"),
        of_org("rule_id", "alert_rule"),
        of_org("site_id", "site"),
    )

    org_id: Mapped[int]
    rule_id: Mapped[int]
    site_id: Mapped[int]


class RuleSubject(Base):
    """The single entries that a rule is for; no row means all."""

    __tablename__ = "rule_subject"
    __table_args__ = (
        PrimaryKeyConstraint("org_id", "rule_id", "subject_id"),
        of_org("rule_id", "alert_rule"),
        of_org("subject_id", "subject"),
        Index("rule_subject_subject_idx", "org_id", "subject_id"),  # Serves an entry's own rules.
    )

    org_id: Mapped[int]
    rule_id: Mapped[int]
    subject_id: Mapped[int]


class RuleRecipient(Base):
    """Whom a rule tells: `owner`, `holder`, `post:NAME`, `role:ROLE`, `member:EMAIL`."""

    __tablename__ = "rule_recipient"
    __table_args__ = (
        PrimaryKeyConstraint("org_id", "rule_id", "recipient"),
        of_org("rule_id", "alert_rule"),
        CheckConstraint("recipient in ('owner', 'holder') or recipient ~ '^(post|role|member):.'", name="recipient"),
    )

    org_id: Mapped[int]
    rule_id: Mapped[int]
    recipient: Mapped[str]
