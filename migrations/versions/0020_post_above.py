"""The post above a post: who is told when an alert is said to be somebody else's, and nobody acts.

An answer "not mine" reached the compliance manager alone. Only a nullable column, an index and a check that allows one
word more: safe under the old code, which waits while the check of deliveries is made (a second or two for a million).
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

ROUTES = "'owner', 'holder', 'post', 'role', 'named', 'fallback', 'returned', 'cover'"

# The walls bind a plain owner, too, so that he must go into each organisation.
IN_OLD_WORDS = """
do $$ declare one bigint; begin
  for one in select id from organisation loop
    perform set_config('onus.org', cast(one as text), true);
    update delivery set because = 'post' where because = 'above';
  end loop;
  perform set_config('onus.org', '', true);
end $$"""


def routes(words: str) -> None:
    """Replace the check of the routes by which a person is told."""
    op.execute("alter table delivery drop constraint delivery_because_check")
    op.execute(f"alter table delivery add constraint delivery_because_check check (because in ({words}))")


def upgrade() -> None:
    op.add_column("post", sa.Column("above_id", sa.BigInteger(), nullable=True))
    op.create_foreign_key(op.f("post_above_id_fkey"), "post", "post", ["org_id", "above_id"], ["org_id", "id"])
    op.create_check_constraint(op.f("post_not_above_itself_check"), "post", "above_id <> id")
    stands = sa.text("answer = 'not_mine' and taken_back_at is null and sent_back_at is null")
    columns = ["org_id", "acknowledged_at"]
    op.create_index("acknowledgement_not_mine_idx", "acknowledgement", columns, postgresql_where=stands)
    routes(f"{ROUTES}, 'above'")


def downgrade() -> None:
    """What the old code has no word for gets the nearest one that it has."""
    op.execute(IN_OLD_WORDS)
    routes(ROUTES)
    op.drop_index("acknowledgement_not_mine_idx", table_name="acknowledgement")
    op.drop_constraint(op.f("post_not_above_itself_check"), "post")
    op.drop_column("post", "above_id")
