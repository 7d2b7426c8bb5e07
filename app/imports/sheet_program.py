"""The program that reads a spreadsheet from standard input, outside the process that asked for it.

It is started as a file of its own and imports nothing of ours but the file beside it, so that little is in memory when
its limits are set.
What it finds goes to standard output, one JSON array a line, as it comes: a word, and what belongs to it:

    ["book", {"format": "XLSX", "is_1904": false, "sheets": [{"name": "A", "is_shown": true}]}]
    ["sheet", 0, [[first row, last row, column], …]]           the merged cells that span rows, counted from 1 and 0
    ["row", 4, ["00042-7", "2027-03-31", "#N/A"], [1], [[2, "#N/A"]]]    its number, cells, dates, faults
    ["end"], or ["refused", "one sentence"], as the last line

A number is written as it is typed, a date as ISO 8601. Blank rows behind the last text are left out.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import resource
import sys
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from python_calamine import CalamineWorkbook, PasswordError

sys.path.append(str(Path(__file__).parent))  # At the end, so that nothing here stands before a library.

from sheet_parts import PIECE, WIDEST, Fault, OdsParts, Parts, XlsParts, XlsxParts, shown

EXACT = 10**15  # A spreadsheet has 15 digits: a whole number below is written out.
NUL = "a text with a NUL character"
TOO_LONG = "a number of more than 15 digits, of which a spreadsheet keeps 15"
OLD = b"\xd0\xcf\x11\xe0"  # A compound file: XLS, or another format that is encrypted.
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # The name of the stream in it, by [MS-OFFCRYPTO] 2.3.
PROTECTED = "The workbook is protected by a password: save it without one."
ODS_TYPE = b"application/vnd.oasis.opendocument.spreadsheet"
DAMAGED = "The workbook is damaged, or is none: open it in a spreadsheet program, and save it again as XLSX."


class Unreadable(Exception):
    """A workbook that is refused. Its text is one clear sentence."""


def main() -> None:
    """Read what the one argument asks for, within its limits."""
    asked = json.loads(sys.argv[1])
    limit(asked)
    try:
        for line in found_in(sys.stdin.buffer, asked):
            sys.stdout.write(json.dumps(line) + "\n")
        said = ["end"]
    except Unreadable as refused:
        said = ["refused", str(refused)]
    except MemoryError:
        said = ["refused", f"The workbook needs more than {asked['memory']:,} bytes of memory to be read: split it."]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # A panic of the reader is no Exception.
        said = ["refused", DAMAGED]
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def limit(asked: dict[str, Any]) -> None:
    """Bound the memory and the time of this process for good."""
    resource.setrlimit(resource.RLIMIT_CPU, (asked["seconds"], asked["seconds"] + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError):  # Some systems have no such limit; those of time stay.
        resource.setrlimit(resource.RLIMIT_AS, (asked["memory"], asked["memory"]))


def found_in(file: BinaryIO, asked: dict[str, Any]) -> Iterator[list[Any]]:
    """The workbook, and the sheets that are asked for: the first rows of all that are shown, or all of one."""
    parts = archive_parts(file, asked) if starts(file, b"PK\x03\x04") else old_parts(file)
    book = opened(file)
    shown = [is_shown(one) for one in book.sheets_metadata]
    sheets = [{"name": one.name, "is_shown": show} for one, show in zip(book.sheets_metadata, shown, strict=True)]
    yield ["book", {"format": parts.format, "is_1904": parts.is_1904, "sheets": sheets}]
    wanted = [asked["sheet"]] if asked["sheet"] is not None else [place for place, show in enumerate(shown) if show]
    for place in wanted:
        sheet = book.get_sheet_by_index(place)
        yield ["sheet", place, merged(sheet)]
        yield from islice(rows_of(sheet, parts.marks(place, sheets[place]["name"])), asked["rows"])


def starts(file: BinaryIO, signature: bytes) -> bool:
    file.seek(0)
    return file.read(len(signature)) == signature


def opened(file: BinaryIO) -> CalamineWorkbook:
    file.seek(0)
    try:
        return CalamineWorkbook.from_filelike(file)
    except PasswordError:
        raise Unreadable(PROTECTED) from None


def old_parts(file: BinaryIO) -> Parts:
    """What an XLS workbook says of its cells. Raises Unreadable for one behind a password, in any format."""
    file.seek(0)
    source = file.read()
    if source.startswith(OLD) and ENCRYPTED in source:
        raise Unreadable(PROTECTED)
    return XlsParts(source)


def is_shown(sheet: Any) -> bool:
    """Whether a person sees this sheet, and it has cells: a chart has none."""
    return str(sheet.visible).endswith(".Visible") and str(sheet.typ).endswith(".WorkSheet")


def archive_parts(file: BinaryIO, asked: dict[str, Any]) -> Parts:
    """The parts of the archive. Raises Unreadable if it expands beyond its limits, or is no workbook.

    The bytes are counted as they are expanded: what the archive says of itself may be a lie.
    """
    archive = zipfile.ZipFile(file)
    members = archive.infolist()
    if len(members) > asked["members"]:
        raise Unreadable(f"The workbook has {len(members):,} parts: at most {asked['members']:,} are read.")
    expanded = 0
    for member in members:
        if member.flag_bits & 1:
            raise Unreadable(PROTECTED)
        with archive.open(member) as part:
            while piece := part.read(PIECE):
                expanded += len(piece)
                check_expanded(expanded, asked)
    names = {member.filename for member in members}
    if "xl/workbook.xml" in names:
        return XlsxParts(archive)
    if "mimetype" in names and archive.read("mimetype").strip() == ODS_TYPE:
        return OdsParts(archive)
    raise Unreadable("The file is an archive, but no XLSX or ODS workbook: save the register as XLSX or CSV.")


def check_expanded(expanded: int, asked: dict[str, Any]) -> None:
    if expanded > asked["expanded"]:
        raise Unreadable(f"The workbook expands to more than {asked['expanded']:,} bytes: split it.")
    if expanded > asked["unsuspicious"] and expanded > asked["ratio"] * asked["bytes"]:
        raise Unreadable(f"The workbook expands to more than {asked['ratio']} times its size: save it again.")


def merged(sheet: Any) -> list[list[int]]:
    """The merged cells that span rows, as first row, last row and column: their one text stands for each row."""
    ranges = sheet.merged_cell_ranges or []
    return [[top + 1, bottom + 1, left] for (top, left), (bottom, _) in ranges if bottom > top]


def rows_of(sheet: Any, marks: dict[int, str | Fault]) -> Iterator[list[Any]]:
    """The rows with their numbers; blank ones only if there is text below them."""
    start = sheet.start
    if start is None:
        return
    margin = [""] * start[1]
    written = 0
    for number, row in enumerate(sheet.iter_rows(), 1):
        cells = margin + [text_of(cell) for cell in row]
        faults = marked(cells, number, marks) if marks else []
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            continue
        yield from (["row", blank, [], [], []] for blank in range(written + 1, number))
        written = number
        dated = [place + start[1] for place, cell in enumerate(row) if isinstance(cell, dt.date)]
        faults += [[place, NUL] for place, cell in enumerate(cells) if "\x00" in cell]
        faults += [[place, TOO_LONG] for place, cell in enumerate(row, start[1]) if is_too_long(cell)]
        yield ["row", number, [cell.replace("\x00", "\ufffd") for cell in cells] if faults else cells, dated, faults]


def marked(cells: list[str], row: int, marks: dict[int, str | Fault]) -> list[list[Any]]:
    """The faults of a row, and its whole numbers as their format shows them: with zeros in front, say."""
    faults: list[list[Any]] = []
    for place, cell in enumerate(cells):
        mark = marks.get(row * WIDEST + place)
        if isinstance(mark, Fault) and not cell:
            cells[place] = mark.said
            faults.append([place, mark.said])
        elif isinstance(mark, str) and cell.isdecimal():
            cells[place] = shown(cell, mark)
    return faults


def is_too_long(cell: Any) -> bool:
    """Whether the last digits of a number are lost: nobody can say which reference it was."""
    return isinstance(cell, int | float) and not isinstance(cell, bool) and abs(cell) >= EXACT


def text_of(cell: Any) -> str:
    """A cell as text: what a person would type for its value."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, int | float):
        return str(int(cell)) if cell == cell and abs(cell) < EXACT and cell == int(cell) else format(cell, ".15g")
    return str(cell)


if __name__ == "__main__":
    main()
