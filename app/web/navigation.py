"""The pages that a role has, and the count of unread alerts beside the inbox."""

from __future__ import annotations

from app.domain.acts import Role
from app.queries.inbox import count_unread
from app.web.access import MANAGERS, READERS, Visit

PAGES: tuple[tuple[str, str, tuple[Role, ...]], ...] = (
    ("today.index", "Today", MANAGERS),
    ("register.index", "Register", READERS),
    ("rules.index", "Rules", MANAGERS),
    ("inbox.index", "Inbox", (Role.admin, Role.officer, Role.staff)),
    ("evidence.index", "Evidence", READERS),
    ("settings.index", "Settings", MANAGERS),
)


def pages_for(visit: Visit) -> list[tuple[str, str]]:
    return [(name, label) for name, label, roles in PAGES if visit.person.role in roles]


def unread_count(visit: Visit) -> int:
    """How many alerts wait in the person's inbox that they have not opened."""
    return count_unread(visit.act.session, visit.act.org, visit.person.member_id, visit.act.now)
