"""What a person can read, found in the sources: sentences that a catalogue must have, and words that pass it by."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from babel.messages.extract import extract_from_file
from babel.messages.pofile import normalize
from jinja2 import nodes
from jinja2.ext import InternationalizationExtension, babel_extract
from jinja2.sandbox import SandboxedEnvironment

from app.vocabulary import NAMES
from app.wording import catalogue

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "app" / "vocabulary.py"

# A sentence is (what it is about, its one form, its form for many); the first and the last may be missing.
Sentence = tuple[str | None, str, str | None]

MARKS = {
    "_": None, "gettext": None, "later": None, "Refused": None, "pgettext": ((1, "c"), 2), "ngettext": (1, 2),
    "plural": (1, 2), "Phrase": None, "UnusableZone": None,
    # The name of the field is said in what they refuse.
    "one_line": (2,), "clean_text": (2,), "check_visible": (2,), "register_day": (2,), "past_day": (3,), "code": (3,),
    "reference": (2,),
}  # fmt: skip
OPTIONS = {"trim_blocks": "true", "lstrip_blocks": "true", "silent": "false"}

TWO_WORDS = re.compile(r"[^\W\d_]{2,}[,:;]? +[^\W\d_]{2,}")
LABEL = re.compile(r"[A-Z][a-z]{2,}\.?")
PLACES = re.compile(r"%\(\w+\)[sd]|\{\w*\}")
# Markup, and what the protocol says: neither is read by anybody.
STYLE = re.compile(r"^<|^[a-z-]+:[a-z0-9#]|style=|[a-z-]+=\"|; (charset|filename)=|max-age=|^HX-")
STATEMENT = re.compile(r"\s*(select|update|insert|delete|with|from|where|and|or|join|left join|order|case|set)\b", re.I)
NO_WORDS = frozenset(
    # Headers and attributes, the name of the house, and codes that only a program sees.
    {"Vary", "Location", "Allow", "Accept", "Onus", "Lax", "English", "open", "signed in", "not configured", "onus web"}
)
READ_ALOUD = ("alt", "aria-label", "aria-description", "placeholder", "title", "content")


# A fragment of a statement: it names the organisation, a column of a table, or a function of SQL.
FRAGMENT = re.compile(r":org\b|\bselect\b|coalesce\(|\b[a-z]\.[a-z_]+ = ")


def templates() -> list[Path]:
    return sorted(path for path in (ROOT / "templates").rglob("*") if path.is_file())


def modules() -> list[Path]:
    return sorted((ROOT / "app").rglob("*.py"))


@cache
def asked_for(path: Path) -> frozenset[Sentence]:
    """The sentences that a file asks a catalogue for."""
    is_mail = "mail" in path.parts
    options = OPTIONS | {"trimmed": "false" if is_mail else "true"}
    # The names of codes are a table of their own, each asked for where it is about its kind of code.
    found: set[Sentence] = set()
    if path == TABLE:
        found = {(of, name, None) for of, kind in NAMES.items() for name in kind.values()}
    if path.suffix == ".py":
        return frozenset(found | set(_asked_by(ast.parse(path.read_text()))))
    for _, said, _, about in extract_from_file(babel_extract, path, keywords=MARKS, options=options):
        forms = said if isinstance(said, tuple) else (said,)
        found.add((about, forms[0], forms[1] if len(forms) > 1 else None))
    return frozenset(found)


def _asked_by(tree: ast.AST) -> Iterator[Sentence]:
    """By the syntax tree: Babel's own reader passes by a call that stands within another one."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or (name := _called(call)) not in MARKS:
            continue
        about, one, many = None, *([*_texts(call, MARKS[name] or (1,)), None, None][:2])
        if name == "pgettext":
            about, one, many = one, many, None
        if one is not None and (name != "pgettext" or about is not None):
            yield about, one, many


def _texts(call: ast.Call, places: Sequence[Any]) -> list[str | None]:
    """The arguments at these places, where they are text that stands there."""
    numbers = [place[0] if isinstance(place, tuple) else place for place in places]
    given = [call.args[number - 1] if number <= len(call.args) else None for number in numbers]
    return [one.value if isinstance(one, ast.Constant) and isinstance(one.value, str) else None for one in given]


