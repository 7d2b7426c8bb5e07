"""Due dates of parts that follow the due date of their whole.

A new column without a need: safe under the old code, which does not know it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("obligation", sa.Column("follows_id", sa.BigInteger(), nullable=True))
    op.create_foreign_key(
        op.f("obligation_follows_id_fkey"), "obligation", "obligation", ["org_id", "follows_id"], ["org_id", "id"]
    )
    op.create_index(
        "obligation_follows_once",
        "obligation",
        ["org_id", "subject_id", "follows_id"],
        unique=True,
        postgresql_where=sa.text("follows_id is not null"),
    )


def downgrade() -> None:
    op.drop_index("obligation_follows_once", table_name="obligation")
    op.drop_column("obligation", "follows_id")
