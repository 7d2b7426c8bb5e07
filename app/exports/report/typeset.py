"""The program that makes a PDF of the folder that it is given, outside the process that asked for it.

It is started as a file of its own and imports nothing of ours. The folder has `report.json`, what is printed, and
`report.typ`, how; `report.pdf` comes beside them. The arguments: the folder, seconds, bytes of memory, the instant of
the report in seconds since 1970, and "tagged" or "plain". What it cannot print becomes its code point, [U+6771].
"""

from __future__ import annotations

import contextlib
import functools
import json
import resource
import sys
from pathlib import Path
from typing import Any

import typst

SURE = 0x250  # Below it every letter is Latin, and has its sign in the fonts that come with Typst.
FIRST_SIGN = 0x20  # What stands before it controls, and is not printed; a line break apart.
DELETE, LAST_CONTROL = 0x7F, 0x9F
PROBE = b'#set document(title: "t")\n#set text(lang: "en")\n#json(bytes(sys.inputs.text))'
# Archival and readable aloud; where that cannot be, archival; in any case a file.
STANDARDS: dict[str, list[list[str]]] = {"tagged": [["a-3b", "ua-1"], ["a-3b"], []], "plain": [["a-3b"], []]}
FONTS = typst.Fonts(include_system_fonts=False)  # Else the result would depend on the host.


def main() -> None:
    folder, seconds, memory, moment, how = Path(sys.argv[1]), *map(int, sys.argv[2:5]), sys.argv[5]
    limit(seconds, memory)
    asked = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    printable, missing = replaced(asked)
    printable["missing"] = asked["missing"] if missing else ""
    (folder / "report.json").write_text(json.dumps(printable, ensure_ascii=False), encoding="utf-8")
    for standards in STANDARDS[how]:
        with contextlib.suppress(typst.TypstError):
            pages = compiled(folder, standards, moment, tagged=how == "tagged")
            answer = {"pages": pages, "standards": standards, "missing": missing}
            print(json.dumps(answer))  # noqa: T201  The answer of a program.
            return
    compiled(folder, [], moment, tagged=False)  # To say what is wrong.


def limit(seconds: int, memory: int) -> None:
    """Bound the memory and the time of this process for good."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError):  # Some systems have no such limit; those of time stay.
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def compiled(folder: Path, standards: list[str], moment: int, *, tagged: bool) -> int:
    """Set it; how many pages it has, as the template says."""
    compiler = typst.Compiler(folder / "report.typ", root=folder, font_paths=FONTS, ignore_system_fonts=True)
    chosen: Any = standards
    compiler.compile(
        output=folder / "report.pdf", format="pdf", pdf_standards=chosen, timestamp=moment, pdf_tags=tagged
    )
    return int(json.loads(compiler.query("<pages>", field="value", one=True)))


def replaced(asked: Any) -> tuple[Any, list[str]]:
    """The same with what cannot be printed by its code point; and which signs these were."""
    found: set[str] = set()
    gather(asked, found)
    missing = {sign: f"[U+{ord(sign):04X}]" for sign in sorted(found) if not is_printable(sign)}
    return exchanged(asked, str.maketrans(missing)), list(missing)


def gather(part: Any, found: set[str]) -> None:
    if isinstance(part, str):
        found.update(part)
    elif isinstance(part, dict | list):
        for one in part.values() if isinstance(part, dict) else part:
            gather(one, found)


def exchanged(part: Any, table: dict[int, str]) -> Any:
    if isinstance(part, str):
        return part.translate(table)
    if isinstance(part, list):
        return [exchanged(one, table) for one in part]
    return {name: exchanged(one, table) for name, one in part.items()} if isinstance(part, dict) else part


@functools.cache
def compiler() -> typst.Compiler:
    return typst.Compiler(font_paths=FONTS, ignore_system_fonts=True)


def is_printable(sign: str) -> bool:
    """Whether the fonts have it: asked of the typesetter once, for each sign that is not surely there."""
    code = ord(sign)
    if code < SURE:
        return sign == "\n" or not (code < FIRST_SIGN or DELETE <= code <= LAST_CONTROL)
    probed: Any = {"text": json.dumps(sign, ensure_ascii=False)}
    try:
        compiler().compile(PROBE, format="pdf", sys_inputs=probed, pdf_standards=["a-3b"])
    except typst.TypstError:
        return False
    return True


if __name__ == "__main__":
    main()
