"""A leaf of which only the hash is left, so that events can go by a policy of retention and the trail still verifies.

The bytes of an event stood in its leaf for good, and the leaf pointed at the event. Now a leaf may give up both for its
hash, which is all that the tree needs. No role gets that right: whoever owns the tables removes events, nobody else.
Beside it a right that the forgetting of a person lacked: to mend the lines of an import, which name people.
Safe under the old code, which reads leaves that are whole as before. The way back is refused, by the columns themselves,
once events were removed: they are nowhere any more.
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

WHOLE_OR_HASH = "num_nonnulls(content, hash) = 1 and (content is null) = (event_id is null)"


def upgrade() -> None:
    op.add_column("audit_leaf", sa.Column("hash", sa.LargeBinary(), nullable=True))
    op.alter_column("audit_leaf", "content", nullable=True)
    op.alter_column("audit_leaf", "event_id", nullable=True)
    name = op.f("audit_leaf_whole_or_hash_check")
    op.execute(f"alter table audit_leaf add constraint {name} check ({WHOLE_OR_HASH}) not valid")
    op.execute(f"alter table audit_leaf validate constraint {name}")
    op.execute("grant update (rows) on import_run to onus_web")


def downgrade() -> None:
    op.execute("revoke update (rows) on import_run from onus_web")
    op.drop_constraint(op.f("audit_leaf_whole_or_hash_check"), "audit_leaf")
    op.alter_column("audit_leaf", "event_id", nullable=False)
    op.alter_column("audit_leaf", "content", nullable=False)
    op.drop_column("audit_leaf", "hash")
