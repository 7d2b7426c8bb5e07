"""Every row of the table of standings (DESIGN section 4), by functions; tests/operations has the same by commands."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from app.ledger.scan import Scanned
from app.models import Member, Obligation, Subject
from app.operations import answers, filings, obligations, people, register, rules
from app.operations.rule_contents import RuleText
from app.trail.act import Act
from tests import factories
from tests.ledger.conftest import Watch

DUE = dt.date(2027, 4, 1)
ALL = ("90d", "30d", "7d", "0d", "+7d")
CROSSED_90 = "2027-01-01T09:00"
CROSSED_30 = "2027-03-02T09:00"
CROSSED_7 = "2027-03-25T09:00"
CROSSED_0 = "2027-04-01T09:00"
CROSSED_LATE = "2027-04-08T09:00"

Deed = Callable[[Act], Any]


@pytest.fixture(autouse=True)
def furnished(watch: Watch) -> None:
    """Ana is an officer and told by a rule; Bruno is staff. P-1 falls due on 1 April."""

    def deed(act: Act) -> None:
        people.add_member(act, "ana@acme.example", "officer", name="Ana")
        people.add_member(act, "bruno@acme.example", "staff", name="Bruno")
        register.add_subject(
            act, register.Entry(reference="P-1", site_id=factories.site(act), kind_id=factories.kind(act), due_on=DUE)
        )
        rules.apply(act, [rule()])

    watch.at("2026-12-01T09:00").do(deed)


def rule(thresholds: tuple[str, ...] = ALL, to: tuple[str, ...] = ("role:officer",), **given: Any) -> RuleText:
    return RuleText(name="Permits", thresholds=thresholds, channels=given.pop("channels", ("in_app",)), to=to, **given)


def new(thresholds: tuple[str, ...], start: str) -> RuleText:
    return RuleText("New", thresholds=thresholds, channels=("in_app",), to=("role:staff",), start=start)


def subject(act: Act) -> Subject:
    return act.session.query(Subject).filter_by(org_id=act.org).one()


def open_one(act: Act) -> int:
    return int(act.session.query(Obligation.id).filter_by(org_id=act.org, closed_at=None).one()[0])


def member(act: Act, name: str) -> Member:
    return act.session.query(Member).filter_by(org_id=act.org, name=name).one()


def close(act: Act) -> None:
    obligations.close(act, open_one(act), "met")


def move(to: str) -> Deed:
    return lambda act: obligations.move(act, open_one(act), dt.date.fromisoformat(to), "authority")


def snooze(until: str) -> Deed:
    return lambda act: register.snooze(act, subject(act), dt.date.fromisoformat(until), "planned")


def switch(on: bool) -> Deed:
    return lambda act: rules.switch(act, "Permits", on)


def change(*thresholds: str, **given: Any) -> Deed:
    return lambda act: rules.apply(act, [rule(thresholds, **given)])


def file(act: Act) -> None:
    filings.file(act, open_one(act), act.now.date(), "R-1", "yes")


def reply(name: str, answer: str, until: str | None = None) -> Deed:
    day = dt.date.fromisoformat(until) if until else None
    return lambda act: answers.acknowledge(act, member(act, name), subject(act), answer, until_on=day)


class TestWantedAndCrossedNoRow:
    def test_p1_p4_the_top_one_is_open_and_milder_ones_are_superseded(self, watch: Watch) -> None:
        assert watch.at(CROSSED_7).scan() == Scanned(claimed=1, superseded=2, deliveries=1)
        assert watch.ledger() == {"90d": "superseded (sharper)", "30d": "superseded (sharper)", "7d": "open"}

    def test_p4_nothing_before_its_alert_day_and_all_on_it(self, watch: Watch) -> None:
        watch.at("2026-12-31T22:59").scan()
        assert watch.ledger() == {}
        watch.at("2026-12-31T23:00").scan()
        assert watch.ledger() == {"90d": "open"}

    def test_p1_scanning_again_adds_nothing(self, watch: Watch) -> None:
        watch.at(CROSSED_30).scan()
        assert [watch.scan() for _ in range(3)] == [Scanned()] * 3

    def test_a_milder_one_is_never_told_after_a_sharper_one(self, watch: Watch) -> None:
        watch.do(change("7d"))
        watch.at(CROSSED_7).scan()
        watch.deliver()
        watch.do(change("30d", "7d"))
        watch.scan()
        assert watch.ledger() == {"30d": "superseded (sharper)", "7d": "open"}

    def test_what_is_not_wanted_gets_no_row(self, watch: Watch) -> None:
        watch.do(switch(False))
        watch.at(CROSSED_7).scan()
        assert watch.ledger() == {}

    def test_of_two_on_one_alert_day_fewer_nominal_days_then_the_smaller_text_is_sharper(self, watch: Watch) -> None:
        watch.do(change("7d", "1w"))
        watch.at(CROSSED_7).scan()
        assert watch.ledger() == {"1w": "open", "7d": "superseded (sharper)"}

    def test_the_month_and_30_days_change_places_with_the_due_date(self, watch: Watch) -> None:
        """Sharper goes by the alert day of this due date: 1 April less a month is 1 March, less 30 days 2 March."""
        watch.do(change("1m", "30d"))
        watch.at(CROSSED_7).scan()
        assert watch.ledger()["30d"] == "open"
        watch.do(move("2027-03-29"))  # Less a month 28 February (clamped), less 30 days 27 February.
        watch.scan()
        assert watch.ledger()["2027-03-29 1m"] == "open"


class TestOvertaken:
    def test_untold_it_is_superseded_and_its_delivery_cancelled(self, watch: Watch) -> None:
        watch.at(CROSSED_30).scan()
        watch.at(CROSSED_7).scan()
        assert watch.ledger() == {"90d": "superseded (sharper)", "30d": "superseded (sharper)", "7d": "open"}
        assert watch.deliveries() == [
            ("30d", "Ana", "in_app", "cancelled", "sharper"),
            ("7d", "Ana", "in_app", "pending", None),
        ]

    def test_told_it_stays_open(self, watch: Watch) -> None:
        watch.at(CROSSED_30).scan()
        watch.deliver()
        watch.at(CROSSED_7).scan()
        assert watch.ledger() == {"90d": "superseded (sharper)", "30d": "open", "7d": "open"}

    def test_told_in_part_it_stays_open_and_the_rest_is_cancelled(self, watch: Watch) -> None:
        watch.do(change(*ALL, channels=("email", "in_app")))
        watch.at(CROSSED_30).scan()
        watch.deliver()  # In the app; no mail is configured, so that it waits.
        watch.at(CROSSED_7).scan()
        assert watch.ledger()["30d"] == "open"
        assert watch.deliveries()[:2] == [
            ("30d", "Ana", "email", "cancelled", "sharper"),
            ("30d", "Ana", "in_app", "delivered", None),
        ]
        assert watch.rows(
            "select count(*) from notification_ledger where threshold = '30d' and delivered_at is not null"
        ) == [(1,)]


UNWANTED = [
    (close, "closed"),
    (move("2027-09-01"), "moved"),
    (switch(False), "rule_off"),
    (change("90d"), "threshold_off"),
    (change(*ALL, kinds=("permit",)), "no_match"),
    (snooze("2027-03-20"), "snoozed"),
    (lambda act: register.archive(act, subject(act), "gone"), "archived"),
    (lambda act: register.take_out_of_service(act, subject(act)), "out_of_service"),
    (file, "filed"),
    (lambda act: people.archive_site(act, factories.site(act)), "site_archived"),
]


class TestNoLongerWanted:
    @pytest.mark.parametrize(("deed", "reason"), UNWANTED, ids=[reason for _, reason in UNWANTED])
    def test_untold_it_is_withdrawn_with_the_reason(self, watch: Watch, deed: Deed, reason: str) -> None:
        watch.at(CROSSED_30).scan()
        watch.do(deed)
        assert watch.deliver().cancelled == 1  # Align alone suffices: nothing stale leaves between two scans.
        (found,) = watch.rows("select standing, reason from notification_ledger where threshold = '30d'")
        assert found == ("withdrawn", reason)
        assert ("30d", "Ana", "in_app", "cancelled", reason) in watch.deliveries()
        watch.scan()
        assert watch.owed().count == 0

    @pytest.mark.parametrize(("deed", "reason"), UNWANTED, ids=[reason for _, reason in UNWANTED])
    def test_told_the_standing_stays(self, watch: Watch, deed: Deed, reason: str) -> None:
        watch.at(CROSSED_30).scan()
        watch.deliver()
        watch.do(deed)
        watch.scan()
        assert watch.rows("select standing, reason from notification_ledger where threshold = '30d'") == [
            ("open", None)
        ]

    def test_somebody_on_it_withdraws_what_only_goes_out_if_nobody_acts(self, watch: Watch) -> None:
        manager = RuleText(
            "Manager", thresholds=("29d",), channels=("in_app",), to=("role:staff",), only_if="nobody_on_it"
        )
        watch.do(lambda act: rules.apply(act, [manager]))
        watch.at(CROSSED_30).scan()
        watch.deliver()
        watch.at("2027-03-03T09:00").scan()
        watch.do(reply("Ana", "on_it", until="2027-03-10"))
        watch.scan()
        assert watch.ledger()["29d"] == "withdrawn (somebody_on_it)"
        watch.at("2027-03-10T09:00").scan(full=False, trigger="schedule")
        assert watch.ledger()["29d"] == "withdrawn (somebody_on_it)"  # The promise holds through its last day.
        watch.at("2027-03-11T09:00").scan(full=False, trigger="schedule")
        assert watch.ledger()["29d"] == "open"  # It has lapsed, and nobody came back to it.


class TestBackAgain:
    BACK = (
        (move("2027-09-01"), move("2027-04-01"), "moved"),
        (switch(False), switch(True), "rule_off"),
        (change("90d"), change(*ALL), "threshold_off"),
        (snooze("2027-03-20"), lambda act: register.end_snooze(act, subject(act)), "snoozed"),
        (
            lambda act: register.archive(act, subject(act), "gone"),
            lambda act: register.restore(act, subject(act)),
            "archived",
        ),
        (file, lambda act: filings.end_filing(act, open_one(act), act.now.date(), "refused"), "filed"),
    )

    @pytest.mark.parametrize(("away", "back", "reason"), BACK, ids=[reason for *_, reason in BACK])
    def test_withdrawn_and_wanted_again_it_is_open_again(
        self, watch: Watch, away: Deed, back: Deed, reason: str
    ) -> None:
        watch.at(CROSSED_30).scan()
        watch.do(away)
        watch.scan()
        assert watch.rows(
            "select standing, reason from notification_ledger where threshold = '30d' and due_on = '2027-04-01'"
        ) == [("withdrawn", reason)]
        watch.do(back)
        assert watch.owed().count == 1
        done = watch.scan(full=False, trigger="schedule")
        assert (done.reopened, done.deliveries) == (1, 1)
        assert watch.deliver().delivered == 1
        assert watch.owed().count == 0

    def test_a_snooze_over_by_itself_brings_it_back(self, watch: Watch) -> None:
        watch.at(CROSSED_30).scan()
        watch.do(snooze("2027-03-10"))
        watch.scan()
        watch.at("2027-03-09T22:59").scan(full=False, trigger="schedule")
        assert watch.ledger()["30d"] == "withdrawn (snoozed)"
        watch.at("2027-03-09T23:01").scan(full=False, trigger="schedule")  # 10 March has begun in Madrid.
        assert watch.ledger()["30d"] == "open"

    def test_superseded_comes_back_when_the_sharper_goes_untold(self, watch: Watch) -> None:
        watch.at(CROSSED_7).scan()
        watch.do(change("90d", "30d"))
        watch.scan()
        assert watch.ledger() == {"90d": "superseded (sharper)", "30d": "open", "7d": "withdrawn (threshold_off)"}

    def test_superseded_stays_when_the_sharper_was_told(self, watch: Watch) -> None:
        watch.at(CROSSED_7).scan()
        watch.deliver()
        watch.do(change("90d", "30d"))
        assert watch.scan().reopened == 0
        assert watch.ledger() == {"90d": "superseded (sharper)", "30d": "superseded (sharper)", "7d": "open"}

    def test_a_withdrawn_one_stays_so_beside_a_new_sharper_one(self, watch: Watch) -> None:
        watch.at(CROSSED_30).scan()
        watch.do(switch(False))
        watch.scan()
        watch.do(switch(True))
        watch.at(CROSSED_7).scan()
        assert watch.ledger() == {"90d": "superseded (sharper)", "30d": "withdrawn (rule_off)", "7d": "open"}

    def test_told_in_part_wanted_and_top_again_the_rest_is_pending_again(self, watch: Watch) -> None:
        watch.do(change(*ALL, channels=("email", "in_app")))
        watch.at(CROSSED_30).scan()
        watch.deliver()
        watch.do(switch(False))
        watch.scan()
        assert watch.deliveries()[0] == ("30d", "Ana", "email", "cancelled", "rule_off")
        assert watch.rows("select delivered_at is not null from notification_ledger where threshold = '30d'") == [
            (True,)
        ]
        watch.do(switch(True))
        watch.scan()
        assert watch.deliveries() == [
            ("30d", "Ana", "email", "pending", None),
            ("30d", "Ana", "in_app", "delivered", None),
        ]
        assert watch.rows("select delivered_at is not null from notification_ledger where threshold = '30d'") == [
            (False,)
        ]


class TestSnooze:
    def test_it_silences_what_comes_before_the_due_date_and_nothing_else(self, watch: Watch) -> None:
        watch.do(snooze("2027-05-01"))
        watch.at(CROSSED_7).scan()
        assert watch.ledger() == {}
        watch.at(CROSSED_0).scan()
        assert watch.ledger() == {"0d": "open"}
        watch.at(CROSSED_LATE).scan()
        assert watch.ledger() == {"0d": "superseded (sharper)", "+7d": "open"}


class TestStart:
    def test_next_writes_what_has_crossed_as_superseded_and_the_next_one_comes(self, watch: Watch) -> None:
        watch.do(switch(False))
        watch.at(CROSSED_30).do(lambda act: rules.apply(act, [new(ALL, start="next")]))
        assert watch.ledger() == {"90d": "superseded (start)", "30d": "superseded (start)"}
        assert watch.scan() == Scanned()
        watch.at(CROSSED_7).scan()
        assert watch.ledger()["7d"] == "open"

    def test_it_is_final(self, watch: Watch) -> None:
        self.test_next_writes_what_has_crossed_as_superseded_and_the_next_one_comes(watch)
        watch.do(lambda act: rules.switch(act, "New", False))
        watch.scan()
        watch.do(lambda act: rules.switch(act, "New", True))
        watch.scan()
        assert watch.ledger() == {"90d": "superseded (start)", "30d": "superseded (start)", "7d": "open"}

    def test_a_widened_rule_touches_only_what_is_new_through_it(self, watch: Watch) -> None:
        watch.do(change("90d"))
        watch.at(CROSSED_30).scan()
        watch.do(change("90d", "30d", start="next"))
        assert watch.ledger() == {"90d": "open", "30d": "superseded (start)"}
        assert watch.scan() == Scanned()
        assert watch.deliver().delivered == 1

    def test_a_milder_one_beside_it_is_superseded(self, watch: Watch) -> None:
        """The top one is final and neither open nor told; what is milder is still not the top one."""
        self.test_next_writes_what_has_crossed_as_superseded_and_the_next_one_comes(watch)
        watch.do(lambda act: rules.apply(act, [new(("80d", *ALL), start="now")]))
        watch.do(lambda act: rules.apply(act, [new(("80d", "30d"), start="now")]))
        watch.scan()
        assert watch.ledger()["80d"] == "superseded (sharper)"

    def test_a_date_moved_later_is_news(self, watch: Watch) -> None:
        self.test_next_writes_what_has_crossed_as_superseded_and_the_next_one_comes(watch)
        watch.do(move("2027-03-31"))
        watch.scan()
        assert watch.ledger()["2027-03-31 7d"] == "open"

    def test_released_drafts_with_next_tell_nothing_of_what_has_crossed(self, watch: Watch) -> None:
        def draft(act: Act) -> None:
            entry = register.Entry(
                reference="D-1", site_id=factories.site(act), kind_id=factories.kind(act), due_on=DUE, status="draft"
            )
            register.add_subject(act, entry)

        watch.do(lambda act: register.archive(act, subject(act), "gone"))
        watch.do(draft)
        watch.at(CROSSED_30)
        watch.do(lambda act: register.release(act, register.find_subject(act, "D-1"), "next"))
        assert watch.scan().claimed == 0
        assert watch.ledger() == {"90d": "superseded (start)", "30d": "superseded (start)"}


class TestTheDayRunsBack:
    def test_nothing_is_withdrawn_and_the_watermark_stays(self, watch: Watch) -> None:
        watch.do(lambda act: people.set_site_zone(act, factories.site(act), "Pacific/Kiritimati"))
        watch.at("2027-03-01T10:30").scan()  # 2 March there.
        watch.do(lambda act: people.set_site_zone(act, factories.site(act), "Pacific/Pago_Pago"))
        assert watch.scan() == Scanned()  # 28 February there.
        assert watch.ledger()["30d"] == "open"
        assert watch.rows("select scanned_through from watermark") == [(dt.date(2027, 3, 2),)]


class TestPeopleAndChannels:
    def test_the_only_recipient_leaves_and_the_claim_says_so_at_once(self, watch: Watch) -> None:
        """H13, in the app: the row stays, the delivery is cancelled, nothing waits for the grace period."""
        watch.at(CROSSED_30).scan()
        watch.do(lambda act: people.disable_member(act, member(act, "Ana").id))
        watch.deliver()
        assert watch.ledger()["30d"] == "open (nobody_to_tell)"
        assert watch.deliveries() == [("30d", "Ana", "in_app", "cancelled", "not_a_recipient")]
        assert watch.rows("select attempts from delivery") == [(0,)]
        watch.do(lambda act: people.enable_member(act, member(act, "Ana").id))
        watch.deliver()
        assert watch.ledger()["30d"] == "open"
        assert watch.deliveries() == [("30d", "Ana", "in_app", "delivered", None)]

    def test_a_rule_without_anybody_present_claims_and_says_so(self, watch: Watch) -> None:
        watch.do(change(*ALL, to=("owner",)))
        watch.at(CROSSED_30).scan()
        assert watch.ledger()["30d"] == "open (nobody_to_tell)"
        assert watch.owed().count == 0

    def test_a_new_owner_takes_over_what_was_told_and_not_answered(self, watch: Watch) -> None:
        watch.do(change(*ALL, to=("owner",)))
        watch.do(lambda act: register.assign(act, subject(act), member_id=member(act, "Ana").id))
        watch.at(CROSSED_30).scan()
        watch.deliver()
        watch.do(lambda act: register.assign(act, subject(act), member_id=member(act, "Bruno").id))
        assert watch.deliver().delivered == 1
        assert [(name, state) for _, name, _, state, _ in watch.deliveries()] == [
            ("Ana", "delivered"),
            ("Bruno", "delivered"),
        ]

    def test_a_new_owner_is_not_told_what_was_answered(self, watch: Watch) -> None:
        watch.do(change(*ALL, to=("owner",)))
        watch.do(lambda act: register.assign(act, subject(act), member_id=member(act, "Ana").id))
        watch.at(CROSSED_30).scan()
        watch.deliver()
        watch.do(reply("Ana", "seen"))
        watch.do(lambda act: register.assign(act, subject(act), member_id=member(act, "Bruno").id))
        assert watch.deliver().delivered == 0

    def test_somebody_newly_named_is_not_told_what_was_told(self, watch: Watch) -> None:
        watch.at(CROSSED_30).scan()
        watch.deliver()
        watch.do(change(*ALL, to=("role:officer", "member:bruno@acme.example")))
        assert watch.scan().deliveries == 0
        assert watch.deliver().delivered == 0

    def test_somebody_newly_named_is_told_what_nobody_was_told(self, watch: Watch) -> None:
        watch.at(CROSSED_30).scan()
        watch.do(change(*ALL, to=("role:officer", "member:bruno@acme.example")))
        assert watch.deliver().delivered == 2

    def test_the_old_owner_is_cancelled_before_sending(self, watch: Watch) -> None:
        watch.do(change(*ALL, to=("owner",)))
        watch.do(lambda act: register.assign(act, subject(act), member_id=member(act, "Ana").id))
        watch.at(CROSSED_30).scan()
        watch.do(lambda act: register.assign(act, subject(act), member_id=member(act, "Bruno").id))
        watch.deliver()
        assert watch.deliveries() == [
            ("30d", "Ana", "in_app", "cancelled", "not_a_recipient"),
            ("30d", "Bruno", "in_app", "delivered", None),
        ]

    def test_h03_one_person_by_three_routes_is_told_once_and_as_the_responsible(self, watch: Watch) -> None:
        watch.do(change(*ALL, to=("owner", "role:officer", "member:Ana@Acme.EXAMPLE")))
        watch.do(lambda act: register.assign(act, subject(act), member_id=member(act, "Ana").id))
        assert watch.at(CROSSED_30).scan().deliveries == 1
        assert watch.rows("select because from delivery") == [("owner",)]

    def test_whoever_may_not_see_the_site_is_told_by_no_route(self, watch: Watch) -> None:
        def limit(act: Act) -> None:
            elsewhere = people.add_site(act, "Elsewhere", "Europe/Madrid")
            people.limit_member(act, member(act, "Ana").id, [elsewhere])

        watch.do(limit)
        watch.at(CROSSED_30).scan()
        assert watch.ledger()["30d"] == "open (nobody_to_tell)"

    def test_alerts_go_out_from_the_hour_of_the_site(self, watch: Watch) -> None:
        watch.do(lambda act: act.session.execute(text("update site set alert_from = '08:30'")))
        watch.at("2027-03-02T07:29").scan()
        assert (watch.deliver().delivered, watch.deliver().pending) == (0, 1)
        assert watch.at("2027-03-02T07:30").deliver().delivered == 1  # 08:30 in Madrid.


def test_until_it_is_told_a_claim_shows_the_facts_of_now(watch: Watch) -> None:
    watch.at(CROSSED_30).scan()
    watch.do(lambda act: register.retitle(act, subject(act), "New title"))
    watch.deliver()
    watch.do(lambda act: register.retitle(act, subject(act), "Later title"))
    watch.scan()
    assert watch.rows("select distinct title from notification_ledger where threshold = '30d'") == [("New title",)]


def test_p7_every_move_leaves_its_trail(watch: Watch) -> None:
    watch.at(CROSSED_30).scan()
    watch.do(switch(False))
    watch.scan()
    watch.do(switch(True))
    watch.scan()
    watch.deliver()
    types = watch.rows(
        "select e.type from audit_event e join notification_ledger l on l.id = e.claim_id "
        "where l.threshold = '30d' order by e.id"
    )
    assert [name for (name,) in types] == [
        "claimed", "delivery_due", "withdrawn", "delivery_cancelled",
        "reopened", "delivery_due", "delivered", "claim_delivered",
    ]  # fmt: skip
    assert watch.rows(
        "select count(*) from audit_event e where not exists (select from audit_unsealed u where u.event_id = e.id)"
    ) == [(0,)]
