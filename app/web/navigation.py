"""What stands on every page: the pages of the role, the count of unread alerts, what keeps messages from leaving."""

from __future__ import annotations

from app.domain.acts import Role
from app.queries.inbox import count_unread
from app.queries.stops import Stops
from app.web.access import ANSWERING, MANAGERS, READERS, Visit
from app.wording import later

PAGES: tuple[tuple[str, str, tuple[Role, ...]], ...] = (
    ("today.index", later("Today"), MANAGERS),
    ("register.index", later("Register"), READERS),
    ("rules.index", later("Rules"), MANAGERS),
    ("inbox.index", later("Inbox"), (Role.admin, Role.officer, Role.staff)),
    ("evidence.index", later("Evidence"), READERS),
    ("settings.index", later("Settings"), MANAGERS),
)
OWN_PAGES: tuple[tuple[str, str, tuple[Role, ...]], ...] = (
    ("my_alerts.index", later("My alerts"), tuple(Role)),
    ("away.index", later("Away"), (Role.admin, Role.officer, Role.staff)),
    ("calendar.index", later("Calendar"), tuple(Role)),
)


def pages_for(visit: Visit) -> list[tuple[str, str]]:
    """The pages of the role; on a remembered phone those that are open to it."""
    mine = [(name, label) for name, label, roles in PAGES if visit.person.role in roles]
    return [page for page in mine if not visit.only_answers or page[0].partition(".")[0] in ANSWERING]


def own_pages_for(visit: Visit) -> list[tuple[str, str]]:
    """The pages about oneself, of the role."""
    return [(name, label) for name, label, roles in OWN_PAGES if visit.person.role in roles]


def unread_count(visit: Visit) -> int:
    """How many alerts wait in the person's inbox that they have not opened."""
    return count_unread(visit.act.session, visit.sight, visit.person.member_id, visit.frame.new_in)


def stops_of(visit: Visit) -> Stops:
    """What keeps messages from leaving now."""
    return visit.frame.stops
