"""The sealed trail: each event's place and bytes, signed checkpoints, and the keys that sign them.

Updates and deletes were refused by grants alone, which bind nobody who owns the database. Only new tables, and one
right more for the scheduler: safe under the old code, which does not know them. Whatever was not sealed before is
still in audit_unsealed, and a way back puts everything there again.
"""

import sqlalchemy as sa
from alembic import op

from app.models.tenancy import grants, walls

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

# What onus_web may, and what onus_scheduler may. Nobody changes or deletes a seal.
TABLES = {"audit_leaf": ("select", "select, insert"), "audit_checkpoint": ("select", "select, insert")}
OF_ALL = {"trail_key": ("select", "select, insert"), "installation": ("select", "select")}

# The walls bind a plain owner, too, so that he must go into each organisation.
UNSEALED_AGAIN = """
do $$ declare one bigint; begin
  for one in select id from organisation loop
    perform set_config('onus.org', cast(one as text), true);
    insert into audit_unsealed (org_id, event_id) select org_id, event_id from audit_leaf;
  end loop;
  perform set_config('onus.org', '', true);
end $$"""


def upgrade() -> None:
    make_leaf()
    make_checkpoint()
    op.create_table(
        "trail_key",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("vkey", sa.Text(), nullable=False),
        sa.Column("since", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("trail_key_pkey")),
        sa.UniqueConstraint("vkey", name=op.f("trail_key_vkey_key")),
    )
    op.create_table(
        "installation",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("uuid", sa.Uuid(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("installation_only_one_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("installation_pkey")),
    )
    op.execute("insert into installation (id, uuid) values (1, gen_random_uuid())")
    for statement in walls(TABLES) + grants(OF_ALL):
        op.execute(statement)
    op.execute("grant delete on audit_unsealed to onus_scheduler")


def make_leaf() -> None:
    op.create_table(
        "audit_leaf",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("event_id", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("sealed_at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "event_id"], ["audit_event.org_id", "audit_event.id"], name=op.f("audit_leaf_event_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "seq", name=op.f("audit_leaf_pkey")),
        sa.UniqueConstraint("org_id", "event_id", name=op.f("audit_leaf_org_id_event_id_key")),
    )


def make_checkpoint() -> None:
    op.create_table(
        "audit_checkpoint",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("root", sa.LargeBinary(), nullable=False),
        sa.Column("frontier", sa.LargeBinary(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("audit_checkpoint_org_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("audit_checkpoint_pkey")),
        sa.UniqueConstraint("org_id", "size", name=op.f("audit_checkpoint_org_id_size_key")),
    )


def downgrade() -> None:
    op.execute(UNSEALED_AGAIN)
    op.execute("revoke delete on audit_unsealed from onus_scheduler")
    for table in ("installation", "trail_key", "audit_checkpoint", "audit_leaf"):
        op.drop_table(table)
