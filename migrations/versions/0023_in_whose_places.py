"""In whose places, beside the first, a person is told by one delivery; and who is told if nobody holds the post above.

One message that stood for several who were away named one of them, and one that its reader gets anyway named none, so
that the others did not find it when they came back. Only a column with a default, an index, and a check that allows one
word more: safe under the old code, which waits while the check of deliveries is made (a second or two for a million).
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

ROUTES = "'owner', 'holder', 'post', 'role', 'named', 'fallback', 'returned', 'cover', 'above'"

# The walls bind a plain owner, too, so that he must go into each organisation.
IN_OLD_WORDS = """
do $$ declare one bigint; begin
  for one in select id from organisation loop
    perform set_config('onus.org', cast(one as text), true);
    update delivery set because = 'role' where because = 'nobody_above';
  end loop;
  perform set_config('onus.org', '', true);
end $$"""


def routes(words: str) -> None:
    """Replace the check of the routes by which a person is told."""
    op.execute("alter table delivery drop constraint delivery_because_check")
    op.execute(f"alter table delivery add constraint delivery_because_check check (because in ({words}))")


def upgrade() -> None:
    covers = sa.Column("also_covers", ARRAY(sa.BigInteger()), server_default="{}", nullable=False)
    op.add_column("delivery", covers)
    several = sa.text("also_covers <> '{}'")
    op.create_index("delivery_also_covers_idx", "delivery", ["org_id", "handed_over_at"], postgresql_where=several)
    routes(f"{ROUTES}, 'nobody_above'")


def downgrade() -> None:
    """What the old code has no word for gets the nearest one that it has."""
    op.execute(IN_OLD_WORDS)
    routes(ROUTES)
    op.drop_index("delivery_also_covers_idx", table_name="delivery")
    op.drop_column("delivery", "also_covers")
