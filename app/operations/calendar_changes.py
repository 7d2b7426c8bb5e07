"""What a change of calendar would move, said before it is made: a site's place, its zone, days off.

The foresight is no estimate: the change and the look of the next check are done, read, and undone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from app.ledger.coming import open_coming
from app.ledger.shifts import Shifts, read_shifts
from app.ledger.site_days import read_site_days
from app.operations import releases
from app.operations.undone import undone
from app.trail.act import Act

SHOWN = 50  # Lines of each list on a page.

# The dates of parts that have moved with the calendar: the events of this instant, from here on.
MOVED_PARTS = """
select s.reference, s.title, p.name as site, cast(e.detail ->> 'old' as date) as old,
       cast(e.detail ->> 'new' as date) as new
from audit_event e
join subject s on s.org_id = :org and s.id = e.subject_id
join site p on p.org_id = :org and p.id = s.site_id
where e.org_id = :org and e.at = :now and e.id > :since and e.type = 'date_moved'
order by new, s.reference, e.id"""


@dataclass(frozen=True)
class MovedPart:
    """A part whose due date hangs on that of its whole by business days, before and after."""

    reference: str
    title: str
    site: str
    old: dt.date
    new: dt.date


@dataclass(frozen=True)
class Foresight:
    """What moves, and which alerts the next check would raise at once because of it, with whom they tell."""

    shifts: Shifts = field(default_factory=Shifts)
    parts: Sequence[MovedPart] = ()
    alerts: Sequence[releases.Alert] = ()

    @property
    def is_nothing(self) -> bool:
        return not (self.shifts.alerts or self.parts or self.alerts)

    @property
    def people(self) -> list[str]:
        return sorted({person for alert in self.alerts for person in alert.people})

    @property
    def messages(self) -> int:
        return sum(alert.messages for alert in self.alerts)


def foresee(act: Act, change: Callable[[], object], most: int = SHOWN) -> Foresight:
    """What the change would move. It is made and undone; whatever it refuses is refused here, too."""
    found = [Foresight()]

    def moved() -> None:
        open_coming(act)  # What was to come anyway is none of the change's.
        before, since = read_site_days(act), _last_event(act)
        change()
        act.session.flush()
        after = read_site_days(act)
        touched = open_coming(act, None, after).parts
        parts = [MovedPart(**row._mapping) for row in act.run(MOVED_PARTS, {"since": since})]
        shifts = read_shifts(act, before, after, most)
        coming.extend(sorted({*shifts.coming, *touched}))
        found[0] = Foresight(shifts, parts)

    def told() -> None:
        open_coming(act)
        releases.raised(act, coming, _last_event(act))  # The same for what was to be told anyway.
        change()
        open_coming(act)
        alerts = releases.raised(act, coming, _last_event(act))
        found[0] = Foresight(found[0].shifts, found[0].parts, alerts)

    coming: list[int] = []
    with undone(act):
        moved()
    if coming:
        with undone(act):
            told()
    return found[0]


def _last_event(act: Act) -> int:
    act.session.flush()
    return int(act.run(releases.LAST_EVENT).scalar_one())
