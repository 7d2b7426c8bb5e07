"""Papers of an entry, each with its number, and the files that prove it.

Only new tables: safe under the old code, which does not know them.
"""

import sqlalchemy as sa
from alembic import op

from app.models.tenancy import walls

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# What onus_web may, and what onus_scheduler may. Nobody deletes a paper: one that was entered in error is marked so.
TABLES = {
    "document": ("select, insert, update", "select"),
    "attachment": ("select, insert, update", "select"),
}


def of_org(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"{table}_{column}_fkey")
    return sa.ForeignKeyConstraint(["org_id", column], [f"{target}.org_id", f"{target}.id"], name=name)


def upgrade() -> None:
    op.create_table(
        "document",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("subject_id", sa.BigInteger(), nullable=False),
        sa.Column("obligation_id", sa.BigInteger(), nullable=True),
        sa.Column("number", sa.Text(), nullable=False),
        sa.Column("number_key", sa.Text(), nullable=False),
        sa.Column("issuer", sa.Text(), server_default="", nullable=False),
        sa.Column("issued_on", sa.Date(), nullable=True),
        sa.Column("valid_from", sa.Date(), nullable=True),
        sa.Column("valid_until", sa.Date(), nullable=True),
        sa.Column("replaces_id", sa.BigInteger(), nullable=True),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("added_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("added_by", sa.BigInteger(), nullable=True),
        sa.Column("withdrawn_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("withdrawn_by", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("valid_until >= valid_from", name=op.f("document_validity_check")),
        sa.CheckConstraint("replaces_id <> id", name=op.f("document_not_its_own_successor_check")),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("document_org_id_fkey")),
        of_org("document", "subject_id", "subject"),
        of_org("document", "obligation_id", "obligation"),
        of_org("document", "replaces_id", "document"),
        of_org("document", "added_by", "member"),
        of_org("document", "withdrawn_by", "member"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("document_pkey")),
    )
    op.create_index("document_subject_idx", "document", ["org_id", "subject_id", "id"])
    numbers = {"number_key": "text_pattern_ops"}
    op.create_index("document_number_idx", "document", ["org_id", "number_key"], postgresql_ops=numbers)
    op.create_index(
        "document_replaced_once",
        "document",
        ["org_id", "replaces_id"],
        unique=True,
        postgresql_where=sa.text("replaces_id is not null and withdrawn_at is null"),
    )
    op.create_table(
        "attachment",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("added_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("added_by", sa.BigInteger(), nullable=True),
        sa.Column("dropped_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(content is null) = (dropped_at is not null)", name=op.f("attachment_dropped_without_content_check")
        ),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("attachment_org_id_fkey")),
        of_org("attachment", "document_id", "document"),
        of_org("attachment", "added_by", "member"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("attachment_pkey")),
    )
    op.create_index("attachment_document_idx", "attachment", ["org_id", "document_id", "id"])
    for statement in walls(TABLES):
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("attachment")
    op.drop_table("document")
