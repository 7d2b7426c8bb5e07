"""Calendar feeds of persons and sites, at secret addresses that can be revoked.

Only a new table: safe under the old code, which does not know it. Nobody may change whose feed it is, or its address.
"""

import sqlalchemy as sa
from alembic import op

from app.models.tenancy import walls

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

TABLES = {"calendar_feed": ("select, insert, update (revoked_at, last_read_at)", "select")}


def upgrade() -> None:
    op.create_table(
        "calendar_feed",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("member_id", sa.BigInteger(), nullable=False),
        sa.Column("site_id", sa.BigInteger(), nullable=True),
        sa.Column("token_sha256", sa.Text(), nullable=False),
        sa.Column("created_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("last_read_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("calendar_feed_org_id_fkey")),
        sa.ForeignKeyConstraint(
            ["org_id", "member_id"], ["member.org_id", "member.id"], name=op.f("calendar_feed_member_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "site_id"], ["site.org_id", "site.id"], name=op.f("calendar_feed_site_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("calendar_feed_pkey")),
        sa.UniqueConstraint("org_id", "token_sha256", name=op.f("calendar_feed_org_id_token_sha256_key")),
    )
    op.create_index("calendar_feed_member_idx", "calendar_feed", ["org_id", "member_id"], unique=False)
    for statement in walls(TABLES):
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("calendar_feed")
