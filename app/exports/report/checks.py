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
from app.wording import gettext
from app.wording import later as _
from app.words import lasting

PLAN = Plan(
    "checks",
    _("Checks"),
    _("When the watch looked over all entries, and each gap of more than 30 minutes in which it did not. Of the whole organisation."),
    (
        Column("what", _("What")), number("check", _("Check")), *instants("since", _("From")), *instants("until", _("Until")),
        Column("begun", _("Begun")), Column("by", _("By")), Column("full", _("Over everything")), number("raised", _("Raised")),
        number("not_sent", _("Not sent")), number("raised_again", _("Raised again")), number("stopped", _("Stopped")),
        number("messages", _("Messages")), number("quiet", _("Quiet checks after it")), Column("errors", _("Errors")),
        Column("sentence", _("In words")),
    ),
    (
        Group(_("What"), ("what", "check"), 1), Group(_("From"), ("since",), 2), Group(_("Until"), ("until",), 2),
        Group(_("Begun"), ("begun", "by", "full"), 1.8),
        Group(_("Found"), ("raised", "not_sent", "raised_again", "stopped", "messages", "quiet"), 1.6),
        Group(_("In words"), ("sentence", "errors"), 2.4),
    ),
)  # fmt: skip
NOTHING = (None,) * 10


def rows(session: Session, scope: Scope) -> Iterator[Row]:
    for look in read_looks(session, scope):
        span = (*instant(look.since, scope.zone), *instant(look.until, scope.zone))
        check = look.check
        if check is None:
            yield gettext("Gap"), None, *span, *NOTHING, _gap(look, scope)
            continue
        found = (check.raised, check.unsent, check.raised_again, check.stopped, check.messages, check.quiet_scans)
        yield (
            gettext("Check"), check.id, *span, OF["trigger"].get(check.trigger, check.trigger), actor(look.actor, None),
            yes(check.is_full), *found, "; ".join(check.errors) or None, None,
        )  # fmt: skip


def _gap(look: Look, scope: Scope) -> str:
    until = look.until or scope.sight.now
    length, said = lasting(until - look.since), look.explanation
    gap = gettext("Nobody looked for %(length)s, and it lasts.", length=length)
    if look.until:
        gap = gettext("Nobody looked for %(length)s.", length=length)
    found = gettext("What came due meanwhile was found by the next check.")
    why = f"{said.person or 'Onus'}: {said.words}" if said else gettext("Nobody has explained it.")
    return f"{gap} {found} {why}"
