"""Which encoding the bytes of a text file are in.

What the bytes prove (a byte order mark, UTF-8, the NULs of UTF-16) is certain. A code page of one byte a character
proves nothing: the likeliest one is taken, and told as assumed, with a text by which a person can judge it.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from app.domain.errors import Refused, quoted

# What other files begin with (file signatures), so that a refusal can say what the file is.
SIGNATURES = {
    b"%PDF": "a PDF",
    b"\x1f\x8b": "compressed by gzip",
    b"{\\rtf": "a text document (RTF)",
    b"\x89PNG": "a picture (PNG)",
    b"\xff\xd8\xff": "a picture (JPEG)",
    b"GIF8": "a picture (GIF)",
    b"II*\x00": "a picture (TIFF)",
    b"MM\x00*": "a picture (TIFF)",
    b"PK\x05\x06": "an empty archive (ZIP)",
    b"7z\xbc\xaf": "an archive (7z)",
    b"Rar!": "an archive (RAR)",
    b"SQLite format 3": "a database (SQLite)",
    b"MIME-Version:": "a web page (MHTML), whatever its name",
    codecs.BOM_UTF32_LE: "text in UTF-32",
    codecs.BOM_UTF32_BE: "text in UTF-32",
}
# What is text and yet no table, whatever its name: programs write such files with the ending .xls.
TAGGED = re.compile(rb"<(!doctype html|html|head|meta|table|body|style|!--)|<(\?xml|workbook)\b", re.IGNORECASE)
MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
NAMES = {"utf-8": "UTF-8", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}
PIECE = 1 << 20  # Bytes that are decoded at a time.
SAMPLE = 4096  # Bytes by which UTF-16 without a mark is known: its commas, digits and line ends have a NUL each.

# The code pages in which offices keep registers, the commonest first: it wins a tie.
CODE_PAGES = {"cp1252": "Windows-1252", "iso8859-15": "ISO-8859-15", "cp1250": "Windows-1250"}
WINDOWS_ONLY = bytes(range(0x80, 0xA0))  # ISO 8859 has control characters there, which no register has.

# The letters of each language beside a to z. A code page is as likely as the best of its languages.
ALPHABETS = {
    "cp1252": (
        "áéíóúüñçàèòïºª·¿¡", "àâæçéèêëîïôœùûüÿ", "äöüßéè", "áàâãçéêíóôõúüºª", "àèéìíîòóùúºª", "åäöæøéèü", "éëïöüèêáóú",
    ),
    "iso8859-15": ("áéíóúüñçàèòïºª·¿¡€", "àâæçéèêëîïôœùûüÿ€", "äöüßéè€", "åäöšžé€"),
    "cp1250": ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîşţ"),
}  # fmt: skip

LETTER = rb"[A-Za-z\xc0-\xff]"
INNER_SYMBOL = re.compile(rb"(?<=" + LETTER + rb")[\xa1-\xbf](?=" + LETTER + rb")")
TELLING = re.compile(rb"[^,;|\t\r\n\"]{0,30}[\x80-\xff][^,;|\t\r\n\"]{0,30}")


@dataclass(frozen=True)
class Encoding:
    """The codec, its name for a person, the length of the byte order mark, and what to tell if it is assumed."""

    codec: str
    name: str
    mark: int = 0
    warning: str = ""


def encoding_of(source: bytes) -> Encoding:
    """The encoding of a text file. Raises Refused if it is no text."""
    if what := other_than_a_table(source):
        raise Refused(f"The file is {what}, which is no table: save the table in it as CSV in UTF-8.")
    found = marked(source) or utf_16_without_mark(source)
    if found is None and (fault := utf_8_fault(source)) is not None:
        return assumed(source, fault)
    found = found or Encoding("utf-8", "UTF-8")
    check(source, found)
    return found


def other_than_a_table(source: bytes) -> str:
    """What the file is, if its beginning says that it is something else than a table of text."""
    for signature, words in SIGNATURES.items():
        if source.startswith(signature):
            return words
    start = source[:SAMPLE].removeprefix(codecs.BOM_UTF8).replace(b"\x00", b"").lstrip(b"\xff\xfe \t\r\n")
    found = TAGGED.match(start)
    if found is None:
        return ""
    return "a web page (HTML), whatever its name" if found[1] else "an XML document, whatever its name"


def marked(source: bytes) -> Encoding | None:
    marks = [(mark, codec) for mark, codec in MARKS.items() if source.startswith(mark)]
    return Encoding(marks[0][1], NAMES[marks[0][1]], len(marks[0][0])) if marks else None


def utf_16_without_mark(source: bytes) -> Encoding | None:
    """UTF-16 if every fourth character or more has its NUL, nearly always on the same side."""
    sides = [source[side:SAMPLE:2].count(0) for side in (0, 1)]
    half = len(source[:SAMPLE]) // 2
    for codec, full, bare in (("utf-16-be", 0, 1), ("utf-16-le", 1, 0)):
        if len(source) % 2 == 0 and sides[full] * 4 >= half > 0 and sides[bare] * 10 < sides[full]:
            return Encoding(codec, NAMES[codec])
    return None


def utf_8_fault(source: bytes) -> int | None:
    """The position of the first byte that is not UTF-8, or None. Raises Refused if as many others are."""
    try:
        for _ in decoded_pieces(source, "utf-8"):
            pass
    except UnicodeDecodeError:
        text = source.decode("utf-8", "replace")
        wrong = text.count("\N{REPLACEMENT CHARACTER}")
        right = sum(1 for char in text if ord(char) > 127) - wrong
        fault = len(text.partition("\N{REPLACEMENT CHARACTER}")[0].encode())
        if right >= wrong:
            raise Refused(
                f"The file is UTF-8, but for byte {fault + 1} and perhaps others: mend it, and save it as UTF-8."
            ) from None
        return fault
    return None


def decoded_pieces(source: bytes, codec: str) -> Iterator[str]:
    view = memoryview(source)
    return codecs.iterdecode((bytes(view[at : at + PIECE]) for at in range(0, len(source), PIECE)), codec)


def check(source: bytes, encoding: Encoding) -> None:
    """Raise Refused unless all of the file is text in its encoding, without NUL."""
    try:
        nul = any("\x00" in piece for piece in decoded_pieces(source, encoding.codec))
    except UnicodeDecodeError:
        raise Refused(f"The file is damaged: it is not {encoding.name} throughout; save it again as UTF-8.") from None
    if nul:
        raise Refused("The file holds NUL characters, so it is not a text file: save it as CSV in UTF-8.")


def assumed(source: bytes, fault: int) -> Encoding:
    """The likeliest code page, with what to tell: the file does not say which it is."""
    high = source.translate(None, bytes(range(0x80)))
    is_windows = high.translate(None, WINDOWS_ONLY) != high
    pages = [page for page in CODE_PAGES if page.startswith("cp") or not is_windows]
    likely = {page: plausibility(source, Counter(high), page) for page in pages if can_decode(high, page)}
    if not likely or b"\x00" in source:
        raise Refused(f"The encoding of the file is unknown (byte {fault + 1} is not UTF-8): save it as CSV in UTF-8.")
    page = max(likely, key=lambda page: likely[page])
    name = CODE_PAGES[page]
    sample = found[0] if (found := TELLING.search(source)) else b""
    told = quoted(sample.decode(page).strip())
    doubt = f"the encoding is assumed to be {name}: if {told} is wrong, save the file as CSV in UTF-8"
    return Encoding(page, name, warning=doubt)


def can_decode(high: bytes, page: str) -> bool:
    try:
        high.decode(page)
    except UnicodeDecodeError:
        return False
    return True


def plausibility(source: bytes, high: Counter[int], page: str) -> float:
    """How many of the letters beyond ASCII are of one language of the code page; a symbol inside a word is none."""
    symbols = Counter(found[0] for found in INNER_SYMBOL.findall(source))
    letters: Counter[str] = Counter()
    for byte, count in high.items():
        char = bytes([byte]).decode(page).lower()
        # Nobody writes ¤: it is the place of € in ISO-8859-15.
        is_telling = char == "¤" or byte == b"\xa4"[0] or (char.isalpha() and char not in "ºª")
        letters[char] += count if is_telling else symbols[byte]
    total = letters.total()
    best = max(sum(letters[char] for char in alphabet) for alphabet in ALPHABETS[page])
    return best / total if total else 1.0
