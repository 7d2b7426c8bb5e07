"""The queues of the Today page: open deadlines that need a person, each queue one select over the same facts.

A deadline is shown while its entry is watched and its site in use; what is not watched is for `watched.py` to say.
Whether somebody is on it is the predicate of the scan (law 6).
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Date,
    Select,
    SQLColumnExpression,
    Subquery,
    Text,
    and_,
    cast,
    exists,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    text,
    true,
    tuple_,
    union_all,
)
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.orm import Session, aliased

from app.domain import calendars
from app.domain.acts import Answer, InForce, Status
from app.domain.delivery import Reason, Standing, State
from app.models import (
    Acknowledgement,
    Delivery,
    Kind,
    Member,
    NotificationLedger,
    Obligation,
    Post,
    Site,
    Subject,
)
from app.models.answered import PASSED_ON, counts
from app.models.undecided import is_undecided
from app.models.wanted import FILING_PENDING, SOMEBODY_ON_IT
from app.queries.keyset import PAGE, Cursor, Page, page_of, rank_of_day, rank_of_instant
from app.queries.planning import plan_simply
from app.queries.sight import Sight
from app.queries.together import together
from app.queries.wholes import whole_of

SOON = 14  # Days: two weeks are time enough to do what nobody is on.
MONTH = 30  # Days of the line of a site.
ASK_AGAIN_WITHIN = 7  # Days: this week.


Expression = SQLColumnExpression[Any]


class Queue(StrEnum):
    """Which deadlines. The last two are the figures of the line of a site, whoever is on it."""

    overdue = "overdue"
    check = "check"
    silent = "silent"
    attention = "attention"
    doubt = "doubt"
    filed = "filed"
    coming = "coming"
    late = "late"
    month = "month"


@dataclass(frozen=True)
class Waiting:
    """One deadline of a queue, and what it waits for: `what` is a code, said by or of `person`, `since` when."""

    obligation_id: int
    due_on: dt.date
    subject_id: int
    reference: str
    title: str
    whole: str | None  # What it is part of, by reference and title.
    paused_until: dt.date | None
    site_id: int
    site: str
    timezone: str
    today: dt.date
    wording: str
    responsible: str | None
    post: str | None
    what: str | None
    since: dt.datetime | None
    person: str | None
    on: dt.date | None
    note: str | None
    claim_id: int | None
    answer_id: int | None
    whose_member_id: int | None
    whose_post_id: int | None
    whose: str | None
    delivery_id: int | None
    rank: int
    key: int

    @property
    def days(self) -> int:
        """Days since then, in the calendar of the site."""
        return (self.today - calendars.today(self.since, self.timezone)).days if self.since else 0


o, s, p = aliased(Obligation, name="o"), aliased(Subject, name="s"), aliased(Site, name="p")
k, owner, claim = aliased(Kind, name="k"), aliased(Member, name="owner"), aliased(NotificationLedger, name="l")
TODAY = literal_column("d.today", Date())


def read_queue(
    session: Session, sight: Sight, queue: Queue, site_id: int | None = None, after: Cursor | None = None
) -> Page[Waiting]:
    """One page of the queue, the most urgent first."""
    plan_simply(session)
    table = of_queue(sight, queue)
    query = select(table).order_by(table.c.rank, table.c.key).limit(PAGE + 1)
    if site_id is not None:
        query = query.where(table.c.site_id == site_id)
    if after is not None:
        query = query.where(tuple_(table.c.rank, table.c.key) > tuple_(*after))
    rows = [Waiting(*row) for row in session.execute(query)]
    return page_of(rows, lambda row: (row.rank, row.key))


def count_queue(session: Session, sight: Sight, queue: Queue) -> int:
    return sum(count_by_site(session, sight, queue)[queue].values())


def count_by_site(session: Session, sight: Sight, *queues: Queue) -> dict[Queue, Counter[int]]:
    """How many deadlines of each of the queues there are at each site; all asked at once."""
    plan_simply(session)
    tables = [of_queue(sight, queue) for queue in queues]
    asked = (select(table.c.site_id, func.count()).group_by(table.c.site_id) for table in tables)
    found = zip(queues, together(session, *asked), strict=True)
    return {queue: Counter({row[0]: row[1] for row in rows}) for queue, rows in found}


def of_queue(sight: Sight, queue: Queue) -> Subquery:
    """The rows of the queue, as a table with the columns of Waiting."""
    free = nobody_on_it(sight.org)
    deadlines = open_deadlines(sight)
    match queue:
        case Queue.overdue:
            found = deadlines.where(o.due_on < TODAY, free)
        case Queue.coming:
            found = deadlines.where(o.due_on.between(TODAY, TODAY + SOON), free)
        case Queue.late:
            found = deadlines.where(o.due_on < TODAY, ~stays_in_force())
        case Queue.month:
            found = deadlines.where(o.due_on.between(TODAY, TODAY + MONTH))
        case Queue.filed:
            found = to_ask_again(sight)
        case Queue.check:
            found = to_check(sight)
        case Queue.silent:
            found = told_and_silent(sight)
        case Queue.attention:
            asked = [answered_otherwise(sight), nobody_to_tell(sight), came_back(sight)]
            return union_all(*asked).subquery("q")
        case Queue.doubt:
            found = in_doubt(sight)
    return found.subquery("q")


def open_deadlines(sight: Sight, **extra: Expression) -> Select[Any]:
    """Open deadlines of watched entries at the sites that are seen; `extra` fills the last columns of Waiting."""
    d = sight.days()
    empty: dict[str, Expression] = {
        "what": cast(null(), Text), "since": cast(null(), TIMESTAMP(timezone=True)), "person": cast(null(), Text),
        "on": cast(null(), Date), "note": cast(null(), Text), "claim_id": cast(null(), BigInteger),
        "answer_id": cast(null(), BigInteger), "whose_member_id": cast(null(), BigInteger),
        "whose_post_id": cast(null(), BigInteger), "whose": cast(null(), Text),
        "delivery_id": cast(null(), BigInteger), "rank": rank_of_day(o.due_on), "key": o.id,
    }  # fmt: skip
    facts: list[Expression] = [
        o.id.label("obligation_id"), o.due_on, s.id.label("subject_id"), s.reference, s.title,
        whole_of(s).label("whole"), s.snoozed_until.label("paused_until"), p.id.label("site_id"), p.name.label("site"),
        p.timezone,
        TODAY.label("today"), k.wording, owner.name.label("responsible"), Post.name.label("post"),
    ]  # fmt: skip
    every: list[Expression] = [*facts, *(value.label(name) for name, value in (empty | extra).items())]
    query: Select[Any] = select(*every)
    return (
        query.select_from(o)
        .join(s, and_(s.org_id == o.org_id, s.id == o.subject_id))
        .join(d, d.c.site_id == s.site_id)
        .join(p, and_(p.org_id == s.org_id, p.id == s.site_id))
        .join(k, and_(k.org_id == s.org_id, k.id == s.kind_id))
        .outerjoin(owner, and_(owner.org_id == s.org_id, owner.id == s.owner_member_id))
        .outerjoin(Post, and_(Post.org_id == s.org_id, Post.id == s.owner_post_id))
        .where(o.org_id == sight.org, o.closed_at.is_(None), s.status == Status.watched, sight.covers(s))
    )


def nobody_on_it(org: int) -> ColumnElement[bool]:
    """No standing "done", no promise that is not over, no filing still pending."""
    return ~or_(is_filed(), text(SOMEBODY_ON_IT).bindparams(org=org))


def is_filed() -> ColumnElement[bool]:
    return and_(text(FILING_PENDING))


def stays_in_force() -> ColumnElement[bool]:
    """A filing is pending under which the old paper stays in force: past its date, but not overdue."""
    return and_(is_filed(), o.in_force_meanwhile.is_not_distinct_from(InForce.yes))


def to_ask_again(sight: Sight) -> Select[Any]:
    asked = open_deadlines(sight, on=o.ask_again_on, note=o.filed_reference, rank=rank_of_day(o.ask_again_on))
    return asked.where(is_filed(), o.ask_again_on <= TODAY + ASK_AGAIN_WITHIN)


def answers_of_deadline(*columns: Expression) -> Select[Any]:
    """The answers that count for whoever is asked now, to any alert about the deadline, whatever rule or distance."""
    return (
        select(*columns)
        .select_from(Acknowledgement)
        .join(claim, and_(claim.org_id == Acknowledgement.org_id, claim.id == Acknowledgement.claim_id))
        .where(Acknowledgement.org_id == o.org_id, claim.obligation_id == o.id)
        .where(counts(Acknowledgement, claim.subject_id))
        .correlate(o)
    )


def to_check(sight: Sight) -> Select[Any]:
    """Somebody has said that it is done; the latest such answer is shown."""
    given = answers_of_deadline(
        Acknowledgement.acknowledged_at, Acknowledgement.done_on, Acknowledgement.note, claim.id.label("claim_id"),
        Member.name, Acknowledgement.id.label("answer_id"),
    )  # fmt: skip
    given = given.join(Member, and_(Member.org_id == Acknowledgement.org_id, Member.id == Acknowledgement.member_id))
    latest = given.order_by(Acknowledgement.acknowledged_at.desc(), Acknowledgement.id.desc()).limit(1)
    said = latest.where(Acknowledgement.answer == Answer.done).lateral("said")
    facts: dict[str, Expression] = {
        "what": literal(str(Answer.done), Text), "since": said.c.acknowledged_at, "person": said.c.name,
        "on": said.c.done_on, "note": said.c.note, "claim_id": said.c.claim_id,
        "answer_id": said.c.answer_id,
    }  # fmt: skip
    return open_deadlines(sight, **facts).join(said, true())


def told_and_silent(sight: Sight) -> Select[Any]:
    """Somebody was told, and since then nobody has answered anything about the deadline; the longest silence first.

    An answer to an earlier alert does not answer a later one; a deadline that somebody is on is not silent.
    """
    arrived = select(func.min(Delivery.delivered_at)).where(
        Delivery.org_id == claim.org_id, Delivery.claim_id == claim.id, Delivery.state == State.delivered
    )
    told_at = func.coalesce(claim.delivered_at, arrived.correlate(claim).scalar_subquery())
    answered_at = answers_of_deadline(func.max(Acknowledgement.acknowledged_at)).scalar_subquery()
    to_claim = (Acknowledgement.org_id == claim.org_id, Acknowledgement.claim_id == claim.id)
    answered = exists().where(*to_claim, counts(Acknowledgement, claim.subject_id)).correlate(claim)
    told = (
        select(func.min(told_at).label("since"))
        .where(
            claim.org_id == o.org_id,
            claim.obligation_id == o.id,
            claim.due_on == o.due_on,
            claim.standing == Standing.open,
            or_(claim.acknowledged_at.is_(None), ~answered),
            or_(answered_at.is_(None), told_at > answered_at),
        )
        .correlate(o)
        .lateral("told")
    )
    silent = open_deadlines(sight, since=told.c.since, rank=rank_of_instant(told.c.since)).join(told, true())
    return silent.where(told.c.since.is_not(None), nobody_on_it(sight.org))


def answered_otherwise(sight: Sight) -> Select[Any]:
    """Not mine, or help asked for; settled when somebody is on it, or the entry was handed over since."""
    answer = aliased(Acknowledgement, name="a")
    hers, its = aliased(Member, name="whose_member"), aliased(Post, name="whose_post")
    facts: dict[str, Expression] = {
        "what": answer.answer, "since": answer.acknowledged_at, "person": Member.name, "note": answer.note,
        "claim_id": claim.id, "rank": rank_of_instant(answer.acknowledged_at), "key": answer.id * 4,
        "answer_id": answer.id, "whose_member_id": answer.whose_member_id, "whose_post_id": answer.whose_post_id,
        "whose": func.coalesce(hers.name, its.name),
    }  # fmt: skip
    return (
        open_deadlines(sight, **facts)
        .join(claim, and_(claim.org_id == o.org_id, claim.obligation_id == o.id))
        .join(answer, and_(answer.org_id == claim.org_id, answer.claim_id == claim.id, counts(answer, s.id)))
        .join(Member, and_(Member.org_id == answer.org_id, Member.id == answer.member_id))
        .outerjoin(hers, and_(hers.org_id == answer.org_id, hers.id == answer.whose_member_id))
        .outerjoin(its, and_(its.org_id == answer.org_id, its.id == answer.whose_post_id))
        .where(answer.answer.in_(PASSED_ON), nobody_on_it(sight.org))
    )


def nobody_to_tell(sight: Sight) -> Select[Any]:
    facts: dict[str, Expression] = {
        "what": literal(str(Reason.nobody_to_tell), Text), "since": claim.claimed_at, "claim_id": claim.id,
        "rank": rank_of_instant(claim.claimed_at), "key": claim.id * 4 + 1,
    }  # fmt: skip
    return (
        open_deadlines(sight, **facts)
        .join(claim, and_(claim.org_id == o.org_id, claim.obligation_id == o.id))
        .where(claim.standing == Standing.open, claim.delivered_at.is_(None), claim.reason == Reason.nobody_to_tell)
    )


def came_back(sight: Sight) -> Select[Any]:
    """Refused or come back, with nobody having decided about it."""
    return of_deliveries(sight, Delivery.id * 4 + 2).where(Delivery.state.in_((State.failed, State.bounced)))


def in_doubt(sight: Sight) -> Select[Any]:
    """May have been sent, with nobody having decided about it."""
    return of_deliveries(sight, Delivery.id).where(Delivery.state == State.in_doubt)


def of_deliveries(sight: Sight, key: Expression) -> Select[Any]:
    """Deadlines by their deliveries of which nobody has decided; one that was sent again is judged by the new one."""
    again = aliased(Delivery)
    since = func.coalesce(Delivery.handed_over_at, Delivery.not_before)
    facts: dict[str, Expression] = {
        "what": Delivery.state, "since": since, "person": Member.name, "note": Delivery.last_reply,
        "claim_id": claim.id, "delivery_id": Delivery.id, "rank": rank_of_instant(since), "key": key,
    }  # fmt: skip
    return (
        open_deadlines(sight, **facts)
        .join(claim, and_(claim.org_id == o.org_id, claim.obligation_id == o.id))
        .join(Delivery, and_(Delivery.org_id == claim.org_id, Delivery.claim_id == claim.id))
        .join(Member, and_(Member.org_id == Delivery.org_id, Member.id == Delivery.recipient_id))
        .where(is_undecided())
        .where(~exists().where(again.org_id == Delivery.org_id, again.resend_of == Delivery.id))
    )
