"""The program that reads a spreadsheet from standard input, outside the process that asked for it.

It is started as a file of its own and imports nothing of ours, so that little is in memory when its limits are set.
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
import re
import resource
import sys
import zipfile
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO
from xml.parsers import expat

from python_calamine import CalamineWorkbook, PasswordError

PIECE = 1 << 20  # Bytes that are expanded at a time.
WIDEST = 16_384  # Columns of the widest sheet.
EXACT = 10**15  # A spreadsheet has 15 digits: a whole number below is written out.
ZEROS = re.compile("0{2,30}")  # A number format that shows leading zeros.
ADDRESS = re.compile("([A-Z]{1,3})[0-9]+")
UNSAVED = "a formula without a saved value"
NUL = "a text with a NUL character"
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
    start = file.read(4)
    file.seek(0)
    parts = parts_of(file, asked) if start == b"PK\x03\x04" else None
    file.seek(0)
    book = opened(file)
    shown = [is_shown(one) for one in book.sheets_metadata]
    sheets = [{"name": one.name, "is_shown": show} for one, show in zip(book.sheets_metadata, shown, strict=True)]
    is_1904 = parts is not None and parts.is_1904
    yield ["book", {"format": parts.format if parts else "XLS", "is_1904": is_1904, "sheets": sheets}]
    wanted = [asked["sheet"]] if asked["sheet"] is not None else [place for place, show in enumerate(shown) if show]
    for place in wanted:
        sheet = book.get_sheet_by_index(place)
        yield ["sheet", place, merged(sheet)]
        yield from islice(rows_of(sheet, parts.marks(place) if parts else {}), asked["rows"])


def opened(file: BinaryIO) -> CalamineWorkbook:
    try:
        return CalamineWorkbook.from_filelike(file)
    except PasswordError:
        raise Unreadable("The workbook is protected by a password: save it without one.") from None


def is_shown(sheet: Any) -> bool:
    """Whether a person sees this sheet, and it has cells: a chart has none."""
    return str(sheet.visible).endswith(".Visible") and str(sheet.typ).endswith(".WorkSheet")


def parts_of(file: BinaryIO, asked: dict[str, Any]) -> Parts:
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
            raise Unreadable("The workbook is protected by a password: save it without one.")
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


def rows_of(sheet: Any, marks: dict[int, int | str]) -> Iterator[list[Any]]:
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
        yield ["row", number, [cell.replace("\x00", "\ufffd") for cell in cells] if faults else cells, dated, faults]


def marked(cells: list[str], row: int, marks: dict[int, int | str]) -> list[list[Any]]:
    """The faults of a row, and its numbers with the leading zeros that their format shows."""
    faults: list[list[Any]] = []
    for place, cell in enumerate(cells):
        mark = marks.get(row * WIDEST + place)
        if isinstance(mark, int) and cell.isdecimal():
            cells[place] = cell.zfill(mark)
        elif isinstance(mark, str) and not cell:
            cells[place] = mark
            faults.append([place, mark])
    return faults


def text_of(cell: Any) -> str:
    """A cell as text: what a person would type for its value."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, int | float):
        return str(int(cell)) if cell == cell and abs(cell) < EXACT and cell == int(cell) else format(cell, ".15g")
    return str(cell)


