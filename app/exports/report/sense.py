"""In one sentence how it was known: raised when, told how and to whom, answered by whom, done when.

It says nothing that the columns beside it do not say; what nobody can know, it does not claim.
"""

from __future__ import annotations

from app.domain.acts import Outcome
from app.domain.delivery import Channel, State
from app.exports.report.said import person, utc
from app.queries.dispatches import Dispatch
from app.queries.report.alerts import AlertFacts
from app.words import before, counted, day, moment, word

MOST_TOLD = 5  # People named in a sentence; the column beside it names all of them.


def sense_of(one: AlertFacts) -> str:
    """The sentences, each about one thing that happened or did not."""
    return " ".join(filter(None, (_raised(one), _told(one), _lost(one), _answered(one), _ended(one))))


def _raised(one: AlertFacts) -> str:
    line = one.line
    at = moment(line.claimed_at, line.timezone)
    return f"Raised on {at}, for the due date {day(line.due_on)} ({before(line.threshold)})."


def _told(one: AlertFacts) -> str:
    told = [message for message in one.messages if message.state is State.delivered]
    if told:
        first = [_to(message, one.line.timezone) for message in told[:MOST_TOLD]]
        more = [f"and {counted(len(told) - MOST_TOLD, 'more message')}"] if len(told) > MOST_TOLD else []
        return f"Told {'; '.join(first + more)}."
    if one.line.reason is not None:
        return f"Nobody was told: {word(one.line.reason, 'reason')}."
    sent = [message for message in one.messages if message.state is not State.cancelled]
    ways = [
        f"{message.person}, {word(message.channel, 'channel')}: {word(message.state, 'state').lower()}"
        for message in sent
    ]
    return f"Nobody is known to have been told: {'; '.join(ways[:MOST_TOLD])}." if ways else "Nobody has been told."


def _lost(one: AlertFacts) -> str:
    """What may not have reached anybody is said beside what has."""
    lost = [message for message in one.messages if message.is_lost and message.repeated_by is None]
    told = any(message.state is State.delivered for message in one.messages)
    ways = [
        f"{word(message.channel, 'channel')} to {message.person}: {word(message.state, 'state')}" for message in lost
    ]
    return f"But {'; '.join(ways[:MOST_TOLD])}." if ways and told else ""


def _to(message: Dispatch, timezone: str) -> str:
    if message.channel is Channel.in_app:
        return f"{message.person} in the app on {moment(message.delivered_at, timezone)}"
    how = "written to a file of this host" if message.went_to_a_file else "taken by the mail server"
    return f"{message.person} by e-mail, {how} on {moment(message.delivered_at, timezone)}"


def _answered(one: AlertFacts) -> str:
    if not one.answers:
        return "" if one.line.reason is not None else "Nobody has answered."
    last = one.answers[-1]
    until = f" until {day(last.until_on)}" if last.until_on else ""
    which = "" if last.claim_id == one.line.id else f", to alert {last.claim_id} of the same deadline"
    said = f"Answered by {last.name}{which} on {moment(last.acknowledged_at, one.line.timezone)}: "
    accepted = ", accepted" if last.accepted_at else ""
    return f"{said}{word(last.answer, 'answer')}{until}{accepted}."


def _ended(one: AlertFacts) -> str:
    more = one.more
    if more.closed_at is None:
        return "The deadline is open."
    closed = f"closed on {moment(more.closed_at, one.line.timezone)}" + (f" by {more.closer}" if more.closer else "")
    if more.outcome == Outcome.met:
        return f"Done on {day(more.met_on)}, {closed}." if more.met_on else f"Done, {closed}."
    return f"The deadline was {closed}: {word(more.outcome, 'outcome')}."


def told_of(one: AlertFacts) -> str | None:
    """Each message of it: to whom, in whose place, by what, what became of it and when."""
    return "; ".join(_message(message, one.line.timezone) for message in one.messages) or None


def _message(message: Dispatch, timezone: str) -> str:
    to = person(message.person, message.recipient_id)
    instead = f" in place of {message.covers}" if message.covers else ""
    became = word(message.state, "state")
    why = f" ({word(message.reason, 'reason')})" if message.reason else ""
    at = message.delivered_at or message.handed_over_at
    return f"{to}{instead}, {word(message.channel, 'channel')}: {became}{why}{f' {utc(at)}' if at else ''}"


def answer_of(one: AlertFacts) -> str | None:
    """The last answer that stands, given to this alert."""
    if not one.own_answers:
        return None
    last = one.own_answers[-1]
    return word(last.answer, "answer") + (f" until {last.until_on}" if last.until_on else "")
