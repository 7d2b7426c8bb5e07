"""A file that a form sends: its name and its bytes, within the limit of the pages."""

from __future__ import annotations

from flask import request

from app.domain.errors import Refused
from app.imports.limits import MOST_BYTES_OF_A_BROWSER


def sent_file() -> tuple[str, bytes]:
    """Raises Refused for a file that is missing, or too large."""
    file = request.files.get("file")
    content = file.stream.read(MOST_BYTES_OF_A_BROWSER + 1) if file else b""
    if file is None or not file.filename:
        raise Refused("Choose a file.")
    if len(content) > MOST_BYTES_OF_A_BROWSER:
        raise Refused(
            "The file has more than %(bytes)s bytes, and that is the most: split it.",
            bytes=f"{MOST_BYTES_OF_A_BROWSER:,}",
        )
    return file.filename, content
