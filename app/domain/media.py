"""Files that are kept as proof: what each one is, by its content, and the name under which it is given back.

Neither the name nor what a browser says of a file is believed. What a browser could run, and what nobody can name, is
refused.
"""

from __future__ import annotations

import io
import re
import unicodedata
import zipfile

from app.domain.errors import Refused

LARGEST_FILE = 20_000_000  # Bytes (20 MB): a scan of a hundred pages; each one lies in the database and its backups.
LONGEST_FILE_NAME = 150  # Characters: with those that a browser adds, every file system takes it.
MOST_MEMBERS = 10_000  # Parts of a document that is a ZIP: more is no document but a trick.
MOST_HEADER = 20_000  # Bytes of a mail in which its own header must be found.

PDF, JPEG, PNG, HEIC = "application/pdf", "image/jpeg", "image/png", "image/heic"
TIFF, WEBP, MAIL = "image/tiff", "image/webp", "message/rfc822"
TEXT, CSV = "text/plain", "text/csv"
OFFICE = "application/vnd.openxmlformats-officedocument."
OPEN = "application/vnd.oasis.opendocument."
DOCX, XLSX = f"{OFFICE}wordprocessingml.document", f"{OFFICE}spreadsheetml.sheet"
ODT, ODS = f"{OPEN}text", f"{OPEN}spreadsheet"

# What is accepted, and the endings that its name may have; the first one is put where the name has none of them.
ENDINGS: dict[str, tuple[str, ...]] = {
    PDF: ("pdf",), JPEG: ("jpg", "jpeg"), PNG: ("png",), HEIC: ("heic", "heif"), TIFF: ("tif", "tiff"),
    WEBP: ("webp",), DOCX: ("docx",), XLSX: ("xlsx",), ODT: ("odt",), ODS: ("ods",), MAIL: ("eml",),
    TEXT: ("txt",), CSV: ("csv",),
}  # fmt: skip
PHOTOS = frozenset({JPEG, PNG, HEIC})
SHOWN = frozenset({JPEG, PNG})  # What every browser shows as a picture.

STARTS = (
    (b"%PDF-", PDF), (b"\xff\xd8\xff", JPEG), (b"\x89PNG\r\n\x1a\n", PNG),
    (b"II*\x00", TIFF), (b"MM\x00*", TIFF),
)  # fmt: skip
HEIC_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
ZIP = b"PK\x03\x04"
MAIN_PARTS = {"word/document.xml": DOCX, "xl/workbook.xml": XLSX}
MACROS = "vbaproject.bin"
TAGS = re.compile(r"<\s*(!doctype|\?xml|html|head|body|script|svg|iframe|object|embed|style)\b", re.IGNORECASE)
HEADER_LINE = re.compile(rb"[A-Za-z][A-Za-z0-9-]*:[ \t]?[^\r\n]*(\r?\n[ \t][^\r\n]*)*\r?\n")
MAIL_NAMES = (b"from:", b"date:")
KEPT_CONTROLS = frozenset("\t\n\r\f")


def media_type(file_name: str, content: bytes) -> str:
    """What the file is. Raises Refused for an empty, too large, dangerous or unknown one.

    The name only tells an e-mail and a CSV file from other plain text, which its content cannot.
    """
    if not content:
        raise Refused("The file is empty: choose another one.")
    if len(content) > LARGEST_FILE:
        most = f"{LARGEST_FILE:,}"
        raise Refused("The file has more than %(most)s bytes, and that is the most: make it smaller.", most=most)
    found = _by_start(content) or (_in_zip(content) if content.startswith(ZIP) else _as_text(file_name, content))
    if found is None:
        raise Refused(
            "The file is of a kind that is not kept, whatever its name says. Kept are PDF, JPEG, PNG, HEIC, TIFF, "
            "WebP, DOCX, XLSX, ODT, ODS, an e-mail (EML), plain text or CSV."
        )
    return found


def check_proof(file_name: str, content: bytes) -> None:
    """Raise Refused unless the file can prove that something was done, as a phone or a scanner sends it."""
    if media_type(file_name, content) not in PHOTOS | {PDF}:
        raise Refused(
            "The file is neither a photo nor a PDF, whatever its name says. Send a photo (JPEG, PNG or HEIC) or a PDF."
        )


def clean_file_name(file_name: str, kind: str) -> str:
    """The last part of the name, without what cannot be seen, with an ending that says what the file is."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", file_name))[-1]
    seen = "".join(char for char in last if unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
    name = " ".join(re.sub(r'["<>:|?*]', " ", seen).split()).strip(". ") or "paper"
    stem, dot, ending = name.rpartition(".")
    if not (dot and stem and ending.lower() in ENDINGS[kind]):
        stem, ending = name, ENDINGS[kind][0]
    return f"{stem[: LONGEST_FILE_NAME - len(ending) - 1].rstrip('. ')}.{ending}"


def _by_start(content: bytes) -> str | None:
    for start, kind in STARTS:
        if content.startswith(start):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return WEBP
    if content[4:8] == b"ftyp" and content[8:12] in HEIC_BRANDS:
        return HEIC
    return None


def _in_zip(content: bytes) -> str | None:
    """A document of an office program, by its parts; one with macros is refused. Nothing large is unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()[: MOST_MEMBERS + 1]
            if len(names) > MOST_MEMBERS:
                return None
            if any(name.lower().endswith(MACROS) or name.startswith("Basic/") for name in names):
                raise Refused("The file holds macros, which are programs: save it without them, or as a PDF.")
            if "[Content_Types].xml" in names:
                return next((kind for part, kind in MAIN_PARTS.items() if part in names), None)
            if names[:1] == ["mimetype"]:
                with archive.open("mimetype") as said:
                    kind = said.read(100).decode("ascii", "replace").strip()
                return kind if kind in (ODT, ODS) else None
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError, RuntimeError, EOFError, OSError):
        pass  # Not a ZIP that could be a document; refused below, with the kinds that are kept.
    return None


def _as_text(file_name: str, content: bytes) -> str | None:
    """An e-mail by its header; else text without control characters, tags and programs. An e-mail may hold any."""
    ending = file_name.rpartition(".")[2].strip().lower()
    if ending in ENDINGS[MAIL] and _is_mail(content):
        return MAIL
    text = _decoded(content)
    if text is None or TAGS.search(text) or text.lstrip("\ufeff").startswith(("#!", "<")):
        return None
    if any(unicodedata.category(char) == "Cc" and char not in KEPT_CONTROLS for char in set(text)):
        return None
    return CSV if ending in ENDINGS[CSV] else TEXT


def _is_mail(content: bytes) -> bool:
    head, place = content[:MOST_HEADER], 0
    lines = set()
    while (found := HEADER_LINE.match(head, place)) is not None:
        lines.add(found[0].partition(b":")[0].lower() + b":")
        place = found.end()
    return b"\0" not in content and set(MAIL_NAMES) <= lines


def _decoded(content: bytes) -> str | None:
    """The text in the encodings that programs save: UTF-8, UTF-16 with its mark, or the one of Windows."""
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if marked else ("utf-8-sig", "cp1252"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    return None
