"""Imports of people, large files in the background, and imports that were entered in error.

New columns with a default or without a need, and a new table: safe under the old code, which does not know them. A new
reason for archiving is a word of the trail, held by no constraint.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.models.tenancy import walls

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

TABLES = {"import_work": ("select, insert, update, delete", "select")}
CONTENTS = "contents in ('register', 'people')"


def upgrade() -> None:
    for table in ("import_run", "import_upload"):
        op.add_column(table, sa.Column("contents", sa.Text(), server_default="register", nullable=False))
        op.create_check_constraint(op.f(f"{table}_contents_check"), table, CONTENTS)
    op.add_column("import_run", sa.Column("in_error_at", sa.TIMESTAMP(timezone=True), nullable=True))
    op.add_column("import_run", sa.Column("in_error_by", sa.Text(), nullable=True))
    op.add_column("import_run", sa.Column("in_error_note", sa.Text(), server_default="", nullable=False))
    op.create_check_constraint(
        op.f("import_run_in_error_by_whom_check"), "import_run", "(in_error_at is null) = (in_error_by is null)"
    )
    op.execute("grant update (in_error_at, in_error_by, in_error_note) on import_run to onus_web")
    op.create_table(
        "import_work",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("upload_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("wish", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("asked_by", sa.BigInteger(), nullable=False),
        sa.Column("beat_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("done", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("total", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("ended_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.Column("found", postgresql.JSONB(), nullable=True),
        sa.CheckConstraint("wish in ('check', 'apply')", name=op.f("import_work_wish_check")),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("import_work_org_id_fkey")),
        sa.ForeignKeyConstraint(
            ["org_id", "upload_id"],
            ["import_upload.org_id", "import_upload.id"],
            name=op.f("import_work_upload_id_fkey"),
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "asked_by"], ["member.org_id", "member.id"], name=op.f("import_work_asked_by_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "upload_id", name=op.f("import_work_pkey")),
    )
    for statement in walls(TABLES):
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("import_work")
    op.execute("revoke update (in_error_at, in_error_by, in_error_note) on import_run from onus_web")
    for column in ("in_error_note", "in_error_by", "in_error_at"):
        op.drop_column("import_run", column)
    for table in ("import_upload", "import_run"):
        op.drop_column(table, "contents")
