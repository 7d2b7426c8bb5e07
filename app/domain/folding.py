"""Folding: the one form in which texts, names, references and addresses are stored and compared.

Each folding is idempotent: folding what is folded changes nothing. Must not know what the texts are for.
"""

import unicodedata

from app.domain.errors import Phrase, Refused, quoted

LONGEST_ADDRESS = 254  # Characters; RFC 5321, section 4.5.3.1.3, less the angle brackets (RFC 3696, erratum 1690).

# They end an address or open another one in a header (RFC 5322, section 3.2.3), and come with lists pasted from mail.
BREAKS_ADDRESS = frozenset('<>(),;:\\"')


def fold_address(email: str) -> str:
    """An e-mail address trimmed, NFC, lower-cased: two spellings of one mailbox are one text.

    Raises Refused unless it is a plausible address of at most 254 characters.
    """
    folded = _nfc(_nfc(email).strip().lower())
    local, at, domain = folded.partition("@")
    plausible = local and at and domain and "@" not in domain
    if not plausible or any(char in BREAKS_ADDRESS or _is_invisible(char) for char in folded):
        raise Refused(
            "%(text)s is not an e-mail address: write one address, such as ana@example.com.", text=quoted(email)
        )
    if len(folded) > LONGEST_ADDRESS:
        raise Refused(
            "The address %(text)s is longer than %(most)s characters: correct it.",
            text=quoted(email),
            most=LONGEST_ADDRESS,
        )
    return folded


def fold_reference(text: str) -> str:
    """The key by which references of one site are compared: NFC, trimmed, case-folded. Inner spaces stay."""
    return _nfc(_nfc(text).strip().casefold())


def fold_name(text: str) -> str:
    """A name on one line: NFC, trimmed, with each run of white space as one space. Upper and lower case stay."""
    return " ".join(_nfc(text).split())


def clean_text(text: str, field: str, longest: int) -> str:
    """What a person typed: trimmed NFC of at most `longest` characters, with line ends as newlines.

    Raises Refused, which names the field, for other control characters than newline and tab, and for text too long.
    """
    # Browsers end the lines of a text area with carriage return and newline; nobody typed the former.
    cleaned = _nfc(text).replace("\r\n", "\n").replace("\r", "\n").strip()
    for char in cleaned:
        if unicodedata.category(char) in {"Cc", "Cs"} and char not in "\n\t":
            raise Refused(
                "%(field)s holds a character that cannot be kept (%(character)s): remove it.",
                field=Phrase(field),
                character=f"U+{ord(char):04X}",
            )
    if len(cleaned) > longest:
        raise Refused(
            "%(field)s has %(length)s characters: shorten it to at most %(most)s.",
            field=Phrase(field),
            length=len(cleaned),
            most=longest,
        )
    return cleaned


def check_visible(text: str, field: str) -> None:
    """Raise Refused, which names the field, for a character without a shape: a zero-width space, a mark of direction.

    They come with what is copied from pages and documents, and nobody who compares two texts can see them.
    """
    for char in text:
        if unicodedata.category(char) == "Cf":
            raise Refused(
                "%(field)s holds an invisible character (%(character)s): remove it.",
                field=Phrase(field),
                character=f"U+{ord(char):04X}",
            )


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _is_invisible(char: str) -> bool:
    """White space, control and format characters, and lone surrogates, which no database can store."""
    return char.isspace() or unicodedata.category(char) in {"Cc", "Cf", "Cs"}
