"""Series by the calendar, whose dates the watch opens ahead; and dates that follow another entry's.

`series_from` is the anchor that `due_from` was until now; `due_from` says from now on how far an entry's date is from
that of its whole. Old code that reads an entry while this runs must be stopped first: it knows `due_from` as a date.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

BASIS = "subject_recurrence_basis_check"


def upgrade() -> None:
    op.alter_column("subject", "due_from", new_column_name="series_from")
    op.add_column("subject", sa.Column("due_from", sa.Text(), nullable=True))
    for name in ("series_through", "series_next"):
        op.add_column("subject", sa.Column(name, sa.Date(), nullable=True))
    op.create_check_constraint(op.f("subject_due_from_check"), "subject", "due_from is null or part_of_id is not null")
    op.drop_constraint(op.f(BASIS), "subject")
    op.create_check_constraint(op.f(BASIS), "subject", "recurrence_basis in ('due', 'done', 'calendar')")
    op.create_index(
        "subject_series_idx",
        "subject",
        ["org_id", "id"],
        unique=False,
        postgresql_where=sa.text("recurrence_basis = 'calendar' and status = 'watched'"),
    )


def downgrade() -> None:
    op.drop_index("subject_series_idx", table_name="subject")
    op.execute("update subject set recurrence_basis = 'due' where recurrence_basis = 'calendar'")
    op.drop_constraint(op.f(BASIS), "subject")
    op.create_check_constraint(op.f(BASIS), "subject", "recurrence_basis in ('due', 'done')")
    op.drop_constraint(op.f("subject_due_from_check"), "subject")
    for name in ("series_next", "series_through", "due_from"):
        op.drop_column("subject", name)
    op.alter_column("subject", "series_from", new_column_name="due_from")
