"""A file that proves several papers is kept once: the other papers name the one that has its content.

A new column without a need, a constraint that what the old code writes fulfils, and an index. Safe under the old code:
it writes each file with its content, as before, and finds one that is kept elsewhere not there.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

OLD, NEW = "attachment_dropped_without_content_check", "attachment_content_once_check"


def upgrade() -> None:
    op.add_column("attachment", sa.Column("same_as_id", sa.BigInteger(), nullable=True))
    op.create_foreign_key(
        op.f("attachment_same_as_id_fkey"), "attachment", "attachment", ["org_id", "same_as_id"], ["org_id", "id"]
    )
    op.drop_constraint(op.f(OLD), "attachment")
    op.create_check_constraint(op.f(NEW), "attachment", "num_nonnulls(content, same_as_id, dropped_at) = 1")
    has_content, is_same = sa.text("content is not null"), sa.text("same_as_id is not null")
    op.create_index("attachment_content_idx", "attachment", ["org_id", "sha256"], postgresql_where=has_content)
    op.create_index("attachment_same_as_idx", "attachment", ["org_id", "same_as_id"], postgresql_where=is_same)


def downgrade() -> None:
    op.drop_index("attachment_same_as_idx", table_name="attachment")
    op.drop_index("attachment_content_idx", table_name="attachment")
    op.drop_constraint(op.f(NEW), "attachment")
    op.execute("""
        update attachment a set content = k.content from attachment k
        where k.org_id = a.org_id and k.id = a.same_as_id""")
    op.create_check_constraint(op.f(OLD), "attachment", "(content is null) = (dropped_at is not null)")
    op.drop_column("attachment", "same_as_id")
