"""How one alert is told in its story: when it was raised, who was told by which ways, and what they answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from app.domain.delivery import Channel, Resolution, State
from app.exports.report.said import person
from app.queries.dispatches import Dispatch
from app.queries.lateness import Lateness
from app.queries.report.alerts import AlertFacts
from app.vocabulary import OF
from app.wording import gettext as _
from app.wording import ngettext, plural
from app.words import before, day, moment, noted, word

MOST_PEOPLE = 6  # Told of one alert by name; the others are counted.
MOST_ANSWERS = 4  # To one alert, the last ones.


def raised(one: AlertFacts) -> list[str]:
    """Which alert it is, when it was raised by which rule, and why no sooner."""
    line = one.line
    at = moment(line.claimed_at, line.timezone)
    found = [word_of(before(line.threshold)), _("Raised on %(at)s by the rule %(rule)s.", at=at, rule=line.rule)]
    if line.due_on != one.more.due_on_now:
        found.insert(1, _("For the due date %(day)s, as it was then.", day=day(line.due_on)))
    if one.lateness and line.days_late:
        found.append(_late(line.days_late, one.lateness, line.timezone))
    return found


def _late(days: int, why: Lateness, timezone: str) -> str:
    cause = OF["cause"][why.cause]
    if why.at is None:
        return ngettext("%(number)d day late: %(cause)s.", "%(number)d days late: %(cause)s.", days, cause=cause)
    since = plural("%(number)d day late: %(cause)s (%(at)s).", "%(number)d days late: %(cause)s (%(at)s).")
    return ngettext(*since, days, cause=cause, at=moment(why.at, timezone))


def word_of(text: str) -> str:
    return text[:1].upper() + text[1:]


def told(one: AlertFacts) -> list[str]:
    """Each person with all ways to them; whoever was not told in the end is named with the reason, once."""
    of_people = defaultdict[int, list[Dispatch]](list)
    for message in one.messages:
        of_people[message.recipient_id].append(message)
    reached = [sent for sent in of_people.values() if any(part.state is not State.cancelled for part in sent)]
    said = [_person(sent, one.line.timezone) for sent in reached[:MOST_PEOPLE]]
    if len(reached) > MOST_PEOPLE:
        more = len(reached) - MOST_PEOPLE
        said.append(ngettext("And %(number)d more person.", "And %(number)d more people.", more))
    said += _untold([sent for sent in of_people.values() if sent not in reached])
    reason = one.line.reason
    if reason:
        said.append(_("Not sent: %(why)s.", why=word(reason, "reason")) if not reached else _stopped(reason))
    return said or [_("Nobody has been told yet.")]


def _stopped(reason: str) -> str:
    return _("Not sent to anybody else: %(why)s.", why=word(reason, "reason"))


def _untold(of_people: Sequence[Sequence[Dispatch]]) -> Iterator[str]:
    by_reason = defaultdict[str, list[str]](list)
    for sent in of_people:
        by_reason[sent[-1].reason or ""].append(sent[-1].person)
    for reason, names in by_reason.items():
        people = ", ".join(names[:MOST_PEOPLE])
        if len(names) > MOST_PEOPLE:
            more = len(names) - MOST_PEOPLE
            people = ngettext("%(people)s and %(number)d more", "%(people)s and %(number)d more", more, people=people)
        yield (
            _("Not told: %(people)s (%(why)s).", people=people, why=word(reason, "reason"))
            if reason
            else _("Not told: %(people)s.", people=people)
        )


def _person(sent: Sequence[Dispatch], timezone: str) -> str:
    """Bruno (no. 4), responsible for it: in the app on …; by e-mail to …, taken by the mail server on …"""
    first = sent[0]
    ways = "; ".join(_way(one, timezone) for one in sent if one.state is not State.cancelled)
    who, why = person(first.person, first.recipient_id), word(first.because, "because")
    if first.covers:
        return _("%(who)s, in place of %(whom)s: %(ways)s.", who=who, whom=first.covers, ways=ways)
    return _("%(who)s, %(why)s: %(ways)s.", who=who, why=why, ways=ways)


def _way(one: Dispatch, timezone: str) -> str:
    at, to = moment(one.delivered_at or one.handed_over_at, timezone), one.sent_to or one.address or ""
    if one.state is not State.delivered:
        return _unsure(one, at, to)
    if one.channel is Channel.in_app:
        if one.seen_at:
            return _("in the app on %(at)s, opened there on %(seen)s", at=at, seen=moment(one.seen_at, timezone))
        return _("in the app on %(at)s, not opened there", at=at)
    if one.went_to_a_file:
        return _("by e-mail to %(to)s, written to a file of this host on %(at)s", to=to, at=at)
    return _("by e-mail to %(to)s, taken by the mail server on %(at)s", to=to, at=at)


def _unsure(one: Dispatch, at: str, to: str) -> str:
    """What has not surely arrived, and what a person decided about it."""
    state = word(one.state, "state")
    if one.channel is Channel.in_app:
        return _("in the app: %(state)s", state=state)
    answer = f" ({noted(one.last_reply)})" if one.last_reply else ""
    said = _("by e-mail to %(to)s, sent on %(at)s: %(state)s", to=to, at=at, state=state + answer)
    if not at:
        said = _("by e-mail to %(to)s: %(state)s", to=to, state=state + answer)
    if one.decision is None:
        return said
    decision, by = word(Resolution(one.decision), "resolution"), one.decided_by or _("An operator, by a command")
    return _("%(said)s; then %(by)s decided: %(decision)s", said=said, by=by, decision=decision)


def answered(own: Sequence[Any], timezone: str) -> list[str]:
    """What was answered to this alert, what was taken back or sent back included."""
    said = [_answer(answer, timezone) for answer in own[-MOST_ANSWERS:]]
    if len(own) > MOST_ANSWERS:
        more = len(own) - MOST_ANSWERS
        said.insert(0, ngettext("%(number)d earlier answer.", "%(number)d earlier answers.", more))
    return said


def _answer(one: Any, timezone: str) -> str:
    places = {"who": person(one.person, one.member_id), "at": moment(one.acknowledged_at, timezone)}
    said = _("%(who)s on %(at)s: %(answer)s.", **places, answer=_said(one))
    parts = [said, _("“%(note)s”", note=one.note) if one.note else "", *_then(one, timezone)]
    return " ".join(filter(None, parts))


def _said(one: Any) -> str:
    answer = word(one.answer, "answer")
    if one.until_on:
        return _("%(answer)s until %(day)s", answer=answer, day=day(one.until_on))
    if one.done_on:
        return _("%(answer)s, on %(day)s", answer=answer, day=day(one.done_on))
    whose = one.whose or one.whose_post
    return _("%(answer)s, it belongs to %(whose)s", answer=answer, whose=whose) if whose else answer


def _then(one: Any, timezone: str) -> Iterator[str]:
    """What became of the answer."""
    by = one.checker or _("Somebody")
    if one.accepted_at:
        yield _("Accepted by %(by)s on %(at)s.", by=by, at=moment(one.accepted_at, timezone))
    if one.sent_back_at:
        places = {"by": by, "at": moment(one.sent_back_at, timezone), "words": one.sent_back_note or ""}
        yield _("Sent back by %(by)s on %(at)s: “%(words)s”", **places)
    if one.taken_back_at:
        yield _("Taken back on %(at)s.", at=moment(one.taken_back_at, timezone))
