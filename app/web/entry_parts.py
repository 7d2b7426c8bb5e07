"""What an entry is part of, and how far its due date is from that of its whole, as a person says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.domain import thresholds
from app.operations import parts, register
from app.queries.entry import Entry
from app.web.entry_acts import Call, Deed, Do, is_alive
from app.web.entry_fields import Field
from app.wording import gettext, later


def place_fields() -> Sequence[Field]:
    empty = gettext("The reference of an entry at this site. Empty: it is part of nothing.")
    hint = gettext(
        "180d: 180 days before each due date of the whole, and moved with it; +30d: 30 days after. "
        "Empty: it has due dates of its own."
    )
    return (
        Field("part_of", gettext("Part of"), hint=empty),
        Field("due_from", gettext("Due date from its whole"), hint=hint),
    )


def holds(call: Call) -> Mapping[str, str]:
    return {"part_of": call.entry.line.whole_reference or "", "due_from": call.entry.due_from or ""}


def put_into(call: Call) -> Do:
    form = call.form
    reference, distance = (str(form.values[name]).strip() for name in ("part_of", "due_from"))
    if distance:
        form.check("due_from", thresholds.parse, distance)
    if distance and not reference:
        form.faults["part_of"] = gettext("Name the entry whose due date it follows.")
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
        later("Part of another entry"), later("Save"), put_into, may_belong, lambda _: place_fields(), holds,
        says=lambda _: gettext("A condition of a permit is a part of it. Each part is told of by itself."),
    ),
}  # fmt: skip
