"""What a file is, by its content: whatever its name says, and whatever else it could be taken for."""

from __future__ import annotations

import io
import zipfile

import pytest

from app.domain import media
from app.domain.errors import Refused


def zipped(*names: str, mimetype: str | None = None) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as archive:
        if mimetype is not None:
            archive.writestr("mimetype", mimetype)
        for name in names:
            archive.writestr(name, "<x/>")
    return kept.getvalue()


PDF = b"%PDF-1.7\n1 0 obj\n%%EOF\n"
HTML = b"<!DOCTYPE html><html><script>alert(1)</script></html>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
MAIL = b"Received: from x\r\n by y\r\nFrom: ana@acme.example\r\nDate: Mon, 1 Mar 2027 10:00:00 +0100\r\n\r\n<html>Hello"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("c.pdf", PDF, media.PDF),
        ("photo.jpg", PDF, media.PDF),
        ("page.html", PDF + HTML, media.PDF),
        ("a.jpg", b"\xff\xd8\xff\xe0" + HTML, media.JPEG),
        ("a.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 9, media.PNG),
        ("a.tif", b"II*\0" + b"\0" * 9, media.TIFF),
        ("a.tif", b"MM\0*" + b"\0" * 9, media.TIFF),
        ("a.webp", b"RIFF\x10\0\0\0WEBPVP8 ", media.WEBP),
        ("a.heic", b"\0\0\0\x18ftypheic\0\0\0\0", media.HEIC),
        ("a", zipped("[Content_Types].xml", "word/document.xml"), media.DOCX),
        ("a", zipped("[Content_Types].xml", "xl/workbook.xml"), media.XLSX),
        ("a", zipped("content.xml", mimetype=media.ODT), media.ODT),
        ("a", zipped("content.xml", mimetype=media.ODS), media.ODS),
        ("a.eml", MAIL, media.MAIL),
        ("a.txt", "Permiso número 7\n".encode(), media.TEXT),
        ("a.txt", "Permiso número 7\r\n".encode("cp1252"), media.TEXT),
        ("a.txt", "Permiso número 7".encode("utf-16"), media.TEXT),
        ("A.CSV", b"a;b\n1;<2\n", media.CSV),
        ("a.html", b"just words", media.TEXT),
    ],
)
def test_the_content_says_what_it_is(name: str, content: bytes, kind: str) -> None:
    assert media.media_type(name, content) == kind


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("c.pdf", b"", "empty"),
        ("c.pdf", HTML, "of a kind that is not kept"),
        ("c.pdf", b"\n\n  " + HTML, "of a kind"),
        ("c.txt", b"Dear all <ScRiPt>alert(1)", "of a kind"),
        ("c.txt", "\ufeff".encode() + HTML, "of a kind"),
        ("c.txt", HTML.decode().encode("utf-16"), "of a kind"),
        ("c.png", SVG, "of a kind"),
        ("c.csv", b'<?xml version="1.0"?>' + SVG, "of a kind"),
        ("c.eml", HTML, "of a kind"),
        ("c.eml", b"From: a\r\n\r\n" + HTML, "of a kind"),
        ("c.txt", MAIL, "of a kind"),
        ("c.pdf", b"junk before " + PDF[:-1] + b"\0", "of a kind"),
        ("c.pdf", b"MZ\x90\0" + b"\0" * 60, "of a kind"),
        ("c.pdf", b"\x7fELF\x02\x01", "of a kind"),
        ("c.txt", b"#!/bin/sh\nrm -r x\n", "of a kind"),
        ("c.txt", b"a\0b", "of a kind"),
        ("c.gif", b"GIF89a/*" + b"\x01" * 9, "of a kind"),
        ("c.docx", zipped("evil.html"), "of a kind"),
        ("c.docx", zipped("[Content_Types].xml", "word/document.xml")[:60], "of a kind"),
        ("c.jar", zipped("META-INF/MANIFEST.MF"), "of a kind"),
        ("c.odt", zipped("content.xml", mimetype="text/html"), "of a kind"),
        ("c.docx", zipped("[Content_Types].xml", "word/document.xml", "word/vbaProject.bin"), "macros"),
        ("c.odt", zipped("Basic/Standard/x.xml", mimetype=media.ODT), "macros"),
    ],
)
def test_what_is_empty_unknown_or_could_run_is_refused(name: str, content: bytes, words: str) -> None:
    with pytest.raises(Refused, match=words):
        media.media_type(name, content)


def test_the_limit_is_exact() -> None:
    most = PDF + b"x" * (media.LARGEST_FILE - len(PDF))
    assert media.media_type("a.pdf", most) == media.PDF
    with pytest.raises(Refused, match="more than 20,000,000 bytes"):
        media.media_type("a.pdf", most + b"x")


@pytest.mark.parametrize(
    ("name", "kind", "clean"),
    [
        ("C-1340.pdf", media.PDF, "C-1340.pdf"),
        ("photo.jpg", media.PDF, "photo.jpg.pdf"),
        ("Photo.JPEG", media.JPEG, "Photo.JPEG"),
        ("../../etc/passwd", media.TEXT, "passwd.txt"),
        ("C:\\papers\\permit.pdf", media.PDF, "permit.pdf"),
        ("fdp\u202e.exe", media.PDF, "fdp.exe.pdf"),
        ('a"b\r\nSet-Cookie: x.pdf', media.PDF, "a bSet-Cookie x.pdf"),
        ("Año 2027 résumé.pdf", media.PDF, "Año 2027 résumé.pdf"),
        ("  ..  ", media.PDF, "paper.pdf"),
        (".pdf", media.PDF, "pdf.pdf"),
        ("", media.CSV, "paper.csv"),
        ("x" * 300 + ".pdf", media.PDF, "x" * 146 + ".pdf"),
    ],
)
def test_the_name_is_cleaned_and_says_what_it_is(name: str, kind: str, clean: str) -> None:
    assert media.clean_file_name(name, kind) == clean
    assert media.clean_file_name(clean, kind) == clean
