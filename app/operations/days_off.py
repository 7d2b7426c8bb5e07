"""An organisation's own days off: added and removed, at one site or at all of them.

They are counted in business days, as public holidays are; so each change leaves a queue row for everything.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert

from app.domain.days_off import LEAP_DAY, LONGEST, DayOff, yearly
from app.domain.errors import Refused
from app.ledger.queue import changed
from app.models import DayOff as DayOffRow
from app.models import Organisation, Site
from app.operations import typed
from app.trail.act import Act
from app.wording import later

MOST = 300  # Of an organisation: twenty years of shutdowns at fifteen sites, and a list that can be looked through.
MOST_YEARLY = 120  # Days of one site: weekends and holidays beside them, some days are left on which people work.


def add_day_off(act: Act, name: str, period: DayOff, site_id: int | None = None) -> int:
    """Nobody works on these days, at the site or at all sites. Raises Refused."""
    line = typed.one_line(name, later("The name of the days off"))
    check_period(period)
    _check_site(act, site_id)
    _check_room(act, period, site_id)
    facts = {"site_id": site_id, "on_day": period.on_day, "until_day": period.until_day, "is_yearly": period.is_yearly}
    adding = insert(DayOffRow).values(org_id=act.org, name=line, **facts).on_conflict_do_nothing()
    made: int | None = act.session.scalar(adding.returning(DayOffRow.id))
    if made is None:
        raise Refused("These days are off already: choose others.")
    changed(act)
    act.record("day_off_added", day_off_id=made, name=line, **_worded(facts))
    return made


def check_period(period: DayOff) -> None:
    """Raises Refused, with what to do."""
    typed.register_day(period.on_day, later("The first day"))
    typed.register_day(period.until_day, later("The last day"))
    if period.until_day < period.on_day:
        days = {"last": period.until_day, "first": period.on_day}
        raise Refused("The last day %(last)s is before the first day %(first)s: correct it.", **days)
    if len(period.days) > LONGEST:
        raise Refused("These are %(days)s days: take %(most)s at once at most.", days=len(period.days), most=LONGEST)
    ends = {(period.on_day.month, period.on_day.day), (period.until_day.month, period.until_day.day)}
    if period.is_yearly and LEAP_DAY in ends:
        raise Refused("29 February is not in every year: choose 28 February or 1 March.")


def remove_day_off(act: Act, day_off_id: int) -> bool:
    """Let people work on these days again; whether they were off. The trail keeps what was there."""
    mine = (DayOffRow.org_id == act.org, DayOffRow.id == day_off_id)
    columns = (DayOffRow.name, DayOffRow.site_id, DayOffRow.on_day, DayOffRow.until_day, DayOffRow.is_yearly)
    gone = act.session.execute(delete(DayOffRow).where(*mine).returning(*columns)).one_or_none()
    if gone is None:
        return False
    changed(act)
    act.record("day_off_removed", day_off_id=day_off_id, **_worded(dict(gone._mapping)))
    return True


def _check_site(act: Act, site_id: int | None) -> None:
    in_use = select(Site.id).where(Site.org_id == act.org, Site.id == site_id, Site.archived_at.is_(None))
    if site_id is not None and act.session.execute(in_use).one_or_none() is None:
        raise Refused("This site cannot be chosen: it is archived, or there is none such.")


def _check_room(act: Act, period: DayOff, site_id: int | None) -> None:
    # Two at once stand in line, so that the second counts what the first has added.
    place = select(Organisation.id).where(Organisation.id == act.org).with_for_update(key_share=True)
    act.session.execute(place).one()
    columns = (DayOffRow.site_id, DayOffRow.on_day, DayOffRow.until_day, DayOffRow.is_yearly)
    rows = act.session.execute(select(*columns).where(DayOffRow.org_id == act.org)).all()
    if len(rows) >= MOST:
        raise Refused("There are %(most)s days off already: remove those that are over, then add this one.", most=MOST)
    again: defaultdict[int | None, set[tuple[int, int]]] = defaultdict(set)
    for at, one in [*((row.site_id, DayOff(*row[1:])) for row in rows), (site_id, period)]:
        again[at] |= yearly(one) if one.is_yearly else set()
    everywhere = again.pop(None, set())
    fullest = max((len(days | everywhere) for days in again.values()), default=len(everywhere))
    if period.is_yearly and fullest > MOST_YEARLY:
        limits = {"days": fullest, "most": MOST_YEARLY}
        raise Refused("%(days)s days would be off in every year, and %(most)s at most can be: take fewer.", **limits)


def _worded(facts: dict[str, Any]) -> dict[str, Any]:
    """As the trail keeps them."""
    return {part: value.isoformat() if isinstance(value, dt.date) else value for part, value in facts.items()}
