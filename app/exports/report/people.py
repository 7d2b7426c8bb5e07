"""The section *People and roles*: who had which role, post or stand-in, and when."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from app.exports.report.said import actor, instant, person
from app.exports.report.section import Column, Group, Plan, date, number
from app.exports.report.section import instant as instants
from app.exports.tables import Cell, Row
from app.queries.report.people import DISABLED, PersonFacts, read_people_facts
from app.queries.report.scope import Scope
from app.wording import gettext
from app.wording import later as _
from app.words import word

PLAN = Plan(
    "people",
    _("People and roles"),
    _("Who had which role when, which posts they held, when they were away and who stood in. Days count at the site."),
    (
        number("person", _("Person no.")), Column("name", _("Name")), Column("what", _("What")), Column("value", _("Which")),
        Column("site", _("Site")), date("from_on", _("From")), date("until_on", _("Until")), *instants("since", _("Since")),
        *instants("ended", _("Until")), Column("by", _("Entered by")),
    ),
    (
        Group(_("Person"), ("name", "person"), 2), Group(_("What"), ("what", "value", "site"), 3),
        Group(_("From"), ("from_on", "since"), 2), Group(_("Until"), ("until_on", "ended"), 2), Group(_("By"), ("by",), 1.5),
    ),
)  # fmt: skip
NO_ACCESS = _("No access")


def rows(session: Session, scope: Scope) -> Iterator[Row]:
    for one in read_people_facts(session, scope):
        yield from _roles(one, scope)
        yield from _others(one, scope)


def _row(one: PersonFacts, what: str, value: str | None, *cells: Cell) -> Row:
    return one.row.id, one.row.name, what, value, *cells


@dataclass(frozen=True)
class Span:
    """A time in which a person had a role, and by whom it was given. `until` is None while it lasts."""

    role: str
    since: dt.datetime | None
    until: dt.datetime | None
    by: str | None


def _roles(one: PersonFacts, scope: Scope) -> Iterator[Row]:
    for span in _spans(one):
        if span.until is None or span.until > scope.since:
            ends = one.row.valid_until or one.row.left_on if span.until is None else None
            instants_ = (*instant(span.since, scope.zone), *instant(span.until, scope.zone))
            yield _row(one, gettext("Role"), span.role, "; ".join(one.sites) or None, None, ends, *instants_, span.by)


def _spans(one: PersonFacts) -> list[Span]:
    """Each role from the event that gave it until the one that took it."""
    found: list[Span] = []
    role = word(one.row.role, "role")
    for event in one.roles:
        if found:
            found[-1] = replace(found[-1], until=event.at)
        given = event.detail.get("role") or event.detail.get("new")
        role = word(given, "role") if given else role
        now = gettext(NO_ACCESS) if event.type == DISABLED else role
        found.append(Span(now, event.at, None, actor(event.actor, event.by)))
    return found or [Span(role, None, None, None)]


def _others(one: PersonFacts, scope: Scope) -> Iterator[Row]:
    zone, nothing = scope.zone, (None, None)
    for post in one.posts:
        yield _row(one, gettext("Post"), post.name, post.site, post.from_on, post.until_on, *nothing, *nothing, None)
    for away in one.absences:
        stand_in = person(away.stand_in, away.stand_in_id)
        value = gettext("%(person)s stands in", person=stand_in) if stand_in else gettext("nobody stands in")
        since, ended = instant(away.entered_at, zone), instant(away.cancelled_at, zone)
        by = person(away.enterer, away.entered_by)
        yield _row(one, gettext("Away"), value, None, away.from_on, away.until_on, *since, *ended, by)
    for left in one.departures:
        heir = person(left.heir, left.to_member_id) or _to_post(left.post)
        what = gettext("Was to leave, and stays") if left.withdrawn_at else gettext("Leaves")
        since, ended = instant(left.entered_at, zone), instant(left.withdrawn_at or left.done_at, zone)
        by = person(left.enterer, left.entered_by)
        yield _row(
            one, what, gettext("handed over to %(heir)s", heir=heir), None, left.leaves_on, None, *since, *ended, by
        )


def _to_post(post: str | None) -> str:
    return gettext("%(post)s (post)", post=post) if post else gettext("nobody")
