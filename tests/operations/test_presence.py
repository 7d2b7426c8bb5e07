"""Whoever is gone is named nowhere anew: not for an entry, one or many, nor in a rule, a post, or by a file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from app.domain.batches import BatchAct
from app.domain.errors import Refused
from app.models import Member, SitePost
from app.operations import batch_acts, departures, people, register, rules
from app.operations.batch_plan import Order
from app.operations.register import Entry
from app.operations.rule_contents import RuleText
from app.trail.act import Act
from tests import factories
from tests.operations.story import march
from tests.operations.test_import import bring, by_line

GIL = "gil@acme.example"


def left(act: Act, gil: int) -> None:
    departures.leave(act, gil, march(1), to_member_id=factories.member(act))


def disabled(act: Act, gil: int) -> None:
    people.disable_member(act, gil)


def let_in_no_more(act: Act, gil: int) -> None:
    act.session.get_one(Member, (act.org, gil)).valid_until = dt.date(2027, 2, 28)
    act.session.flush()


@pytest.mark.parametrize("goes", [left, disabled, let_in_no_more])
def test_who_is_gone_is_named_nowhere_anew(act: Act, goes: Callable[[Act, int], None]) -> None:
    """And whom something names already stays there, so that a file or a rule read again changes nothing."""
    factories.member(act, "root@acme.example", "admin")
    gil, site, post = factories.member(act, GIL, "staff", name="Gil"), factories.site(act), people.add_post(act, "EHS")
    entry = factories.subject(act, "P-1", march(20))
    people.assign_post(act, post, gil, site, march(1))
    goes(act, gil)
    old = factories.subject(act, "P-2", march(20), owner_member_id=gil, holder_id=gil)
    named = Entry(site, factories.kind(act), "P-3")
    rule = RuleText("Permits", thresholds=("30d",), channels=("email",), to=("owner",))
    rules.apply(act, [rule])
    for naming in (
        lambda: register.assign(act, entry, member_id=gil),
        lambda: register.assign_holder(act, entry, gil),
        lambda: register.add_subject(act, Entry(**{**vars(named), "owner_member_id": gil})),
        lambda: register.add_subject(act, Entry(**{**vars(named), "holder_id": gil})),
        lambda: batch_acts.foresee(act, Order(BatchAct.assign, member_id=gil), [entry.id, old.id]),
        lambda: rules.apply(act, [RuleText(**{**vars(rule), "to": (f"member:{GIL}",)})]),
        lambda: rules.apply(act, [RuleText(**{**vars(rule), "fallback": f"member:{GIL}"})]),
        lambda: people.assign_post(act, post, gil, site, march(3)),
    ):
        with pytest.raises(Refused, match=r"Gil (left on|is disabled|was let in until)"):
            naming()
    file = f"reference,due_on,owner,holder\nP-1,2027-03-20,{GIL},\nP-2,2027-03-20,{GIL},{GIL}\nP-4,2027-03-20,,{GIL}\n"
    brought = bring(act, file)
    assert by_line(brought) == {2: "rejected", 3: "unchanged", 4: "rejected"}
    assert brought.rows[0].reason.startswith(f"the owner '{GIL}' ")


def test_the_post_of_somebody_who_is_gone_can_still_be_ended(act: Act) -> None:
    gil, site, post = factories.member(act, GIL, "staff"), factories.site(act), people.add_post(act, "EHS")
    people.assign_post(act, post, gil, site, march(1))
    people.disable_member(act, gil)
    assert people.assign_post(act, post, gil, site, march(1), march(2))
    assert act.session.query(SitePost.until_on).filter_by(member_id=gil).scalar() == march(2)


def test_who_leaves_on_a_day_to_come_is_here_until_then(act: Act) -> None:
    gil, heir = factories.member(act, GIL, "staff"), factories.member(act)
    factories.member(act, "root@acme.example", "admin")
    entry = factories.subject(act, "P-1", march(20))
    departures.leave(act, gil, march(2), to_member_id=heir)
    assert register.assign(act, entry, member_id=gil)
