"""What an entry is and what became of its deadlines, in the sentences of its story."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from app.domain.acts import OnlyIf, Outcome, Status
from app.domain.delivery import State
from app.queries.entry import Deadline, Entry
from app.queries.papers import Paper
from app.queries.report.alerts import AlertFacts
from app.vocabulary import OF
from app.wording import gettext as _
from app.wording import ngettext
from app.words import before, day, days_left, every, moment, unended, weekday, word

MOST_RULES, MOST_PAPERS = 4, 2
EXPIRES = "expires"
HASH_SHOWN = 16  # Digits of a SHA-256: enough to tell files apart; the register section has all of it.


def facts(entry: Entry) -> Iterator[tuple[str, str]]:
    """What it is, by label."""
    line = entry.line
    yield _("Kind"), line.kind
    yield _("Site"), _("%(site)s (time zone %(zone)s)", site=entry.site.name, zone=entry.site.timezone)
    yield _("Responsible"), responsible(entry)
    if entry.holder:
        yield _("Holder"), entry.holder
    if line.whole_reference and entry.whole_id:
        yield _("Part of"), line.whole_reference
    if entry.parts:
        yield _("Its parts"), ", ".join(reference for _id, reference, _title in entry.parts)
    yield _("Comes again"), _comes_again(entry)
    if entry.legal_basis:
        yield _("Legal basis"), entry.legal_basis
    for paper in entry.current_papers[:MOST_PAPERS]:
        yield _("Paper in force"), _paper(paper)
    yield _("Watched by"), _watched(entry)


def responsible(entry: Entry) -> str:
    if entry.line.owner:
        return entry.line.owner
    if entry.line.owner_post:
        holders = ", ".join(entry.post_holders) or _("nobody today")
        return _("%(post)s (post, held by %(holders)s)", post=entry.line.owner_post, holders=holders)
    return _("nobody")


def _comes_again(entry: Entry) -> str:
    comes = every(entry.recurrence)
    if not entry.recurrence:
        return comes
    return _("%(every)s, counted %(basis)s", every=comes, basis=word(entry.recurrence_basis or "due", "basis"))


def _paper(paper: Paper) -> str:
    said = paper.number
    if paper.issuer:
        said = _("%(number)s of %(issuer)s", number=said, issuer=paper.issuer)
    if paper.valid_until:
        said = _("%(paper)s, valid until %(day)s", paper=said, day=day(paper.valid_until))
    for file in paper.files[:1]:
        said = _(
            "%(paper)s; file %(name)s (SHA-256 %(hash)s…)",
            paper=said,
            name=file.file_name,
            hash=file.sha256[:HASH_SHOWN],
        )
    return said


def _watched(entry: Entry) -> str:
    """Each rule that is about it and when it tells; or why nobody is told."""
    if entry.line.status != Status.watched:
        return _("nobody: %(status)s", status=word(entry.line.status, "status").lower())
    rules = []
    for rule in entry.watching[:MOST_RULES]:
        said = _("%(rule)s: %(notices)s", rule=rule.name, notices=", ".join(map(before, rule.notices)))
        if rule.only_if != OnlyIf.always:
            said = _("%(said)s (%(condition)s)", said=said, condition=word(rule.only_if, "only_if"))
        rules.append(said)
    if len(entry.watching) > MOST_RULES:
        more = len(entry.watching) - MOST_RULES
        rules.append(ngettext("%(number)d more rule", "%(number)d more rules", more))
    return "; ".join(rules) or _("no rule")


def heading(entry: Entry, one: Deadline) -> str:
    """Expires on Friday, 3 April 2027; a task falls due."""
    places = {"weekday": weekday(one.due_on), "day": day(one.due_on)}
    if entry.line.wording == EXPIRES:
        return (
            _("Expires on %(weekday)s, %(day)s", **places)
            if one.is_open
            else _("Was to expire on %(weekday)s, %(day)s", **places)
        )
    return _("Due on %(weekday)s, %(day)s", **places) if one.is_open else _("Was due on %(weekday)s, %(day)s", **places)


def became(entry: Entry, one: Deadline) -> list[str]:
    """Where it was before, what is with the authority, and how it ended or that it is open."""
    said = []
    if one.first_due_on != one.due_on:
        said.append(_("At first it was %(day)s; the date was moved.", day=day(one.first_due_on)))
    said += _filing(entry, one)
    said.append(_open(entry, one) if one.closed_at is None else _closed(entry, one, one.closed_at))
    return said


def _open(entry: Entry, one: Deadline) -> str:
    if one.is_in_force:
        return _("It is open; the old paper stays in force meanwhile, so that no further alert is raised.")
    if entry.site.today is None:
        return _("It is open.")
    return _("It is open: %(left)s.", left=days_left(one.due_on, entry.site.today, entry.line.wording).lower())


def _closed(entry: Entry, one: Deadline, at: dt.datetime) -> str:
    said = _("%(how)s; closed on %(at)s.", how=_how(one), at=moment(at, entry.site.timezone))
    if one.closed_by:
        places = {"how": _how(one), "by": one.closed_by, "at": moment(at, entry.site.timezone)}
        said = _("%(how)s; %(by)s closed it on %(at)s.", **places)
    if one.reason and one.reason != one.outcome:
        said = _("%(said)s Why: %(why)s.", said=said, why=word(one.reason, "close_reason"))
    if proof := entry.proof_of(one.id):
        said = _("%(said)s Proof: %(number)s.", said=said, number=proof.number)
    return _("%(said)s Note: %(note)s.", said=said, note=unended(one.note)) if one.note else said


def _how(one: Deadline) -> str:
    if one.outcome == Outcome.met and one.met_on:
        return _("Done on %(day)s", day=day(one.met_on))
    return word(one.outcome, "outcome")


def _filing(entry: Entry, one: Deadline) -> Iterator[str]:
    if one.filed_on is None:
        return
    places = {"day": day(one.filed_on), "receipt": one.filed_reference or "–"}
    if one.filing_entered_at:
        at = moment(one.filing_entered_at, entry.site.timezone)
        yield _("Filed with the authority on %(day)s (receipt %(receipt)s), entered on %(at)s.", **places, at=at)
    else:
        yield _("Filed with the authority on %(day)s (receipt %(receipt)s).", **places)
    if one.is_pending:
        in_force = word(one.in_force_meanwhile, "in_force")
        ask = day(one.ask_again_on)
        if ask:
            yield _(
                "In force meanwhile: %(in_force)s. The authority is asked again on %(day)s.", in_force=in_force, day=ask
            )
        else:
            yield _("In force meanwhile: %(in_force)s.", in_force=in_force)
    elif one.filing_ended_on:
        result = OF["filing_result"].get(one.filing_result or "", "–")
        yield _("Answer of the authority on %(day)s: %(result)s.", day=day(one.filing_ended_on), result=result)


def summary(entry: Entry, alerts: Sequence[AlertFacts], count: int) -> list[str]:
    """How it was known, in a few sentences: how many alerts, told when first and last, answered last by whom."""
    if not alerts:
        return [_("No alert was raised about this entry."), _where_it_stands(entry)]
    zone = entry.site.timezone
    told = sorted(
        message.delivered_at
        for one in alerts
        for message in one.messages
        if message.state is State.delivered and message.delivered_at
    )
    said = [
        ngettext(
            "%(number)d alert was raised about this entry.", "%(number)d alerts were raised about this entry.", count
        )
    ]
    if not told:
        said.append(_("Nobody is known to have been told; each alert says why."))
    elif told[0] == told[-1]:
        said.append(_("People were told on %(at)s.", at=moment(told[0], zone)))
    else:
        first, last = moment(told[0], zone), moment(told[-1], zone)
        said.append(_("People were told from %(first)s to %(last)s.", first=first, last=last))
    said.append(_last_answer(alerts, zone))
    return [*said, _where_it_stands(entry)]


def _last_answer(alerts: Sequence[AlertFacts], zone: str) -> str:
    answers = [answer for one in alerts for answer in one.answers]
    if not answers:
        return _("Nobody has answered.")
    last = max(answers, key=lambda one: one.acknowledged_at)
    places = {"who": last.name, "at": moment(last.acknowledged_at, zone), "answer": word(last.answer, "answer")}
    return _("The last answer is that of %(who)s on %(at)s: %(answer)s.", **places)


def _where_it_stands(entry: Entry) -> str:
    if entry.open_deadlines:
        one = entry.open_deadlines[0]
        return _("Its next deadline is %(day)s. %(stands)s", day=day(one.due_on), stands=_open(entry, one))
    if entry.past_deadlines:
        one = entry.past_deadlines[0]
        return _("Its last deadline was %(day)s. %(stands)s", day=day(one.due_on), stands=became(entry, one)[-1])
    return _("It has no deadline.")
