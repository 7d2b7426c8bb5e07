"""The form about a file that is brought in: what each column is; and the words of the reader for the screen.

The reader speaks to a command line as well; here its options are the fields of the page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flask import request

from app.domain.errors import Refused
from app.imports.choices import DATE_FORMATS, LEFT_OUT, ON_CONFLICT, Choices
from app.imports.headers import FIELDS
from app.imports.look import LATEST_HEADER, Look
from app.imports.outcomes import Outcome
from app.queries.sight import Sight
from app.web.entry_fields import Options, in_words
from app.web.import_reasons import retold
from app.wording import later
from app.words import word

# What the reader calls by an option of the command, by the name that it has on the page.
ON_THE_PAGE = (
    (re.compile(r"name it with --map \w+=COLUMN"), "choose it in the list of columns"),
    (re.compile(r"(choose with )?--map \w+=COLUMN"), "choose one in the list of columns"),
    (re.compile(r"say (it|which it is) with --date-format \w+ or \w+"), "choose it under “How dates are written”"),
    (re.compile(r"--date-format"), "“How dates are written”"),
    (re.compile(r"write auto, ymd, dmy, mdy, or a pattern"), "write a pattern"),
    (re.compile(r"is not a pattern of strptime"), "is not a pattern of dates"),
    (re.compile(r"choose with --sheet one of"), "choose the sheet, one of"),
    (re.compile(r"say --header-row 0"), "write 0 as the row of the header"),
    (re.compile(r"correct --header-row"), "correct the row of the header"),
    (re.compile(r"--site: "), "Site of records that name none: "),
    (re.compile(r"--map "), "The columns: "),
    (re.compile(r"--([a-z]+)(?:-([a-z]+))?"), r"“\1 \2”"),
)
WORDS_OF_THE_PAGE = (
    (re.compile(r"\bno such owner\b"), "nobody here is known as the responsible"),
    (re.compile(r"\bno such holder\b"), "nobody here is known as the holder"),
    (re.compile(r"\bthe owner\b"), "the responsible"),
)
# What is asked for where a field that each record needs has no column.
UNCHOSEN = {
    "reference": later("Choose which column is the reference."),
    "due_on": later("Choose which column is the due date."),
}
CODE = re.compile(r"(?<![\w@.'])(due_on|due_from|part_of|recurrence_basis|legal_basis)(?![\w@'])")


def said(text: str) -> str:
    """The words of the reader as they stand on the page: dates in words, no options, no names of code."""
    text = retold(text)
    for option, field in (*ON_THE_PAGE, *WORDS_OF_THE_PAGE):
        text = option.sub(field, text)
    return in_words(CODE.sub(lambda found: word(found[1], "import_field").lower(), text))


def field_options() -> Options:
    return [(name, word(name, "import_field")) for name in (*FIELDS, LEFT_OUT)]


def date_options() -> Options:
    return [(name, word(name, "date_format")) for name in DATE_FORMATS]


def conflict_options() -> Options:
    return [(name, word(name, "on_conflict")) for name in ON_CONFLICT]


def first_choices(look: Look, mapping: Mapping[str, Any]) -> Choices:
    """What was said of the file, or of its header before; else what is understood of the header."""
    return Choices.of_json(mapping) if mapping else Choices(look.understood())


def typed_choices(look: Look, sight: Sight, before: Choices) -> Choices:
    """What the form says. What nobody offers is left out; what is chosen is checked again by the reader.

    Where dates are read otherwise than before, what was confirmed of them is not confirmed.
    """
    known = {name for name, _ in field_options()}
    fields = {place: request.form.get(f"column-{place}", "") for place in range(len(look.columns))}
    sites = {site.name for site in sight.in_use}
    site = request.form.get("site", "")
    typed = Choices(
        {place: name for place, name in fields.items() if name in known},
        request.form.get("date_format") or DATE_FORMATS[0],
        request.form.get("on_conflict") or ON_CONFLICT[0],
        site if site in sites else "",
        request.form.get("no_expiry", "").replace("\0", "")[:500],
        request.form.get("date_pattern", "").replace("\0", "").strip()[:50],
    )
    if not typed.reads_dates_like(before):
        return typed
    if "confirm_all" in request.form:
        return replace(typed, confirm_all=True)
    return replace(typed, confirmed=typed_lines("confirmed"))


def typed_lines(name: str) -> tuple[int, ...]:
    """The lines that are ticked, each once, in order."""
    texts = request.form.getlist(name)
    return tuple(sorted({int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 8}))


def check_complete(choices: Choices) -> None:
    """Raise Refused while a field that each record needs has no column."""
    missing = choices.missing()
    if len(missing) > 1:
        raise Refused("Choose which column is the reference and which is the due date.")
    if missing:
        raise Refused(UNCHOSEN[missing[0]])


def typed_header_row() -> int | None:
    """The row of the header that was typed; an empty field lets it be looked for. Raises Refused."""
    text = request.form.get("header_row", "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 3):
        raise Refused(
            "Write the row of the header as a number, 0 to %(last)s; 0 means that there is none.", last=LATEST_HEADER
        )
    return int(text)


def sentence(text: str) -> str:
    """The same as a sentence of its own."""
    words = said(text)
    return words[:1].upper() + words[1:].rstrip(".") + "."


def accepted(counts: Mapping[str, int]) -> int:
    """How many records change the register."""
    return sum(counts.get(outcome.value, 0) for outcome in (Outcome.new, Outcome.changed))
