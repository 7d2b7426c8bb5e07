"""Where a person is named who is forgotten: in kept files and their lines, which are mended; elsewhere, which is told.

Titles and notes are about a duty, and a person edits them by hand: only they know what must be said there instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import undefer

from app.models import ImportUpload
from app.operations.uploads import drop_upload
from app.trail.act import Act

SHOWN = 20  # References that are named of each place; whoever has more of them searches for the name.
ENCODINGS = ("utf-8", "latin-1", "utf-16-le", "utf-16-be")
PACKED = (b"PK", b"\xd0\xcf\x11\xe0")  # How workbooks begin, into which nobody looks for this.

RUNS = "select id, rows from import_run where org_id = :org and cast(rows as text) ~* :pattern order by id for update"
MEND_RUN = "update import_run set rows = cast(:rows as jsonb) where org_id = :org and id = :id"
LEFT_OVERS = """
select id, left_over from import_upload
where org_id = :org and left_over is not null and cast(left_over as text) ~* :pattern order by id for update"""
MEND_LEFT_OVER = "update import_upload set left_over = cast(:rows as jsonb) where org_id = :org and id = :id"
WAITING = "select id from import_upload where org_id = :org and import_run_id is null order by id for update"

ELSEWHERE = """
select p.place, array_agg(distinct p.reference order by p.reference) as refs from (
  select 'titles' as place, s.reference, s.title as words from subject s where s.org_id = :org
  union all select 'notes', s.reference, concat_ws(' ', s.notes, s.legal_basis, cast(s.extra as text))
  from subject s where s.org_id = :org
  union all select 'notes of deadlines', s.reference, o.note
  from obligation o join subject s on s.org_id = :org and s.id = o.subject_id where o.org_id = :org
  union all select 'papers', s.reference, concat_ws(' ', d.number, d.issuer, d.note)
  from document d join subject s on s.org_id = :org and s.id = d.subject_id where d.org_id = :org) p
where p.words ~* :pattern group by p.place order by p.place"""


@dataclass(frozen=True)
class Person:
    """By what somebody can be recognised in a text."""

    name: str
    email: str | None
    number: str | None

    @property
    def words(self) -> list[str]:
        return [word for word in (self.name, self.email, self.number) if word]

    @property
    def pattern(self) -> str:
        """Any of the words, whole, as PostgreSQL reads it."""
        return rf"(^|[^[:alnum:]])({'|'.join(re.escape(word) for word in self.words)})($|[^[:alnum:]])"


def forget_in_imports(act: Act, who: Person, instead: str) -> int:
    """Put the new name where lines of imports name the person, and let files go that wait and may; how many of both."""
    mended = 0
    for found, mend in ((RUNS, MEND_RUN), (LEFT_OVERS, MEND_LEFT_OVER)):
        for id, rows in act.run(found, {"pattern": who.pattern}).all():
            new = without(rows, who, instead)
            if new != rows:
                act.run(mend, {"id": id, "rows": json.dumps(new)})
                mended += 1
    return mended + sum(drop_if_named(act, id, who) for id in act.run(WAITING).scalars().all())


def drop_if_named(act: Act, upload_id: int, who: Person) -> bool:
    """Let a file go that waits, if it names the person or cannot be looked into: it can be sent again."""
    query = select(ImportUpload).where(ImportUpload.org_id == act.org, ImportUpload.id == upload_id)
    upload = act.session.scalars(query.options(undefer(ImportUpload.content))).one()
    if not is_named_in(upload.content or b"", who):
        return False
    drop_upload(act, upload)
    return True


def is_named_in(content: bytes, who: Person) -> bool:
    if content.startswith(PACKED):
        return True
    texts = [content.decode(encoding, "replace").casefold() for encoding in ENCODINGS]
    return any(word.casefold() in one for word in who.words for one in texts)


def without(value: Any, who: Person, instead: str, key: str = "") -> Any:
    """The same lines with another name. A number, or a name of one word, is the person only where nothing else stands:
    it may be part of a title, and references are nobody's."""
    if isinstance(value, dict):
        return {name: without(inner, who, instead, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [without(inner, who, instead, key) for inner in value]
    if not isinstance(value, str) or key == "reference":
        return value
    if value.strip().casefold() in {word.casefold() for word in who.words}:
        return instead
    sure = [word for word in who.words if key == "reason" or "@" in word or " " in word]
    for word in sure:
        value = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", lambda _: instead, value, flags=re.IGNORECASE)
    return value


def mentions(act: Act, who: Person) -> dict[str, list[str]]:
    """Where else the person is named, and by which entries; to be edited by hand."""
    return {row.place: list(row.refs) for row in act.run(ELSEWHERE, {"pattern": who.pattern})}


def in_words(found: dict[str, list[str]]) -> Iterator[str]:
    for place, references in found.items():
        more = f" and {len(references) - SHOWN} more" if len(references) > SHOWN else ""
        yield f"{place}: {', '.join(references[:SHOWN])}{more}"
