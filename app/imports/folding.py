"""How words of a file are compared with the words that are understood: without accents, case and outer signs."""

from __future__ import annotations

import unicodedata


def without_accents(text: str) -> str:
    """The text in lower case, each letter without its accents; signs that stand for letters (º, №) become them."""
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFKD", text).casefold()
    return "".join(char for char in letters if not unicodedata.combining(char))


def folded(text: str) -> str:
    """A word as it is compared: also without outer spaces and a full stop at the end, with runs of spaces as one."""
    return " ".join(without_accents(text).split()).rstrip(".")
