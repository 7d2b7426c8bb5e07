"""What happens: 130 days of the demo's life, by the day on which it does, counted from today.

On each day the watch ticks first, then people act, then it ticks again.
"""

from __future__ import annotations

import datetime as dt

from app.demo.entries import lines
from app.demo.photo import picture
from app.demo.story import Deed, Story
from app.domain.acts import ArchiveReason
from app.domain.days_off import DayOff
from app.operations import days_off, documents, filings, register
from app.operations.attachments import SentFile
from app.operations.documents import Paper

FIRST = -130
DOWN = range(-41, -38)  # The watch was down from the evening of the first of these days to the morning after the last.
BODY = "Inspection body (made up)"
LAW = ("Regulation 12 (made up)", "It asks for a check each half year.")
TWO_MINUTES = dt.timedelta(minutes=2)


def deeds(story: Story) -> dict[int, list[Deed]]:
    """The acts of each day."""
    happens: dict[int, list[Deed]] = {}
    for line in lines():
        happens.setdefault(line.entered, []).append(story.entering(line))
    for offset, deed in [*with_entries(story), *of_people(story)]:
        happens.setdefault(offset, []).append(deed)
    return happens


def with_entries(story: Story) -> list[tuple[int, Deed]]:
    """What becomes of the register, apart from new entries."""
    day = story.day
    old, receipt = Paper("C-1188", BODY, day(-366), day(-366), day(-1)), ("ENT-30571", "yes")
    return [
        (-129, story.on_entry("VIT-PV-07", lambda act, s: documents.add_paper(act, s, old))),
        (-129, story.on_deadline("VIT-AV-0417", lambda act, o: filings.file(act, o, day(-195), *receipt, day(18)))),
        (-60, lambda act: days_off.add_day_off(story.by(act, "Ana"), "Summer shutdown (made up)", DayOff(day(33), day(40)), story.cast.sites["Vitoria"])),
        (-15, story.moves([f"ARI-FG-{n}" for n in range(1, 7)], 25, *LAW)),
        (-1, story.on_deadline("VIT-PV-07", lambda act, o: documents.renew(act, o, certificate(story)), "Bruno")),
        (-1, story.on_entry("VIT-IN-6", lambda act, s: register.archive(act, s, ArchiveReason.gone))),
        (-1, story.on_entry("TUC-IN-2", lambda act, s: register.snooze(act, s, day(20), "planned"))),
    ]  # fmt: skip


def of_people(story: Story) -> list[tuple[int, Deed]]:
    """What they answer, when they are away, and who leaves."""
    bottle, plant = SentFile("IMG_0412.png", picture()), story.cast.posts["Plant manager"]
    return [
        (-30, story.leaves("Gil", -10, "Maintenance")),
        (-16, story.answer("Carla", "AVE-CR-02", "seen")),
        (-10, story.goes_away("Bruno", -9, -7, "Adela", "Course in Bilbao.")),
        (-6, story.answer("Bruno", "VIT-EL-5", "seen")),
        (-6, story.take_back("Bruno", "VIT-EL-5", TWO_MINUTES)),
        (-5, story.answer("Bruno", "VIT-RO-4", "not_mine", note="The hauliers use that door.", whose_post_id=plant)),
        (-3, story.answer("Carla", "AVE-EX-11", "on_it", until_on=story.day(3), note="The supplier comes on Thursday.")),
        (-2, story.goes_away("Carla", -1, 6, "Adela", "Holiday.")),
        (-2, story.answer("Bruno", "VIT-BT-2", "help", note="Which hydrogen detector is right for this room?")),
        (-1, story.answer("Fay", "TUC-FP-2", "not_mine", note="The landlord tests it since the new lease.")),
        (-1, story.answer("Bruno", "VIT-AV-0417/4.2", "done", done_on=story.day(-1), note="Two litres, handed in at reception.", file=bottle)),
    ]  # fmt: skip


def certificate(story: Story) -> Paper:
    """The certificate that replaces C-1188, with a file to look at."""
    file = SentFile("C-1340.txt", b"Certificate C-1340 of a vessel that does not exist.\n")
    day = story.day(-1)
    return Paper("C-1340", BODY, day, day, story.day(364), "The safety valve was changed.", file)
