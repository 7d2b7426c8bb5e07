"""Absences with a stand-in, departures with a heir, and for whom a stand-in was told.

People who are away were told all the same, and nobody in their place; what hung on somebody who left stayed there. Only
new tables, a nullable column and checks that allow more than before: safe under the old code, which waits while the
checks of deliveries are made (a second or two for a million).
"""

import sqlalchemy as sa
from alembic import op

from app.models.tenancy import walls

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# What onus_web may, and what onus_scheduler may. Nobody deletes an absence: one that is over early is cancelled.
TABLES = {"absence": ("select, insert, update", "select"), "departure": ("select, insert, update", "select")}

REASONS = (
    "'sharper', 'start', 'nobody_to_tell', 'closed', 'moved', 'rule_off', 'threshold_off', 'no_match', 'snoozed', "
    "'archived', 'out_of_service', 'draft', 'site_archived', 'filed', 'somebody_on_it', 'not_a_recipient', "
    "'channel_off'"
)
FATES = "'refused', 'gave_up', 'no_answer', 'abandoned', 'stopped', 'restored'"
ROUTES = "'owner', 'holder', 'post', 'role', 'named', 'fallback', 'returned'"

# The walls bind a plain owner, too, so that he must go into each organisation.
IN_OLD_WORDS = """
do $$ declare one bigint; begin
  for one in select id from organisation loop
    perform set_config('onus.org', cast(one as text), true);
    update delivery set reason = 'not_a_recipient' where reason = 'away';
    update delivery set because = 'owner' where because = 'cover';
  end loop;
  perform set_config('onus.org', '', true);
end $$"""


def of_org(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"{table}_{column}_fkey")
    return sa.ForeignKeyConstraint(["org_id", column], [f"{target}.org_id", f"{target}.id"], name=name)


def check(table: str, column: str, condition: str) -> None:
    """Replace the check of the column."""
    name = f"{table}_{column}_check"
    op.execute(f"alter table {table} drop constraint {name}")
    op.execute(f"alter table {table} add constraint {name} check ({condition})")


def upgrade() -> None:
    make_absence()
    make_departure()
    op.add_column("delivery", sa.Column("covers_id", sa.BigInteger(), nullable=True))
    op.create_foreign_key(
        op.f("delivery_covers_id_fkey"), "delivery", "member", ["org_id", "covers_id"], ["org_id", "id"]
    )
    covered = sa.text("covers_id is not null")
    op.create_index("delivery_covers_idx", "delivery", ["org_id", "covers_id"], postgresql_where=covered)
    check("delivery", "because", f"because in ({ROUTES}, 'cover')")
    check("delivery", "reason", f"reason in ({REASONS}, 'away', {FATES})")
    check("notification_ledger", "reason", f"reason in ({REASONS}, 'away')")
    for statement in walls(TABLES):
        op.execute(statement)


def make_absence() -> None:
    op.create_table(
        "absence",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("member_id", sa.BigInteger(), nullable=False),
        sa.Column("stand_in_id", sa.BigInteger(), nullable=True),
        sa.Column("from_on", sa.Date(), nullable=False),
        sa.Column("until_on", sa.Date(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("entered_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("entered_by", sa.BigInteger(), nullable=True),
        sa.Column("cancelled_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("seen_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.CheckConstraint("until_on >= from_on", name=op.f("absence_days_check")),
        sa.CheckConstraint("stand_in_id <> member_id", name=op.f("absence_not_for_oneself_check")),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("absence_org_id_fkey")),
        of_org("absence", "member_id", "member"),
        of_org("absence", "stand_in_id", "member"),
        of_org("absence", "entered_by", "member"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("absence_pkey")),
    )
    in_force = sa.text("cancelled_at is null")
    op.create_index("absence_member_idx", "absence", ["org_id", "member_id"], postgresql_where=in_force)


def make_departure() -> None:
    op.create_table(
        "departure",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("member_id", sa.BigInteger(), nullable=False),
        sa.Column("leaves_on", sa.Date(), nullable=False),
        sa.Column("to_member_id", sa.BigInteger(), nullable=True),
        sa.Column("to_post_id", sa.BigInteger(), nullable=True),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("entered_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("entered_by", sa.BigInteger(), nullable=True),
        sa.Column("done_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("withdrawn_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.CheckConstraint("about in ('hand_over', 'archive')", name=op.f("departure_about_check")),
        sa.CheckConstraint("to_member_id <> member_id", name=op.f("departure_not_to_oneself_check")),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("departure_org_id_fkey")),
        of_org("departure", "member_id", "member"),
        of_org("departure", "to_member_id", "member"),
        of_org("departure", "to_post_id", "post"),
        of_org("departure", "entered_by", "member"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("departure_pkey")),
    )
    op.create_index(
        "departure_open_once",
        "departure",
        ["org_id", "member_id"],
        unique=True,
        postgresql_where=sa.text("done_at is null and withdrawn_at is null"),
    )


def downgrade() -> None:
    """What the old code has no word for gets the nearest one that it has."""
    op.execute(IN_OLD_WORDS)
    check("notification_ledger", "reason", f"reason in ({REASONS})")
    check("delivery", "reason", f"reason in ({REASONS}, {FATES})")
    check("delivery", "because", f"because in ({ROUTES})")
    op.drop_index("delivery_covers_idx", table_name="delivery")
    op.drop_column("delivery", "covers_id")
    op.drop_table("departure")
    op.drop_table("absence")
