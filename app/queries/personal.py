"""What the pages say where an event holds the hash of a personal value: the value, or that it was erased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from app.models import AuditPersonal
from app.queries.together import Asked, Found

ERASED = "erased"


class Known(NamedTuple):
    """The values that still exist, by event and name."""

    values: dict[tuple[int, str], str]

    def in_words(self, event_id: int, detail: Mapping[str, Any]) -> dict[str, Any]:
        """The detail with its personal values."""
        return {
            name: self.values.get((event_id, name), ERASED) if is_veiled(value) else value
            for name, value in detail.items()
        }


def is_veiled(value: Any) -> bool:
    """Whether this stands for a personal value: a hash, and nothing else beside it."""
    return isinstance(value, Mapping) and value.keys() == {"sha256"}


def read_personal(session: Session, org: int, event_ids: Sequence[int]) -> Known:
    return known_of(session.execute(personal_asked(org, event_ids)))


def personal_asked(org: int, event_ids: Sequence[int] | Select[int]) -> Asked:
    """The select whose result `known_of` takes."""
    columns = (AuditPersonal.event_id, AuditPersonal.name, AuditPersonal.value)
    return select(*columns).where(AuditPersonal.org_id == org, AuditPersonal.event_id.in_(event_ids))


def known_of(rows: Found) -> Known:
    return Known({(row.event_id, row.name): row.value for row in rows})
