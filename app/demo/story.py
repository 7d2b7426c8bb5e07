"""What happens: 130 days of the demo's life, each act by a real operation, on its day, by its person.

Days are counted from today. On each of them the watch ticks first, then people act, then it ticks again.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from app.demo.cast import Cast
from app.demo.entries import Line, lines
from app.domain.acts import ArchiveReason
from app.models import Subject
from app.operations import answers, documents, obligations, people, register
from app.operations.attachments import SentFile
from app.operations.documents import Paper
from app.trail.act import Act, member_actor

Deed = Callable[[Act], object]

FIRST = -130
BODY = "Inspection body (made up)"
DOWN = range(-41, -38)  # The watch was down from the evening of the first of these days to the morning after the last.


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
        return lambda act: self.enter(act.by(member_actor(self.cast.people["Ana"])), line)

    def answer(self, who: str, reference: str, said: str, until: int | None = None, note: str = "") -> Deed:
        def deed(act: Act) -> None:
            member = people.find_member(act, f"{who.lower()}@quimeralia.example")
            subject = register.find_subject(act, reference)
            day = None if until is None else self.day(until)
            answers.acknowledge(act, member, subject, said, until_on=day, note=note)

        return lambda act: deed(act.by(member_actor(self.cast.people[who])))

    def on_deadline(self, reference: str, deed: Callable[[Act, int], object], who: str = "Ana") -> Deed:
        def on_it(act: Act) -> None:
            act = act.by(member_actor(self.cast.people[who]))
            deed(act, obligations.find_obligation(act, register.find_subject(act, reference)).id)

        return on_it

    def on_entry(self, reference: str, deed: Callable[[Act, Subject], object], who: str = "Ana") -> Deed:
        def on_it(act: Act) -> None:
            act = act.by(member_actor(self.cast.people[who]))
            deed(act, register.find_subject(act, reference))

        return on_it

    def deeds(self) -> dict[int, list[Deed]]:
        """The acts of each day."""
        happens: dict[int, list[Deed]] = {}
        for line in lines():
            happens.setdefault(line.entered, []).append(self.entering(line))
        for offset, deed in self.turns():
            happens.setdefault(offset, []).append(deed)
        return happens

    def turns(self) -> list[tuple[int, Deed]]:
        """What people do apart from adding entries."""
        receipt = ("ENT-30571", "yes")
        law = "The new regulation asks for a check each half year."
        return [
            (-129, self.on_entry("VIT-PV-07", lambda act, s: documents.add_paper(act, s, Paper("C-1188", BODY, self.day(-366), self.day(-366), self.day(-1))))),
            (-129, self.on_deadline("VIT-AV-0417", lambda act, o: obligations.file(act, o, self.day(-195), *receipt, self.day(18)))),
            (-16, self.answer("Carla", "AVE-CR-02", "seen")),
            *((-15, self.on_deadline(f"ARI-FG-{n}", lambda act, o: obligations.move(act, o, self.day(25), "law_change", law))) for n in range(1, 7)),
            (-10, lambda act: people.disable_member(act.by(member_actor(self.cast.people["Adela"])), self.cast.people["Gil"])),
            (-6, self.answer("Bruno", "VIT-EL-5", "seen")),
            (-6, lambda act: self.take_back(act, "Bruno", "VIT-EL-5")),
            (-2, self.answer("Carla", "AVE-EX-11", "on_it", until=3, note="The supplier comes on Thursday.")),
            (-1, self.on_deadline("VIT-PV-07", lambda act, o: documents.renew(act, o, self.certificate()), "Bruno")),
            (-1, self.answer("Bruno", "VIT-AV-0417/4.2", "done", note="Two litres, handed in at reception.")),
            (-1, self.on_entry("VIT-IN-6", lambda act, s: register.archive(act, s, ArchiveReason.gone))),
            (-1, self.on_entry("TUC-IN-2", lambda act, s: register.snooze(act, s, self.day(20), "planned"))),
        ]  # fmt: skip

    def certificate(self) -> Paper:
        """The certificate that replaces C-1188, with a file to look at."""
        file = SentFile("C-1340.txt", b"Certificate C-1340 of a vessel that does not exist.\n")
        day = self.day(-1)
        return Paper("C-1340", BODY, day, day, self.day(364), "The safety valve was changed.", file)

    def take_back(self, act: Act, who: str, reference: str) -> None:
        act = act.by(member_actor(self.cast.people[who]))
        member = people.find_member(act, f"{who.lower()}@quimeralia.example")
        answers.take_back(act, member, register.find_subject(act, reference))
