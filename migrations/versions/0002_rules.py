"""Rules: which subjects, which thresholds, whom to tell.

Only new tables: safe under the old code.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.models.tenancy import walls

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# What onus_web may, and what onus_scheduler may.
OF_ORGANISATIONS = {
    "alert_rule": ("select, insert, update", "select"),
    "rule_threshold": ("select, insert, delete", "select"),
    "rule_kind": ("select, insert, delete", "select"),
    "rule_site": ("select, insert, delete", "select"),
    "rule_subject": ("select, insert, delete", "select"),
    "rule_recipient": ("select, insert, delete", "select"),
}


def upgrade() -> None:
    op.create_table(
        "alert_rule",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("channels", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("only_if", sa.Text(), server_default="always", nullable=False),
        sa.Column("fallback", sa.Text(), nullable=True),
        sa.Column("is_active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("archived_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.CheckConstraint(
            "channels <@ array['email', 'in_app'] and cardinality(channels) > 0", name=op.f("alert_rule_channels_check")
        ),
        sa.CheckConstraint("only_if in ('always', 'nobody_on_it')", name=op.f("alert_rule_only_if_check")),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("alert_rule_org_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("alert_rule_pkey")),
    )
    op.create_index(
        "alert_rule_name_key",
        "alert_rule",
        ["org_id", "name"],
        unique=True,
        postgresql_where=sa.text("archived_at is null"),
    )
    op.create_table(
        "rule_kind",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("rule_id", sa.BigInteger(), nullable=False),
        sa.Column("kind_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["org_id", "kind_id"], ["kind.org_id", "kind.id"], name=op.f("rule_kind_kind_id_fkey")),
        sa.ForeignKeyConstraint(
            ["org_id", "rule_id"], ["alert_rule.org_id", "alert_rule.id"], name=op.f("rule_kind_rule_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "rule_id", "kind_id", name=op.f("rule_kind_pkey")),
    )
    op.create_table(
        "rule_recipient",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("rule_id", sa.BigInteger(), nullable=False),
        sa.Column("recipient", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "recipient in ('owner', 'holder') or recipient ~ '^(post|role|member):.'",
            name=op.f("rule_recipient_recipient_check"),
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "rule_id"], ["alert_rule.org_id", "alert_rule.id"], name=op.f("rule_recipient_rule_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "rule_id", "recipient", name=op.f("rule_recipient_pkey")),
    )
    op.create_table(
        "rule_site",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("rule_id", sa.BigInteger(), nullable=False),
        sa.Column("site_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "rule_id"], ["alert_rule.org_id", "alert_rule.id"], name=op.f("rule_site_rule_id_fkey")
        ),
        sa.ForeignKeyConstraint(["org_id", "site_id"], ["site.org_id", "site.id"], name=op.f("rule_site_site_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "rule_id", "site_id", name=op.f("rule_site_pkey")),
    )
    op.create_table(
        "rule_threshold",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("rule_id", sa.BigInteger(), nullable=False),
        sa.Column("threshold", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "threshold ~ '^(0d|[+]?[1-9][0-9]{0,3}(d|w|m|bd))$'", name=op.f("rule_threshold_threshold_check")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "rule_id"], ["alert_rule.org_id", "alert_rule.id"], name=op.f("rule_threshold_rule_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "rule_id", "threshold", name=op.f("rule_threshold_pkey")),
    )
    op.create_table(
        "rule_subject",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("rule_id", sa.BigInteger(), nullable=False),
        sa.Column("subject_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "rule_id"], ["alert_rule.org_id", "alert_rule.id"], name=op.f("rule_subject_rule_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "subject_id"], ["subject.org_id", "subject.id"], name=op.f("rule_subject_subject_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "rule_id", "subject_id", name=op.f("rule_subject_pkey")),
    )
    op.create_index("rule_subject_subject_idx", "rule_subject", ["org_id", "subject_id"], unique=False)
    for statement in walls(OF_ORGANISATIONS):
        op.execute(statement)


def downgrade() -> None:
    for table in ("rule_subject", "rule_threshold", "rule_site", "rule_recipient", "rule_kind", "alert_rule"):
        op.drop_table(table)
