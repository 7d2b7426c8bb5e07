"""The ledger, deliveries, answers, scans, watermarks and the change queue.

`notification_once` decides that a claim happens once (P1), `delivery_once` that it is delivered once (P2). Nobody may
delete from the ledger. Only new tables: safe under the old code.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.models.tenancy import grants, walls

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# What onus_web may, and what onus_scheduler may.
OF_ORGANISATIONS = {
    "scan_run": ("select, insert", "select, insert, update"),
    "watermark": ("select", "select, insert, update"),
    "scan_queue": ("select, insert", "select, insert, delete"),
    "notification_ledger": ("select, insert, update (acknowledged_at, acknowledged_by)", "select, insert, update"),
    "delivery": ("select, update (seen_at)", "select, insert, update"),
    "delivery_attempt": ("select", "select, insert"),
    "acknowledgement": ("select, insert, update", "select"),
}
GLOBAL = {
    "scheduler_process": ("select", "select, insert, update"),
}


def upgrade() -> None:
    op.create_table(
        "scheduler_process",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("started_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("heartbeat_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("scanned_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("delivered_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("stopped_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("scheduler_process_pkey")),
    )
    op.create_table(
        "scan_run",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("trigger", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("started_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("finished_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("is_full", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("claimed", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("superseded", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("reopened", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("withdrawn", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("deliveries", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cancelled", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("errors", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("quiet_scans", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("quiet_until", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.CheckConstraint("trigger in ('schedule', 'command', 'start')", name=op.f("scan_run_trigger_check")),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("scan_run_org_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("scan_run_pkey")),
    )
    op.create_index("scan_run_started_idx", "scan_run", ["org_id", "started_at", "id"], unique=False)
    op.create_table(
        "watermark",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("site_id", sa.BigInteger(), nullable=False),
        sa.Column("scanned_through", sa.Date(), nullable=False),
        sa.Column("scan_run_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "scan_run_id"], ["scan_run.org_id", "scan_run.id"], name=op.f("watermark_scan_run_id_fkey")
        ),
        sa.ForeignKeyConstraint(["org_id", "site_id"], ["site.org_id", "site.id"], name=op.f("watermark_site_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "site_id", name=op.f("watermark_pkey")),
    )
    op.create_table(
        "scan_queue",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("subject_id", sa.BigInteger(), nullable=True),
        sa.Column("rule_id", sa.BigInteger(), nullable=True),
        sa.Column("wake_on", sa.Date(), nullable=True),
        sa.ForeignKeyConstraint(
            ["org_id", "rule_id"], ["alert_rule.org_id", "alert_rule.id"], name=op.f("scan_queue_rule_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "subject_id"], ["subject.org_id", "subject.id"], name=op.f("scan_queue_subject_id_fkey")
        ),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("scan_queue_org_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "n", name=op.f("scan_queue_pkey")),
    )
    op.create_table(
        "notification_ledger",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("rule_id", sa.BigInteger(), nullable=False),
        sa.Column("rule_version", sa.BigInteger(), nullable=False),
        sa.Column("subject_id", sa.BigInteger(), nullable=False),
        sa.Column("site_id", sa.BigInteger(), nullable=False),
        sa.Column("obligation_id", sa.BigInteger(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("threshold", sa.Text(), nullable=False),
        sa.Column("due_on", sa.Date(), nullable=False),
        sa.Column("crossed_on", sa.Date(), nullable=False),
        sa.Column("claimed_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("delivered_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("acknowledged_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("acknowledged_by", sa.BigInteger(), nullable=True),
        sa.Column("standing", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("scan_run_id", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "reason in ('sharper', 'start', 'nobody_to_tell', 'closed', 'moved', 'rule_off', 'threshold_off', 'no_match', 'snoozed', 'archived', 'out_of_service', 'draft', 'site_archived', 'filed', 'somebody_on_it', 'not_a_recipient', 'channel_off')",
            name=op.f("notification_ledger_reason_check"),
        ),
        sa.CheckConstraint(
            "standing = 'open' or reason is not null", name=op.f("notification_ledger_told_or_why_check")
        ),
        sa.CheckConstraint(
            "standing in ('open', 'superseded', 'withdrawn')", name=op.f("notification_ledger_standing_check")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "acknowledged_by"],
            ["member.org_id", "member.id"],
            name=op.f("notification_ledger_acknowledged_by_fkey"),
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "obligation_id"],
            ["obligation.org_id", "obligation.id"],
            name=op.f("notification_ledger_obligation_id_fkey"),
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "rule_id"], ["alert_rule.org_id", "alert_rule.id"], name=op.f("notification_ledger_rule_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "scan_run_id"],
            ["scan_run.org_id", "scan_run.id"],
            name=op.f("notification_ledger_scan_run_id_fkey"),
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "site_id"], ["site.org_id", "site.id"], name=op.f("notification_ledger_site_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "subject_id"], ["subject.org_id", "subject.id"], name=op.f("notification_ledger_subject_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("notification_ledger_pkey")),
        sa.UniqueConstraint("org_id", "subject_id", "rule_id", "due_on", "threshold", name="notification_once"),
    )
    op.create_index("ledger_claimed_idx", "notification_ledger", ["org_id", "claimed_at", "id"], unique=False)
    op.create_index(
        "ledger_incomplete_idx",
        "notification_ledger",
        ["org_id", "claimed_at", "id"],
        unique=False,
        postgresql_where=sa.text("delivered_at is null and standing = 'open'"),
    )
    op.create_index("ledger_obligation_idx", "notification_ledger", ["org_id", "obligation_id"], unique=False)
    op.create_index(
        "ledger_site_claimed_idx", "notification_ledger", ["org_id", "site_id", "claimed_at", "id"], unique=False
    )
    op.create_index(
        "ledger_unanswered_idx",
        "notification_ledger",
        ["org_id", "site_id", "claimed_at", "id"],
        unique=False,
        postgresql_where=sa.text("delivered_at is not null and acknowledged_at is null"),
    )
    op.create_table(
        "acknowledgement",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("claim_id", sa.BigInteger(), nullable=False),
        sa.Column("member_id", sa.BigInteger(), nullable=False),
        sa.Column("acknowledged_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("until_on", sa.Date(), nullable=True),
        sa.Column("done_on", sa.Date(), nullable=True),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("taken_back_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("sent_back_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(answer = 'on_it') = (until_on is not null)", name=op.f("acknowledgement_on_it_until_check")
        ),
        sa.CheckConstraint(
            "answer in ('seen', 'on_it', 'done', 'not_mine', 'help')", name=op.f("acknowledgement_answer_check")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "claim_id"],
            ["notification_ledger.org_id", "notification_ledger.id"],
            name=op.f("acknowledgement_claim_id_fkey"),
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "member_id"], ["member.org_id", "member.id"], name=op.f("acknowledgement_member_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("acknowledgement_pkey")),
    )
    op.create_index(
        "acknowledgement_once",
        "acknowledgement",
        ["org_id", "claim_id", "member_id"],
        unique=True,
        postgresql_where=sa.text("taken_back_at is null and sent_back_at is null"),
    )
    op.create_table(
        "delivery",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("claim_id", sa.BigInteger(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("recipient_id", sa.BigInteger(), nullable=False),
        sa.Column("because", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("not_before", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("next_attempt_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("lease_token", sa.Uuid(), nullable=True),
        sa.Column("lease_until", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("handed_over_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("delivered_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("seen_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("message_id", sa.Text(), nullable=True),
        sa.Column("sent_to", sa.Text(), nullable=True),
        sa.Column("last_reply", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("resend_of", sa.BigInteger(), nullable=True),
        sa.Column("resolution", sa.Text(), nullable=True),
        sa.Column("resolved_by", sa.BigInteger(), nullable=True),
        sa.Column("resolved_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.CheckConstraint(
            "because in ('owner', 'holder', 'post', 'role', 'named')", name=op.f("delivery_because_check")
        ),
        sa.CheckConstraint("channel in ('email', 'in_app')", name=op.f("delivery_channel_check")),
        sa.CheckConstraint(
            "reason in ('sharper', 'start', 'nobody_to_tell', 'closed', 'moved', 'rule_off', 'threshold_off', 'no_match', 'snoozed', 'archived', 'out_of_service', 'draft', 'site_archived', 'filed', 'somebody_on_it', 'not_a_recipient', 'channel_off')",
            name=op.f("delivery_reason_check"),
        ),
        sa.CheckConstraint(
            "state in ('pending', 'leased', 'handing_over', 'delivered', 'failed', 'in_doubt', 'cancelled', 'bounced', 'held')",
            name=op.f("delivery_state_check"),
        ),
        sa.CheckConstraint(
            "state not in ('leased', 'handing_over') or lease_token is not null", name=op.f("delivery_lease_check")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "claim_id"],
            ["notification_ledger.org_id", "notification_ledger.id"],
            name=op.f("delivery_claim_id_fkey"),
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "recipient_id"], ["member.org_id", "member.id"], name=op.f("delivery_recipient_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "resend_of"], ["delivery.org_id", "delivery.id"], name=op.f("delivery_resend_of_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "resolved_by"], ["member.org_id", "member.id"], name=op.f("delivery_resolved_by_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("delivery_pkey")),
        sa.UniqueConstraint(
            "org_id",
            "claim_id",
            "channel",
            "recipient_id",
            "resend_of",
            name="delivery_once",
            postgresql_nulls_not_distinct=True,
        ),
        sa.UniqueConstraint("org_id", "resend_of", name="delivery_resent_once"),
    )
    op.create_index(
        "delivery_due_idx",
        "delivery",
        ["org_id", "channel", "next_attempt_at", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index(
        "delivery_leased_idx",
        "delivery",
        ["org_id", "lease_until"],
        unique=False,
        postgresql_where=sa.text("state in ('leased', 'handing_over')"),
    )
    op.create_index("delivery_recipient_idx", "delivery", ["org_id", "recipient_id", "channel", "state"], unique=False)
    op.create_table(
        "delivery_attempt",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("delivery_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("verb", sa.Text(), nullable=False),
        sa.Column("reply", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "delivery_id"],
            ["delivery.org_id", "delivery.id"],
            name=op.f("delivery_attempt_delivery_id_fkey"),
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("delivery_attempt_pkey")),
    )
    op.create_index("delivery_attempt_delivery_idx", "delivery_attempt", ["org_id", "delivery_id", "id"], unique=False)
    for statement in walls(OF_ORGANISATIONS) + grants(GLOBAL):
        op.execute(statement)


def downgrade() -> None:
    for table in (
        "delivery_attempt",
        "delivery",
        "acknowledgement",
        "notification_ledger",
        "scan_queue",
        "watermark",
        "scan_run",
        "scheduler_process",
    ):
        op.drop_table(table)
