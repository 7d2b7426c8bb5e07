"""The register as a table in the words of the screens, for a file. An import of ours understands it again."""

from __future__ import annotations

from app.exports.tables import Format, Row
from app.queries.register_export import Exported
from app.vocabulary import OF
from app.web.tags import tags_of

# The responsible by name is for people; by e-mail or number it is what an import reads.
HEADER = (
    "Reference", "Title", "Kind", "Site", "Part of", "Responsible (name)", "Responsible", "Holder", "Due date",
    "Days left", "State", "Recurrence", "Counted", "Legal basis", "Notes",
)  # fmt: skip
ISO = " (YYYY-MM-DD)"  # So that nobody has to guess how a text is meant.


def header_of(format: Format) -> list[str]:
    return [name + ISO if name == "Due date" and format == Format.csv else name for name in HEADER]


def row_of(one: Exported) -> Row:
    line = one.line
    return (
        line.reference, line.title, line.kind, line.site, line.whole_reference,
        line.owner or (f"{line.owner_post} (post)" if line.owner_post else None), one.owner, one.holder,
        line.due_on, line.days_left, "; ".join(tag.words for tag in tags_of(line)), one.recurrence,
        OF["basis"].get(one.recurrence_basis or "") if one.recurrence else None, one.legal_basis, one.notes,
    )  # fmt: skip
