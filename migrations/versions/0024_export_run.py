"""Reports of the trail: what was asked for, how far it is, and for thirty days the file.

Only a new table: safe under the old code, which does not know it. The scheduler makes them by the rights of the pages.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.models.tenancy import walls

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

TABLES = {"export_run": ("select, insert, update", "select")}


def upgrade() -> None:
    op.create_table(
        "export_run",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("asked_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("asked_by", sa.BigInteger(), nullable=True),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("filters", postgresql.JSONB(), nullable=False),
        sa.Column("site_ids", sa.ARRAY(sa.BigInteger()), nullable=True),
        sa.Column("kind_ids", sa.ARRAY(sa.BigInteger()), nullable=True),
        sa.Column("beat_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("done", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("rows", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("ended_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.Column("counts", postgresql.JSONB(), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("sha256", sa.Text(), nullable=True),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.CheckConstraint("format in ('xlsx', 'pdf', 'csv', 'bundle')", name=op.f("export_run_format_check")),
        sa.CheckConstraint(
            "ended_at is null or (fault is null) = (sha256 is not null)", name=op.f("export_run_made_or_why_not_check")
        ),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("export_run_org_id_fkey")),
        sa.ForeignKeyConstraint(
            ["org_id", "asked_by"], ["member.org_id", "member.id"], name=op.f("export_run_asked_by_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("export_run_pkey")),
    )
    waiting, kept = sa.text("ended_at is null"), sa.text("content is not null")
    op.create_index("export_run_waiting_idx", "export_run", ["org_id", "id"], postgresql_where=waiting)
    op.create_index("export_run_kept_idx", "export_run", ["org_id", "ended_at"], postgresql_where=kept)
    for statement in walls(TABLES):
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("export_run")
