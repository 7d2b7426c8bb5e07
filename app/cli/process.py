"""`onus up`, `onus web`, `onus scheduler`: the processes."""

from __future__ import annotations

import datetime as dt
import os
import sys

import click

from app import create_app
from app.config import Settings
from app.database import WEB, transaction
from app.demo import Logins, fill
from app.embedded import EmbeddedPostgres
from app.extensions import db
from app.preflight import refuse_unsound
from app.scheduler import export_child, import_child, process
from app.schema import upgrade
from app.supervisor import die_with_parent, refuse_taken_port, run_together
from app.web.server import Pages

HOST = "127.0.0.1"

host_option = click.option("--host", default=HOST, show_default=True)
port_option = click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535))


def add_to(main: click.Group) -> None:
    for command in (up, web, scheduler, import_work, export_work):
        main.add_command(command)


@click.command("up")
@click.option("--demo", is_flag=True, help="Fill an empty database with a made-up organisation, and print its logins.")
@port_option
def up(demo: bool, port: int) -> None:
    """Start everything on 127.0.0.1: the database if none is configured, migrations, web and scheduler."""
    if demo:
        os.environ.setdefault("ONUS_SMTP_URL", "file:")  # A demo must not mail anybody, and shows what it would say.
    settings = Settings.from_env()
    refuse_taken_port(port)
    server = EmbeddedPostgres(settings.home) if settings.database_url is None else None
    if server:
        server.acquire_dsn()
    try:
        with create_app(settings).app_context():
            upgrade()
            with transaction(None, WEB) as session:
                refuse_unsound(session)
            if demo:
                announce_demo(fill())
        onus = [sys.executable, "-m", "app"]
        commands = {"web": [*onus, "web", "--port", str(port)], "scheduler": [*onus, "scheduler"]}
        announce = f"Onus runs on http://{HOST}:{port} (data in {settings.home}). Ctrl-C stops it."
        code = run_together(commands, os.environ, announce)
    finally:
        if server:
            server.release()
    sys.exit(code)


def announce_demo(logins: Logins | None) -> None:
    if logins is None:
        click.echo("The database has an organisation of its own: no demo was added.")
        return
    click.echo(f"The demo's people all have the password {logins.password}")
    for address, role in logins.people:
        click.echo(f"  {address}  ({role})")


@click.command("web")
@host_option
@port_option
@click.option("--workers", default=2, show_default=True, type=click.IntRange(1, 64))
def web(host: str, port: int, workers: int) -> None:
    """Serve the pages. Any number of these may run on one database."""
    die_with_parent()
    settings = Settings.from_env()
    refuse_taken_port(port, host)
    with create_app(settings).app_context():
        with transaction(None, WEB) as session:
            refuse_unsound(session)
        db.engine.dispose()  # The workers are forks: a connection of theirs must be their own.
        Pages(create_app, host, port, workers).run()


@click.command("scheduler")
def scheduler() -> None:
    """Watch: scan, deliver, heartbeat. Any number of these may run on one database."""
    die_with_parent()
    sys.exit(process.run(create_app(Settings.from_env())))


@click.command("import-work", hidden=True)
@click.argument("org", type=int)
@click.argument("upload_id", type=int)
@click.argument("asked_at")
def import_work(org: int, upload_id: int, asked_at: str) -> None:
    """What the scheduler starts for one large file. Ends when its standard input does."""
    with create_app(Settings.from_env()).app_context():
        import_child.work(org, upload_id, dt.datetime.fromisoformat(asked_at))


@click.command("export-work", hidden=True)
@click.argument("org", type=int)
@click.argument("export_id", type=int)
def export_work(org: int, export_id: int) -> None:
    """What the scheduler starts for one report of the trail. Ends when its standard input does."""
    with create_app(Settings.from_env()).app_context():
        export_child.work(org, export_id)
