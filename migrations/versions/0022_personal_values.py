"""Personal values of the trail beside it, behind salted hashes, so that a person can be forgotten and it still verifies.

Words that a person wrote stood in the events themselves, which nobody may change. Only a new table, and rights that the
forgetting of a person needs: safe under the old code, which does not know it. Events that are there stay as they are.
"""

import sqlalchemy as sa
from alembic import op

from app.models.tenancy import walls

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

# What onus_web may, and what onus_scheduler may. A value can be deleted, and nothing can be put in its place.
TABLES = {"audit_personal": ("select, insert, delete", "select, insert")}
# Where else a person stands who is forgotten: in what was sent to them, and in what servers answered.
MORE = {
    "update (sent_to, body) on mail_message": "onus_scheduler",
    "update (reply) on delivery_attempt": "onus_scheduler",
    "update (name) on remembered_phone": "onus_web",
}


def upgrade() -> None:
    op.create_table(
        "audit_personal",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("event_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("member_id", sa.BigInteger(), nullable=True),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.CheckConstraint("length(salt) = 32", name=op.f("audit_personal_salt_check")),
        sa.ForeignKeyConstraint(
            ["org_id", "event_id"], ["audit_event.org_id", "audit_event.id"], name=op.f("audit_personal_event_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "member_id"], ["member.org_id", "member.id"], name=op.f("audit_personal_member_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "event_id", "name", name=op.f("audit_personal_pkey")),
    )
    op.create_index(
        "audit_personal_member_idx",
        "audit_personal",
        ["org_id", "member_id"],
        postgresql_where=sa.text("member_id is not null"),
    )
    for statement in walls(TABLES):
        op.execute(statement)
    for right, role in MORE.items():
        op.execute(f"grant {right} to {role}")


def downgrade() -> None:
    for right, role in MORE.items():
        op.execute(f"revoke {right} from {role}")
    op.drop_table("audit_personal")
