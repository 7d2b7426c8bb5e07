"""What a kind asks before a deadline of it is closed as done: proof; and which papers are that, and nothing else.

Beside it an index for the days to ask again. New columns with a default: safe under the old code, which knows neither. Filings that are pending are
few, so the index is small, and it is built while others write.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

PENDING = "closed_at is null and filed_on is not null and filing_ended_on is null and ask_again_on is not null"


def upgrade() -> None:
    op.add_column("kind", sa.Column("proof_needed", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.add_column("document", sa.Column("is_proof", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    with op.get_context().autocommit_block():
        op.create_index(
            "obligation_filed_idx",
            "obligation",
            ["org_id", "ask_again_on"],
            postgresql_where=sa.text(PENDING),
            postgresql_concurrently=True,
            if_not_exists=True,
        )


def downgrade() -> None:
    op.drop_index("obligation_filed_idx", "obligation")
    op.drop_column("document", "is_proof")
    op.drop_column("kind", "proof_needed")
