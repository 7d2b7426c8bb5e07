"""Since when a paper proves its deadline no more: it was opened again, since it had not been done after all.

The old paper still counted, so that the deadline could be closed once more without a new one. Only a column that may be
empty: safe under the old code, which does not know it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("document", sa.Column("disproved_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    op.drop_column("document", "disproved_at")
