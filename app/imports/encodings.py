"""The bytes of a text file as text, and which encoding they are in.

What the bytes prove (a byte order mark, UTF-8) is certain; what they cannot prove is told as assumed.
"""

from __future__ import annotations

from app.domain.errors import Refused

# What other files begin with (file signatures), so that a refusal can say what the file is.
SIGNATURES = {b"%PDF": "a PDF", b"\x1f\x8b": "compressed by gzip", b"{\\rtf": "a text document (RTF)"}


def decoded(source: bytes) -> tuple[str, str, list[str]]:
    """The text, the name of its encoding, and what to tell of it. Raises Refused if it is no text."""
    for signature, words in SIGNATURES.items():
        if source.startswith(signature):
            raise Refused(f"The file is {words}, and no register: save it as CSV in UTF-8.")
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        where = f"byte {fault.start + 1} is not UTF-8"
        raise Refused(f"The encoding of the file is not understood yet ({where}): save it as CSV in UTF-8.") from None
    if "\x00" in text:
        raise Refused("The file holds NUL characters, so it is not a text file: save it as CSV in UTF-8.")
    return text, "UTF-8", []
