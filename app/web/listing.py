"""What the address of a list asks for: which site, after which row. What is foreign or unknown answers 404 (H38)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flask import abort, request, url_for
from werkzeug.routing import IntegerConverter

from app.queries.keyset import Cursor, Page, read_cursor
from app.queries.sight import Sight, SiteDay

MOST_DIGITS = 18  # Of an id in an address: fewer than a bigint has, so that each such number fits into its column.


class RowId(IntegerConverter):
    """`<int:…>` in an address. A number that is too long for any id is one that no row has, and so is not found."""

    def to_python(self, value: str) -> int:
        return int(value) if len(value) <= MOST_DIGITS else 10**MOST_DIGITS


def asked_after() -> Cursor | None:
    return read_cursor(request.args.get("after", ""))


def asked_site(sight: Sight) -> int | None:
    """The site that the list is narrowed to, if any."""
    site_id = asked_number("site")
    return site_id if site_id is None or site_id in sight.sites else abort(404)


def named(sites: Iterable[SiteDay]) -> list[tuple[int, str]]:
    """Sites as the options of a filter."""
    return [(site.id, site.name) for site in sites]


def asked_number(name: str) -> int | None:
    text = request.args.get(name, "").strip()
    if not text:
        return None
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else abort(404)


def next_page(page: Page[Any]) -> str | None:
    """The address of the next rows, with everything else that this one asks for."""
    if page.after is None:
        return None
    asked: dict[str, Any] = {**request.args.to_dict(), **(request.view_args or {}), "after": page.after}
    return url_for(str(request.endpoint), **asked)
