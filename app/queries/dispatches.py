"""How far each message has come: its row, each try with the server's own words, the words sent, what was decided."""

from __future__ import annotations

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.orm import Session, aliased

from app.domain.delivery import Channel, Resolution, State
from app.models import Delivery, DeliveryAttempt, MailMessage, Member, Organisation
from app.queries.places import in_places
from app.queries.watch import LOST

LATE = "late: "  # Before the outcome of an answer that came after somebody had decided.
TO_A_FILE = "file"  # The verb of a message that was written to a file of this host.
RETURN = "bounce"  # The verb of a report that a message did not arrive.


@dataclass(frozen=True)
class Try:
    """One try to send a message: the verb that ended it, what the mail server answered, what came of it."""

    at: dt.datetime
    verb: str
    reply: str
    recorded: str

    @property
    def is_late(self) -> bool:
        """Whether the answer came after a person had decided, so that it moved nothing."""
        return self.recorded.startswith(LATE)

    @property
    def is_written(self) -> bool:
        """Whether it became a file of this host, and no mail server had it."""
        return self.verb == TO_A_FILE and self.outcome == State.delivered

    @property
    def outcome(self) -> str:
        return self.recorded.removeprefix(LATE)


@dataclass(frozen=True)
class Words:
    """The message as it was handed over, under its token. `sha256` is of every byte of it, in hexadecimal digits."""

    subject: str
    body: str
    sha256: str


@dataclass(frozen=True)
class Dispatch:
    """One alert to one person through one channel. `because`, `reason` and `decision` are codes.

    `address` is where the person is reached by e-mail now, None where none may go to them; `person_zone` is the zone of
    their hours, and `timed_by` the code of what set the hour. Messages that went as one have one `token`.
    """

    id: int
    claim_id: int
    recipient_id: int
    person: str
    address: str | None
    because: str
    covers: str | None  # In whose place.
    channel: Channel
    state: State
    reason: str | None
    timed_by: str | None
    person_zone: str
    not_before: dt.datetime
    next_attempt_at: dt.datetime
    attempts: int
    handed_over_at: dt.datetime | None
    delivered_at: dt.datetime | None
    seen_at: dt.datetime | None
    message_id: str | None
    token: uuid.UUID | None
    sent_to: str | None
    last_reply: str | None
    decision: str | None
    decided_at: dt.datetime | None
    decided_by: str | None
    repeats: int | None
    repeated_by: int | None
    tries: list[Try]
    words: Words | None

    @property
    def is_lost(self) -> bool:
        """Whether it can no longer arrive by itself."""
        return self.state in LOST

    @property
    def is_undecided(self) -> bool:
        """Whether it waits for a person to decide."""
        is_open = self.decision is None or (self.state, self.decision) == (State.failed, Resolution.failed)
        return self.is_lost and is_open and self.channel is Channel.email

    @property
    def went_to_a_file(self) -> bool:
        return self.state is State.delivered and bool(self.tries) and self.tries[-1].is_written

    @property
    def returned(self) -> Try | None:
        """The report that it came back."""
        return next((one for one in reversed(self.tries) if one.verb == RETURN), None)


def read_dispatches(session: Session, org: int, *which: ColumnElement[bool]) -> list[Dispatch]:
    """Those of the deliveries that are asked for, in the order in which they were made."""
    rows = session.execute(_rows(org).where(*which).order_by(Delivery.id)).all()
    tries = _tries(session, org, [row.id for row in rows])
    words = _words(session, org, {row.token for row in rows})
    found = []
    for row in rows:
        codes = {"channel": Channel(row.channel), "state": State(row.state)}
        said = {"tries": tries[row.id], "words": words.get(row.token)}
        found.append(Dispatch(**dict(row._mapping) | codes | said))
    return found


def _rows(org: int) -> Any:
    decider, again = aliased(Member), aliased(Delivery)
    columns: list[Any] = [
        *(Delivery.id, Delivery.claim_id, Delivery.recipient_id, Member.name.label("person")),
        case((and_(Member.is_active, Member.email_alerts), Member.email)).label("address"),
        *(Delivery.because, in_places().label("covers"), Delivery.channel, Delivery.state, Delivery.reason),
        *(Delivery.timed_by, func.coalesce(Member.timezone, Organisation.timezone).label("person_zone")),
        Delivery.not_before,
        *(Delivery.next_attempt_at, Delivery.attempts, Delivery.handed_over_at, Delivery.delivered_at),
        *(Delivery.seen_at, Delivery.message_id, Delivery.lease_token.label("token"), Delivery.sent_to),
        *(Delivery.last_reply, Delivery.resolution.label("decision"), Delivery.resolved_at.label("decided_at")),
        *(decider.name.label("decided_by"), Delivery.resend_of.label("repeats"), again.id.label("repeated_by")),
    ]
    return (
        select(*columns)
        .select_from(Delivery)
        .join(Member, and_(Member.org_id == Delivery.org_id, Member.id == Delivery.recipient_id))
        .join(Organisation, Organisation.id == Delivery.org_id)
        .outerjoin(decider, and_(decider.org_id == Delivery.org_id, decider.id == Delivery.resolved_by))
        .outerjoin(again, and_(again.org_id == Delivery.org_id, again.resend_of == Delivery.id))
        .where(Delivery.org_id == org)
    )


def _tries(session: Session, org: int, delivery_ids: Collection[int]) -> defaultdict[int, list[Try]]:
    """By delivery, the first try first."""
    tried = DeliveryAttempt
    query = select(tried.delivery_id, tried.at, tried.verb, tried.reply, tried.outcome)
    query = query.where(tried.org_id == org, tried.delivery_id.in_(delivery_ids)).order_by(tried.id)
    found: defaultdict[int, list[Try]] = defaultdict(list)
    for row in session.execute(query) if delivery_ids else ():
        found[row[0]].append(Try(*row[1:]))
    return found


def _words(session: Session, org: int, tokens: Collection[uuid.UUID | None]) -> dict[uuid.UUID | None, Words]:
    """By token; what was never handed over has none."""
    said, known = MailMessage, {token for token in tokens if token is not None}
    query = select(said.token, said.subject, said.body, said.sha256).where(said.org_id == org, said.token.in_(known))
    return {row[0]: Words(*row[1:]) for row in session.execute(query)} if known else {}
