"""Files that are being brought in by the pages: kept from the upload until they are applied or dropped.

Only a new table: safe under the old code, which does not know it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.models.tenancy import walls

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# What onus_web may, and what onus_scheduler may. A file that is dropped, or old, is really gone: it names people.
TABLES = {"import_upload": ("select, insert, update, delete", "select")}


def upgrade() -> None:
    op.create_table(
        "import_upload",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("member_id", sa.BigInteger(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("file_sha256", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("look", postgresql.JSONB(), nullable=False),
        sa.Column("header_key", sa.Text(), nullable=False),
        sa.Column("mapping", postgresql.JSONB(), nullable=False),
        sa.Column("import_run_id", sa.BigInteger(), nullable=True),
        sa.Column("left_over", postgresql.JSONB(), nullable=True),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("import_upload_org_id_fkey")),
        sa.ForeignKeyConstraint(
            ["org_id", "member_id"], ["member.org_id", "member.id"], name=op.f("import_upload_member_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "import_run_id"],
            ["import_run.org_id", "import_run.id"],
            name=op.f("import_upload_import_run_id_fkey"),
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("import_upload_pkey")),
    )
    op.create_index("import_upload_header_idx", "import_upload", ["org_id", "header_key", "id"], unique=False)
    op.create_index("import_upload_run_idx", "import_upload", ["org_id", "import_run_id"], unique=False)
    for statement in walls(TABLES):
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("import_upload")
