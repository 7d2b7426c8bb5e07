"""The bare facts of one organisation, for what judges in plain Python: the owed check, and what is not watched.

Each list is one select of one table, with no join and no predicate but the organisation: nothing here may decide what
is wanted, since the owed check must not share a mistake with the scan (law 6).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from app.domain.acts import Answer
from app.models import (
    Absence,
    Account,
    Acknowledgement,
    AlertRule,
    AuditEvent,
    Base,
    DayOff,
    Delivery,
    Member,
    MemberKind,
    MemberSite,
    NotificationLedger,
    Obligation,
    Post,
    RuleKind,
    RuleRecipient,
    RuleSite,
    RuleSubject,
    RuleThreshold,
    Site,
    SitePost,
    Subject,
)
from app.models.answered import HANDED_OVER
from app.queries.together import Asked, Found, together

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = TypeVar("Row", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class SiteRow:
    id: int
    name: str
    timezone: str
    country: str | None = None
    region: str | None = None
    archived_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class DayOffRow:
    site_id: int | None
    on_day: dt.date
    until_day: dt.date
    is_yearly: bool


@dataclass(frozen=True, slots=True)
class SubjectRow:
    id: int
    site_id: int
    kind_id: int
    reference: str
    status: str
    snoozed_until: dt.date | None = None
    owner_member_id: int | None = None
    owner_post_id: int | None = None
    holder_id: int | None = None


@dataclass(frozen=True, slots=True)
class ObligationRow:
    id: int
    subject_id: int
    due_on: dt.date
    closed_at: dt.datetime | None = None
    filed_on: dt.date | None = None
    filing_ended_on: dt.date | None = None
    in_force_meanwhile: str | None = None
    ask_again_on: dt.date | None = None


@dataclass(frozen=True, slots=True)
class RuleRow:
    id: int
    name: str
    only_if: str
    channels: Sequence[str]
    is_active: bool = True
    archived_at: dt.datetime | None = None
    fallback: str | None = None


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    rule_id: int
    threshold: str


@dataclass(frozen=True, slots=True)
class RuleKindRow:
    rule_id: int
    kind_id: int


@dataclass(frozen=True, slots=True)
class RuleSiteRow:
    rule_id: int
    site_id: int


@dataclass(frozen=True, slots=True)
class RuleSubjectRow:
    rule_id: int
    subject_id: int


@dataclass(frozen=True, slots=True)
class ClaimRow:
    id: int
    rule_id: int
    subject_id: int
    obligation_id: int
    threshold: str
    due_on: dt.date
    crossed_on: dt.date
    standing: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    claim_id: int
    state: str
    recipient_id: int = 0
    channel: str = ""
    covers_id: int | None = None
    also_covers: Sequence[int] = ()

    @property
    def in_place_of(self) -> set[int]:
        """Who was away, and is told by it through its recipient."""
        return {*self.also_covers, *([] if self.covers_id is None else [self.covers_id])}


@dataclass(frozen=True, slots=True)
class AnswerRow:
    claim_id: int
    answer: str
    until_on: dt.date | None = None
    taken_back_at: dt.datetime | None = None
    sent_back_at: dt.datetime | None = None
    member_id: int = 0
    acknowledged_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class HandingOverRow:
    """An event of the trail: from then on somebody else is responsible for the entry, or its holder."""

    subject_id: int
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class MemberRow:
    id: int
    role: str
    account_id: int | None = None
    email: str | None = None
    is_active: bool = True
    valid_until: dt.date | None = None
    left_on: dt.date | None = None
    email_alerts: bool = True


@dataclass(frozen=True, slots=True)
class AccountRow:
    id: int
    is_active: bool


@dataclass(frozen=True, slots=True)
class MemberSiteRow:
    member_id: int
    site_id: int


@dataclass(frozen=True, slots=True)
class MemberKindRow:
    member_id: int
    kind_id: int


@dataclass(frozen=True, slots=True)
class PostRow:
    id: int
    name: str
    above_id: int | None = None


@dataclass(frozen=True, slots=True)
class SitePostRow:
    site_id: int
    post_id: int
    member_id: int
    from_on: dt.date
    until_on: dt.date | None = None


@dataclass(frozen=True, slots=True)
class RecipientRow:
    rule_id: int
    recipient: str


@dataclass(frozen=True, slots=True)
class AbsenceRow:
    member_id: int
    from_on: dt.date
    until_on: dt.date
    stand_in_id: int | None = None
    cancelled_at: dt.datetime | None = None


@dataclass(frozen=True)
class Register:
    """What there is to watch, and the rules that watch it."""

    sites: Sequence[SiteRow] = ()
    subjects: Sequence[SubjectRow] = ()
    obligations: Sequence[ObligationRow] = ()
    rules: Sequence[RuleRow] = ()
    thresholds: Sequence[ThresholdRow] = ()
    rule_kinds: Sequence[RuleKindRow] = ()
    rule_sites: Sequence[RuleSiteRow] = ()
    rule_subjects: Sequence[RuleSubjectRow] = ()
    days_off: Sequence[DayOffRow] = ()


@dataclass(frozen=True)
class People:
    """Who could be told."""

    members: Sequence[MemberRow] = ()
    accounts: Sequence[AccountRow] = ()
    member_sites: Sequence[MemberSiteRow] = ()
    member_kinds: Sequence[MemberKindRow] = ()
    posts: Sequence[PostRow] = ()
    site_posts: Sequence[SitePostRow] = ()
    recipients: Sequence[RecipientRow] = ()
    absences: Sequence[AbsenceRow] = ()


@dataclass(frozen=True)
class Facts:
    """The register and its people, and what the ledger says about them."""

    register: Register = field(default_factory=Register)
    claims: Sequence[ClaimRow] = ()
    deliveries: Sequence[DeliveryRow] = ()
    answers: Sequence[AnswerRow] = ()
    handed_over: Sequence[HandingOverRow] = ()
    people: People = field(default_factory=People)


# The lists of what is small beside the entries, by the table and the row of each.
RULES: Mapping[str, tuple[type[Base], type[Any]]] = {
    "sites": (Site, SiteRow),
    "rules": (AlertRule, RuleRow),
    "thresholds": (RuleThreshold, ThresholdRow),
    "rule_kinds": (RuleKind, RuleKindRow),
    "rule_sites": (RuleSite, RuleSiteRow),
    "rule_subjects": (RuleSubject, RuleSubjectRow),
    "days_off": (DayOff, DayOffRow),
}
PEOPLE: Mapping[str, tuple[type[Base], type[Any]]] = {
    "members": (Member, MemberRow),
    "accounts": (Account, AccountRow),
    "member_sites": (MemberSite, MemberSiteRow),
    "member_kinds": (MemberKind, MemberKindRow),
    "posts": (Post, PostRow),
    "site_posts": (SitePost, SitePostRow),
    "recipients": (RuleRecipient, RecipientRow),
    "absences": (Absence, AbsenceRow),
}


def read_facts(session: Session, org: int) -> Facts:
    """The register and the whole ledger of the organisation, as the transaction sees them."""
    register, people = read_register_and_people(session, org)
    return Facts(
        register=register,
        claims=read_rows(session, org, NotificationLedger, ClaimRow),
        deliveries=read_rows(session, org, Delivery, DeliveryRow),
        answers=read_rows(session, org, Acknowledgement, AnswerRow),
        handed_over=read_rows(
            session, org, AuditEvent, HandingOverRow, {"type": HANDED_OVER, "subject_id": disowned(org)}
        ),
        people=people,
    )


Ids = Collection[Any] | Select[Any]  # Known ones, or those that a statement of their own finds.


def disowned(org: int) -> Select[Any]:
    """The entries of which somebody has ever said "not mine": the trail is long, and of others it is not needed."""
    of_claim = (Acknowledgement.org_id == org) & (Acknowledgement.claim_id == NotificationLedger.id)
    query = select(NotificationLedger.subject_id).join(Acknowledgement, of_claim)
    return query.where(NotificationLedger.org_id == org, Acknowledgement.answer == Answer.not_mine)


def read_register_and_people(session: Session, org: int, subject_ids: Ids | None = None) -> tuple[Register, People]:
    """All of it in three statements, since what grows with the register is asked for by itself.

    Or, for a page that shows a few entries or one site, these alone with their deadlines, in one.
    """
    if subject_ids is None:
        return both_of(_small(session, org) | _entries(session, org))
    return both_of(facts_of(together(session, *facts_asked(org, subject_ids))))


def facts_asked(org: int, subject_ids: Ids) -> list[Asked]:
    """The selects whose results `facts_of` takes: all about these entries."""
    return [
        *(_rows_of(org, table, row) for table, row in {**RULES, **PEOPLE}.values()),
        _rows_of(org, Subject, SubjectRow, {"id": subject_ids}),
        _rows_of(org, Obligation, ObligationRow, {"subject_id": subject_ids}),
    ]


def facts_of(found: Iterable[Found]) -> dict[str, list[Any]]:
    kinds = {name: row for name, (_, row) in {**RULES, **PEOPLE}.items()}
    kinds |= {"subjects": SubjectRow, "obligations": ObligationRow}
    return {name: [row(*values) for values in rows] for (name, row), rows in zip(kinds.items(), found, strict=True)}


def both_of(lists: Mapping[str, list[Any]]) -> tuple[Register, People]:
    register = Register(**{name: rows for name, rows in lists.items() if name not in PEOPLE})
    return register, People(**{name: lists[name] for name in PEOPLE})


def _small(session: Session, org: int) -> dict[str, list[Any]]:
    tables = {**RULES, **PEOPLE}
    found = together(session, *(_rows_of(org, table, row) for table, row in tables.values()))
    named = zip(tables.items(), found, strict=True)
    return {name: [row(*values) for values in rows] for (name, (_, row)), rows in named}


def _entries(session: Session, org: int) -> dict[str, list[Any]]:
    return {
        "subjects": read_rows(session, org, Subject, SubjectRow),
        "obligations": read_rows(session, org, Obligation, ObligationRow),
    }


def read_rows(
    session: Session,
    org: int,
    table: type[Base],
    row: type[Row],
    only: Mapping[str, Ids | None] = MappingProxyType({}),
) -> list[Row]:
    """The rows of the organisation, of the columns that the dataclass names; `only` narrows a column to these ids."""
    return [row(*values) for values in session.execute(_rows_of(org, table, row, only))]


def _rows_of(
    org: int, table: type[Base], row: type[Any], only: Mapping[str, Ids | None] = MappingProxyType({})
) -> Select[*tuple[Any, ...]]:
    """An account is of no organisation: those of its members are meant."""
    columns = table.__table__.c
    statement = select(*(columns[column.name] for column in fields(row)))
    if table is Account:
        statement = statement.where(Account.id.in_(select(Member.account_id).where(Member.org_id == org)))
    else:
        statement = statement.where(columns.org_id == org)
    for name, ids in only.items():
        if ids is not None:
            statement = statement.where(columns[name].in_(ids))
    return statement
