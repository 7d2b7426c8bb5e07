"""The versions of a rule are found without reading the whole trail: an index of the events of rules, which are few.

Safe under the old code. It is built while others write.
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

OF_RULES = "type in ('rule_created', 'rule_changed', 'rule_renamed', 'rule_switched_on', 'rule_switched_off')"


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.create_index(
            "audit_event_rule_idx",
            "audit_event",
            ["org_id", "id"],
            postgresql_where=sa.text(OF_RULES),
            postgresql_concurrently=True,
            if_not_exists=True,
        )


def downgrade() -> None:
    op.drop_index("audit_event_rule_idx", "audit_event")
