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
from app.queries.sight import SiteDay
from app.version import VERSION
from app.wording import gettext
from app.wording import later as _

PLAN = Plan(
    "cover",
    _("Cover"),
    _("What this report is, and what it is about."),
    (Column("what", _("What")), Column("value", _("Value"))),
    (Group(_("What"), ("what",), 1), Group(_("Value"), ("value",), 3)),
)
ABOUT = _(
    "Onus watches what lapses or falls due. Some time before each due date, as rules say, it raises an alert once, tells "
    "people, and records what they answer. This report shows from that record how the organisation knew: raised when, "
    "told how and to whom, answered by whom, done when."
)
TIMES = _("Each instant stands twice: in UTC, and as the clocks of the site showed it, with the offset.")
DATES = _("A due date is a day in the calendar of its site.")
LIMITED = _("This report shows no more than whoever asked for it may see: %(what)s")


NOTHING = _("Narrowed to"), _("nothing: the whole organisation")


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
    yield gettext("Report"), gettext("Evidence of alerts and answers, export %(number)d", number=origin.export_id)
    yield gettext("Organisation"), origin.organisation
    yield gettext("About"), gettext(ABOUT)
    for site in scope.sites:
        yield gettext("Site and time zone"), _site(site, now)
    yield gettext("Period"), _period(scope)
    yield from [(gettext(label), value) for label, value in origin.asked] or [
        (gettext(NOTHING[0]), gettext(NOTHING[1]))
    ]
    if scope.sight.is_limited or scope.sight.kinds is not None:
        sites = ", ".join(site.name for site in scope.sites) or gettext("no site")
        what = f"{sites}; {', '.join(origin.kinds)}" if origin.kinds else sites
        yield gettext("Limited"), gettext(LIMITED, what=what)
    yield gettext("The register"), _register(scope)
    yield gettext("Made by"), origin.by
    yield gettext("Made at"), f"{local(now, scope.zone) or utc(now)} ({scope.zone}) = {utc(now)}"
    yield gettext("Version of Onus"), VERSION
    yield gettext("Last seal of the trail"), _seal(origin.seal)
    yield gettext("Times"), f"{gettext(TIMES)} {gettext(DATES)}"
    for section in sections:
        count = str(section.count) if section.count else gettext(NONE)
        yield gettext("Rows of %(section)s", section=section.name), count


def _site(site: SiteDay, now: dt.datetime) -> str:
    places = {"site": site.name, "zone": site.timezone}
    if site.is_archived:
        places["site"] = gettext("%(site)s (archived)", site=site.name)
    if not (at := local(now, site.timezone)):
        unusable = _("%(site)s: %(zone)s, a time zone that cannot be used: its instants stand in UTC alone")
        return gettext(unusable, **places)
    return gettext("%(site)s: %(zone)s, at present UTC%(offset)s", **places, offset=at[-6:])


def _register(scope: Scope) -> str:
    last, now = scope.asked.to_on, utc(scope.sight.now)
    today = [site.name for site in scope.sites if ends_at(scope, site.timezone) is None]
    if last is None or len(today) == len(scope.sites):
        return gettext("as it stood on %(at)s", at=now)
    said = gettext(
        "as it stood at the end of %(day)s, at each site by its own clock, worked out from the trail", day=last
    )
    if not today:
        return said
    still = _("%(said)s; %(sites)s, where that day is not over, as it stood on %(at)s")
    return gettext(still, said=said, sites=", ".join(today), at=now)


def _period(scope: Scope) -> str:
    first, last = scope.asked.from_on, scope.asked.to_on
    if first is None and last is None:
        return gettext("everything on record")
    places = {
        "first": first or gettext("the beginning"),
        "last": last or gettext("the moment of this report"),
        "zone": scope.zone,
    }
    return gettext("from %(first)s to %(last)s, both included, in days of %(zone)s", **places)


def _seal(seal: Seal | None) -> str:
    if seal is None:
        return gettext(NONE)
    places = {"size": seal.size, "root": seal.root, "at": utc(seal.at)}
    return gettext("%(size)d events, root %(root)s, sealed at %(at)s", **places)
