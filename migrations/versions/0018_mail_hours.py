"""When mail goes: hours of a person, rest time of a person and of the organisation, and what moved a message's hour.

Only new columns, each empty or with a default under which nothing waits: safe under the old code, which does not know
them and sends at once.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

TIMED_BY = ("alert_from", "daily", "rest", "day_off", "due_soon", "despite_rest")
REST = (
    ("rest", "(rest_from is null) = (rest_until is null)"),
    ("rest_length", "rest_from <> rest_until"),
)


def rest_columns() -> tuple[sa.Column, ...]:
    return (
        sa.Column("rest_from", sa.Time(), nullable=True),
        sa.Column("rest_until", sa.Time(), nullable=True),
        sa.Column("rest_days_off", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )


def upgrade() -> None:
    own = (
        sa.Column("timezone", sa.Text(), nullable=True),
        sa.Column("country", sa.Text(), nullable=True),
        sa.Column("region", sa.Text(), nullable=True),
        sa.Column("mail_hour", sa.Time(), nullable=True),
        sa.Column("own_rest", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    for table, columns in (("organisation", rest_columns()), ("member", (*own, *rest_columns()))):
        for column in columns:
            op.add_column(table, column)
        for name, condition in REST:
            op.create_check_constraint(op.f(f"{table}_{name}_check"), table, condition)
    op.add_column("delivery", sa.Column("ready_at", sa.TIMESTAMP(timezone=True), nullable=True))
    op.add_column("delivery", sa.Column("timed_by", sa.Text(), nullable=True))
    words = ", ".join(f"'{word}'" for word in TIMED_BY)
    op.execute(f"alter table delivery add constraint delivery_timed_by_check check (timed_by in ({words})) not valid")
    op.execute("alter table delivery validate constraint delivery_timed_by_check")


def downgrade() -> None:
    op.drop_column("delivery", "timed_by")
    op.drop_column("delivery", "ready_at")
    for column in ("timezone", "country", "region", "mail_hour", "own_rest"):
        op.drop_column("member", column)
    for table in ("member", "organisation"):
        for column in ("rest_from", "rest_until", "rest_days_off"):
            op.drop_column(table, column)
