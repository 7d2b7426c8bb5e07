"""What a workbook says of its cells beyond their values, which is all that its reader gives: how a number is shown, and
what a cell without a value holds. Read by `sheet_program.py`, in its process; imports nothing of ours.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.parsers import expat

import xlrd

PIECE = 1 << 20  # Bytes that are expanded at a time.
WIDEST = 16_384  # Columns of the widest sheet.
ADDRESS = re.compile("([A-Z]{1,3})[0-9]+")
MOST_REPEATED = 1_000  # Equal cells that stand once with their number; more of them are no records.
UNSAVED = "a formula without a saved value"
DIGIT = "\x00"  # The place of a digit in what a number format shows.
# Of a number format: a text in quotes, a character that stands for itself, the place of a digit; else it is not ours.
TOKEN = re.compile(r'"([^"]*)"|\\(.)|([-/ ():])|(0)')


@dataclass(frozen=True)
class Fault:
    """What a cell holds in place of a value."""

    said: str


Mark = str | Fault  # How a whole number is shown, with DIGIT in the place of its digits; or a fault.


def shown_as(code: str) -> str:
    """How a number format shows whole numbers, if it gives them leading zeros or other characters; else nothing."""
    code = code.partition(";")[0]
    shown, at = "", 0
    while at < len(code):
        found = TOKEN.match(code, at)
        if found is None:
            return ""
        shown += DIGIT if found[4] else found[1] or found[2] or found[3] or ""
        at = found.end()
    return shown if shown.count(DIGIT) > 1 or (shown.strip(DIGIT) and DIGIT in shown) else ""


def shown(digits: str, how: str) -> str:
    """The digits as the format shows them: zeros in front, and its characters between. More digits stand in front."""
    places = how.count(DIGIT)
    padded = digits.zfill(places)
    first, rest = padded[: len(padded) - places + 1], padded[len(padded) - places + 1 :]
    for digit in (first, *rest):
        how = how.replace(DIGIT, digit, 1)
    return how


class Parts:
    """What a workbook says of its cells. Marks are by row * WIDEST + column, rows counted from 1, columns from 0."""

    format = ""
    is_1904 = False

    def marks(self, sheet: int, name: str) -> dict[int, Mark]:
        """The marks of a sheet, by its place among all of them and its name."""
        raise NotImplementedError


class XmlParts(Parts):
    """The XML parts of a workbook that is an archive."""

    telling: tuple[bytes, ...] = ()  # Without one of these no cell of a sheet has a fault.

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive

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


class XlsxParts(XmlParts):
    """The parts of an XLSX or XLSM workbook."""

    format = "XLSX"
    telling = (b't="e"', b"t='e'", b"<f", b":f>", b":f ")

    def __init__(self, archive: zipfile.ZipFile) -> None:
        super().__init__(archive)
        self.relations: list[str] = []
        self.targets: dict[str, str] = {}
        self.codes: dict[str, str] = {}  # By number format: how it shows whole numbers.
        self.styles: list[str] = []  # By cell format: the same.
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
        if tag == "numFmt":
            self.codes[given.get("numFmtId", "")] = shown_as(given.get("formatCode", ""))
        elif tag in ("cellXfs", "cellStyleXfs"):
            self.is_format = tag == "cellXfs"
        elif tag == "xf" and self.is_format:
            self.styles.append(self.codes.get(given.get("numFmtId", ""), ""))

    def marks(self, sheet: int, name: str) -> dict[int, Mark]:
        relation = self.relations[sheet] if sheet < len(self.relations) else ""
        part = self.targets.get(relation, "")
        if part not in self.archive.NameToInfo or not (any(self.styles) or self.says(part)):
            return {}
        cells = XlsxCells(self.styles)
        self.read(part, cells.opens, cells.hears, cells.closes)
        return cells.marks


class XlsxCells:
    """Goes through the cells of one sheet, and keeps the marks of those that have one."""

    def __init__(self, styles: list[str]) -> None:
        self.styles = styles
        self.marks: dict[int, Mark] = {}
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
            self.marks[self.place] = Fault(self.value or "an error")
        elif tag == "c" and self.has_formula and not self.has_value:
            self.marks[self.place] = Fault(UNSAVED)


def number_of(letters: str) -> int:
    """The position of a column from 0: A is 0, AA is 26."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


