"""The section *Cover*: of whom, of what, narrowed by what, how much, by whom, when, and by which version."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.exports.report.said import local, utc
from app.exports.report.section import NONE, Column, Group, Plan, Section
from app.exports.tables import Row
from app.queries.report.register import ends_at
from app.queries.report.scope import Scope
from app.version import VERSION

PLAN = Plan(
    "cover",
    "Cover",
    "What this report is, and what it is about.",
    (Column("what", "What"), Column("value", "Value")),
    (Group("What", ("what",), 1), Group("Value", ("value",), 3)),
)
ABOUT = (
    "Onus watches what lapses or falls due. Some time before each due date, as rules say, it raises an alert once, tells "
    "people, and records what they answer. This report shows from that record how the organisation knew: raised when, "
    "told how and to whom, answered by whom, done when."
)
TIMES = "Each instant stands twice: in UTC, and as the clocks of the site showed it, with the offset."
DATES = "A due date is a day in the calendar of its site."
LIMITED = "This report shows no more than whoever asked for it may see"


@dataclass(frozen=True)
class Seal:
    """The last seal of the trail: how many events it covers, its root, and when it was made."""

    size: int
    root: str
    at: dt.datetime


@dataclass(frozen=True)
class Origin:
    """Which report it is, of whom and by whom; `asked` are the filters as people name them, by label.

    `kinds` are those that whoever asked is limited to, if any.
    """

    export_id: int
    organisation: str
    by: str
    asked: Sequence[tuple[str, str]]
    kinds: Sequence[str]
    seal: Seal | None


def rows(origin: Origin, scope: Scope, sections: Sequence[Section]) -> Iterator[Row]:
    now = scope.sight.now
    yield "Report", f"Evidence of alerts and answers, export {origin.export_id}"
    yield "Organisation", origin.organisation
    yield "About", ABOUT
    for site in scope.sites:
        archived = " (archived)" if site.is_archived else ""
        yield "Site and time zone", f"{site.name}{archived}: {site.timezone}{_offset(now, site.timezone)}"
    yield "Period", _period(scope)
    yield from origin.asked or [("Narrowed to", "nothing: the whole organisation")]
    if scope.sight.is_limited or scope.sight.kinds is not None:
        sites = ", ".join(site.name for site in scope.sites) or "no site"
        yield "Limited", f"{LIMITED}: {sites}" + (f"; {', '.join(origin.kinds)}" if origin.kinds else "")
    yield "The register", _register(scope)
    yield "Made by", origin.by
    yield "Made at", f"{local(now, scope.zone) or utc(now)} ({scope.zone}) = {utc(now)}"
    yield "Version of Onus", VERSION
    yield "Last seal of the trail", _seal(origin.seal, scope)
    yield "Times", f"{TIMES} {DATES}"
    for section in sections:
        yield f"Rows of {section.name}", str(section.count) if section.count else NONE


def _offset(now: dt.datetime, timezone: str) -> str:
    found = local(now, timezone)
    return (
        f", at present UTC{found[-6:]}"
        if found
        else ", a time zone that cannot be used: its instants stand in UTC alone"
    )


def _register(scope: Scope) -> str:
    last, now = scope.asked.to_on, scope.sight.now
    today = [site.name for site in scope.sites if ends_at(scope, site.timezone) is None]
    if last is None or len(today) == len(scope.sites):
        return f"as it stood on {utc(now)}"
    still = f"; {', '.join(today)}, where that day is not over, as it stood on {utc(now)}" if today else ""
    return f"as it stood at the end of {last}, at each site by its own clock, worked out from the trail{still}"


def _period(scope: Scope) -> str:
    first, last = scope.asked.from_on, scope.asked.to_on
    if first is None and last is None:
        return "everything on record"
    days = f"from {first or 'the beginning'} to {last or 'the moment of this report'}, both included"
    return f"{days}, in days of {scope.zone}"


def _seal(seal: Seal | None, scope: Scope) -> str:
    if seal is None:
        return "none"
    return f"{seal.size} events, root {seal.root}, sealed at {utc(seal.at)}"
