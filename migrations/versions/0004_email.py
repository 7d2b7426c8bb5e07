"""E-mail: who holds a lease, the words that were sent, holds after a restore, the breaker of the mail server.

Only new tables, nullable columns, and checks that allow more than before: safe under the old code, which waits while the
checks and indexes of deliveries are made (a second or two for a million). What the roles may do grows by column, never
by table.
"""

import sqlalchemy as sa
from alembic import op

from app.models.tenancy import grants, walls

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# What onus_web may, and what onus_scheduler may.
OF_ORGANISATIONS = {
    "mail_message": ("select", "select, insert"),
    "delivery_hold": ("select", "select, insert, update"),
}
GLOBAL = {
    "database_identity": ("select", "select, insert, update"),
    "mail_transport": ("select", "select, insert, update"),
}
# The lease locks the row of its person, and leaves its mark there.
MORE = ["grant update (mailed_at) on member to onus_scheduler"]

REASONS = (
    "'sharper', 'start', 'nobody_to_tell', 'closed', 'moved', 'rule_off', 'threshold_off', 'no_match', 'snoozed', "
    "'archived', 'out_of_service', 'draft', 'site_archived', 'filed', 'somebody_on_it', 'not_a_recipient', "
    "'channel_off'"
)
FATES = "'refused', 'gave_up', 'no_answer', 'abandoned', 'stopped', 'restored'"
ROUTES = "'owner', 'holder', 'post', 'role', 'named'"


# The walls bind a plain owner, too, so that he must go into each organisation.
IN_OLD_WORDS = f"""
do $$ declare one bigint; begin
  for one in select id from organisation loop
    perform set_config('onus.org', cast(one as text), true);
    update delivery set reason = null where reason in ({FATES});
    update delivery set because = 'role' where because not in ({ROUTES});
  end loop;
  perform set_config('onus.org', '', true);
end $$"""


def upgrade() -> None:
    op.add_column("delivery", sa.Column("lease_holder", sa.Uuid(), nullable=True))
    op.add_column("member", sa.Column("mailed_at", sa.TIMESTAMP(timezone=True), nullable=True))
    op.add_column("scheduler_process", sa.Column("kind", sa.Text(), server_default="scheduler", nullable=False))
    check("scheduler_process", "kind", "kind in ('scheduler', 'command')")
    check("delivery", "reason", f"reason in ({REASONS}, {FATES})")
    check("delivery", "because", f"because in ({ROUTES}, 'fallback', 'returned')")
    check("delivery", "resolution", "resolution in ('delivered', 'failed', 'resend', 'settled')")
    op.create_index(
        "delivery_token_idx",
        "delivery",
        ["org_id", "lease_token"],
        unique=False,
        postgresql_where=sa.text("lease_token is not null"),
    )
    op.create_index(
        "delivery_stuck_idx",
        "delivery",
        ["org_id", "state", "id"],
        unique=False,
        postgresql_where=sa.text("state in ('in_doubt', 'failed', 'bounced', 'held')"),
    )
    make_tables()
    for statement in walls(OF_ORGANISATIONS) + grants(GLOBAL) + MORE:
        op.execute(statement)


def make_tables() -> None:
    op.create_table(
        "mail_message",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("token", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("recipient_id", sa.BigInteger(), nullable=False),
        sa.Column("sent_to", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("handed_over_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "recipient_id"], ["member.org_id", "member.id"], name=op.f("mail_message_recipient_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("mail_message_pkey")),
        sa.UniqueConstraint("org_id", "token", name=op.f("mail_message_org_id_token_key")),
    )
    op.create_table(
        "delivery_hold",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("held_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("released_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("released_by", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("delivery_hold_org_id_fkey")),
        sa.ForeignKeyConstraint(
            ["org_id", "released_by"], ["member.org_id", "member.id"], name=op.f("delivery_hold_released_by_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("delivery_hold_pkey")),
    )
    op.create_table(
        "database_identity",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("system_identifier", sa.Text(), nullable=False),
        sa.Column("timeline_id", sa.BigInteger(), nullable=False),
        sa.Column("noticed_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("changed_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.CheckConstraint("id = 1", name=op.f("database_identity_only_one_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("database_identity_pkey")),
    )
    op.create_table(
        "mail_transport",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("opened_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("retry_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("faults", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("worked_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.CheckConstraint("id = 1", name=op.f("mail_transport_only_one_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("mail_transport_pkey")),
    )


def check(table: str, column: str, condition: str) -> None:
    """Replace, or make, the check of the column."""
    name = f"{table}_{column}_check"
    op.execute(f"alter table {table} drop constraint if exists {name}")
    op.execute(f"alter table {table} add constraint {name} check ({condition})")


def downgrade() -> None:
    """What the old code has no word for gets the nearest one that it has."""
    for table in ("mail_transport", "database_identity", "delivery_hold", "mail_message"):
        op.drop_table(table)
    op.drop_index("delivery_stuck_idx", "delivery")
    op.drop_index("delivery_token_idx", "delivery")
    op.execute(IN_OLD_WORDS)
    op.execute("alter table delivery drop constraint delivery_resolution_check")
    check("delivery", "because", f"because in ({ROUTES})")
    check("delivery", "reason", f"reason in ({REASONS})")
    op.drop_column("scheduler_process", "kind")
    op.drop_column("member", "mailed_at")
    op.drop_column("delivery", "lease_holder")
