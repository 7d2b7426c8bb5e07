"""Inspectors limited to kinds, and phones that stay signed in to answer.

Only new tables: safe under the old code, which does not know them.
"""

import sqlalchemy as sa
from alembic import op

from app.models.tenancy import grants, walls

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

# What onus_web may, and what onus_scheduler may. A phone is of a login, and so of no organisation.
TABLES = {"member_kind": ("select, insert, delete", "select")}
GLOBAL = {"remembered_phone": ("select, insert, update (forgotten_at)", "select")}


def upgrade() -> None:
    op.create_table(
        "member_kind",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("member_id", sa.BigInteger(), nullable=False),
        sa.Column("kind_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "member_id"], ["member.org_id", "member.id"], name=op.f("member_kind_member_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "kind_id"], ["kind.org_id", "kind.id"], name=op.f("member_kind_kind_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "member_id", "kind_id", name=op.f("member_kind_pkey")),
    )
    op.create_table(
        "remembered_phone",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token_sha256", sa.Text(), nullable=False),
        sa.Column("created_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("expires_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("forgotten_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name=op.f("remembered_phone_account_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("remembered_phone_pkey")),
        sa.UniqueConstraint("token_sha256", name=op.f("remembered_phone_token_sha256_key")),
    )
    op.create_index("remembered_phone_account_idx", "remembered_phone", ["account_id"])
    for statement in [*walls(TABLES), *grants(GLOBAL)]:
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("remembered_phone")
    op.drop_table("member_kind")
