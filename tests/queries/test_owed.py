"""The owed check against hand-made facts: each clause of Wanted, each row of the table of standings (P4)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from app.domain.calendars import Calendar
from app.domain.delivery import TOLD, Reason, Standing, State
from app.domain.thresholds import alert_day
from app.queries.facts import (
    AnswerRow,
    ClaimRow,
    DeliveryRow,
    Facts,
    ObligationRow,
    Register,
    RuleKindRow,
    RuleRow,
    RuleSiteRow,
    RuleSubjectRow,
    SiteRow,
    SubjectRow,
    ThresholdRow,
)
from app.queries.owed import Debt, Owed, owed

NOW = dt.datetime(2027, 3, 1, 10, 30, tzinfo=dt.UTC)
TODAY = NOW.date()
DUE = dt.date(2027, 3, 6)  # Five days on: 90d, 30d and 7d are crossed, 0d and +7d are not.
THRESHOLDS = ("90d", "30d", "7d", "0d", "+7d")
OPEN, WITHDRAWN, SUPERSEDED = Standing.open, Standing.withdrawn, Standing.superseded

SITE = SiteRow(1, "Madrid", "Europe/Madrid", "ES")
SUBJECT = SubjectRow(10, SITE.id, 100, "P-1", "watched")
OBLIGATION = ObligationRow(1000, SUBJECT.id, DUE)
RULE = RuleRow(5, "Permits", "always", ["in_app"])


def register(texts: Sequence[str] = THRESHOLDS, **given: Any) -> Register:
    """One entry due in five days under one rule; what is given replaces that part."""
    parts = {
        "sites": [SITE],
        "subjects": [SUBJECT],
        "obligations": [OBLIGATION],
        "rules": [RULE],
        "thresholds": [ThresholdRow(RULE.id, text) for text in texts],
    }
    return Register(**{**parts, **given})


def claim(threshold: str, standing: Standing, reason: Reason | None = None, **given: Any) -> ClaimRow:
    due_on = given.pop("due_on", DUE)
    key = {
        "rule_id": RULE.id,
        "subject_id": SUBJECT.id,
        "obligation_id": OBLIGATION.id,
        "crossed_on": alert_day(threshold, due_on, Calendar("ES")),
    }
    number = len(threshold) + sum(map(ord, threshold))
    return ClaimRow(id=number, threshold=threshold, due_on=due_on, standing=standing, reason=reason, **{**key, **given})


def sent(*claims: ClaimRow, state: State = State.delivered) -> list[DeliveryRow]:
    return [DeliveryRow(row.id, state) for row in claims]


def thresholds_of(debts: list[Debt]) -> list[str]:
    return [debt.threshold for debt in debts]


def found(result: Owed) -> dict[str, list[str]]:
    """The thresholds of each list that is not empty."""
    lists = {"missing": result.missing, "stalled": result.stalled, "unaddressed": result.unaddressed}
    return {name: thresholds_of(debts) for name, debts in lists.items() if debts}


def judge(register: Register, now: dt.datetime = NOW, **given: Any) -> dict[str, list[str]]:
    return found(owed(Facts(register, **given), now))


ALL_CROSSED = {"missing": ["90d", "30d", "7d"]}
NOTHING: dict[str, list[str]] = {}
FILED = replace(OBLIGATION, filed_on=TODAY, in_force_meanwhile="yes")


# Wanted


def test_what_is_wanted_and_crossed_and_has_no_row_is_missing() -> None:
    result = owed(Facts(register()), NOW)
    assert found(result) == ALL_CROSSED
    assert result.count == 3
    assert result.missing[0] == Debt(5, 10, "90d", DUE, None, "crossed, and not in the ledger", "Permits", "P-1")


@pytest.mark.parametrize(
    ("given", "right"),
    [
        pytest.param({"obligations": [replace(OBLIGATION, closed_at=NOW)]}, NOTHING, id="closed"),
        pytest.param({"obligations": []}, NOTHING, id="no date"),
        pytest.param({"obligations": [FILED]}, NOTHING, id="filed, in force meanwhile"),
        pytest.param({"obligations": [replace(FILED, in_force_meanwhile="no")]}, ALL_CROSSED, id="filed, not in force"),
        pytest.param({"obligations": [replace(FILED, in_force_meanwhile="unclear")]}, ALL_CROSSED, id="filed, unclear"),
        pytest.param({"obligations": [replace(FILED, filing_ended_on=TODAY)]}, ALL_CROSSED, id="filing ended"),
        pytest.param({"subjects": [replace(SUBJECT, status="draft")]}, NOTHING, id="draft"),
        pytest.param({"subjects": [replace(SUBJECT, status="out_of_service")]}, NOTHING, id="out of service"),
        pytest.param({"subjects": [replace(SUBJECT, status="archived")]}, NOTHING, id="archived"),
        pytest.param({"sites": [replace(SITE, archived_at=NOW)]}, NOTHING, id="site archived"),
        pytest.param({"sites": [replace(SITE, timezone="Europe/Madird")]}, NOTHING, id="unusable zone"),
        pytest.param({"rules": [replace(RULE, is_active=False)]}, NOTHING, id="rule off"),
        pytest.param({"rules": [replace(RULE, archived_at=NOW)]}, NOTHING, id="rule archived"),
        pytest.param({"thresholds": [ThresholdRow(RULE.id, "30d")]}, {"missing": ["30d"]}, id="thresholds off"),
        pytest.param({"rule_kinds": [RuleKindRow(5, 100), RuleKindRow(5, 101)]}, ALL_CROSSED, id="its kind"),
        pytest.param({"rule_kinds": [RuleKindRow(5, 101)]}, NOTHING, id="another kind"),
        pytest.param({"rule_sites": [RuleSiteRow(5, 1)]}, ALL_CROSSED, id="its site"),
        pytest.param({"rule_sites": [RuleSiteRow(5, 2)]}, NOTHING, id="another site"),
        pytest.param({"rule_subjects": [RuleSubjectRow(5, 10)]}, ALL_CROSSED, id="the entry itself"),
        pytest.param({"rule_subjects": [RuleSubjectRow(5, 11)]}, NOTHING, id="another entry"),
        pytest.param(
            {"rule_subjects": [RuleSubjectRow(5, 10)], "rule_kinds": [RuleKindRow(5, 101)]},
            NOTHING,
            id="entry, not kind",
        ),
    ],
)
def test_each_clause_of_wanted(given: dict[str, Any], right: dict[str, list[str]]) -> None:
    assert judge(register(**given)) == right


@pytest.mark.parametrize(
    ("snoozed_until", "right"),
    [
        pytest.param(TODAY + dt.timedelta(1), ["0d", "+7d"], id="a snooze silences what warns before, nothing later"),
        pytest.param(TODAY, ["90d", "30d", "7d", "0d", "+7d"], id="it ends at the start of its day"),
    ],
)
def test_snooze(snoozed_until: dt.date, right: list[str]) -> None:
    overdue = replace(OBLIGATION, due_on=TODAY - dt.timedelta(7))
    given = register(subjects=[replace(SUBJECT, snoozed_until=snoozed_until)], obligations=[overdue])
    assert judge(given) == {"missing": right}


STANDING = claim("90d", OPEN)


@pytest.mark.parametrize(
    ("answer", "silent"),
    [
        pytest.param(AnswerRow(STANDING.id, "done"), True, id="done"),
        pytest.param(AnswerRow(STANDING.id, "on_it", TODAY), True, id="on it until today"),
        pytest.param(AnswerRow(STANDING.id, "on_it", TODAY - dt.timedelta(1)), False, id="on it until yesterday"),
        pytest.param(AnswerRow(STANDING.id, "done", taken_back_at=NOW), False, id="taken back"),
        pytest.param(AnswerRow(STANDING.id, "done", sent_back_at=NOW), False, id="sent back"),
        pytest.param(AnswerRow(STANDING.id, "seen"), False, id="seen"),
        pytest.param(AnswerRow(STANDING.id, "not_mine"), False, id="not mine"),
        pytest.param(AnswerRow(STANDING.id, "help"), False, id="help"),
    ],
)
def test_nobody_on_it_asks_the_answers_of_the_obligation_whatever_the_rule(answer: AnswerRow, silent: bool) -> None:
    other_rule = replace(STANDING, rule_id=6)
    given = register(rules=[replace(RULE, only_if="nobody_on_it"), replace(RULE, id=6, is_active=False)])
    right = NOTHING if silent else ALL_CROSSED
    assert judge(given, claims=[other_rule], deliveries=sent(other_rule), answers=[answer]) == right


def test_of_two_promises_the_longer_one_counts() -> None:
    given = register(["90d"], rules=[replace(RULE, only_if="nobody_on_it")])
    row = claim("90d", WITHDRAWN, Reason.somebody_on_it)
    answers = [AnswerRow(row.id, "on_it", TODAY), AnswerRow(row.id, "on_it", TODAY - dt.timedelta(1))]
    assert judge(given, claims=[row], answers=answers) == NOTHING
    assert judge(given, claims=[row], answers=answers[1:]) == {"stalled": ["90d"]}


def test_an_answer_to_another_obligation_does_not_count() -> None:
    given = register(rules=[replace(RULE, only_if="nobody_on_it")])
    past = claim("90d", OPEN, due_on=dt.date(2026, 3, 6), obligation_id=999)
    answers = [AnswerRow(past.id, "done")]
    assert judge(given, claims=[past], deliveries=sent(past), answers=answers) == ALL_CROSSED


ASKED = replace(FILED, ask_again_on=TODAY)
TEXT = f"@{TODAY}"


@pytest.mark.parametrize(
    ("given", "right"),
    [
        pytest.param({"obligations": [ASKED]}, {"missing": [TEXT]}, id="in force"),
        pytest.param({"obligations": [replace(ASKED, ask_again_on=DUE)]}, NOTHING, id="not yet"),
        pytest.param({"obligations": [replace(ASKED, in_force_meanwhile="no")]},
                     {"missing": ["90d", "30d", "7d", TEXT]}, id="not in force"),
        pytest.param({"obligations": [replace(ASKED, filing_ended_on=TODAY)]}, ALL_CROSSED, id="ended"),
        pytest.param({"obligations": [replace(ASKED, closed_at=NOW)]}, NOTHING, id="closed"),
        pytest.param({"obligations": [ASKED], "rules": [replace(RULE, only_if="nobody_on_it")]}, NOTHING,
                     id="a rule for when nobody is on it"),
        pytest.param({"obligations": [ASKED], "subjects": [replace(SUBJECT, snoozed_until=DUE)]},
                     {"missing": [TEXT]}, id="paused"),
        pytest.param({"obligations": [ASKED], "subjects": [replace(SUBJECT, status="archived")]}, NOTHING,
                     id="archived"),
    ],
)  # fmt: skip
def test_a_filing_is_followed_up_on_its_day(given: dict[str, Any], right: dict[str, list[str]]) -> None:
    assert judge(register(**given)) == right


def test_a_follow_up_and_the_alerts_do_not_speak_for_each_other() -> None:
    unclear = register(obligations=[replace(ASKED, in_force_meanwhile="unclear")])
    asked = claim("7d", OPEN, crossed_on=TODAY)
    asked = replace(asked, id=7, threshold=TEXT)
    others = [claim("90d", SUPERSEDED, Reason.sharper), claim("30d", SUPERSEDED, Reason.sharper)]
    seven = claim("7d", SUPERSEDED, Reason.sharper)
    told = {"claims": [*others, seven, asked], "deliveries": sent(asked)}
    assert judge(unclear, **told) == {"stalled": ["7d"]}
    put_aside = [replace(asked, standing=WITHDRAWN, reason=Reason.moved), *others, replace(seven, standing=OPEN)]
    assert judge(unclear, claims=put_aside, deliveries=sent(seven)) == {"stalled": [TEXT]}


@pytest.mark.parametrize(("in_force", "ended_on", "silent"), [("no", None, True), ("no", TODAY, False)])
def test_nobody_on_it_counts_a_filing_as_somebody(in_force: str, ended_on: dt.date | None, silent: bool) -> None:
    filed = replace(FILED, in_force_meanwhile=in_force, filing_ended_on=ended_on)
    given = register(rules=[replace(RULE, only_if="nobody_on_it")], obligations=[filed])
    assert judge(given) == (NOTHING if silent else ALL_CROSSED)


# Crossed


def test_a_threshold_is_crossed_on_its_alert_day_at_the_site() -> None:
    """At 10:30 UTC it is still 28 February at Pago Pago, and already 2 March at Kiritimati."""
    for timezone, right in (("Pacific/Pago_Pago", NOTHING), ("Europe/Madrid", {"missing": ["5d"]})):
        assert judge(register(["5d"], sites=[replace(SITE, timezone=timezone)])) == right
    kiritimati = [replace(SITE, timezone="Pacific/Kiritimati")]
    assert judge(register(["5d", "4d", "3d"], sites=kiritimati)) == {"missing": ["5d", "4d"]}


def test_business_days_are_those_of_the_site() -> None:
    """Good Friday 2027 is 26 March: one business day before Monday the 29th is Thursday the 25th."""
    given = {"obligations": [replace(OBLIGATION, due_on=dt.date(2027, 3, 29))]}
    thursday = dt.datetime(2027, 3, 25, 11, tzinfo=dt.UTC)
    assert judge(register(["1bd"], **given), thursday) == {"missing": ["1bd"]}
    unknown = [replace(SITE, country=None)]
    assert judge(register(["1bd"], sites=unknown, **given), thursday) == NOTHING


def test_what_was_crossed_stays_crossed_when_the_local_day_runs_back() -> None:
    row = claim("5d", WITHDRAWN, Reason.snoozed)
    back = register(["5d"], sites=[replace(SITE, timezone="Pacific/Pago_Pago")])
    assert judge(back, claims=[row]) == {"stalled": ["5d"]}


# Standings


def rows(**standings: tuple[Standing, Reason | None]) -> list[ClaimRow]:
    return [claim(name.removeprefix("t"), standing, reason) for name, (standing, reason) in standings.items()]


SHARPER = (SUPERSEDED, Reason.sharper)
START = (SUPERSEDED, Reason.start)
SNOOZED = (WITHDRAWN, Reason.snoozed)
SOUND = (OPEN, None)


@pytest.mark.parametrize(
    ("claims", "told", "right"),
    [
        pytest.param(rows(t90d=SHARPER, t30d=SHARPER, t7d=SOUND), ["7d"], NOTHING, id="as a scan leaves it"),
        pytest.param(rows(t7d=SOUND), ["7d"], {"missing": ["90d", "30d"]}, id="milder ones need a row as well"),
        pytest.param(rows(t90d=SHARPER, t30d=SOUND), ["30d"], {"missing": ["7d"]}, id="a sharper one is missing"),
        pytest.param(rows(t90d=SHARPER, t30d=SHARPER, t7d=SNOOZED), [], {"stalled": ["7d"]}, id="withdrawn, now top"),
        pytest.param(rows(t90d=SHARPER, t30d=SHARPER, t7d=SHARPER), [], {"stalled": ["7d"]}, id="superseded, now top"),
        pytest.param(
            rows(t90d=SHARPER, t30d=SOUND, t7d=SNOOZED), ["30d"], {"stalled": ["7d"]}, id="a milder one is told"
        ),
        pytest.param(rows(t90d=SHARPER, t30d=SHARPER, t7d=SNOOZED), ["7d"], NOTHING, id="what was told is final"),
        pytest.param(rows(t90d=START, t30d=START, t7d=START), [], NOTHING, id="superseded at the start is final"),
        pytest.param(rows(t90d=SNOOZED, t30d=SHARPER, t7d=START), [], NOTHING, id="and is top"),
        pytest.param(
            rows(t90d=SHARPER, t30d=SNOOZED), [], {"missing": ["7d"]}, id="top is what is missing, so that 30d is not"
        ),
    ],
)
def test_standings(claims: list[ClaimRow], told: list[str], right: dict[str, list[str]]) -> None:
    deliveries = sent(*(row for row in claims if row.threshold in told))
    assert judge(register(), claims=claims, deliveries=deliveries) == right


@pytest.mark.parametrize(
    ("sharper", "told", "right"),
    [
        pytest.param(SNOOZED, False, {"stalled": ["30d"]}, id="withdrawn, told nobody"),
        pytest.param(SHARPER, False, {"stalled": ["30d"]}, id="superseded, told nobody"),
        pytest.param(SNOOZED, True, NOTHING, id="told"),
        pytest.param(SOUND, True, NOTHING, id="open"),
        pytest.param(START, False, {"stalled": ["30d"]}, id="superseded at the start"),
    ],
)
def test_a_sharper_row_that_is_no_longer_wanted(
    sharper: tuple[Standing, Reason | None], told: bool, right: dict[str, list[str]]
) -> None:
    """The threshold 7d was taken out of the rule: 30d is top again, unless 7d is open or told."""
    claims = rows(t90d=SHARPER, t30d=SHARPER, t7d=sharper)
    deliveries = sent(claims[2]) if told else []
    assert judge(register(["90d", "30d"]), claims=claims, deliveries=deliveries) == right


def test_an_open_row_in_the_way_is_enough_even_if_it_told_nobody() -> None:
    claims = rows(t90d=SHARPER, t30d=SHARPER, t7d=SOUND)
    waiting = sent(claims[2], state=State.pending)
    assert judge(register(["90d", "30d"]), claims=claims, deliveries=waiting) == NOTHING


@pytest.mark.parametrize("state", State)
def test_told_means_that_something_may_have_left(state: State) -> None:
    claims = rows(t90d=SHARPER, t30d=SHARPER, t7d=SNOOZED)
    right = NOTHING if state in TOLD else {"stalled": ["7d"]}
    assert judge(register(), claims=claims, deliveries=sent(claims[2], state=state)) == right


def test_on_one_alert_day_the_shorter_threshold_is_sharper() -> None:
    """7d and 1w fall on one day and are of one length: 1w is the smaller text, so it is sharper."""
    both = register(["7d", "1w"])
    assert judge(both, claims=rows(t7d=SNOOZED, t1w=SNOOZED)) == {"stalled": ["1w"]}


def test_sharper_goes_by_the_alert_day_that_was_stored() -> None:
    """The calendar has changed since: what counts for a row is the day on which it crossed."""
    early = claim("5bd", WITHDRAWN, Reason.snoozed, crossed_on=dt.date(2027, 2, 1))
    late = claim("30d", WITHDRAWN, Reason.snoozed, crossed_on=dt.date(2027, 2, 4))
    assert judge(register(["5bd", "30d"]), claims=[early, late]) == {"stalled": ["30d"]}


def test_a_row_of_another_due_date_says_nothing_about_this_one() -> None:
    moved = claim("7d", OPEN, due_on=dt.date(2027, 3, 5))
    assert judge(register(), claims=[moved], deliveries=sent(moved)) == ALL_CROSSED


def test_each_rule_is_judged_for_itself() -> None:
    other = replace(RULE, id=6, name="All")
    thresholds = [ThresholdRow(5, "30d"), ThresholdRow(6, "7d")]
    sharper = claim("7d", OPEN, rule_id=6)
    milder = claim("30d", WITHDRAWN, Reason.rule_off)
    given = register(rules=[RULE, other], thresholds=thresholds)
    assert judge(given, claims=[sharper, milder], deliveries=sent(sharper)) == {"stalled": ["30d"]}


# Unaddressed


@pytest.mark.parametrize(
    ("row", "states", "right"),
    [
        pytest.param(claim("7d", OPEN), [], {"unaddressed": ["7d"]}, id="no delivery, no reason"),
        pytest.param(claim("7d", OPEN), [State.cancelled], {"unaddressed": ["7d"]}, id="cancelled goes to nobody"),
        pytest.param(claim("7d", OPEN, Reason.nobody_to_tell), [], NOTHING, id="nobody to tell"),
        pytest.param(claim("7d", OPEN), [State.pending], NOTHING, id="pending"),
        pytest.param(claim("7d", OPEN), [State.cancelled, State.failed], NOTHING, id="failed is shown as failed"),
        pytest.param(claim("7d", SUPERSEDED, Reason.start), [], NOTHING, id="not open"),
    ],
)
def test_an_open_claim_has_a_delivery_or_a_reason(
    row: ClaimRow, states: list[State], right: dict[str, list[str]]
) -> None:
    deliveries = [DeliveryRow(row.id, state) for state in states]
    assert judge(register(["7d"]), claims=[row], deliveries=deliveries) == right


def test_an_open_claim_that_is_no_longer_wanted_still_needs_a_delivery_or_a_reason() -> None:
    given = register(["7d"], obligations=[replace(OBLIGATION, closed_at=NOW)])
    assert judge(given, claims=[claim("7d", OPEN)]) == {"unaddressed": ["7d"]}


def test_a_site_whose_zone_is_unusable_owes_nothing() -> None:
    given = register(["7d"], sites=[replace(SITE, timezone="Mars/Olympus")])
    assert judge(given, claims=[claim("7d", OPEN)]) == NOTHING
