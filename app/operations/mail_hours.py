"""When e-mail goes to a person, and the rest time of the organisation for whoever has none of their own.

What waits already follows a change, so each leaves a queue row for everything. Nothing is dropped by hours.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from app.domain import calendars
from app.domain.errors import Refused, quoted
from app.domain.mail_hours import Rest
from app.ledger.queue import changed
from app.models import Member, Organisation
from app.operations.people import place_of
from app.trail.act import Act

NO_REST = Rest()


@dataclass(frozen=True)
class OwnHours:
    """What a person has chosen. `daily_at` None: at once; `rest` and `timezone` None: as the organisation has them."""

    daily_at: dt.time | None = None
    rest: Rest | None = None
    timezone: str | None = None
    country: str | None = None
    region: str | None = None


def hour(text: str) -> dt.time:
    """A local hour and minute, such as 08:00."""
    try:
        return dt.datetime.strptime(text.strip()[:5], "%H:%M").time()  # noqa: DTZ007  A time of day has no zone.
    except ValueError:
        raise Refused("%(text)s is no time of day: write it as 08:00.", text=quoted(text)) from None


def span(text: str, *, days_off: bool = False) -> Rest:
    """A rest time as it is written in a command: 20:00-06:00, or none."""
    if text.strip() == "none":
        return Rest(days_off=days_off)
    begins, dash, ends = text.partition("-")
    if not dash:
        raise Refused("%(text)s is no rest time: write it as 20:00-06:00, or none.", text=quoted(text))
    return Rest(hour(begins), hour(ends), days_off)


def hours_of(act: Act, member_id: int) -> OwnHours:
    return _chosen(act.session.get_one(Member, (act.org, member_id)))


def set_hours(act: Act, member_id: int, hours: OwnHours) -> bool:
    """Let e-mail go to this person so; whether that is a change. Raises Refused for a zone or place that is none."""
    if hours.timezone is not None:
        calendars.check_zone(hours.timezone)
    place = place_of(hours.country, hours.region)
    query = select(Member).where(Member.org_id == act.org, Member.id == member_id).with_for_update()
    member = act.session.scalars(query.execution_options(populate_existing=True)).one()
    rest = hours.rest or NO_REST
    new = {"timezone": hours.timezone, **place, "mail_hour": hours.daily_at, "own_rest": hours.rest is not None}
    return _change(act, member, new | _columns(rest), "mail_hours_changed", member_id=member_id)


def organisation_rest(act: Act) -> Rest:
    return _rest(act.session.get_one(Organisation, act.org))


def set_organisation_rest(act: Act, rest: Rest) -> bool:
    """Let this be the rest time of everybody who has chosen none of their own; whether that is a change."""
    query = select(Organisation).where(Organisation.id == act.org).with_for_update()
    organisation = act.session.scalars(query.execution_options(populate_existing=True)).one()
    return _change(act, organisation, _columns(rest), "rest_time_changed")


def _change(act: Act, row: Member | Organisation, new: dict[str, Any], event: str, **ids: Any) -> bool:
    parts = {part: value for part, value in new.items() if getattr(row, part) != value}
    if not parts:
        return False
    old = {part: getattr(row, part) for part in parts}
    for part, value in parts.items():
        setattr(row, part, value)
    changed(act)
    act.record(event, **ids, old=_worded(old), new=_worded(parts))
    return True


def _columns(rest: Rest) -> dict[str, Any]:
    return {"rest_from": rest.begins, "rest_until": rest.ends, "rest_days_off": rest.days_off}


def _rest(row: Member | Organisation) -> Rest:
    return Rest(row.rest_from, row.rest_until, row.rest_days_off)


def _chosen(member: Member) -> OwnHours:
    rest = _rest(member) if member.own_rest else None
    return OwnHours(member.mail_hour, rest, member.timezone, member.country, member.region)


def _worded(parts: dict[str, Any]) -> dict[str, Any]:
    """As the trail keeps them."""
    return {part: f"{value:%H:%M}" if isinstance(value, dt.time) else value for part, value in parts.items()}
