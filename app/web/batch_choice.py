"""Which entries a batch is about: those that were ticked, those of the page, or all that match the filters.

The choice goes from page to page as ids, or as the filters of the address with their count; it is read again each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask import request

from app.domain.errors import Refused
from app.operations import batch_acts
from app.queries.batches import Chosen, read_chosen, seen_of
from app.queries.register import Filters, read_matching
from app.queries.sight import Sight
from app.web.access import Visit
from app.web.register import asked, number, read_filters
from app.wording import said

LISTED = 20  # Entries of the choice that a page names.
TICKED, PAGE, ALL, IDS = "ticked", "page", "all", "ids"


@dataclass(frozen=True)
class Choice:
    """The entries that the person sees; how many of those named are not; and how many there were before, if other."""

    visit: Visit
    sight: Sight
    filters: Filters
    ids: Sequence[int]
    scope: str
    unknown: int = 0
    before: int | None = None

    @property
    def asked(self) -> dict[str, str]:
        """The filters, for the address."""
        return asked(self.filters)

    @property
    def carried(self) -> dict[str, Any]:
        """What the next page needs to find the same entries."""
        if self.scope == ALL:
            return {"scope": ALL, "matched": len(self.ids)}
        return {"scope": IDS, "ids": ",".join(map(str, self.ids))}

    @property
    def first(self) -> list[Chosen]:
        return read_chosen(self.visit.act.session, self.sight, self.ids, LISTED)

    @property
    def refusal(self) -> str | None:
        try:
            batch_acts.check_size(self.ids)
        except Refused as refused:
            return said(refused)
        return None


def chosen(visit: Visit) -> Choice:
    """What the form says, as it is now. What is foreign, out of sight or no number at all is left out, and counted."""
    sight, filters, session = visit.sight, read_filters(), visit.act.session
    scope = request.form.get("scope", "")
    if scope == ALL:
        ids, before = read_matching(session, sight, filters), number(request.form.get("matched", ""))
        return Choice(visit, sight, filters, ids, ALL, before=before if before != len(ids) else None)
    texts = request.form.get("ids", "").split(",") if scope == IDS else request.form.getlist(named(scope))
    typed = {text.strip() for text in texts if text.strip()}
    numbers = {found for text in typed if (found := number(text)) is not None}
    ids = seen_of(session, sight, numbers)
    return Choice(visit, sight, filters, ids, IDS, len(typed) - len(ids))


def named(scope: str) -> str:
    return "shown" if scope == PAGE else "entry"
