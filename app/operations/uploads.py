"""Files on their way into the register: kept, looked at again, dropped, and settled once they are applied.

The file is a draft of the person's own; nothing of it is in the register before it is applied.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import undefer

from app.domain.acts import Contents
from app.domain.errors import Refused
from app.domain.folding import clean_text
from app.models import ImportUpload
from app.operations import wishes
from app.trail.act import Act
from app.wording import later

KEPT_FOR = dt.timedelta(days=7)  # A file that was not applied by then is let go: it may name people.
LEFT_OVER_KEPT_FOR = dt.timedelta(days=90)  # So may the lines that were not accepted; by then they are mended.
OF_ONE_FILE = ("confirmed", "confirm_all", "checked")  # What is said of a file, and not of the next one like it.
MOST_DRAFTS = 20  # Files of one organisation that wait at a time, so that the database does not fill with them.
LONGEST_FILE_NAME = 200  # Characters that are kept.

COUNT_WAITING = """
select count(*) from import_upload where org_id = :org and contents = :contents and import_run_id is null"""

OLD_DRAFTS = """
select id from import_upload where org_id = :org and import_run_id is null and at < :before order by id
for update skip locked"""

LET_LEFT_OVER_GO = """
update import_upload u set left_over = null from import_run r
where u.org_id = :org and r.org_id = :org and r.id = u.import_run_id and u.left_over is not null
  and (r.at < :before or r.id = :import_run)
returning r.id, u.file_name, u.file_sha256"""


def keep_upload(
    act: Act,
    member_id: int,
    file_name: str,
    content: bytes,
    look: Mapping[str, Any],
    key: str,
    contents: Contents = Contents.register,
) -> int:
    """Keep the file as a draft; its id. What somebody said of the same header before is said of it, too.

    Raises Refused while too many files wait.
    """
    let_old_go(act)
    if act.run(COUNT_WAITING, {"contents": contents.value}).scalar_one() >= MOST_DRAFTS:
        raise Refused(
            "%(number)s files wait to be brought in already: finish or drop some of them first.", number=MOST_DRAFTS
        )
    name = clean_text(file_name, later("The name of the file"), 10_000)[-LONGEST_FILE_NAME:] or contents.value
    sha256 = hashlib.sha256(content).hexdigest()
    upload = ImportUpload(
        org_id=act.org, at=act.now, member_id=member_id, file_name=name, file_sha256=sha256, content=content,
        look=dict(look), header_key=key, mapping=remembered(act, key, contents) or {}, contents=contents.value,
    )  # fmt: skip
    act.session.add(upload)
    act.session.flush()
    act.record("import_uploaded", upload_id=upload.id, file={"name": name, "sha256": sha256})
    return upload.id


def let_old_go(act: Act) -> None:
    """Files that were not applied in time, and lines that were not mended in time; what is at work stays."""
    ids = [row.id for row in act.run(OLD_DRAFTS, {"before": act.now - KEPT_FOR})]
    wishes.forget(act, *ids)
    columns = (ImportUpload.id, ImportUpload.file_name, ImportUpload.file_sha256)
    old = (ImportUpload.org_id == act.org, ImportUpload.id.in_(ids))
    for upload in act.session.execute(delete(ImportUpload).where(*old).returning(*columns)).all() if ids else ():
        record_drop(act, upload, "old")
    let_left_over_go(act, act.now - LEFT_OVER_KEPT_FOR, None, "old")


def let_left_over_go(act: Act, before: dt.datetime | None, import_run_id: int | None, why: str) -> None:
    """Let the cells of lines go that were not accepted; what became of each line stays with its import."""
    for row in act.run(LET_LEFT_OVER_GO, {"before": before, "import_run": import_run_id}).all():
        file = {"name": row.file_name, "sha256": row.file_sha256}
        act.record("import_left_over_dropped", import_run_id=row.id, file=file, why=why)


def drop_left_over(act: Act, import_run_id: int) -> None:
    """The same at once, for one import; again it changes nothing."""
    let_left_over_go(act, None, import_run_id, "by a person")


def record_drop(act: Act, upload: Any, why: str) -> None:
    file = {"name": upload.file_name, "sha256": upload.file_sha256}
    act.record("import_dropped", upload_id=upload.id, file=file, why=why)


def remembered(act: Act, key: str, contents: Contents) -> dict[str, Any] | None:
    """What was said of the last file with this header that was applied."""
    query = select(ImportUpload.mapping).where(ImportUpload.org_id == act.org, ImportUpload.header_key == key)
    query = query.where(ImportUpload.contents == contents)
    said = act.session.scalar(
        query.where(ImportUpload.import_run_id.is_not(None)).order_by(ImportUpload.id.desc()).limit(1)
    )
    return said and {name: value for name, value in said.items() if name not in OF_ONE_FILE}


def see_upload(act: Act, upload_id: int, contents: Contents = Contents.register) -> ImportUpload:
    """The draft without its file, and without waiting for whoever works on it. Raises LookupError."""
    query = select(ImportUpload).where(ImportUpload.org_id == act.org, ImportUpload.id == upload_id)
    found = act.session.scalars(query.where(ImportUpload.contents == contents)).one_or_none()
    if found is None:
        raise LookupError(upload_id)
    return found


def find_upload(
    act: Act, upload_id: int, contents: Contents = Contents.register, *, whole: bool = True
) -> ImportUpload:
    """The draft, locked, so that it is applied once; `whole` with its file. Raises LookupError."""
    query = select(ImportUpload).where(ImportUpload.org_id == act.org, ImportUpload.id == upload_id)
    query = query.where(ImportUpload.contents == contents)
    query = query.options(undefer(ImportUpload.content)) if whole else query
    query = query.execution_options(populate_existing=True).with_for_update()
    found = act.session.scalars(query).one_or_none()
    if found is None:
        raise LookupError(upload_id)
    return found


def look_again(act: Act, upload: ImportUpload, look: Mapping[str, Any], key: str) -> None:
    """Another sheet or header: other columns, of which nothing is said yet."""
    said = remembered(act, key, Contents(upload.contents)) or {}
    upload.look, upload.header_key, upload.mapping = dict(look), key, said
    act.session.flush()
    wishes.forget(act, upload.id)


def say(act: Act, upload: ImportUpload, mapping: Mapping[str, Any]) -> None:
    """Keep what was said of the columns."""
    upload.mapping = dict(mapping)
    act.session.flush()


def settle_upload(act: Act, upload: ImportUpload, import_run_id: int | None, left_over: list[Any]) -> None:
    """The file is applied: it goes, with the examples of its columns, and what is left to mend stays."""
    upload.look = {**upload.look, "columns": []}
    upload.import_run_id, upload.left_over, upload.content = import_run_id, left_over, None
    act.session.flush()


def drop_upload(act: Act, upload: ImportUpload) -> None:
    """Let the file go, for good. Raises Refused once it is applied."""
    if upload.import_run_id is not None:
        raise Refused("This file was applied already: it is part of the history of the register.")
    record_drop(act, upload, "by a person")
    wishes.forget(act, upload.id)
    act.session.delete(upload)
    act.session.flush()
