"""How people call what a report is narrowed to, and whoever asked for it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import AlertRule, Kind, Member, Organisation, Site, Subject
from app.queries.report.scope import Asked, Scope
from app.wording import later


@dataclass(frozen=True)
class Asker:
    """A member who asks for a report. Whoever is not let in any more gets none."""

    name: str
    role: str
    is_active: bool


def read_asker(session: Session, org: int, member_id: int) -> Asker | None:
    query = select(Member.name, Member.role, Member.is_active)
    row = session.execute(query.where(Member.org_id == org, Member.id == member_id)).one_or_none()
    return row and Asker(*row)


def read_place(session: Session, org: int) -> tuple[str, str]:
    """The name and the zone of the organisation."""
    name, timezone = session.execute(
        select(Organisation.name, Organisation.timezone).where(Organisation.id == org)
    ).one()
    return name, timezone


def names_of_asked(session: Session, org: int, asked: Asked) -> list[tuple[str, str]]:
    """The site, the rule and the entry that a report is narrowed to, by label."""
    found = []
    if asked.site_id is not None:
        site = select(Site.name).where(Site.org_id == org, Site.id == asked.site_id)
        found.append((later("Narrowed to the site"), session.execute(site).scalar_one()))
    if asked.rule_id is not None:
        rule = select(AlertRule.name).where(AlertRule.org_id == org, AlertRule.id == asked.rule_id)
        found.append((later("Narrowed to the rule"), session.execute(rule).scalar_one()))
    if asked.subject_id is not None:
        query = select(Subject.reference, Subject.title).where(Subject.org_id == org, Subject.id == asked.subject_id)
        reference, title = session.execute(query).one()
        found.append((later("Narrowed to the entry"), f"{reference}, {title}"))
    return found


def names_of_kinds(session: Session, scope: Scope) -> list[str]:
    """The kinds that the reader is limited to."""
    query = select(Kind.name).where(Kind.org_id == scope.org, Kind.id.in_(scope.sight.kinds or ()))
    return list(session.scalars(query.order_by(Kind.name)))


def find_rule(session: Session, org: int, name: str) -> int | None:
    """The rule of this name: the one that there is, else the last one that there was."""
    query = select(AlertRule.id).where(AlertRule.org_id == org, AlertRule.name == name)
    return session.scalar(query.order_by(AlertRule.archived_at.desc().nulls_first(), AlertRule.id.desc()).limit(1))
