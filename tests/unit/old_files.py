"""Workbooks of formats that nothing here writes, made by hand: ODS, a zip of XML, and XLS, a compound file of BIFF8."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Sequence
from typing import NamedTuple

ODS_TYPE = "application/vnd.oasis.opendocument.spreadsheet"
CONTENT = (
    '<?xml version="1.0" encoding="UTF-8"?><office:document-content office:version="1.2" '
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0">'
    '<office:body><office:spreadsheet><table:table table:name="Register">{}</table:table>'
    "</office:spreadsheet></office:body></office:document-content>"
)
FREE, END_OF_CHAIN, FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
SECTOR = 512  # Bytes.


class Day(NamedTuple):
    """A date cell by its number of days."""

    number: float


class Shown(NamedTuple):
    """A number that is shown by the workbook's one number format."""

    number: float


class Fault(NamedTuple):
    """A cell that holds an error by its code; 42 is #N/A."""

    code: int


def ods(rows: str) -> bytes:
    """An ODS workbook of one sheet, whose rows are given as XML."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", ODS_TYPE)
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
        archive.writestr("content.xml", CONTENT.format(rows))
    return file.getvalue()


Cell = str | float | Day | Shown | Fault


def xls(rows: Sequence[Sequence[Cell]], format: str = "00000", is_1904: bool = False) -> bytes:
    """An XLS workbook of one sheet, with one number format of its own."""
    start = record(0x0809, struct.pack("<HHHHII", 0x0600, 5, 0, 0, 0, 0)) + record(0x22, struct.pack("<H", is_1904))
    formats = record(0x041E, struct.pack("<HHB", 164, len(format), 0) + format.encode("latin-1"))
    formats += b"".join(record(0xE0, struct.pack("<HH16x", 0, number)) for number in (0, 14, 164))
    end = record(0x0A, b"")
    name = b"Register"
    length = len(start) + len(formats) + len(record(0x85, bytes(8 + len(name)))) + len(end)
    bound = record(0x85, struct.pack("<IBBBB", length, 0, 0, len(name), 0) + name)
    cells = b"".join(
        biff(row, column, cell) for row, line in enumerate(rows) for column, cell in enumerate(line) if cell != ""
    )
    page = record(0x0809, struct.pack("<HHHHII", 0x0600, 0x10, 0, 0, 0, 0)) + cells + end
    return compound(start + formats + bound + end + page)


def record(kind: int, body: bytes) -> bytes:
    return struct.pack("<HH", kind, len(body)) + body


def biff(row: int, column: int, cell: Cell) -> bytes:
    if isinstance(cell, str):
        return record(0x0204, struct.pack("<HHHHB", row, column, 0, len(cell), 1) + cell.encode("utf-16-le"))
    if isinstance(cell, Fault):
        return record(0x0205, struct.pack("<HHHBB", row, column, 0, cell.code, 1))
    style = 1 if isinstance(cell, Day) else 2 if isinstance(cell, Shown) else 0
    number = cell.number if isinstance(cell, Day | Shown) else cell
    return record(0x0203, struct.pack("<HHHd", row, column, style, number))


def compound(stream: bytes) -> bytes:
    """A compound file with one stream, Workbook: a header, its table of sectors, its directory, and the stream."""
    sectors = max(-(-len(stream) // SECTOR), 8)  # A shorter stream would stand elsewhere.
    stream = stream.ljust(sectors * SECTOR, b"\0")
    chain = [*range(3, sectors + 2), END_OF_CHAIN]
    table = [FAT, END_OF_CHAIN, *chain]
    table += [FREE] * (SECTOR // 4 - len(table))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    places = (0, 1, 1, 0, 4096, END_OF_CHAIN, 0, END_OF_CHAIN, 0)
    header += struct.pack("<HHHHH6x9I", 0x3E, 3, 0xFFFE, 9, 6, *places)
    header += struct.pack("<109I", 0, *[FREE] * 108)
    entries = entry("Root Entry", 5, END_OF_CHAIN, 0, child=1) + entry("Workbook", 2, 2, len(stream)) + bytes(256)
    return header + struct.pack(f"<{len(table)}I", *table) + entries + stream


def entry(name: str, kind: int, start: int, length: int, child: int = FREE) -> bytes:
    words = (name + "\0").encode("utf-16-le")
    links = struct.pack("<HBBIII", len(words), kind, 1, FREE, FREE, child)
    return words.ljust(64, b"\0") + links + bytes(36) + struct.pack("<IQ", start, length)
