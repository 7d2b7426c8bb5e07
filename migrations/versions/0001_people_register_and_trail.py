"""The organisation, its people, its register and its trail; the two roles and the wall between organisations.

The first migration: there is no older code. Updates and deletes of the trail are refused by what is not granted.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from app.models.tenancy import grants, roles, walls

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# What onus_web may, and what onus_scheduler may.
OF_ORGANISATIONS = {
    "member": ("select, insert, update", "select"),
    "member_site": ("select, insert, delete", "select"),
    "site": ("select, insert, update", "select"),
    "kind": ("select, insert, update", "select"),
    "post": ("select, insert, update", "select"),
    "site_post": ("select, insert, update", "select"),
    "subject": ("select, insert, update", "select"),
    "obligation": ("select, insert, update", "select"),
    "audit_event": ("select, insert", "select, insert"),
    "audit_unsealed": ("select, insert", "select, insert"),
    "import_run": ("select, insert", "select"),
}
GLOBAL = {
    "organisation": ("select, insert, update", "select"),
    "account": ("select, insert, update", "select (id, email, name, locale, is_active)"),
    "alembic_version": ("select", "select"),
}


def upgrade() -> None:
    op.create_table(
        "account",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("locale", sa.Text(), server_default="en", nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("account_pkey")),
    )
    op.create_index("account_address_key", "account", [sa.literal_column("lower(email)")], unique=True)
    op.create_table(
        "organisation",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("locale", sa.Text(), server_default="en", nullable=False),
        sa.Column("timezone", sa.Text(), nullable=False),
        sa.Column("grace_period", sa.Interval(), server_default=sa.text("interval '24 hours'"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("organisation_pkey")),
        sa.UniqueConstraint("slug", name=op.f("organisation_slug_key")),
    )
    op.create_table(
        "audit_event",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.BigInteger(), nullable=True),
        sa.Column("claim_id", sa.BigInteger(), nullable=True),
        sa.Column("delivery_id", sa.BigInteger(), nullable=True),
        sa.Column("detail", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("audit_event_org_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("audit_event_pkey")),
    )
    op.create_index("audit_event_at_idx", "audit_event", ["org_id", "at", "id"], unique=False)
    op.create_index(
        "audit_event_claim_idx",
        "audit_event",
        ["org_id", "claim_id", "id"],
        unique=False,
        postgresql_where=sa.text("claim_id is not null"),
    )
    op.create_index(
        "audit_event_subject_idx",
        "audit_event",
        ["org_id", "subject_id", "id"],
        unique=False,
        postgresql_where=sa.text("subject_id is not null"),
    )
    op.create_table(
        "import_run",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("at", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("file_sha256", sa.Text(), nullable=False),
        sa.Column("mapping", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("counts", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("rows", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("import_run_org_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("import_run_pkey")),
    )
    op.create_index("import_run_at_idx", "import_run", ["org_id", "at", "id"], unique=False)
    op.create_table(
        "kind",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("wording", sa.Text(), server_default="expires", nullable=False),
        sa.Column("what_to_do", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint("wording in ('expires', 'falls_due')", name=op.f("kind_wording_check")),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("kind_org_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("kind_pkey")),
    )
    op.create_index("kind_name_key", "kind", ["org_id", sa.literal_column("lower(name)")], unique=True)
    op.create_table(
        "member",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("number", sa.Text(), nullable=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("locale", sa.Text(), server_default="en", nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("valid_until", sa.Date(), nullable=True),
        sa.Column("left_on", sa.Date(), nullable=True),
        sa.Column("email_alerts", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.CheckConstraint("role in ('admin', 'officer', 'staff', 'inspector')", name=op.f("member_role_check")),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name=op.f("member_account_id_fkey")),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("member_org_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("member_pkey")),
        sa.UniqueConstraint("org_id", "account_id", name=op.f("member_org_id_account_id_key")),
    )
    op.create_index("member_address_key", "member", ["org_id", sa.literal_column("lower(email)")], unique=True)
    op.create_index(
        "member_number_idx",
        "member",
        ["org_id", "number"],
        unique=False,
        postgresql_where=sa.text("number is not null"),
    )
    op.create_table(
        "post",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("post_org_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("post_pkey")),
    )
    op.create_index("post_name_key", "post", ["org_id", sa.literal_column("lower(name)")], unique=True)
    op.create_table(
        "site",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("timezone", sa.Text(), nullable=False),
        sa.Column("country", sa.Text(), nullable=True),
        sa.Column("region", sa.Text(), nullable=True),
        sa.Column("alert_from", sa.Time(), server_default=sa.text("'00:00'"), nullable=False),
        sa.Column("archived_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("site_org_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("site_pkey")),
    )
    op.create_index("site_name_key", "site", ["org_id", sa.literal_column("lower(name)")], unique=True)
    op.create_table(
        "audit_unsealed",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("event_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "event_id"], ["audit_event.org_id", "audit_event.id"], name=op.f("audit_unsealed_event_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "event_id", name=op.f("audit_unsealed_pkey")),
    )
    op.create_table(
        "member_site",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("member_id", sa.BigInteger(), nullable=False),
        sa.Column("site_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "member_id"], ["member.org_id", "member.id"], name=op.f("member_site_member_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "site_id"], ["site.org_id", "site.id"], name=op.f("member_site_site_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "member_id", "site_id", name=op.f("member_site_pkey")),
    )
    op.create_table(
        "site_post",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("site_id", sa.BigInteger(), nullable=False),
        sa.Column("post_id", sa.BigInteger(), nullable=False),
        sa.Column("member_id", sa.BigInteger(), nullable=False),
        sa.Column("from_on", sa.Date(), nullable=False),
        sa.Column("until_on", sa.Date(), nullable=True),
        sa.ForeignKeyConstraint(
            ["org_id", "member_id"], ["member.org_id", "member.id"], name=op.f("site_post_member_id_fkey")
        ),
        sa.ForeignKeyConstraint(["org_id", "post_id"], ["post.org_id", "post.id"], name=op.f("site_post_post_id_fkey")),
        sa.ForeignKeyConstraint(["org_id", "site_id"], ["site.org_id", "site.id"], name=op.f("site_post_site_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "site_id", "post_id", "member_id", "from_on", name=op.f("site_post_pkey")),
    )
    op.create_index("site_post_member_idx", "site_post", ["org_id", "member_id"], unique=False)
    op.create_table(
        "subject",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("site_id", sa.BigInteger(), nullable=False),
        sa.Column("kind_id", sa.BigInteger(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("reference_key", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("owner_member_id", sa.BigInteger(), nullable=True),
        sa.Column("owner_post_id", sa.BigInteger(), nullable=True),
        sa.Column("holder_id", sa.BigInteger(), nullable=True),
        sa.Column("part_of_id", sa.BigInteger(), nullable=True),
        sa.Column("due_from", sa.Date(), nullable=True),
        sa.Column("recurrence", sa.Text(), nullable=True),
        sa.Column("recurrence_basis", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), server_default="watched", nullable=False),
        sa.Column("snoozed_until", sa.Date(), nullable=True),
        sa.Column("legal_basis", sa.Text(), server_default="", nullable=False),
        sa.Column("notes", sa.Text(), server_default="", nullable=False),
        sa.Column("extra", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.CheckConstraint("recurrence_basis in ('due', 'done')", name=op.f("subject_recurrence_basis_check")),
        sa.CheckConstraint(
            "status in ('draft', 'watched', 'out_of_service', 'archived')", name=op.f("subject_status_check")
        ),
        sa.CheckConstraint("part_of_id <> id", name=op.f("subject_not_part_of_itself_check")),
        sa.ForeignKeyConstraint(
            ["org_id", "holder_id"], ["member.org_id", "member.id"], name=op.f("subject_holder_id_fkey")
        ),
        sa.ForeignKeyConstraint(["org_id", "kind_id"], ["kind.org_id", "kind.id"], name=op.f("subject_kind_id_fkey")),
        sa.ForeignKeyConstraint(
            ["org_id", "owner_member_id"], ["member.org_id", "member.id"], name=op.f("subject_owner_member_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "owner_post_id"], ["post.org_id", "post.id"], name=op.f("subject_owner_post_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "part_of_id"], ["subject.org_id", "subject.id"], name=op.f("subject_part_of_id_fkey")
        ),
        sa.ForeignKeyConstraint(["org_id", "site_id"], ["site.org_id", "site.id"], name=op.f("subject_site_id_fkey")),
        sa.ForeignKeyConstraint(["org_id"], ["organisation.id"], name=op.f("subject_org_id_fkey")),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("subject_pkey")),
        sa.UniqueConstraint(
            "org_id", "site_id", "reference_key", name=op.f("subject_org_id_site_id_reference_key_key")
        ),
    )
    op.create_index(
        "subject_holder_idx",
        "subject",
        ["org_id", "holder_id"],
        unique=False,
        postgresql_where=sa.text("holder_id is not null"),
    )
    op.create_index(
        "subject_owner_idx",
        "subject",
        ["org_id", "owner_member_id"],
        unique=False,
        postgresql_where=sa.text("owner_member_id is not null"),
    )
    op.create_index(
        "subject_part_idx",
        "subject",
        ["org_id", "part_of_id"],
        unique=False,
        postgresql_where=sa.text("part_of_id is not null"),
    )
    op.create_index("subject_reference_idx", "subject", ["org_id", "reference_key"], unique=False)
    op.create_index(
        "subject_watched_idx",
        "subject",
        ["org_id", "site_id", "kind_id", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'watched'"),
    )
    op.create_table(
        "obligation",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), autoincrement=True, nullable=False),
        sa.Column("subject_id", sa.BigInteger(), nullable=False),
        sa.Column("due_on", sa.Date(), nullable=False),
        sa.Column("first_due_on", sa.Date(), nullable=False),
        sa.Column("opened_at", sa.TIMESTAMP(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("met_on", sa.Date(), nullable=True),
        sa.Column("closed_at", sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column("closed_by", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("filed_on", sa.Date(), nullable=True),
        sa.Column("filed_reference", sa.Text(), nullable=True),
        sa.Column("in_force_meanwhile", sa.Text(), nullable=True),
        sa.Column("ask_again_on", sa.Date(), nullable=True),
        sa.Column("filing_ended_on", sa.Date(), nullable=True),
        sa.Column("filing_result", sa.Text(), nullable=True),
        sa.CheckConstraint("due_on between '1990-01-01' and '2079-12-31'", name=op.f("obligation_due_on_check")),
        sa.CheckConstraint(
            "filing_result in ('granted', 'refused', 'withdrawn')", name=op.f("obligation_filing_result_check")
        ),
        sa.CheckConstraint(
            "in_force_meanwhile in ('yes', 'no', 'unclear')", name=op.f("obligation_in_force_meanwhile_check")
        ),
        sa.CheckConstraint(
            "outcome in ('met', 'failed', 'not_required', 'entered_in_error')", name=op.f("obligation_outcome_check")
        ),
        sa.CheckConstraint(
            "(closed_at is null) = (outcome is null)", name=op.f("obligation_closed_with_outcome_check")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "closed_by"], ["member.org_id", "member.id"], name=op.f("obligation_closed_by_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "subject_id"], ["subject.org_id", "subject.id"], name=op.f("obligation_subject_id_fkey")
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("obligation_pkey")),
        sa.UniqueConstraint("org_id", "subject_id", "due_on", name=op.f("obligation_org_id_subject_id_due_on_key")),
    )
    op.create_index(
        "obligation_open_idx",
        "obligation",
        ["org_id", "due_on"],
        unique=False,
        postgresql_include=["subject_id", "id"],
        postgresql_where=sa.text("closed_at is null"),
    )
    for statement in roles() + walls(OF_ORGANISATIONS) + grants(GLOBAL):
        op.execute(statement)


def downgrade() -> None:
    for table in (
        "obligation",
        "subject",
        "site_post",
        "member_site",
        "audit_unsealed",
        "site",
        "post",
        "member",
        "kind",
        "import_run",
        "audit_event",
        "organisation",
        "account",
    ):
        op.drop_table(table)
    # Flask-Migrate keeps its own table; the roles belong to the server and may serve other databases.
    op.execute("revoke all on alembic_version from onus_web, onus_scheduler")
