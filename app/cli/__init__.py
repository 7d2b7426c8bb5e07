"""The commands of the contract (DESIGN section 10), thin: parse, open one transaction, call one function, report.

The application is made only for a command that needs it. Exit 0 done, 1 failed or unhealthy, 2 refused.
"""

from __future__ import annotations

import sys

import click
from flask.cli import AppGroup, ScriptInfo
from sqlalchemy.exc import DBAPIError

from app import create_app
from app.cli import (
    absences,
    acts,
    answers,
    batches,
    checks,
    database,
    days_off,
    documents,
    erasure,
    exports,
    feeds,
    filings,
    import_mistakes,
    import_people,
    imports,
    mail,
    papers,
    people,
    process,
    ready,
    retention,
    rules,
    seal,
    trail_exports,
    verify,
    watch,
)
from app.clock import ClockFault
from app.config import Misconfigured
from app.database import Unreachable
from app.domain.errors import Refused
from app.embedded import Unusable
from app.preflight import Unsound
from app.supervisor import PortTaken

NO_TABLES = ("42P01", "22023")  # No such table; no such role, which the first migration makes.


class Commands(AppGroup):
    """Words a refusal (exit 2) and a failure that the operator can mend (exit 1) in one line on stderr."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (Refused, Misconfigured) as refused:
            click.echo(f"onus: {refused}", err=True)
            sys.exit(2)
        except (Unusable, Unreachable, Unsound, PortTaken, ClockFault) as failed:
            click.echo(f"onus: {failed}", err=True)
            sys.exit(1)
        except DBAPIError as fault:
            if getattr(fault.orig, "sqlstate", None) not in NO_TABLES:
                raise
            click.echo("onus: the database has no tables yet: run `onus db upgrade`", err=True)
            sys.exit(1)


@click.group(
    cls=Commands,
    context_settings={
        "obj": ScriptInfo(create_app=create_app, set_debug_flag=False, load_dotenv_defaults=False),
        "help_option_names": ["-h", "--help"],
    },
)
@click.version_option(package_name="onus")
def main() -> None:
    """Onus: a register of things that lapse, and the alerts about them."""


for module in (
    process,
    database,
    people,
    erasure,
    retention,
    absences,
    imports,
    import_people,
    import_mistakes,
    rules,
    acts,
    filings,
    answers,
    documents,
    exports,
    trail_exports,
    verify,
    papers,
    batches,
    watch,
    seal,
    mail,
    checks,
    ready,
    days_off,
    feeds,
):
    module.add_to(main)
