"""`onus db …`: Flask-Migrate's commands, of which `upgrade` also makes the run-time login."""

from __future__ import annotations

import click
from flask.cli import with_appcontext
from flask_migrate.cli import db as migrations

from app.schema import upgrade


@click.command("upgrade")
@click.argument("revision", default="head")
@with_appcontext
def upgrade_command(revision: str) -> None:
    """Bring the database up to date, and make the login that the other commands use."""
    if not upgrade(revision):
        click.echo(
            "onus: this login may not create roles: make the run-time login as docs/operating.md says, "
            "and name it in ONUS_DATABASE_URL",
            err=True,
        )


def add_to(main: click.Group) -> None:
    main.add_command(
        click.Group("db", commands={**migrations.commands, "upgrade": upgrade_command}, help=migrations.help)
    )