def is_bare(text: str) -> bool:
    """Whether a person would read it as words."""
    text = PLACES.sub("", text).strip()
    if STATEMENT.match(text) or STYLE.search(text) or FRAGMENT.search(text):
        return False
    return text not in NO_WORDS and bool(TWO_WORDS.search(text) or LABEL.fullmatch(text))


@cache
def bare_words(path: Path) -> tuple[str, ...]:
    """The words of a file that no catalogue is asked for."""
    return tuple(_bare_in_module(path) if path.suffix == ".py" else _bare_in_template(path))


def _bare_in_module(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    passed = {id(part) for part in _passed_by(tree)}
    for node in ast.walk(tree):
        if id(node) in passed:
            continue
        if isinstance(node, ast.JoinedStr):
            whole = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)  # type: ignore[misc]
            if is_bare(whole):
                yield f"{node.lineno}: {whole}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and is_bare(node.value):
            yield f"{node.lineno}: {node.value}"


def _passed_by(tree: ast.AST) -> Iterator[ast.AST]:
    """What is no word for a person, or is asked for: docstrings, marked sentences, logs, faults, types."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield from node.values
        elif isinstance(node, ast.Call) and _is_silent(node):
            for part in node.args:
                yield from ast.walk(part)
        elif isinstance(node, ast.Call) and _called(node) in MARKS:
            yield from (part for part in node.args if not isinstance(part, ast.JoinedStr))
        elif isinstance(node, ast.Subscript):
            yield from ast.walk(node.slice)
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            yield from ast.walk(node.annotation)


def _is_silent(call: ast.Call) -> bool:
    """A line of the log, a fault of the program, a statement, a pattern: none of them for the reader of a page."""
    name = _called(call)
    return (name.endswith("Error") or name in {"text", "compile", "TypeVar", "NewType", "cast", "namedtuple"}) or (
        isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id in {"log", "re"}
    )


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


class Texts(HTMLParser):
    """What a browser shows or reads aloud of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.within = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.within = tag
        self.found += [value for name, value in attrs if name in READ_ALOUD and value and tag != "meta"]

    def handle_endtag(self, tag: str) -> None:
        self.within = ""

    def handle_data(self, data: str) -> None:
        if self.within not in ("code", "script", "style", "kbd"):
            self.found.append(data)


def _bare_in_template(path: Path) -> Iterator[str]:
    source = path.read_text()
    environment = SandboxedEnvironment(extensions=[InternationalizationExtension])
    environment.newstyle_gettext = True  # type: ignore[attr-defined]
    tree = environment.parse(source)
    marked = {id(one) for call in tree.find_all(nodes.Call) if _marks(call) for one in call.find_all(nodes.Const)}
    for const in tree.find_all(nodes.Const):
        if isinstance(const.value, str) and id(const) not in marked and is_bare(const.value):
            yield f"{const.lineno}: {const.value}"
    page = Texts()
    page.feed(re.sub(r"\{#.*?#\}|\{%-?\s*trans\b.*?endtrans\s*-?%\}|\{%.*?%\}|\{\{.*?\}\}", "", source, flags=re.S))
    page.close()
    for text in page.found:
        if re.search(r"[^\W\d_]{2,}", text) and text.strip(" \n·") not in NO_WORDS and not STYLE.search(text):
            yield " ".join(text.split())


def _marks(call: nodes.Call) -> bool:
    return isinstance(call.node, nodes.Name) and call.node.name in {*MARKS, "url_for"}


def missing(language: str, parts: Sequence[str]) -> Iterator[str]:
    """What a language lacks of these files, as entries of a catalogue to be filled in."""
    given = {(message.context, *_forms(message.id)) for message in catalogue(language) if message.id}
    chosen = [path for path in [*modules(), *templates()] if str(path.relative_to(ROOT)).startswith(tuple(parts))]
    asked = {sentence for path in chosen for sentence in asked_for(path)}
    for about, one, many in sorted(asked - given, key=str):
        yield "".join(
            [
                f"msgctxt {normalize(about)}\n" if about else "",
                f"msgid {normalize(one)}\n",
                f'msgid_plural {normalize(many)}\nmsgstr[0] ""\nmsgstr[1] ""\n' if many else 'msgstr ""\n',
            ]
        )


def _forms(of: object) -> tuple[str, str | None]:
    return (of[0], of[1]) if isinstance(of, tuple | list) else (str(of), None)


if __name__ == "__main__":
    sys.stdout.write("\n".join(missing(sys.argv[1], sys.argv[2:])))
