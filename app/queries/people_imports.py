"""What became of a file of people, by what is kept of it: lines, outcomes and reasons, and nobody's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, literal, select
from sqlalchemy.orm import Session

from app.models import AuditEvent, ImportRun
from app.queries.imports import Run


@dataclass(frozen=True)
class KeptLine:
    """One line, as it is kept for good."""

    line: int
    outcome: str
    reason: str
    number: str
    member_id: int | None


def read_lines(session: Session, org: int, import_run_id: int, outcomes: Sequence[str], most: int) -> list[KeptLine]:
    """The lines with one of these outcomes, in the order of the file, at most so many."""
    rows = func.jsonb_array_elements(ImportRun.rows).table_valued("value").alias("kept")
    line: Any = rows.c.value
    query = select(line).select_from(ImportRun).join(rows, literal(True))
    query = query.where(ImportRun.org_id == org, ImportRun.id == import_run_id)
    query = query.where(line.op("->>")("outcome").in_(outcomes)).limit(most)
    return [KeptLine(**kept) for kept in session.scalars(query)]


def count_people(session: Session, org: int, run: Run) -> Mapping[str, int]:
    """How many people the import has made, and how many it has touched at all, by the trail."""
    event, of_member = AuditEvent, AuditEvent.detail["member_id"].as_string()
    made = func.count(of_member.distinct()).filter(event.type == "member_created")
    query = select(made, func.count(of_member.distinct())).where(event.org_id == org, event.at == run.at)
    new, touched = session.execute(query.where(event.detail["import_run_id"].as_integer() == run.id)).one()
    return {"new": new, "changed": touched - new}
