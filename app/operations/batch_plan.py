"""What one act upon many entries would do to each of them, and which ones it leaves, with the reason. Writes nothing.

The plan has a mark: applying compares it, so that what is done is what a person has seen.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sqlalchemy import select

from app.domain import calendars, recurrences
from app.domain.acts import ArchiveReason, MoveReason, NextFrom, SnoozeReason, Status
from app.domain.batches import BatchAct, Left, Several, shifted
from app.domain.calendars import FIRST_DAY, LAST_DAY
from app.domain.errors import Refused, UnusableZone
from app.domain.folding import clean_text
from app.models import Member, MemberSite, Post
from app.operations import documents, typed
from app.operations.absences import days_of_today
from app.operations.documents import Paper
from app.operations.presence import check_here
from app.operations.register import NEXT, NOW
from app.operations.typed import iso
from app.trail.act import Act
from app.wording import later

MOST_RENEWED = 200  # Entries that one paper renews: each is renewed by itself, by all the rules of a renewal.
MOST = 5_000  # Entries of one batch: what a person can answer for, and a page can wait for.
LONGEST_BY_ACT = 400  # Characters: the name of a decree, its number and its date.

REASONS: Mapping[BatchAct, Any] = {
    BatchAct.move: MoveReason,
    BatchAct.pause: SnoozeReason,
    BatchAct.archive: ArchiveReason,
}
BECOMES = {
    BatchAct.release: Status.watched,
    BatchAct.out_of_service: Status.out_of_service,
    BatchAct.archive: Status.archived,
}

# What decides about each entry. Of its open dates the first one is the next.
FACTS = """
select s.id, s.reference, s.title, s.site_id, p.name as site, p.timezone, s.status, s.snoozed_until,
       s.owner_member_id, s.owner_post_id, coalesce(m.name, q.name) as owner,
       o.id as obligation_id, o.due_on, o.follows_id, o.is_filed, coalesce(o.open_ones, 0) as open_ones,
       exists (select from obligation x where x.org_id = :org and x.subject_id = s.id) as was_dated
from subject s
join site p on p.org_id = :org and p.id = s.site_id
left join member m on m.org_id = :org and m.id = s.owner_member_id
left join post q on q.org_id = :org and q.id = s.owner_post_id
left join lateral (
  select x.id, x.due_on, x.follows_id, x.filed_on is not null and x.filing_ended_on is null as is_filed,
         count(*) over () as open_ones
  from obligation x
  where x.org_id = :org and x.subject_id = s.id and x.closed_at is null order by x.due_on limit 1) o on true
