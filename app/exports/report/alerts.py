"""The section *Alerts*: one row each, with the reasons of those not sent, and in one sentence how it was known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy.orm import Session

from app.exports.report.said import instant, local, person, utc
from app.exports.report.section import Column, Group, Plan, date, number
from app.exports.report.section import instant as instants
from app.exports.report.sense import answer_of, sense_of, told_of
from app.exports.tables import Row
from app.queries.dispatches import Dispatch
from app.queries.report.alerts import AlertFacts, read_alert_facts
from app.queries.report.scope import Scope
from app.queries.watch import ARRIVED_OR_GONE
from app.vocabulary import OF
from app.wording import gettext
from app.wording import later as _
from app.words import before, word

PLAN = Plan(
    "alerts",
    _("Alerts"),
    _("Every alert that was raised, told or answered in the period; those not sent with the reason."),
    (
        number("alert", _("Alert")), number("event", _("Event")), number("seq", _("Place in the seal")), number("entry", _("Entry")),
        Column("reference", _("Reference")), Column("title", _("Title")), Column("kind", _("Kind")), Column("site", _("Site")),
        Column("rule", _("Rule")), number("rule_id", _("Number of the rule")), number("rule_version", _("Version of the rule")), Column("distance", _("When")),
        Column("code", _("When, as in the rule")), date("due_on", _("For the due date")), date("alert_day", _("Alert day")),
        *instants("raised", _("Raised")), number("days_late", _("Days late")), Column("late_because", _("Late because")),
        Column("state", _("State")), Column("not_sent", _("Why not sent")), Column("told", _("Told to whom, by what, when")),
        *instants("arrived", _("With everybody")), Column("answered_by", _("Answered by")), *instants("answered", _("Answered")),
        Column("answer", _("Answer")), Column("note", _("Note")), date("met_on", _("Done on")), Column("outcome", _("Deadline now")),
        *instants("closed", _("Closed")), Column("closed_by", _("Closed by")), Column("sentence", _("In one sentence")),
    ),
    (
        Group(_("Alert"), ("reference", "title", "kind", "site", "alert"), 2.2),
        Group(_("For"), ("due_on", "distance", "alert_day", "rule", "rule_version"), 1.6),
        Group(_("Raised"), ("raised", "days_late", "late_because", "state", "not_sent"), 1.8),
        Group(_("Told"), ("told",), 2.6),
        Group(_("Answered"), ("answered_by", "answered", "answer", "note"), 1.8),
        Group(_("Deadline"), ("outcome", "met_on", "closed", "closed_by"), 1.5),
    ),
    "sentence",
)  # fmt: skip


def rows(session: Session, scope: Scope) -> Iterator[Row]:
    return map(_row, read_alert_facts(session, scope))


def _row(one: AlertFacts) -> Row:
    line, more, zone = one.line, one.more, one.line.timezone
    event = one.event
    return (
        line.id, event and event.id, event and event.seq, line.subject_id, line.reference, line.title, more.kind,
        line.site, line.rule, more.rule_id, more.rule_version, before(line.threshold), line.threshold, line.due_on, line.crossed_on,
        *instant(line.claimed_at, zone), line.days_late, late_because(one), word(line.state, "alert_state"),
        not_sent(one), told_of(one), *instant(line.delivered_at, zone), person(line.answered_by, more.acknowledged_by),
        *instant(line.acknowledged_at, zone), answer_of(one), _note(one), more.met_on, outcome_of(more),
        *instant(more.closed_at, zone), person(more.closer, more.closed_by), sense_of(one),
    )  # fmt: skip


def late_because(one: AlertFacts) -> str | None:
    late = one.lateness
    if late is None:
        return None
    cause = OF["cause"][late.cause]
    return f"{cause} ({utc(late.at)} = {local(late.at, one.line.timezone)})" if late.at else cause


def not_sent(one: AlertFacts) -> str | None:
    """The reason of what was put aside, stopped, finds nobody to tell, or has not arrived in time."""
    if one.line.reason:
        return word(one.line.reason, "reason")
    if not one.more.is_late_to_arrive:
        return None
    ways = [f"{sent.person} ({word(sent.channel, 'channel')}): {word(sent.state, 'state')}" for sent in lacking(one)]
    return "; ".join([gettext("not delivered within the limit"), *ways])


def lacking(one: AlertFacts) -> list[Dispatch]:
    return [sent for sent in one.messages if sent.state not in ARRIVED_OR_GONE and sent.repeated_by is None]


def _note(one: AlertFacts) -> str | None:
    return one.own_answers[-1].note or None if one.own_answers else None


def outcome_of(more: Any) -> str:
    if more.closed_at is None:
        moved = more.due_on_now != more.due_on
        return gettext("open, moved to %(day)s", day=more.due_on_now) if moved else gettext("open")
    return word(more.outcome, "outcome")
