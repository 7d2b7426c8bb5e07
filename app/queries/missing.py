"""Alerts that are missing: what the owed check finds, in facts that a screen can show. Computed on demand."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.orm import Session

from app.queries.facts import read_facts
from app.queries.owed import Debt, owed
from app.queries.sight import Sight


class Lack(StrEnum):
    """In which way an alert is missing."""

    never_raised = "never_raised"
    put_aside = "put_aside"
    to_nobody = "to_nobody"


@dataclass(frozen=True)
class Missing:
    """One alert that should be there, or should be on its way, and is not."""

    lack: Lack
    subject_id: int
    reference: str
    site: str
    rule: str
    threshold: str
    due_on: dt.date
    claim_id: int | None


def read_missing(session: Session, sight: Sight) -> list[Missing]:
    """Every missing alert of the sites that are seen; none right after a check. Seconds for a large register."""
    facts = read_facts(session, sight.org)
    debts = owed(facts, sight.now)
    at = {subject.id: (subject.site_id, subject.kind_id) for subject in facts.register.subjects}
    found = ((Lack.never_raised, debts.missing), (Lack.put_aside, debts.stalled), (Lack.to_nobody, debts.unaddressed))
    return sorted((row for lack, some in found for row in _seen(sight, lack, some, at)), key=_due_first)


def _seen(sight: Sight, lack: Lack, debts: list[Debt], at: dict[int, tuple[int, int]]) -> Iterator[Missing]:
    for debt in debts:
        if sight.sees(*at[debt.subject_id]):
            site = sight.sites[at[debt.subject_id][0]]
            facts = (debt.subject_id, debt.reference, site.name, debt.rule, debt.threshold, debt.due_on, debt.claim_id)
            yield Missing(lack, *facts)


def _due_first(row: Missing) -> tuple[dt.date, str, str]:
    return row.due_on, row.reference, row.threshold
