"""The report as a PDF: what is printed is worked out here, and a program of its own sets it within limits.

A long section is cut, and says where the rest is; long rows go on over the page.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import structlog

from app.domain.errors import Refused
from app.exports.report import cover
from app.exports.report.cover import ABOUT, Origin
from app.exports.report.report import Report
from app.exports.report.section import NONE, Group, Section
from app.exports.tables import Cell, Row
from app.wording import current, later, ngettext
from app.wording import gettext as _

log = structlog.get_logger()

PROGRAM = Path(__file__).with_name("typeset.py")
TEMPLATE = Path(__file__).with_name("report.typ")
MADE = "report.pdf"
MOST_ROWS = 2_000  # Of a section: nobody reads more on paper, and the data file has all of it.
MOST_TAGGED = 4_000  # Rows of all sections: with more of them tags would need more than a gigabyte of memory.
SECONDS = 100  # Of computing: the longest report takes some twenty.
MEMORY = 6_000_000_000  # Bytes of address space, of which a third is used.
LONGEST_WORD = 28  # Characters, an instant has 25: a longer one might be wider than its column.
PIECE = 16  # Characters after which it may be broken.
BREAK = "\u200b"
LONG_WORD = re.compile(rf"[^\s{BREAK}]{{{LONGEST_WORD},}}")
MISSING = later(
    "Some signs cannot be printed here, and stand as their code point, such as [U+6771]. The data files (XLSX, CSV) "
    "have them as they were written."
)
TOO_LONG = later("The PDF could not be made within its limits: narrow the period or the site, or take XLSX or CSV.")


def write_pdf(file: IO[bytes], report: Report) -> None:
    """Raises Refused for what is too much for a PDF."""
    rows = sum(min(section.count, MOST_ROWS) for section in report.sections)
    with tempfile.TemporaryDirectory(prefix="onus-pdf-") as named:
        typeset(Path(named), TEMPLATE, printed(report), report.scope.sight.now, rows)
        with (Path(named) / MADE).open("rb") as made:
            shutil.copyfileobj(made, file)


def typeset(folder: Path, template: Path, shown: Mapping[str, Any], at: dt.datetime, rows: int = 0) -> int:
    """Run the program: `MADE` is in the folder then. How many pages it has. Raises Refused for too much.

    What the program answers goes to the log, without a word of the report.
    """
    (folder / "report.json").write_text(json.dumps(shown, ensure_ascii=False), encoding="utf-8")
    shutil.copy(template, folder / "report.typ")
    how = "tagged" if rows <= MOST_TAGGED else "plain"
    moment = int(at.timestamp())
    command = [sys.executable, "-I", str(PROGRAM), str(folder), str(SECONDS), str(MEMORY), str(moment), how]
    try:
        ended = subprocess.run(command, capture_output=True, timeout=2 * SECONDS, check=False)  # noqa: S603  Our own.
    except subprocess.TimeoutExpired:
        raise Refused(TOO_LONG) from None
    if ended.returncode:
        log.error("pdf_failed", code=ended.returncode, said=ended.stderr.decode(errors="replace")[-500:])
        raise Refused(TOO_LONG)
    log.info("pdf_made", rows=rows, answer=ended.stdout.decode(errors="replace").strip()[:200])
    pages: int = json.loads(ended.stdout)["pages"]
    return pages


def printed(report: Report) -> dict[str, Any]:
    """Everything that is printed, as texts."""
    front, *sections = report.sections
    by_name = [[text_of(cell) for cell in row] for row in front.rows() if row[1] != _(ABOUT)]
    names = [column.name for column in cover.PLAN.columns]
    return {
        "title": _("%(organisation)s: evidence of alerts and answers", organisation=report.origin.organisation),
        "organisation": report.origin.organisation,
        "language": current().language,
        "about": _(ABOUT),
        "footer": footer_of(report.origin),
        "page": _("Page %(page)s of %(pages)s", page="{page}", pages="{pages}"),
        "cover": {"name": front.name, "heading": names, "rows": by_name},
        "sections": [section_on_paper(section) for section in sections],
        "missing": _(MISSING),
        "is_short": report.scope.asked.subject_id is not None,
    }


def section_on_paper(section: Section) -> dict[str, Any]:
    groups = section.plan.groups
    return {
        "name": section.name,
        "about": section.about,
        "count": how_many(section),
        "heading": [_("Row"), *(group.name for group in groups)],
        "shares": [0, *(group.share for group in groups)],
        "rows": list(islice(rows_on_paper(section), MOST_ROWS)),
    }


def how_many(section: Section) -> str:
    if not section.count:
        return _(NONE)
    if section.count <= MOST_ROWS:
        return ngettext("%(number)d row.", "%(number)d rows.", section.count)
    cut = later("The first %(most)d of %(count)d rows. The data files (XLSX, CSV) of the same report have all of them.")
    return _(cut, most=MOST_ROWS, count=section.count)


def footer_of(origin: Origin) -> str:
    return _("%(organisation)s, export %(number)d", organisation=origin.organisation, number=origin.export_id)


def rows_on_paper(section: Section) -> Iterator[dict[str, Any]]:
    cells = [cells_of(section, group) for group in section.plan.groups]
    place = {column.key: number for number, column in enumerate(section.columns)}
    spoken = place.get(section.plan.sentence or "")
    for number, row in enumerate(section.rows(), 1):
        said = text_of(row[spoken]) if spoken is not None else ""
        yield {"cells": [[["", str(number)]], *(cell(row) for cell in cells)], "sentence": said}


def cells_of(section: Section, group: Group) -> Callable[[Row], list[tuple[str, str]]]:
    """How the cell of a group is made of a row: the first text bare, each of the others behind its label."""
    place = {column.key: number for number, column in enumerate(section.columns)}
    names = {column.key.removesuffix("_utc"): _(column.english) for column in section.columns}

    def cell(row: Row) -> list[tuple[str, str]]:
        found = [(label_of(key, names), value_of(key, row, place)) for key in group.keys]
        found = [("" if number == 0 else label, value) for number, (label, value) in enumerate(found)]
        return [(label, value) for label, value in found if value and not (label and value == "0")] or [("", "")]

    return cell


def label_of(key: str, names: Mapping[str, str]) -> str:
    return names[key]


def value_of(key: str, row: Sequence[Cell], place: Mapping[str, int]) -> str:
    """A text; of an instant both, the one of the site first."""
    if key in place:
        return text_of(row[place[key]])
    utc, local = text_of(row[place[f"{key}_utc"]]), text_of(row[place[f"{key}_local"]])
    return f"{local} = {utc}" if local else utc


def text_of(cell: Cell) -> str:
    """As it stands in the data files, with places at which a long word may break."""
    if cell is None:
        return ""
    text = cell.isoformat() if isinstance(cell, dt.date) else str(cell)
    return LONG_WORD.sub(lambda word: broken(word[0]), text)


def broken_up(part: Any) -> Any:
    """The same with places at which its long words may break, whatever its texts stand in."""
    if isinstance(part, str):
        return text_of(part)
    if isinstance(part, list | tuple):
        return [broken_up(one) for one in part]
    return {name: broken_up(one) for name, one in part.items()} if isinstance(part, dict) else part


def broken(word: str) -> str:
    return BREAK.join(word[start : start + PIECE] for start in range(0, len(word), PIECE))
