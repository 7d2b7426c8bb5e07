"""An organisation's own days off, at one site or at all of them, beside the public holidays.

Only a new table, which is empty: safe under the old code, which does not know it and counts as before. A day off is
never changed, only added and removed; the trail keeps what was there.
"""

import sqlalchemy as sa
from alembic import op

from app.models.tenancy import walls

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

TABLES = {"day_off": ("select, insert, delete", "select")}


def upgrade() -> None:
    op.create_table(
        "day_off",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("site_id", sa.BigInteger(), nullable=True),
        sa.Column("on_day", sa.Date(), nullable=False),
        sa.Column("until_day", sa.Date(), nullable=False),
        sa.Column("is_yearly", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.CheckConstraint("until_day between on_day and on_day + 91", name=op.f("day_off_until_day_check")),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("day_off_org_id_fkey")),
        sa.ForeignKeyConstraint(["org_id", "site_id"], ["site.org_id", "site.id"], name=op.f("day_off_site_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("day_off_pkey")),
        sa.UniqueConstraint(
            "org_id", "site_id", "on_day", "until_day", "is_yearly",
            name=op.f("day_off_org_id_site_id_on_day_until_day_is_yearly_key"),
            postgresql_nulls_not_distinct=True,
        ),
    )  # fmt: skip
    for statement in walls(TABLES):
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("day_off")
