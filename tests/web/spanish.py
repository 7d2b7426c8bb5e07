"""Whether a page that should be Spanish has English in it: words that no Spanish text has, and no data of a test."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.web.markup import Element, read

ENGLISH = re.compile(r"\b(the|and|with|not|for|this|nobody|is|are|of|from|until|your|you)\b", re.IGNORECASE)
READ_ALOUD = ("alt", "aria-label", "aria-description", "placeholder", "title", "data-label")
UNSEEN = ("script", "style", "datalist", "code", "kbd")
# A language by its own name, and what people typed who furnished the pages of the tests.
NO_WORDS_OF_OURS = re.compile(
    "English|Take the sample|See the folder|the database was restored|NOBODY|Ida of the office|Look at the boiler"
    "|no answer to the whole message|At the sea|this year.csv"
)


def english_in(markup: str) -> list[str]:
    """The texts of a page, and what is read aloud of it, that have an English word."""
    return [text for text in texts(read(markup)) if ENGLISH.search(NO_WORDS_OF_OURS.sub("", text))]


def texts(element: Element) -> Iterator[str]:
    if element.tag in UNSEEN:
        return
    yield from (element.attributes[name] for name in READ_ALOUD if element.attributes.get(name))
    for child in element.children:
        if isinstance(child, Element):
            yield from texts(child)
        else:
            yield " ".join(child.split())
