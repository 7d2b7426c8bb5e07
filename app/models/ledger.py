"""The ledger and what surrounds it: claims, deliveries, answers, scans, watermarks, the change queue."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

from sqlalchemy import TIMESTAMP, BigInteger, CheckConstraint, ColumnElement, Index, UniqueConstraint, Uuid, func, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from app.domain.acts import Answer
from app.domain.delivery import Because, Channel, Fate, Reason, Resolution, Standing, State, TimedBy
from app.models.base import Base, OrgId, OwnId, of_org, one_of, org_key

GAP = dt.timedelta(minutes=30)  # A longer silence between two looks gets a row of its own, and is shown as a gap.
GAP_EXPLAINED = "gap_explained"  # The event in which a person says why; its detail has `since` and `note`.


class ScanRun(Base):
    """One scan that moved something, moved a watermark, met an error, or was asked for by a person or an act.

    Quiet scans that follow it are counted in it (`quiet_scans`, `quiet_until`), so that a day of silence is evidence
    and costs one row; a gap between two rows is a gap in the watch.
    """

    __tablename__ = "scan_run"
    __table_args__ = (
        org_key(),
        one_of("trigger", ("schedule", "command", "start")),
        Index("scan_run_started_idx", "org_id", "started_at", "id"),  # Serves the last scan and the list of gaps.
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    trigger: Mapped[str]
    actor: Mapped[str]
    started_at: Mapped[dt.datetime]
    finished_at: Mapped[dt.datetime | None]
    is_full: Mapped[bool] = mapped_column(server_default=text("true"))
    claimed: Mapped[int] = mapped_column(server_default=text("0"))
    superseded: Mapped[int] = mapped_column(server_default=text("0"))
    reopened: Mapped[int] = mapped_column(server_default=text("0"))
    withdrawn: Mapped[int] = mapped_column(server_default=text("0"))
    deliveries: Mapped[int] = mapped_column(server_default=text("0"))
    cancelled: Mapped[int] = mapped_column(server_default=text("0"))
    errors: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))
    quiet_scans: Mapped[int] = mapped_column(server_default=text("0"))
    quiet_until: Mapped[dt.datetime | None]


# When the watch had looked last, as a row of it says.
LOOKED_UNTIL: ColumnElement[Any] = func.greatest(
    ScanRun.started_at, ScanRun.finished_at, ScanRun.quiet_until, type_=TIMESTAMP(timezone=True)
)


class Watermark(Base):
    """Per site, the last local date that a scan has covered completely. Evidence; it never decides what is due."""

    __tablename__ = "watermark"
    __table_args__ = (of_org("site_id", "site"), of_org("scan_run_id", "scan_run"))

    org_id: Mapped[OrgId]
    site_id: Mapped[int] = mapped_column(primary_key=True)
    scanned_through: Mapped[dt.date]
    scan_run_id: Mapped[int]


class ScanQueue(Base):
    """What changed since the last scan. Append only, no unique key: a late commit is seen by the next scan.

    A row names a subject, or a rule, or neither (everything). One with `wake_on` counts from that date on.
    """

    __tablename__ = "scan_queue"
    __table_args__ = (org_key(), of_org("subject_id", "subject"), of_org("rule_id", "alert_rule"))

    org_id: Mapped[OrgId]
    n: Mapped[OwnId]
    subject_id: Mapped[int | None]
    rule_id: Mapped[int | None]
    wake_on: Mapped[dt.date | None]


class NotificationLedger(Base):
    """The claims: one row for each crossing, for ever (P1). The columns of its key are all NOT NULL."""

    __tablename__ = "notification_ledger"
    __table_args__ = (
        # In this order it also serves the families of a scan and the page of an entry.
        UniqueConstraint("org_id", "subject_id", "rule_id", "due_on", "threshold", name="notification_once"),
        of_org("rule_id", "alert_rule"),
        of_org("subject_id", "subject"),
        of_org("site_id", "site"),
        of_org("obligation_id", "obligation"),
        of_org("acknowledged_by", "member"),
        of_org("scan_run_id", "scan_run"),
        one_of("standing", Standing),
        one_of("reason", Reason),
        CheckConstraint("standing = 'open' or reason is not null", name="told_or_why"),
        Index("ledger_claimed_idx", "org_id", "claimed_at", "id"),  # Serves the list of every alert.
        Index("ledger_site_claimed_idx", "org_id", "site_id", "claimed_at", "id"),  # The same, of one site.
        Index("ledger_obligation_idx", "org_id", "obligation_id"),  # Serves the answers that count for an obligation.
        # Serves align and the list of the undelivered.
        Index(
            "ledger_incomplete_idx", "org_id", "claimed_at", "id",
            postgresql_where=text("delivered_at is null and standing = 'open'"),
        ),
        # Serves the inbox and the list of the told and silent.
        Index(
            "ledger_unanswered_idx", "org_id", "site_id", "claimed_at", "id",
            postgresql_where=text("delivered_at is not null and acknowledged_at is null"),
        ),
    )  # fmt: skip

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    rule_id: Mapped[int]
    rule_version: Mapped[int]
    subject_id: Mapped[int]
    site_id: Mapped[int]
    obligation_id: Mapped[int]
    reference: Mapped[str]
    title: Mapped[str]
    threshold: Mapped[str]
    due_on: Mapped[dt.date]
    crossed_on: Mapped[dt.date]
    claimed_at: Mapped[dt.datetime]
    delivered_at: Mapped[dt.datetime | None]
    acknowledged_at: Mapped[dt.datetime | None]
    acknowledged_by: Mapped[int | None]
    standing: Mapped[str]
    reason: Mapped[str | None]
    scan_run_id: Mapped[int]


class Delivery(Base):
    """One claim to one recipient through one channel, at most once (P2). A resend is a new row that names its old."""

    __tablename__ = "delivery"
    __table_args__ = (
        UniqueConstraint(
            "org_id", "claim_id", "channel", "recipient_id", "resend_of",
            name="delivery_once", postgresql_nulls_not_distinct=True,
        ),
        UniqueConstraint("org_id", "resend_of", name="delivery_resent_once"),
        of_org("claim_id", "notification_ledger"),
        of_org("recipient_id", "member"),
        of_org("covers_id", "member"),
        of_org("resend_of", "delivery"),
        of_org("resolved_by", "member"),
        one_of("channel", Channel),
        one_of("state", State),
        one_of("reason", (*Reason, *Fate)),
        one_of("because", Because),
        one_of("resolution", Resolution),
        one_of("timed_by", TimedBy),
        CheckConstraint("state not in ('leased', 'handing_over') or lease_token is not null", name="lease"),
        # Serves the delivery loop; the range on next_attempt_at keeps the plan good on a never-analysed table.
        Index(
            "delivery_due_idx", "org_id", "channel", "next_attempt_at", "id", postgresql_where=text("state = 'pending'")
        ),
        Index(
            "delivery_leased_idx", "org_id", "lease_until", postgresql_where=text("state in ('leased', 'handing_over')")
        ),
        Index("delivery_recipient_idx", "org_id", "recipient_id", "channel", "state"),  # Serves the inbox.
        # Serves who was told in whose place: routing, and the summary for whoever comes back.
        Index("delivery_covers_idx", "org_id", "covers_id", postgresql_where=text("covers_id is not null")),
        # Serves the summary, too. By the instant, since no index serves `any` under row-level security.
        Index(
            "delivery_also_covers_idx", "org_id", "handed_over_at", postgresql_where=text("also_covers <> '{}'")
        ),
        # Serves hand-over, settling and bounces: the rows of one message.
        Index("delivery_token_idx", "org_id", "lease_token", postgresql_where=text("lease_token is not null")),
        # Serves the lists of what needs a person, and the release of what is held.
        Index(
            "delivery_stuck_idx", "org_id", "state", "id",
            postgresql_where=text("state in ('in_doubt', 'failed', 'bounced', 'held')"),
        ),
    )  # fmt: skip

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    claim_id: Mapped[int]
    channel: Mapped[str]
    recipient_id: Mapped[int]
    because: Mapped[str]
    covers_id: Mapped[int | None]  # In whose place the recipient is told.
    # In whose places, too, by this one message: of others who are away, or beside the recipient's own route.
    also_covers: Mapped[list[int]] = mapped_column(ARRAY(BigInteger), server_default="{}")
    state: Mapped[str] = mapped_column(server_default="pending")
    ready_at: Mapped[dt.datetime | None]  # From when it could go if nobody had hours; its hour is worked out from it.
    timed_by: Mapped[str | None]
    not_before: Mapped[dt.datetime]
    next_attempt_at: Mapped[dt.datetime]
    attempts: Mapped[int] = mapped_column(server_default=text("0"))
    lease_token: Mapped[uuid.UUID | None] = mapped_column(Uuid)
    lease_until: Mapped[dt.datetime | None]
    lease_holder: Mapped[uuid.UUID | None] = mapped_column(Uuid)
    handed_over_at: Mapped[dt.datetime | None]
    delivered_at: Mapped[dt.datetime | None]
    seen_at: Mapped[dt.datetime | None]
    message_id: Mapped[str | None]
    sent_to: Mapped[str | None]
    last_reply: Mapped[str | None]
    reason: Mapped[str | None]
    resend_of: Mapped[int | None]
    resolution: Mapped[str | None]
    resolved_by: Mapped[int | None]
    resolved_at: Mapped[dt.datetime | None]


class DeliveryAttempt(Base):
    """One try of a delivery over the network: the verb that ended it, the reply, the outcome."""

    __tablename__ = "delivery_attempt"
    __table_args__ = (
        of_org("delivery_id", "delivery"),
        Index("delivery_attempt_delivery_idx", "org_id", "delivery_id", "id"),
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    delivery_id: Mapped[int]
    at: Mapped[dt.datetime]
    verb: Mapped[str]
    reply: Mapped[str]
    outcome: Mapped[str]


class MailMessage(Base):
    """The words of one message as they were handed over: evidence of what a person was told. One row for a token."""

    __tablename__ = "mail_message"
    __table_args__ = (
        of_org("recipient_id", "member"),
        UniqueConstraint("org_id", "token"),
    )

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    token: Mapped[uuid.UUID] = mapped_column(Uuid)
    message_id: Mapped[str]
    recipient_id: Mapped[int]
    sent_to: Mapped[str]
    subject: Mapped[str]
    body: Mapped[str]
    sha256: Mapped[str]
    handed_over_at: Mapped[dt.datetime]


class DeliveryHold(Base):
    """Since when nothing leaves for this organisation, why, and who let it go on."""

    __tablename__ = "delivery_hold"
    __table_args__ = (org_key(), of_org("released_by", "member"))

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    held_at: Mapped[dt.datetime]
    cause: Mapped[str]
    released_at: Mapped[dt.datetime | None]
    released_by: Mapped[int | None]


class DatabaseIdentity(Base):
    """Which database this was when it was last looked at. A restored or failed-over one has another identity."""

    __tablename__ = "database_identity"
    __table_args__ = (CheckConstraint("id = 1", name="only_one"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    system_identifier: Mapped[str]
    timeline_id: Mapped[int]
    noticed_at: Mapped[dt.datetime]
    changed_at: Mapped[dt.datetime | None]  # When it was last seen to be another one, and everything was held.


class MailTransport(Base):
    """The breaker of the mail server, one for all processes: open since when, why, and when it is tried again."""

    __tablename__ = "mail_transport"
    __table_args__ = (CheckConstraint("id = 1", name="only_one"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    opened_at: Mapped[dt.datetime | None]
    retry_at: Mapped[dt.datetime | None]
    faults: Mapped[int] = mapped_column(server_default=text("0"))
    reason: Mapped[str | None]
    worked_at: Mapped[dt.datetime | None]


class Acknowledgement(Base):
    """A person's answer to a claim. It closes nothing by itself. One standing answer a member and claim.

    `checked_by` is who accepted it, or sent it back with words; nobody where a command did.
    """

    __tablename__ = "acknowledgement"
    __table_args__ = (
        of_org("claim_id", "notification_ledger"),
        of_org("member_id", "member"),
        of_org("checked_by", "member"),
        of_org("whose_member_id", "member"),
        of_org("whose_post_id", "post"),
        one_of("answer", Answer),
        CheckConstraint("(answer = 'on_it') = (until_on is not null)", name="on_it_until"),
        CheckConstraint("accepted_at is null or answer = 'done'", name="accepted_done"),
        CheckConstraint("(sent_back_at is null) = (sent_back_note is null)", name="sent_back_with_words"),
        CheckConstraint(
            "num_nonnulls(whose_member_id, whose_post_id) <= 1",
            name="whose",
        ),
        # Serves the inbox: what of mine was sent back?
        Index(
            "acknowledgement_sent_back_idx",
            "org_id",
            "member_id",
            postgresql_where=text("sent_back_at is not null"),
        ),
        # Serves the day on which the post above is told of what is nobody's.
        Index(
            "acknowledgement_not_mine_idx", "org_id", "acknowledged_at",
            postgresql_where=text("answer = 'not_mine' and taken_back_at is null and sent_back_at is null"),
        ),
        Index(
            "acknowledgement_once", "org_id", "claim_id", "member_id", unique=True,
            postgresql_where=text("taken_back_at is null and sent_back_at is null"),
        ),
    )  # fmt: skip

    org_id: Mapped[OrgId]
    id: Mapped[OwnId]
    claim_id: Mapped[int]
    member_id: Mapped[int]
    acknowledged_at: Mapped[dt.datetime]
    answer: Mapped[str]
    until_on: Mapped[dt.date | None]
    done_on: Mapped[dt.date | None]
    note: Mapped[str] = mapped_column(server_default="")
    taken_back_at: Mapped[dt.datetime | None]
    sent_back_at: Mapped[dt.datetime | None]
    sent_back_note: Mapped[str | None]
    accepted_at: Mapped[dt.datetime | None]
    checked_by: Mapped[int | None]
    whose_member_id: Mapped[int | None]  # Not mine: whose it is, as far as the person knows.
    whose_post_id: Mapped[int | None]


class SchedulerProcess(Base):
    """The heartbeat of one scheduler process, or of one `onus deliver`. Its id is new at each start.

    It serves all organisations. Only a `scheduler` watches; a `command` is there so that its leases are its own.
    """

    __tablename__ = "scheduler_process"
    __table_args__ = (one_of("kind", ("scheduler", "command")),)
    id: Mapped[uuid.UUID] = mapped_column(Uuid, primary_key=True)
    kind: Mapped[str] = mapped_column(server_default="scheduler")
    host: Mapped[str]
    pid: Mapped[int]
    version: Mapped[str]
    started_at: Mapped[dt.datetime]
    heartbeat_at: Mapped[dt.datetime]
    scanned_at: Mapped[dt.datetime | None]
    delivered_at: Mapped[dt.datetime | None]
    stopped_at: Mapped[dt.datetime | None]
    fault: Mapped[str | None]
    sealed_at: Mapped[dt.datetime | None]
