"""What an entry is part of, as a reader knows it: the reference and the title of its whole, as they are now.

What the ledger keeps of an alert stays as it was told; these words are added in reading. A whole is at its part's site.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ScalarSelect, func, select
from sqlalchemy.orm import aliased

from app.models import Subject

# Of the entry `s` of a statement; empty where it is part of nothing.
WHOLE = """(select concat_ws(' ', z.reference, nullif(z.title, z.reference)) from subject z
        where z.org_id = :org and z.id = s.part_of_id) as whole"""


def whole_of(part: Any) -> ScalarSelect[Any]:
    """The same for a query of entries."""
    whole = aliased(Subject)
    words = func.concat_ws(" ", whole.reference, func.nullif(whole.title, whole.reference))
    query = select(words).where(whole.org_id == part.org_id, whole.id == part.part_of_id)
    return query.correlate(part).scalar_subquery()
