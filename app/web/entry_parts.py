"""What an entry is part of, and how far its due date is from that of its whole, as a person says it."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain import thresholds
from app.operations import parts, register
from app.queries.entry import Entry
from app.web.entry_acts import Call, Deed, Do, is_alive
from app.web.entry_fields import Field

HINT = (
    "180d: 180 days before each due date of the whole, and moved with it; +30d: 30 days after. "
    "Empty: it has due dates of its own."
)


PLACE = (
    Field("part_of", "Part of", hint="The reference of an entry at this site. Empty: it is part of nothing."),
    Field("due_from", "Due date from its whole", hint=HINT),
)


def holds(call: Call) -> Mapping[str, str]:
    return {"part_of": call.entry.line.whole_reference or "", "due_from": call.entry.due_from or ""}


def put_into(call: Call) -> Do:
    form = call.form
    reference, distance = (str(form.values[name]).strip() for name in ("part_of", "due_from"))
    if distance:
        form.check("due_from", thresholds.parse, distance)
    if distance and not reference:
        form.faults["part_of"] = "Name the entry whose due date it follows."
    return lambda: parts.put_into(call.act, call.subject, whole_of(call, reference), distance or None)


def whole_of(call: Call, reference: str) -> int | None:
    """The entry at this site that was named. Raises Refused."""
    if not reference:
        return None
    return register.find_subject(call.act, reference, call.entry.site.name).id


def may_belong(entry: Entry, deadline: object) -> bool:
    """Parts have no parts; and what is part of an entry that the person does not see stays so."""
    return is_alive(entry, None) and not entry.parts and (entry.part_of_id is None or entry.whole_id is not None)


BELONGING: Mapping[str, Deed] = {
    "part-of": Deed(
        "Part of another entry", "Save", put_into, may_belong, lambda _: PLACE, holds,
        says=lambda _: "A condition of a permit is a part of it. Each part is told of by itself.",
    ),
}  # fmt: skip
