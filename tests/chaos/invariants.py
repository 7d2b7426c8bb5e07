"""What must be true when all is calm, judged from the outside: the database's rows beside the mail server's log.

Each invariant is a function of the evidence that raises Broken with its number. None of them asks the code under test
what it did: which deliveries a message names is read from the trail, what was accepted from the server's own log.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg

from tests.chaos.mail import Accepted

# Every event of a delivery, from which states it may come and what it becomes. A lease leaves no event of its own.
NONE = "none"
AFTER_HAND_OVER = ("pending", "handing_over", "in_doubt")
TRAIL: dict[str, tuple[tuple[str, ...], str | None]] = {
    "delivery_due": ((NONE, "cancelled"), "pending"),
    "delivery_resent": ((NONE,), "pending"),
    "handed_over": (("pending",), "handing_over"),
    "delivery_put_off": (AFTER_HAND_OVER, "pending"),
    "delivery_given_back": (AFTER_HAND_OVER, "pending"),
    "delivery_lost": (("pending",), "pending"),
    "delivery_failed": (AFTER_HAND_OVER, "failed"),
    "delivery_in_doubt": (("handing_over",), "in_doubt"),
    "delivery_cancelled": (("pending", "held"), "cancelled"),
    "delivery_held": (("pending",), "held"),
    "delivery_released": (("held",), "pending"),
    "doubt_resolved_delivered": (("in_doubt",), "delivered"),
    "doubt_resolved_failed": (("in_doubt",), "failed"),
    "doubt_resolved_resend": (("in_doubt", "failed", "bounced"), None),
    "doubt_resolved_settled": (("failed", "bounced"), None),
    "late_answer": (("delivered", "failed", "in_doubt", "bounced"), None),  # Evidence, by which nothing moves.
    "bounced": (("handing_over", "in_doubt", "delivered"), "bounced"),
}
DELIVERED_FROM = {"email": ("handing_over", "in_doubt"), "in_app": ("pending",)}
MAY_HAVE_LEFT = {"delivered", "in_doubt", "bounced"}
NOT_LEFT = {"failed", "cancelled", "pending", "held"}

DELIVERIES = """
select id, org_id, claim_id, channel, recipient_id, state, lease_token, attempts, resolution, resend_of
from delivery where org_id = any (%s) order by id"""
MESSAGES = """
select token, org_id, message_id, recipient_id, sent_to, sha256, handed_over_at
from mail_message where org_id = any (%s) order by id"""
EVENTS = """
select id, org_id, at, type, delivery_id, (detail ->> 'recipient')::bigint
from audit_event where org_id = any (%s) and delivery_id is not null order by id"""
CLAIMS = "select id, org_id, reference, threshold, standing, reason from notification_ledger where org_id = any (%s)"
MEMBERS = "select org_id, id, lower(email) from member where org_id = any (%s) and email is not null"


class Broken(AssertionError):
    """A promise is broken."""


@dataclass(frozen=True)
class Row:
    id: int
    org: int
    claim: int
    channel: str
    recipient: int
    state: str
    token: UUID | None
    attempts: int
    resolution: str | None
    resend_of: int | None


@dataclass(frozen=True)
class Message:
    token: UUID
    org: int
    message_id: str
    recipient: int
    sent_to: str
    sha256: str
    at: dt.datetime


@dataclass(frozen=True)
class Event:
    id: int
    org: int
    at: dt.datetime
    type: str
    delivery: int
    recipient: int


@dataclass(frozen=True)
class Claim:
    id: int
    org: int
    reference: str
    threshold: str
    standing: str
    reason: str | None


@dataclass
class Evidence:
    """All that is known of some organisations when it is over."""

    rows: dict[int, Row]
    messages: dict[UUID, Message]
    trail: dict[int, list[Event]]
    claims: dict[int, Claim]
    addresses: dict[tuple[int, int], str]
    accepted: list[Accepted]
    names: dict[int, str] = field(default_factory=dict)  # The slug of each, which begins its references, too.

    def __post_init__(self) -> None:
        handed: defaultdict[tuple[int, int, dt.datetime], set[int]] = defaultdict(set)
        for events in self.trail.values():
            for event in events:
                if event.type == "handed_over":
                    handed[event.org, event.recipient, event.at].add(event.delivery)
        # Which deliveries each message names: those whose hand-over was recorded in its transaction.
        self.named = {m.token: handed[m.org, m.recipient, m.at] for m in self.messages.values()}
        self.taken: defaultdict[int, list[UUID]] = defaultdict(
            list
        )  # Per delivery: the accepted messages that name it.
        for one in self.accepted:
            for delivery in self.named.get(one.token, ()):
                self.taken[delivery].append(one.token)

    def mails(self) -> Iterator[Row]:
        return (row for row in self.rows.values() if row.channel == "email")

    def doubted(self) -> set[tuple[int, int, dt.datetime]]:
        """The messages that were in doubt, if only for a while: organisation, recipient and hour of the hand-over."""
        found = set()
        for events in self.trail.values():
            handed_at = None
            for event in events:
                if event.type == "handed_over":
                    handed_at = event.at
                elif event.type == "delivery_in_doubt" and handed_at is not None:
                    found.add((event.org, event.recipient, handed_at))
        return found


def gather(connection: psycopg.Connection[Any], accepted: list[Accepted], names: dict[int, str]) -> Evidence:
    orgs = (list(names),)
    trail: defaultdict[int, list[Event]] = defaultdict(list)
    for event in (Event(*row) for row in connection.execute(EVENTS, orgs)):
        trail[event.delivery].append(event)
    return Evidence(
        rows={row[0]: Row(*row) for row in connection.execute(DELIVERIES, orgs)},
        messages={row[0]: Message(*row) for row in connection.execute(MESSAGES, orgs)},
        trail=trail,
        claims={row[0]: Claim(*row) for row in connection.execute(CLAIMS, orgs)},
        addresses={(org, member): address for org, member, address in connection.execute(MEMBERS, orgs)},
        accepted=[one for one in accepted if one.org in names],
        names=names,
    )


def insist(number: str, promise: str, broken: list[Any]) -> None:
    if broken:
        raise Broken(f"{number}: {promise}; {len(broken)} broken, first: {broken[:5]}")


def i1_one_message_a_row(evidence: Evidence) -> None:
    tokens = Counter(one.token for one in evidence.accepted)
    insist("I1", "a hand-over was accepted twice", [token for token, times in tokens.items() if times > 1])
    twice = [(row, tokens) for row, tokens in evidence.taken.items() if len(tokens) > 1]
    insist("I1", "a delivery row is in two accepted messages", twice)
    plain = Counter(
        one.message_id
        for one in evidence.accepted
        if all(evidence.rows[row].resend_of is None for row in evidence.named.get(one.token, ()))
    )
    insist("I1", "a Message-ID was accepted twice without a resend", [id for id, n in plain.items() if n > 1])


def i2_delivered_is_accepted(evidence: Evidence) -> None:
    known = {one.token for one in evidence.accepted}
    insist("I2", "the server accepted what the database never handed over", sorted(known - evidence.messages.keys()))
    other = [one.token for one in evidence.accepted if evidence.messages[one.token].sha256 != one.sha256]
    insist("I2", "what was accepted is not what was kept", other)
    unsent = [row for row in evidence.mails() if row.state == "delivered" and row.token not in known]
    insist("I2", "delivered, and the server never accepted it", [row for row in unsent if not row.resolution])
    denied = [
        row
        for row in map(evidence.rows.__getitem__, evidence.taken)
        if row.state not in MAY_HAVE_LEFT and row.resolution is None
    ]
    insist("I2", "accepted, and neither delivered nor in doubt", denied)


def i3_unsent_is_not_accepted(evidence: Evidence) -> None:
    false = [
        row for row in evidence.mails() if row.state in NOT_LEFT and row.resolution is None and row.id in evidence.taken
    ]
    insist("I3", "failed, cancelled or waiting, and the server has accepted it", false)


def i5_every_claim_has_an_end(evidence: Evidence) -> None:
    addressed = {row.claim for row in evidence.rows.values() if row.state != "cancelled"}
    silent = [one for one in evidence.claims.values() if one.id not in addressed and one.reason is None]
    insist("I5", "a claim has neither a delivery nor a reason", silent)


def i6_nothing_is_under_way(evidence: Evidence) -> None:
    insist("I6", "still under way", [row for row in evidence.rows.values() if row.state in ("leased", "handing_over")])


def i7_each_transition_once(evidence: Evidence) -> None:
    """Replayed, the trail of each row is one way through the machine, and ends where the row is."""
    for row in evidence.rows.values():
        state, told = NONE, [event.type for event in evidence.trail[row.id]]
        for event in told:
            steps = TRAIL | {"delivered": (DELIVERED_FROM[row.channel], "delivered")}
            if event not in steps:
                raise Broken(f"I7: nobody knows the event {event} of delivery {row.id}: {told}")
            origins, target = steps[event]
            if state not in origins:
                raise Broken(f"I7: {event} of delivery {row.id} came when it was {state}: {told}")
            state = target or state
        if state != row.state and (state, row.state) != ("pending", "leased"):
            raise Broken(f"I7: delivery {row.id} is {row.state}, but its trail ends {state}: {told}")
        if told.count("delivered") > 1 or (
            row.channel == "email" and "delivered" in told and "handed_over" not in told
        ):
            raise Broken(f"I7: delivery {row.id} was delivered twice, or without a hand-over: {told}")


def i8_no_other_organisation(evidence: Evidence) -> None:
    for one in evidence.accepted:
        message = evidence.messages.get(one.token)
        if message is None:
            continue  # I2 says so.
        at_home = {message.sent_to.lower(), evidence.addresses[message.org, message.recipient]} == {one.recipient}
        if message.org != one.org or not at_home:
            raise Broken(f"I8: message {one.token} of organisation {message.org} went to {one.recipient}")
        orgs = {evidence.rows[row].org for row in evidence.named[one.token]}
        shown = set(re.findall(r"/o/([a-z0-9-]+)", one.text)) | set(re.findall(r"\b([a-z0-9-]+)-N[0-9]+\b", one.text))
        if orgs != {one.org} or shown != {evidence.names[one.org]}:
            raise Broken(
                f"I8: message {one.token} of {evidence.names[one.org]} shows {shown}, and names rows of {orgs}"
            )


def i9_few_doubts(evidence: Evidence, after_dot: int, process_faults: int) -> None:
    """Of each fault after the dot comes at most one doubt; so does of whatever kills or stops a worker."""
    doubts, allowed = len(evidence.doubted()), 2 * after_dot + process_faults
    if doubts > allowed:
        raise Broken(
            f"I9: {doubts} messages were in doubt, of {after_dot} faults after the dot and {process_faults} kills"
        )


def i10_one_message_a_person(evidence: Evidence) -> None:
    """What fell due for a person in one transaction, and went at the first try, went in one message (DESIGN 5.3)."""
    messages: defaultdict[tuple[int, int, dt.datetime], set[dt.datetime]] = defaultdict(set)
    for row in evidence.mails():
        events = evidence.trail[row.id]
        if [event.type for event in events] == ["delivery_due", "handed_over", "delivered"] and row.attempts == 1:
            messages[row.org, row.recipient, events[0].at].add(events[1].at)
    insist("I10", "a person got several messages at once", [key for key, ats in messages.items() if len(ats) > 1])


ALWAYS: tuple[Callable[[Evidence], None], ...] = (
    i1_one_message_a_row,
    i2_delivered_is_accepted,
    i3_unsent_is_not_accepted,
    i5_every_claim_has_an_end,
    i6_nothing_is_under_way,
    i7_each_transition_once,
    i8_no_other_organisation,
    i10_one_message_a_person,
)


def check(evidence: Evidence) -> None:
    """All of them but I4, which needs the register (`scene.py`), and I9, which needs the faults."""
    for invariant in ALWAYS:
        invariant(evidence)