class Parts:
    """The XML parts of a workbook: what they say of cells beyond their values, which is all that the reader gives.

    `marks` are by row * WIDEST + column: how many digits the number format shows, or the fault that the cell holds.
    """

    format = ""
    is_1904 = False
    telling: tuple[bytes, ...] = ()  # Without one of these no cell of a sheet has a fault.

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive

    def marks(self, sheet: int) -> dict[int, int | str]:
        raise NotImplementedError

    def says(self, name: str) -> bool:
        """Whether the part holds anything that tells of a fault. Most do not, and this is cheap to see."""
        with self.archive.open(name) as part:
            end = b""
            while piece := part.read(PIECE):
                if any(word in end + piece for word in self.telling):
                    return True
                end = piece[-40:]
        return False

    def read(self, name: str, opens: Any, text: Any = None, closes: Any = None) -> None:
        """Go through a part, with local names of elements and attributes."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = lambda tag, given: opens(
            tag.rpartition(" ")[2], {key.rpartition(" ")[2]: value for key, value in given.items()}
        )
        if text and closes:
            parser.CharacterDataHandler = text
            parser.EndElementHandler = lambda tag: closes(tag.rpartition(" ")[2])
        with self.archive.open(name) as part:
            parser.ParseFile(part)


class XlsxParts(Parts):
    """The parts of an XLSX or XLSM workbook."""

    format = "XLSX"
    telling = (b't="e"', b"t='e'", b"<f", b":f>", b":f ")

    def __init__(self, archive: zipfile.ZipFile) -> None:
        super().__init__(archive)
        self.relations: list[str] = []
        self.targets: dict[str, str] = {}
        self.codes: dict[str, int] = {}  # By number format: how many digits it shows.
        self.styles: list[int] = []  # By cell format: the same.
        self.is_format = False
        self.read("xl/workbook.xml", self.open_book)
        for name, opens in (("xl/_rels/workbook.xml.rels", self.open_relation), ("xl/styles.xml", self.open_style)):
            if name in archive.NameToInfo:
                self.read(name, opens)

    def open_book(self, tag: str, given: dict[str, str]) -> None:
        if tag == "workbookPr":
            self.is_1904 = given.get("date1904") in ("1", "true")
        elif tag == "sheet":
            self.relations.append(given.get("id", ""))

    def open_relation(self, tag: str, given: dict[str, str]) -> None:
        target = given.get("Target", "")
        self.targets[given.get("Id", "")] = target[1:] if target.startswith("/") else f"xl/{target}"

    def open_style(self, tag: str, given: dict[str, str]) -> None:
        if tag == "numFmt" and ZEROS.fullmatch(code := given.get("formatCode", "").partition(";")[0]):
            self.codes[given.get("numFmtId", "")] = len(code)
        elif tag in ("cellXfs", "cellStyleXfs"):
            self.is_format = tag == "cellXfs"
        elif tag == "xf" and self.is_format:
            self.styles.append(self.codes.get(given.get("numFmtId", ""), 0))

    def marks(self, sheet: int) -> dict[int, int | str]:
        relation = self.relations[sheet] if sheet < len(self.relations) else ""
        name = self.targets.get(relation, "")
        if name not in self.archive.NameToInfo or not (any(self.styles) or self.says(name)):
            return {}
        cells = XlsxCells(self.styles)
        self.read(name, cells.opens, cells.hears, cells.closes)
        return cells.marks


class XlsxCells:
    """Goes through the cells of one sheet, and keeps the marks of those that have one."""

    def __init__(self, styles: list[int]) -> None:
        self.styles = styles
        self.marks: dict[int, int | str] = {}
        self.row = self.column = 0
        self.is_error = self.has_formula = self.has_value = False
        self.is_heard = False
        self.value = ""

    def opens(self, tag: str, given: dict[str, str]) -> None:
        if tag == "c":
            found = ADDRESS.fullmatch(given.get("r", ""))
            self.column = number_of(found[1]) if found else self.column + 1
            self.is_error, self.has_formula, self.has_value = given.get("t") == "e", False, False
            style = int(given.get("s", "0"))
            if style < len(self.styles) and self.styles[style]:
                self.marks[self.place] = self.styles[style]
        elif tag in ("v", "is"):
            self.has_value, self.is_heard, self.value = True, self.is_error, ""
        elif tag == "f":
            self.has_formula = True
        elif tag == "row":
            self.row, self.column = int(given.get("r", self.row + 1)), -1

    @property
    def place(self) -> int:
        return self.row * WIDEST + self.column

    def hears(self, text: str) -> None:
        if self.is_heard:
            self.value += text

    def closes(self, tag: str) -> None:
        if tag == "v":
            self.is_heard = False
        elif tag == "c" and self.is_error:
            self.marks[self.place] = self.value or "an error"
        elif tag == "c" and self.has_formula and not self.has_value:
            self.marks[self.place] = UNSAVED


def number_of(letters: str) -> int:
    """The position of a column from 0: A is 0, AA is 26."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


class OdsParts(Parts):
    """The parts of an ODS workbook. Its reader gives an error as an empty cell."""

    format = "ODS"
    telling = (b'value-type="error"',)

    def marks(self, sheet: int) -> dict[int, int | str]:
        if not self.says("content.xml"):
            return {}
        cells = OdsCells(sheet)
        self.read("content.xml", cells.opens, cells.hears, cells.closes)
        return cells.marks


class OdsCells:
    """Goes through the cells of one table, in which equal rows and cells stand once with their number."""

    def __init__(self, sheet: int) -> None:
        self.sheet = sheet
        self.table = -1
        self.marks: dict[int, int | str] = {}
        self.row, self.rows, self.column, self.columns = 1, 0, 0, 0
        self.is_heard = False
        self.value = ""

    def opens(self, tag: str, given: dict[str, str]) -> None:
        if tag == "table":
            self.table += 1
            self.row, self.rows = 1, 0
        elif tag == "table-row":
            self.row, self.rows = self.row + self.rows, int(given.get("number-rows-repeated", 1))
            self.column, self.columns = 0, 0
        elif tag in ("table-cell", "covered-table-cell"):
            self.column, self.columns = self.column + self.columns, int(given.get("number-columns-repeated", 1))
            self.is_heard, self.value = "error" in given.values() and self.table == self.sheet, ""

    def hears(self, text: str) -> None:
        if self.is_heard:
            self.value += text

    def closes(self, tag: str) -> None:
        if tag == "table-cell" and self.is_heard:
            self.is_heard = False
            self.marks[self.row * WIDEST + self.column] = self.value.strip() or "an error"


if __name__ == "__main__":
    main()
