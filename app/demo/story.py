"""Who acts in the demo, and on what: each deed is one call of a real operation, by its person. `turns.py` has the days."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

from app.demo.cast import Cast, address_of
from app.demo.entries import Line
from app.domain.batches import BatchAct
from app.models import Subject
from app.operations import absences, answers, batch_acts, departures, obligations, people, register
from app.operations.answers import Said
from app.operations.batch_plan import Order
from app.trail.act import Act, member_actor

Deed = Callable[[Act], object]


@dataclass(frozen=True)
class Story:
    """Who acts on what; every deed is one call."""

    cast: Cast
    today: dt.date

    def day(self, offset: int) -> dt.date:
        return self.today + dt.timedelta(days=offset)

    def enter(self, act: Act, line: Line) -> None:
        """Add the entry of a line, as Ana does it."""
        owner = line.owner or ""
        post = owner.removeprefix("post:") if owner.startswith("post:") else None
        whole = register.find_subject(act, line.part_of).id if line.part_of else None
        entry = register.Entry(
            site_id=self.cast.sites[line.site],
            kind_id=self.cast.kinds[line.kind],
            reference=line.reference,
            title=line.title,
            due_on=self.day(line.due),
            status=line.status,
            owner_member_id=self.cast.people.get(owner),
            owner_post_id=self.cast.posts[post] if post else None,
            part_of_id=whole,
            recurrence=line.recurrence,
            legal_basis=line.legal_basis,
        )
        register.add_subject(act, entry)

    def entering(self, line: Line) -> Deed:
        return lambda act: self.enter(self.by(act, "Ana"), line)

    def by(self, act: Act, who: str) -> Act:
        return act.by(member_actor(self.cast.people[who]))

    def answer(self, who: str, reference: str, answer: str, **said: Unpack[Said]) -> Deed:
        def deed(act: Act) -> None:
            member, subject = people.find_member(act, address_of(who)), register.find_subject(act, reference)
            answers.acknowledge(self.by(act, who), member, subject, answer, **said)

        return deed

    def take_back(self, who: str, reference: str, after: dt.timedelta) -> Deed:
        """So long after the other deeds of the day."""

        def deed(act: Act) -> None:
            member, subject = people.find_member(act, address_of(who)), register.find_subject(act, reference)
            answers.take_back(replace(self.by(act, who), now=act.now + after), member, subject)

        return deed

    def on_deadline(self, reference: str, deed: Callable[[Act, int], object], who: str = "Ana") -> Deed:
        def on_it(act: Act) -> None:
            deed(self.by(act, who), obligations.find_obligation(act, register.find_subject(act, reference)).id)

        return on_it

    def on_entry(self, reference: str, deed: Callable[[Act, Subject], object], who: str = "Ana") -> Deed:
        return lambda act: deed(self.by(act, who), register.find_subject(act, reference))

    def moves(self, references: Sequence[str], to: int, by_act: str, note: str) -> Deed:
        """One act of Ana's upon many entries, for one act of law."""

        def deed(act: Act) -> None:
            act, ids = self.by(act, "Ana"), [register.find_subject(act, one).id for one in references]
            order = Order(BatchAct.move, "law_change", note, by_act, to=self.day(to))
            batch_acts.apply(act, order, ids, batch_acts.foresee(act, order, ids).plan.mark)

        return deed

    def goes_away(self, who: str, first: int, last: int, stand_in: str, note: str) -> Deed:
        ids = self.cast.people
        facts = (ids[who], self.day(first), self.day(last), ids[stand_in], note, ids[who])
        return lambda act: absences.enter_absence(self.by(act, who), *facts)

    def leaves(self, who: str, day: int, post: str) -> Deed:
        """Adela enters that somebody goes, and that the holders of a post take over."""
        adela, to = self.cast.people["Adela"], self.cast.posts[post]
        facts = (self.cast.people[who], self.day(day))
        return lambda act: departures.leave(self.by(act, "Adela"), *facts, to_post_id=to, entered_by=adela)
