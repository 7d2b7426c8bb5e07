"""Checkpoints by mail, once a day to whom an organisation chose; and when a scheduler last sealed all there was.

A checkpoint helps only where somebody outside keeps it. It goes the way of a test mail, of no alert and never twice, so
that it stands in the same table: a row with a day, one for each member and day, and the note that is sent. A default for
what is there, and columns that are empty: safe under the old code, which sends such a row as a test mail at worst.
"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("member", sa.Column("daily_checkpoint", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("mail_trial", sa.Column("checkpoint_on", sa.Date(), nullable=True))
    op.add_column("mail_trial", sa.Column("note", sa.Text(), nullable=True))
    check = op.f("mail_trial_checkpoint_has_note_check")
    op.execute(
        f"alter table mail_trial add constraint {check} check ((checkpoint_on is null) = (note is null)) not valid"
    )
    op.execute(f"alter table mail_trial validate constraint {check}")
    op.create_unique_constraint("checkpoint_mailed_once", "mail_trial", ["org_id", "member_id", "checkpoint_on"])
    op.execute("grant insert on mail_trial to onus_scheduler")
    op.add_column("scheduler_process", sa.Column("sealed_at", sa.TIMESTAMP(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("scheduler_process", "sealed_at")
    op.execute("revoke insert on mail_trial from onus_scheduler")
    op.drop_constraint("checkpoint_mailed_once", "mail_trial")
    op.drop_constraint(op.f("mail_trial_checkpoint_has_note_check"), "mail_trial")
    op.execute("delete from mail_trial where checkpoint_on is not null")
    op.drop_column("mail_trial", "note")
    op.drop_column("mail_trial", "checkpoint_on")
    op.drop_column("member", "daily_checkpoint")
