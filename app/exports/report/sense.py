"""In one sentence how it was known: raised when, told how and to whom, answered by whom, done when.

It says nothing that the columns beside it do not say; what nobody can know, it does not claim.
"""

from __future__ import annotations

from typing import Any

from app.domain.acts import Outcome
from app.domain.delivery import Channel, State
from app.exports.report.said import person, utc
from app.queries.dispatches import Dispatch
from app.queries.report.alerts import AlertFacts
from app.wording import gettext as _
from app.wording import later, ngettext
from app.words import before, day, moment, word

MOST_TOLD = 5  # People named in a sentence; the column beside it names all of them.


def sense_of(one: AlertFacts) -> str:
    """The sentences, each about one thing that happened or did not."""
    return " ".join(filter(None, (_raised(one), _told(one), _lost(one), _answered(one), _ended(one))))


def _raised(one: AlertFacts) -> str:
    line = one.line
    places = {"at": moment(line.claimed_at, line.timezone), "day": day(line.due_on), "when": before(line.threshold)}
    return _("Raised on %(at)s, for the due date %(day)s (%(when)s).", **places)


def _told(one: AlertFacts) -> str:
    told = [message for message in one.messages if message.state is State.delivered]
    if told:
        first = [_to(message, one.line.timezone) for message in told[:MOST_TOLD]]
        if more := len(told) - len(first):
            first.append(ngettext("and %(number)d more message", "and %(number)d more messages", more))
        return _("Told %(people)s.", people="; ".join(first))
    if one.line.reason is not None:
        return _("Nobody was told: %(why)s.", why=word(one.line.reason, "reason"))
    sent = [message for message in one.messages if message.state is not State.cancelled]
    ways = [
        f"{message.person}, {word(message.channel, 'channel')}: {word(message.state, 'state').lower()}"
        for message in sent
    ]
    if not ways:
        return _("Nobody has been told.")
    return _("Nobody is known to have been told: %(ways)s.", ways="; ".join(ways[:MOST_TOLD]))


def _lost(one: AlertFacts) -> str:
    """What may not have reached anybody is said beside what has."""
    lost = [message for message in one.messages if message.is_lost and message.repeated_by is None]
    told = any(message.state is State.delivered for message in one.messages)
    ways = [
        _("%(channel)s to %(person)s: %(state)s", channel=word(message.channel, "channel"), person=message.person,
          state=word(message.state, "state"))
        for message in lost
    ]  # fmt: skip
    return _("But %(ways)s.", ways="; ".join(ways[:MOST_TOLD])) if ways and told else ""


def _to(message: Dispatch, timezone: str) -> str:
    places = {"person": message.person, "at": moment(message.delivered_at, timezone)}
    if message.channel is Channel.in_app:
        return _("%(person)s in the app on %(at)s", **places)
    if message.went_to_a_file:
        return _("%(person)s by e-mail, written to a file of this host on %(at)s", **places)
    return _("%(person)s by e-mail, taken by the mail server on %(at)s", **places)


def _answered(one: AlertFacts) -> str:
    if not one.answers:
        return "" if one.line.reason is not None else _("Nobody has answered.")
    last = one.answers[-1]
    places = {"who": last.name, "at": moment(last.acknowledged_at, one.line.timezone), "answer": _standing(last)}
    if last.claim_id == one.line.id:
        return _("Answered by %(who)s on %(at)s: %(answer)s.", **places)
    elsewhere = later("Answered by %(who)s, to alert %(alert)d of the same deadline on %(at)s: %(answer)s.")
    return _(elsewhere, **places, alert=last.claim_id)


def _standing(last: Any) -> str:
    said = word(last.answer, "answer")
    if last.until_on:
        said = _("%(answer)s until %(day)s", answer=said, day=day(last.until_on))
    return _("%(answer)s, accepted", answer=said) if last.accepted_at else said


def _ended(one: AlertFacts) -> str:
    more = one.more
    if more.closed_at is None:
        return _("The deadline is open.")
    closed = _("closed on %(at)s", at=moment(more.closed_at, one.line.timezone))
    if more.closer:
        closed = _("%(closed)s by %(who)s", closed=closed, who=more.closer)
    if more.outcome != Outcome.met:
        outcome = word(more.outcome, "outcome")
        return _("The deadline was %(closed)s: %(outcome)s.", closed=closed, outcome=outcome)
    if more.met_on:
        return _("Done on %(day)s, %(closed)s.", day=day(more.met_on), closed=closed)
    return _("Done, %(closed)s.", closed=closed)


def told_of(one: AlertFacts) -> str | None:
    """Each message of it: to whom, in whose place, by what, what became of it and when."""
    return "; ".join(_message(message, one.line.timezone) for message in one.messages) or None


def _message(message: Dispatch, timezone: str) -> str:
    to = person(message.person, message.recipient_id)
    if message.covers:
        to = _("%(who)s in place of %(whom)s", who=to, whom=message.covers)
    became = word(message.state, "state")
    why = f" ({word(message.reason, 'reason')})" if message.reason else ""
    at = message.delivered_at or message.handed_over_at
    return f"{to}, {word(message.channel, 'channel')}: {became}{why}{f' {utc(at)}' if at else ''}"


def answer_of(one: AlertFacts) -> str | None:
    """The last answer that stands, given to this alert."""
    if not one.own_answers:
        return None
    last = one.own_answers[-1]
    said = word(last.answer, "answer")
    return _("%(answer)s until %(day)s", answer=said, day=last.until_on) if last.until_on else said
