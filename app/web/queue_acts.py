"""What can be done about a row of a queue, in the row; and the way back to the queue once it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flask import request, url_for

from app.queries.queues import Queue, Waiting
from app.queries.today import NotWatched
from app.queries.watched import Gap
from app.web.access import Visit
from app.wording import gettext, later

EXPIRES = "expires"  # A paper is renewed; whatever else falls due is done.
UNWATCHED = "unwatched"

# The deed, its words in a row, and whether it is one of the deadline.
Deeds = Sequence[tuple[str, str, bool]]
TASK: Deeds = (("close", later("Done"), True),)
PAPER: Deeds = (("renew", later("Renewed"), True),)
ANY: Deeds = (("file", later("Filed"), True), ("hand-over", later("Hand over"), False))
OF_QUEUE: Mapping[Queue, Deeds] = {
    Queue.filed: (("end-filing", later("The authority has answered"), True),),
    Queue.check: (),  # The answer is decided in the row.
    Queue.doubt: (),  # So is the message.
    Queue.attention: (),
}
OF_GAP: Mapping[Gap, Deeds] = {
    Gap.draft: (("release", later("Release"), False),),
    Gap.out_of_service: (("restore", later("Back in service"), False),),
    Gap.no_date: (("add-deadline", later("Add a deadline"), False),),
    Gap.nobody_to_tell: (("hand-over", later("Hand over"), False),),
    Gap.paused: (("resume", later("End the pause"), False),),
}


def acts_on(visit: Visit, queue: Queue, row: Waiting) -> Sequence[tuple[str, str]]:
    """Words and address of each act on a deadline of a queue."""
    deeds = OF_QUEUE.get(queue)
    if deeds is None:
        deeds = [*(PAPER if row.wording == EXPIRES else TASK), *ANY]
    return [
        (gettext(words), address(visit, row.subject_id, deed, queue, row.obligation_id if of_deadline else None))
        for deed, words, of_deadline in deeds
    ]


def acts_on_unwatched(visit: Visit, row: NotWatched) -> Sequence[tuple[str, str]]:
    if row.gap is Gap.no_rule:
        return [(gettext("Make a rule"), url_for("rules.new", slug=visit.place.slug))]
    return [
        (gettext(words), address(visit, row.subject_id, deed, UNWATCHED, None))
        for deed, words, _ in OF_GAP.get(row.gap, ())
    ]


def address(visit: Visit, subject_id: int, deed: str, back: str, obligation_id: int | None) -> str:
    if obligation_id is None:
        return url_for("register.act", slug=visit.place.slug, subject_id=subject_id, deed=deed, back=back)
    where: dict[str, Any] = {"slug": visit.place.slug, "subject_id": subject_id, "obligation_id": obligation_id}
    return url_for("register.act", **where, deed=deed, back=back)


def asked_back() -> str:
    """The queue from which somebody came to an act, as its address has it; empty for none."""
    asked = request.values.get("back", "")
    return asked if asked in {*Queue, UNWATCHED} else ""


def way_back(visit: Visit, subject_id: int) -> str:
    """Where to go after an act: to the queue from which somebody came, else to the entry."""
    queue = asked_back()
    if queue == UNWATCHED:
        return url_for("today.unwatched", slug=visit.place.slug)
    if queue:
        return url_for("today.waiting", slug=visit.place.slug, queue=queue)
    return url_for("register.entry", slug=visit.place.slug, subject_id=subject_id)
