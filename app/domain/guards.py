"""The signs that programs put around the text of a cell, so that a spreadsheet takes it for text: put on, taken off.

What is exported is guarded against being executed as a formula; what is brought in is read without its guard.
"""

from __future__ import annotations

import re

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # How a cell begins that a spreadsheet may execute (OWASP).
GUARD = "'"
TEXT_FORMULA = re.compile(r'="((?:[^"]|"")*)"')  # A formula that is only a text: ="00042" keeps its zeros.


def harmless(cell: str) -> str:
    return f"{GUARD}{cell}" if cell.startswith(FORMULA) else cell


def unguarded(cell: str) -> str:
    """The cell without the one guard that `harmless` has put before it; any other apostrophe stays."""
    return cell[1:] if cell[:1] == GUARD and cell[1:].startswith(FORMULA) else cell


def unwrapped(cell: str) -> str:
    """The text of a cell that is a formula for nothing but this text; any other cell as it is."""
    found = TEXT_FORMULA.fullmatch(cell) if cell.startswith('="') else None
    return found[1].replace('""', '"') if found else cell
