"""Answers in full: the photo of what is done, who looked at it and what they said, and whose it is if not mine.

A file belongs to a paper or to an answer, never to nothing. New columns with a default or without a need, and a column
that may be empty from now on: safe under the old code, which writes it always and reads only the files of papers.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

CHECKS = (
    ("accepted_done", "accepted_at is null or answer = 'done'"),
    ("sent_back_with_words", "(sent_back_at is null) = (sent_back_note is null)"),
    (
        "whose",
        "num_nonnulls(whose_member_id, whose_post_id) <= 1",
    ),
)
LINKS = (("checked_by", "member"), ("whose_member_id", "member"), ("whose_post_id", "post"))
OF_ONE_AT_LEAST = "document_id is not null or acknowledgement_id is not null"


def upgrade() -> None:
    op.add_column("kind", sa.Column("staff_may_close", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.add_column("acknowledgement", sa.Column("accepted_at", sa.TIMESTAMP(timezone=True), nullable=True))
    op.add_column("acknowledgement", sa.Column("sent_back_note", sa.Text(), nullable=True))
    for column, table in LINKS:
        op.add_column("acknowledgement", sa.Column(column, sa.BigInteger(), nullable=True))
        op.create_foreign_key(
            op.f(f"acknowledgement_{column}_fkey"), "acknowledgement", table, ["org_id", column], ["org_id", "id"]
        )
    for name, law in CHECKS:
        op.create_check_constraint(op.f(f"acknowledgement_{name}_check"), "acknowledgement", law)
    op.create_index(
        "acknowledgement_sent_back_idx",
        "acknowledgement",
        ["org_id", "member_id"],
        postgresql_where=sa.text("sent_back_at is not null"),
    )
    op.alter_column("attachment", "document_id", nullable=True)
    op.add_column("attachment", sa.Column("acknowledgement_id", sa.BigInteger(), nullable=True))
    op.create_foreign_key(
        op.f("attachment_acknowledgement_id_fkey"), "attachment", "acknowledgement",
        ["org_id", "acknowledgement_id"], ["org_id", "id"],
    )  # fmt: skip
    op.create_check_constraint(op.f("attachment_of_paper_or_answer_check"), "attachment", OF_ONE_AT_LEAST)
    op.create_index(
        "attachment_acknowledgement_idx",
        "attachment",
        ["org_id", "acknowledgement_id"],
        postgresql_where=sa.text("acknowledgement_id is not null"),
    )


def downgrade() -> None:
    op.drop_index("attachment_acknowledgement_idx", table_name="attachment")
    op.drop_constraint(op.f("attachment_of_paper_or_answer_check"), "attachment")
    op.execute("delete from attachment where document_id is null")
    op.drop_column("attachment", "acknowledgement_id")
    op.alter_column("attachment", "document_id", nullable=False)
    op.drop_index("acknowledgement_sent_back_idx", table_name="acknowledgement")
    for name, _ in CHECKS:
        op.drop_constraint(op.f(f"acknowledgement_{name}_check"), "acknowledgement")
    for column in ("accepted_at", "sent_back_note", *(column for column, _ in LINKS)):
        op.drop_column("acknowledgement", column)
    op.drop_column("kind", "staff_may_close")
