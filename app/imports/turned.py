"""Dates that a spreadsheet has turned around: it opened a text in the other order, and took what it could for dates.

Then every day up to the 12th is a date cell with day and month exchanged, and every later one is still a text. Nothing
proves it, so this warns and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.errors import quoted
from app.imports.dates import DMY, MDY, WORDED, without_time, year_first, year_last

FEWEST = 2  # Date cells; a single one with a small day is nothing to wonder about.
LAST_MONTH = 12


def warning(cells: Iterable[tuple[str, bool]]) -> str:
    """What to tell of a column, given each cell's text and whether it is a date in the file itself; or nothing."""
    dated, texts = list[str](), dict[str, list[str]]()
    for text, is_dated in cells:
        written = without_time(" ".join(text.split()))
        if is_dated:
            dated.append(written)
        elif (order := proof(written)) is not None:
            texts.setdefault(order, []).append(written)
    days = [day for text in dated if (day := year_first(text[:10])) is not None]
    if len(days) < FEWEST or len(texts) != 1 or any(day.day > LAST_MONTH for day in days):
        return ""
    ((order, written_so),) = texts.items()
    small = f"{len(days)} date cells, such as {days[0]}, all have a day up to the 12th"
    large = f"{len(written_so)} texts, such as {quoted(written_so[0])}, are {WORDED[order]}"
    turned = "a spreadsheet may have exchanged day and month in the date cells when it opened the file"
    return f"{small}, and {large}: {turned}; compare them with the source"


def proof(text: str) -> str | None:
    """The order that a text proves, because it is no date in the other one."""
    is_dmy, is_mdy = year_last(text, DMY) is not None, year_last(text, MDY) is not None
    if is_dmy == is_mdy:
        return None
    return DMY if is_dmy else MDY
