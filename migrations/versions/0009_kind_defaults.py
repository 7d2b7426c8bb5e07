"""What a kind says of its entries: how often they come again, and what to do in other languages.

New columns with a default or without a need: safe under the old code, which does not know them.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "kind", sa.Column("what_to_do_in", postgresql.JSONB(), server_default=sa.text("'{}'"), nullable=False)
    )
    op.add_column("kind", sa.Column("recurrence", sa.Text(), nullable=True))
    op.add_column("kind", sa.Column("recurrence_basis", sa.Text(), nullable=True))
    op.create_check_constraint(
        op.f("kind_recurrence_basis_check"), "kind", "recurrence_basis in ('due', 'done', 'calendar')"
    )


def downgrade() -> None:
    op.drop_constraint(op.f("kind_recurrence_basis_check"), "kind")
    for column in ("recurrence_basis", "recurrence", "what_to_do_in"):
        op.drop_column("kind", column)
