"""Reading a register file: bytes become a header and records of text cells, each with the line where it starts.

The only module that tells the formats apart; each is read by a module of its own.
"""

from __future__ import annotations

from app.domain.errors import Refused
from app.imports.delimited import read_text
from app.imports.limits import check_bytes, check_records
from app.imports.records import Finder, IsHeader, Table
from app.imports.workbooks import is_workbook, read_workbook


def read(source: bytes, sheet: str | None, header_row: int | None, is_header: IsHeader) -> Table:
    """The table of a file. `header_row` counts records from 1; 0: there is no header; None: it is looked for.

    Raises Refused for everything that cannot be read for certain.
    """
    check_bytes(source)
    finder = Finder(header_row, is_header)
    if sheet is not None and not is_workbook(source):
        raise Refused("A text file has no sheets: leave --sheet out.")
    table = read_workbook(source, sheet, finder) if is_workbook(source) else read_text(source, finder)
    check_records(len(table.records))
    return table
