"""The section *Checks*: when the watch looked, what it found, and each gap in which nobody looked, by name."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy.orm import Session

from app.exports.report.said import actor, instant, yes
from app.exports.report.section import Column, Group, Plan, number
from app.exports.report.section import instant as instants
from app.exports.tables import Row
from app.queries.report.checks import Look, read_looks
from app.queries.report.scope import Scope
from app.vocabulary import OF
from app.words import lasting

PLAN = Plan(
    "checks",
    "Checks",
    "When the watch looked over all entries, and each gap of more than 30 minutes in which it did not. Of the whole organisation.",
    (
        Column("what", "What"), number("check", "Check"), *instants("since", "From"), *instants("until", "Until"),
        Column("begun", "Begun"), Column("by", "By"), Column("full", "Over everything"), number("raised", "Raised"),
        number("not_sent", "Not sent"), number("raised_again", "Raised again"), number("stopped", "Stopped"),
        number("messages", "Messages"), number("quiet", "Quiet checks after it"), Column("errors", "Errors"),
        Column("sentence", "In words"),
    ),
    (
        Group("What", ("what", "check"), 1), Group("From", ("since",), 2), Group("Until", ("until",), 2),
        Group("Begun", ("begun", "by", "full"), 1.8),
        Group("Found", ("raised", "not_sent", "raised_again", "stopped", "messages", "quiet"), 1.6),
        Group("In words", ("sentence", "errors"), 2.4),
    ),
)  # fmt: skip
NOTHING = (None,) * 10


def rows(session: Session, scope: Scope) -> Iterator[Row]:
    for look in read_looks(session, scope):
        span = (*instant(look.since, scope.zone), *instant(look.until, scope.zone))
        check = look.check
        if check is None:
            yield "Gap", None, *span, *NOTHING, _gap(look, scope)
            continue
        found = (check.raised, check.unsent, check.raised_again, check.stopped, check.messages, check.quiet_scans)
        yield (
            "Check", check.id, *span, OF["trigger"].get(check.trigger, check.trigger), actor(look.actor, None),
            yes(check.is_full), *found, "; ".join(check.errors) or None, None,
        )  # fmt: skip


def _gap(look: Look, scope: Scope) -> str:
    until = look.until or scope.sight.now
    lasts = "" if look.until else ", and it lasts"
    said = look.explanation
    why = f" {said.person or 'Onus'}: {said.words}" if said else " Nobody has explained it."
    return (
        f"Nobody looked for {lasting(until - look.since)}{lasts}. What came due meanwhile was found by the next check."
        f"{why}"
    )
