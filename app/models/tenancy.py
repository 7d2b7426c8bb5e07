"""The wall between organisations, as statements for the migrations (P8).

A tenant table has row-level security ENABLEd and FORCEd, one policy, and grants for two roles, nobody else. An unset
setting is NULL in a fresh session and '' ever after, hence nullif; the scalar subselect runs once a statement. FORCE
binds a plain owner, too: a backfill by one must first set `onus.org` for each organisation.
"""

from __future__ import annotations

from collections.abc import Mapping

ROLES = ("onus_web", "onus_scheduler")
POLICY = "org_id = (select nullif(current_setting('onus.org', true), '')::bigint)"
Grants = Mapping[str, tuple[str, str]]  # table: (what onus_web may, what onus_scheduler may)


def roles() -> list[str]:
    """Make the two roles. They belong to the server, so that another database may have made them, or be making them."""
    return [
        f"do $$ begin create role {role} nologin noinherit; "
        "exception when duplicate_object or unique_violation then null; end $$"
        for role in ROLES
    ]


def walls(tables: Grants) -> list[str]:
    """Row-level security and grants of tenant tables."""
    statements = []
    for table in tables:
        statements += [
            f"alter table {table} enable row level security",
            f"alter table {table} force row level security",
            f"create policy of_organisation on {table} using ({POLICY}) with check ({POLICY})",
        ]
    return statements + grants(tables)


def grants(tables: Grants) -> list[str]:
    """Grants alone, for tables that belong to no organisation."""
    return [
        f"grant {rights} on {table} to {role}"
        for table, both in tables.items()
        for role, rights in zip(ROLES, both, strict=True)
    ]
