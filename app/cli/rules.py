"""`onus rules`: apply a rules file, export the rules, switch one on or off."""

from __future__ import annotations

from dataclasses import asdict
from typing import BinaryIO

import click
from flask.cli import AppGroup

from app.cli.common import acting, json_option, org_option, report
from app.domain.errors import Refused
from app.operations import rules, rules_file
from app.operations.rules import AppliedRules


def add_to(main: click.Group) -> None:
    main.add_command(group)


@click.group("rules", cls=AppGroup)
def group() -> None:
    """Who is told what, how long before a due date."""


@group.command("apply")
@click.argument("file", type=click.File("rb"))
@org_option
@json_option
def apply(file: BinaryIO, org: str | None, as_json: bool) -> None:
    """Make the rules say what FILE (TOML, - for stdin) says. Again changes nothing; other rules are left alone."""
    texts = rules_file.read(decoded(file.read()))
    with acting(org) as act:
        applied = rules.apply(act, texts)
    report(as_json, asdict(applied), lines(applied))


@group.command("export")
@org_option
@json_option
def export(org: str | None, as_json: bool) -> None:
    """Print a rules file of all rules, which `apply` leaves unchanged."""
    with acting(org) as act:
        texts = rules.export(act)
    written = rules_file.write(texts)
    report(as_json, {"rules": [asdict(text) for text in texts], "toml": written}, written.splitlines())


@group.command("on")
@click.argument("name")
@org_option
@json_option
def on(name: str, org: str | None, as_json: bool) -> None:
    """Switch the rule NAME on."""
    switch(name, True, org, as_json)


@group.command("off")
@click.argument("name")
@org_option
@json_option
def off(name: str, org: str | None, as_json: bool) -> None:
    """Switch the rule NAME off: it claims nothing, and what it has not told yet is withdrawn."""
    switch(name, False, org, as_json)


def switch(name: str, is_on: bool, org: str | None, as_json: bool) -> None:
    with acting(org) as act:
        changed = rules.switch(act, name, is_on)
    state = "on" if is_on else "off"
    sentence = f"{name} is {state} now." if changed else f"{name} was {state} already."
    report(as_json, {"rule": name, "is_active": is_on, "changed": changed}, [sentence])


def decoded(source: bytes) -> str:
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused("The rules file is not UTF-8 text: save it as UTF-8.") from None


def lines(applied: AppliedRules) -> list[str]:
    """What became of the rules, a line for each word that says something."""
    said = [f"{word.replace('_', ' ')}: {', '.join(names)}" for word, names in asdict(applied).items() if names]
    return said or ["The file holds no rules."]
