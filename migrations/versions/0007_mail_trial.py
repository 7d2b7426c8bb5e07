"""Test mails, which the scheduler sends once and which are no alerts.

Only a new table: safe under the old code, which does not know it.
"""

import sqlalchemy as sa
from alembic import op

from app.models.tenancy import walls

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TABLES = {"mail_trial": ("select, insert", "select, update")}


def upgrade() -> None:
    op.create_table(
        "mail_trial",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("member_id", sa.BigInteger(), nullable=False),
        sa.Column("asked_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("sent_to", sa.Text(), nullable=True),
        sa.Column("handed_over_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("settled_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("reply", sa.Text(), nullable=True),
        sa.CheckConstraint("(settled_at is null) = (outcome is null)", name=op.f("mail_trial_settled_as_check")),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("mail_trial_org_id_fkey")),
        sa.ForeignKeyConstraint(
            ["org_id", "member_id"], ["member.org_id", "member.id"], name=op.f("mail_trial_member_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("mail_trial_pkey")),
    )
    op.create_index("mail_trial_at_idx", "mail_trial", ["org_id", "asked_at", "id"], unique=False)
    for statement in walls(TABLES):
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("mail_trial")
