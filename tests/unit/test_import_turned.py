"""The trace that a spreadsheet of the other order leaves in a column of dates."""

from __future__ import annotations

import pytest

from app.imports.turned import warning

TURNED = [("2026-02-01", True), ("2026-11-12 00:00:00", True), ("31/12/2026", False), ("25/12/2026", False)]


def test_small_days_as_date_cells_beside_large_ones_as_text_are_told() -> None:
    said = warning(TURNED)
    assert "2 date cells, such as 2026-02-01, all have a day up to the 12th" in said
    assert "2 texts, such as '31/12/2026', are day/month/year" in said


@pytest.mark.parametrize(
    "cells",
    [
        [],
        TURNED[:2],
        TURNED[2:],
        TURNED[1:],
        [*TURNED, ("2026-02-13", True)],
        [*TURNED, ("12/31/2026", False)],
        [*TURNED[:2], ("03/04/2026", False)],
        [*TURNED[:2], ("2026-12-31", False), ("never", False)],
    ],
)
def test_anything_else_is_nothing_to_wonder_about(cells: list[tuple[str, bool]]) -> None:
    assert warning(cells) == ""