where s.org_id = :org and s.id = any (cast(:ids as bigint[]))
order by s.id"""

TAKEN = """
select o.subject_id from unnest(cast(:ids as bigint[]), cast(:days as date[])) as g (subject_id, due_on)
join obligation o on o.org_id = :org and o.subject_id = g.subject_id and o.due_on = g.due_on"""


@dataclass(frozen=True)
class Order:
    """What is asked for. Of `to` and `by` (an interval, such as 30d or 6m) one is given for a move."""

    deed: BatchAct
    reason: str | None = None
    note: str = ""
    by_act: str = ""  # The act of law or of an authority that it follows from, as text.
    to: dt.date | None = None
    by: str | None = None
    is_earlier: bool = False
    several: Several = Several.leave
    member_id: int | None = None
    post_id: int | None = None
    until: dt.date | None = None
    start: str = NOW
    paper: Paper | None = None  # The proof with which all of them are renewed.
    met_on: dt.date | None = None

    @property
    def said(self) -> dict[str, Any]:
        """What was asked for, as the trail keeps it: what is not said is left out."""
        found = {name: iso(value) if isinstance(value, dt.date) else value for name, value in vars(self).items()}
        own = {
            BatchAct.move: ("to", "by", "is_earlier", "several"),
            BatchAct.assign: ("member_id", "post_id"),
            BatchAct.pause: ("until",),
            BatchAct.release: ("start",),
            BatchAct.renew: ("met_on", "several"),
        }.get(self.deed, ())
        said = {name: found[name] for name in ("deed", "reason", "note", "by_act", *own)}
        return said | ({"paper": self.paper.said} if self.paper else {})


@dataclass(frozen=True)
class Step:
    """What becomes of one entry: from `old` to `new`, as the trail has them; or why it is left as it is."""

    subject_id: int
    reference: str
    title: str
    site: str
    left: Left | None = None
    old: Any = None
    new: Any = None
    obligation_id: int | None = None
    owner: str | None = None  # The name of who is responsible before.
    open_dates: int = 0  # Of which a move takes the next one.
    due_on: dt.date | None = None  # That one, as it is now.
    next_from: NextFrom | None = None  # Where the next date of a renewal comes from.


@dataclass(frozen=True)
class Plan:
    """What becomes of each of the entries, in the order of their ids."""

    order: Order
    steps: Sequence[Step]

    @cached_property
    def doing(self) -> list[Step]:
        return [step for step in self.steps if step.left is None]

    @cached_property
    def leaving(self) -> list[Step]:
        return [step for step in self.steps if step.left is not None]

    @property
    def left(self) -> dict[Left, int]:
        """How many are left, by reason."""
        found = Counter(step.left for step in self.leaving)
        return {left: found[left] for left in Left if found[left]}

    @cached_property
    def mark(self) -> str:
        """The same for the same order upon the same entries in the same state, and for no other."""
        rows = [(one.subject_id, one.left, one.old, one.new, one.obligation_id) for one in self.steps]
        return hashlib.sha256(json.dumps([self.order.said, rows], sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Ground:
    """What is the same for all entries of a plan."""

    order: Order
    now: dt.datetime
    sites: frozenset[int]  # Those that the new responsible is limited to; none: they see all.
    act: Act

    def today(self, row: Any) -> dt.date | None:
        try:
            return calendars.today(self.now, row.timezone)
        except UnusableZone:
            return None


Change = tuple[Any, ...]  # The old, the new, and of a renewal where the new one comes from.
Judge = Callable[[Ground, Any], Left | Change]


def checked(act: Act, order: Order) -> Order:
    """The order as it is kept. Raises Refused for what is wrong with it whatever the entries are."""
    codes = REASONS.get(order.deed)
    reason = typed.code(codes, order.reason, later("a reason")) if codes else None
    by_act = clean_text(order.by_act, later("The name of the act"), LONGEST_BY_ACT).replace("\n", " ")
    order = replace(order, reason=reason, note=typed.note(order.note), by_act=by_act)
    if order.deed == BatchAct.move:
        return _checked_move(order)
    if order.deed == BatchAct.renew:
        return _checked_renewal(order)
    if order.deed == BatchAct.assign:
        _check_owner(act, order)
    if order.deed == BatchAct.pause:
        if order.until is None:
            raise Refused("The day on which alerts go out again is missing: choose one.")
        typed.register_day(order.until, later("The day"))
    if order.deed == BatchAct.release and order.start not in (NOW, NEXT):
        raise Refused("This needs a start: choose from when on alerts are sent.")
    return order


def _checked_move(order: Order) -> Order:
    if (order.to is None) == (order.by is None):
        raise Refused("The dates move to a day, or by a length of time: give one of the two.")
    if order.to is not None:
        typed.register_day(order.to, later("The due date"))
    interval = recurrences.parse(order.by) if order.by else None
    if interval is not None and not isinstance(interval, recurrences.Interval):
        raise Refused("Days of the year are no length of time: write one such as 30d, 6w, 3m or 1y.")
    several = typed.code(Several, order.several, later("an answer to what becomes of several open dates"))
    return replace(order, by=interval.text if interval else None, several=several)


def _checked_renewal(order: Order) -> Order:
    if order.paper is None:
        raise Refused("The number of the paper is missing: a renewal is proved by a paper.")
    documents.cleaned(order.paper)
    if order.paper.valid_until is not None:
        typed.register_day(order.paper.valid_until, later("The last day of validity"))
    several = typed.code(Several, order.several, later("an answer to what becomes of several open dates"))
    return replace(order, several=several, paper=replace(order.paper, note=order.note))


def _check_owner(act: Act, order: Order) -> None:
    if (order.member_id is None) == (order.post_id is None):
        raise Refused("A person or a post is to be responsible: choose one of the list.")
    if order.post_id is not None:
        post = act.session.scalars(select(Post).where(Post.org_id == act.org, Post.id == order.post_id)).one_or_none()
        if post is None:
            raise Refused("There is no such post: choose one of the list.")
        return
    of = select(Member).where(Member.org_id == act.org, Member.id == order.member_id)
    member = act.session.scalars(of).one_or_none()
    if member is None:
        raise Refused("Whoever was chosen is not there any more: choose somebody else.")
    check_here(member, days_of_today(act)[1])


def plan(act: Act, order: Order, ids: Sequence[int]) -> Plan:
    """What the order would do to these entries. The caller knows that the actor may see them all."""
    ground = Ground(order, act.now, _sites_of(act, order.member_id), act)
    judge = JUDGES[order.deed]
    steps = [_step(row, judge(ground, row)) for row in act.run(FACTS, {"ids": list(ids)})]
    if order.deed == BatchAct.renew:
        steps = _without_twins(act, order, steps)
    return Plan(order, _kept_apart(act, steps) if order.deed in (BatchAct.move, BatchAct.renew) else steps)


def _sites_of(act: Act, member_id: int | None) -> frozenset[int]:
    if member_id is None:
        return frozenset()
    of = select(MemberSite.site_id).where(MemberSite.org_id == act.org, MemberSite.member_id == member_id)
    return frozenset(act.session.scalars(of))


def _step(row: Any, judged: Left | Change) -> Step:
    step = Step(
        row.id, row.reference, row.title, row.site,
        obligation_id=row.obligation_id, owner=row.owner, open_dates=row.open_ones, due_on=row.due_on,
    )  # fmt: skip
    if not isinstance(judged, Left):
        return replace(step, old=judged[0], new=judged[1], next_from=judged[2] if len(judged) > 2 else None)
    return replace(step, left=judged)


def _kept_apart(act: Act, steps: Sequence[Step]) -> list[Step]:
    """The same, with those left whose new day the entry already has, be it open or closed.

    The next date of a series is worked out past those that are closed, and may be open already.
    """
    moving = [one for one in steps if one.left is None and one.next_from in (None, NextFrom.paper)]
    facts = {"ids": [step.subject_id for step in moving], "days": [dt.date.fromisoformat(one.new) for one in moving]}
    taken = {row.subject_id for row in act.run(TAKEN, facts)} if moving else set()
    return [replace(step, left=Left.taken) if step.subject_id in taken else step for step in steps]


def _moved(ground: Ground, row: Any) -> Left | Change:
    order = ground.order
    if row.status == Status.archived:
        return Left.archived
    if row.due_on is None:
        return Left.closed if row.was_dated else Left.no_date
    if row.open_ones > 1 and order.several == Several.leave:
        return Left.several
    if row.follows_id is not None:
        return Left.follows
    by = recurrences.parse(order.by) if order.by else None
    new = shifted(row.due_on, by, order.is_earlier) if isinstance(by, recurrences.Interval) else order.to
    if new is None or not FIRST_DAY <= new <= LAST_DAY:
        return Left.beyond
    return Left.same if new == row.due_on else (iso(row.due_on), iso(new))


def _without_twins(act: Act, order: Order, steps: Sequence[Step]) -> list[Step]:
    """The same, with those left that have the paper already."""
    stored = documents.cleaned(order.paper or Paper(""))
    there = documents.having(act, stored, [step.subject_id for step in steps if step.left is None])
    return [replace(step, left=Left.has_paper) if step.subject_id in there else step for step in steps]


def _renewed(ground: Ground, row: Any) -> Left | Change:
    """From the date that is done to the one that comes next, by the rules of a renewal."""
    order, today = ground.order, ground.today(row)
    if row.status == Status.archived:
        return Left.archived
    if row.due_on is None:
        return Left.closed if row.was_dated else Left.no_date
    if row.open_ones > 1 and order.several == Several.leave:
        return Left.several
    if row.follows_id is not None:
        return Left.follows
    if row.is_filed:
        return Left.filed
    if today is None:
        return Left.day_unknown
    days = (order.met_on, order.paper.issued_on if order.paper else None)
    if any(day is not None and day > today for day in days):
        return Left.day_ahead
    until = order.paper.valid_until if order.paper else None
    coming = documents.propose_next(ground.act, row.obligation_id, until, order.met_on)
    return Left.nothing_next if coming.due_on is None else (iso(row.due_on), iso(coming.due_on), coming.source)


def _assigned(ground: Ground, row: Any) -> Left | Change:
    order = ground.order
    if row.status == Status.archived:
        return Left.archived
    old = {"member_id": row.owner_member_id, "post_id": row.owner_post_id}
    new = {"member_id": order.member_id, "post_id": order.post_id}
    if old == new:
        return Left.same
    return Left.out_of_sight if ground.sites and row.site_id not in ground.sites else (old, new)


def _paused(ground: Ground, row: Any) -> Left | Change:
    today, until = ground.today(row), ground.order.until
    if row.status == Status.archived:
        return Left.archived
    if today is None:
        return Left.day_unknown
    if until is None or until <= today:
        return Left.day_over
    return Left.same if row.snoozed_until == until else (iso(row.snoozed_until), iso(until))


def _resumed(ground: Ground, row: Any) -> Left | Change:
    today = ground.today(row)
    is_over = today is not None and row.snoozed_until is not None and row.snoozed_until <= today
    return Left.not_paused if row.snoozed_until is None or is_over else (iso(row.snoozed_until), None)


def _ended(ground: Ground, row: Any) -> Left | Change:
    becomes = BECOMES[ground.order.deed]
    if row.status == becomes:
        return Left.same
    return Left.archived if row.status == Status.archived else (row.status, becomes.value)


def _released(ground: Ground, row: Any) -> Left | Change:
    return (row.status, Status.watched.value) if row.status == Status.draft else Left.no_draft


JUDGES: Mapping[BatchAct, Judge] = {
    BatchAct.move: _moved,
    BatchAct.renew: _renewed,
    BatchAct.assign: _assigned,
    BatchAct.pause: _paused,
    BatchAct.resume: _resumed,
    BatchAct.release: _released,
    BatchAct.out_of_service: _ended,
    BatchAct.archive: _ended,
}
