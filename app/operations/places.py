"""Changing what an organisation and its sites are called, where they are, and how patient they are.

A site's zone, holidays and hour decide when something is told, so each change leaves a queue row for everything.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import select

from app.domain.errors import Refused
from app.ledger.queue import changed
from app.models import Organisation, Site
from app.operations import names, people, typed
from app.trail.act import Act
from app.wording import later

SHORTEST_GRACE, LONGEST_GRACE = 1, 720  # Hours: an hour, in which retries happen, to thirty days.


def change_organisation(act: Act, name: str, hours: int) -> bool:
    """Its name, and after how many hours an alert that did not arrive is flagged."""
    line = typed.one_line(name, later("The name of the organisation"))
    check_grace(hours)
    query = select(Organisation).where(Organisation.id == act.org).with_for_update()
    organisation = act.session.scalars(query.execution_options(populate_existing=True)).one()
    old = {"name": organisation.name, "grace_hours": int(organisation.grace_period.total_seconds()) // 3600}
    new = {"name": line, "grace_hours": hours}
    parts = [part for part in new if old[part] != new[part]]
    if not parts:
        return False
    organisation.name, organisation.grace_period = line, dt.timedelta(hours=hours)
    act.record("organisation_changed", old={part: old[part] for part in parts}, new={part: new[part] for part in parts})
    return True


def check_grace(hours: int) -> None:
    if not SHORTEST_GRACE <= hours <= LONGEST_GRACE:
        limits = {"least": SHORTEST_GRACE, "most": LONGEST_GRACE}
        raise Refused(
            "%(hours)s hours cannot be used: write a number from %(least)s to %(most)s.", hours=hours, **limits
        )


def add_site(act: Act, name: str, timezone: str, country: str | None, region: str | None, alert_from: dt.time) -> int:
    """A site whose alerts go out from this local time of day on."""
    site_id = people.add_site(act, name, timezone, country, region)
    if alert_from != dt.time():
        _change(act, act.session.get_one(Site, (act.org, site_id)), {"alert_from": alert_from})
    return site_id


def change_site(
    act: Act, site_id: int, name: str, timezone: str, country: str | None, region: str | None, alert_from: dt.time
) -> bool:
    """Make the site say this. Whether anything changed; the zone has an event of its own."""
    line, place = typed.one_line(name, people.SITE_NAME), people.place_of(country, region)
    zone_changed = people.set_site_zone(act, site_id, timezone)
    site = act.session.get_one(Site, (act.org, site_id))
    new = {"name": line, **place, "alert_from": alert_from}
    return (
        _change(act, site, {part: value for part, value in new.items() if getattr(site, part) != value}) or zone_changed
    )


def _change(act: Act, site: Site, parts: dict[str, Any]) -> bool:
    if not parts:
        return False
    old = {part: getattr(site, part) for part in parts}
    if "name" in parts:
        names.give(act, site, parts["name"], people.SITE_TAKEN)
    for part, value in parts.items():
        setattr(site, part, value)
    changed(act)
    act.record("site_changed", site_id=site.id, old=_worded(old), new=_worded(parts))
    return True


def _worded(parts: dict[str, Any]) -> dict[str, Any]:
    """As the trail keeps them."""
    return {part: f"{value:%H:%M}" if isinstance(value, dt.time) else value for part, value in parts.items()}
