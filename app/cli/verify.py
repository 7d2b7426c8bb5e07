"""`onus verify`: judge an evidence bundle; `onus verifier`: the program that does it without Onus, as one file.

Exit 0 good, 1 altered, 2 incomplete (the bundle, or what was given), 3 unreadable.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import click
from flask.cli import with_appcontext
from sqlalchemy.exc import SQLAlchemyError

from app import verifier
from app.cli.common import json_option, report
from app.config import Misconfigured
from app.database import Unreachable, transaction
from app.domain.errors import Refused, quoted
from app.embedded import Unusable
from app.queries.report.sealed import read_keys

KEEP = "Keep this bundle: compared with the next one (--checkpoint), it shows whether anything was changed meanwhile."


def add_to(main: click.Group) -> None:
    main.add_command(verify)
    main.add_command(write_verifier)


@click.command("verify")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("--key", "keys", multiple=True, metavar="VKEY", help="Trust this public key; else those of this Onus.")
@click.option(
    "--checkpoint", "kept", multiple=True, type=click.Path(), metavar="FILE", help="A checkpoint or bundle kept."
)
@json_option
def verify(bundle: Path, keys: tuple[str, ...], kept: tuple[str, ...], as_json: bool) -> None:
    """Say whether a bundle is as it was sealed. With --key, nothing of this Onus is asked."""
    verdict = verifier.judge(str(bundle), keys or own_keys(), kept)
    lines = [verdict["sentence"]]
    if verdict["code"] == verifier.GOOD:
        lines += [f"Root: {verdict['root']}"] + ([] if kept else [KEEP])
    report(as_json, verdict, lines)
    sys.exit(verdict["code"])


@with_appcontext
def own_keys() -> list[str]:
    """The public keys that have sealed here; none where there is no Onus to ask."""
    try:
        with transaction() as session:
            return read_keys(session)
    except (Unreachable, Unusable, Misconfigured, SQLAlchemyError):
        return []


@click.command("verifier")
@click.option("-o", "--output", "path", type=click.Path(dir_okay=False, path_type=Path), required=True, metavar="FILE")
@json_option
def write_verifier(path: Path, as_json: bool) -> None:
    """Write the program that verifies a bundle without Onus."""
    program = Path(verifier.__file__).read_bytes()
    try:
        path.write_bytes(program)
    except OSError as fault:
        raise Refused(f"{quoted(str(path))} cannot be written ({fault.strerror}): name another file.") from None
    digest = hashlib.sha256(program).hexdigest()
    report(as_json, {"file": str(path), "sha256": digest}, [f"written to {path}", f"SHA-256 {digest}"])
