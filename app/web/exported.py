"""The register as a table in the words of the screens, for a file. An import of ours understands it again.

The heads of its columns are English in every language: they are a file format. What stands under them is the reader's.
"""

from __future__ import annotations

from app.domain.acts import Basis
from app.exports.tables import Format, Row
from app.queries.register_export import Exported
from app.web.tags import tags_of
from app.wording import gettext

# The responsible by name is for people; by e-mail, number or `post:NAME` it is what an import reads. So is the basis
# of a recurrence by its code.
HEADER = (
    "Reference", "Title", "Kind", "Site", "Part of", "Responsible (name)", "Responsible", "Holder", "Due date",
    "Days left", "State", "Recurrence", "Recurrence basis", "Due from", "Legal basis", "Notes",
)  # fmt: skip
NO_DATE = "none"  # A word of those that an import takes for: no due date.
ISO = " (YYYY-MM-DD)"  # So that nobody has to guess how a text is meant.


def header_of(format: Format) -> list[str]:
    return [name + ISO if name == "Due date" and format == Format.csv else name for name in HEADER]


def row_of(one: Exported) -> Row:
    line = one.line
    return (
        line.reference, line.title, line.kind, line.site, line.whole_reference,
        line.owner or (gettext("%(post)s (post)", post=line.owner_post) if line.owner_post else None),
        one.owner, one.holder,
        line.due_on or NO_DATE, line.days_left, "; ".join(tag.words for tag in tags_of(line)), one.recurrence,
        (one.recurrence_basis or Basis.due.value) if one.recurrence else None, one.due_from, one.legal_basis, one.notes,
    )  # fmt: skip