class OdsParts(XmlParts):
    """The parts of an ODS workbook. Its reader gives an error as an empty cell; a cell has the text that it shows."""

    format = "ODS"
    telling = (b'value-type="error"', *(b'min-integer-digits="%d' % digit for digit in range(2, 10)))

    def marks(self, sheet: int, name: str) -> dict[int, Mark]:
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
        self.marks: dict[int, Mark] = {}
        self.row, self.rows, self.column, self.columns = 1, 0, 0, 0
        self.is_heard = self.is_error = False
        self.kind = self.value = ""

    def opens(self, tag: str, given: dict[str, str]) -> None:
        if tag == "table":
            self.table += 1
            self.row, self.rows = 1, 0
        elif tag == "table-row":
            self.row, self.rows = self.row + self.rows, int(given.get("number-rows-repeated", 1))
            self.column, self.columns = 0, 0
        elif tag in ("table-cell", "covered-table-cell"):
            self.column, self.columns = self.column + self.columns, int(given.get("number-columns-repeated", 1))
            self.kind = given.get("value-type", "") if self.table == self.sheet else ""
            self.is_error = "error" in given.values() and self.table == self.sheet
            self.is_heard, self.value = self.is_error or self.kind == "float", ""

    def hears(self, text: str) -> None:
        if self.is_heard:
            self.value += text

    def closes(self, tag: str) -> None:
        if tag != "table-cell" or not self.is_heard:
            return
        self.is_heard = False
        said = self.value.strip()
        if self.is_error:
            self.mark(Fault(said or "an error"))
        elif said.isdecimal() and said.startswith("0") and len(said) > 1:
            self.mark(DIGIT * len(said))

    def mark(self, mark: Mark) -> None:
        for row in range(self.row, self.row + min(self.rows, MOST_REPEATED)):
            for column in range(self.column, self.column + min(self.columns, MOST_REPEATED)):
                self.marks[row * WIDEST + column] = mark


class XlsParts(Parts):
    """What an XLS workbook says, by a reader of its own; nothing, where that reader gives up."""

    format = "XLS"

    def __init__(self, source: bytes) -> None:
        self.book: Any = None
        self.styles: list[str] = []
        try:
            self.book = xlrd.open_workbook(file_contents=source, formatting_info=True, on_demand=True, logfile=Silent())
            self.is_1904 = self.book.datemode == 1
            self.styles = [shown_as(self.book.format_map[one.format_key].format_str) for one in self.book.xf_list]
        except MemoryError:
            raise
        except Exception:  # Of a damaged workbook it may raise anything.
            self.book = None

    def marks(self, sheet: int, name: str) -> dict[int, Mark]:
        try:
            found = self.book.sheet_by_name(name)
        except MemoryError:
            raise
        except Exception:
            return {}
        marks = dict(self.marks_of(found))
        self.book.unload_sheet(name)
        return marks

    def marks_of(self, sheet: Any) -> Iterator[tuple[int, Mark]]:
        for row in range(sheet.nrows):
            for column, cell in enumerate(sheet.row(row)):
                place = (row + 1) * WIDEST + column
                if cell.ctype == xlrd.XL_CELL_ERROR:
                    yield place, Fault(xlrd.error_text_from_code.get(cell.value, "an error"))
                elif cell.ctype == xlrd.XL_CELL_NUMBER and self.styles[cell.xf_index]:
                    yield place, self.styles[cell.xf_index]


class Silent:
    """Where the reader of XLS complains to."""

    def write(self, text: str) -> None:
        """Keep nothing of it."""
