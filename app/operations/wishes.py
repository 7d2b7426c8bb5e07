"""Wishes: what the scheduler is to do with a large file, who does it, how far it is, and how it ended.

One row a file, and the last wish wins: whatever somebody does for an older one moves no row, since each statement
names the wish by `asked_at` and whoever works on it by the last `beat_at`. Both only grow, so that each stands once,
also where the clock is stopped. Nothing here changes the register, so only what is applied is in the trail.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.domain.acts import ImportWish
from app.trail.act import Act

SILENT_AFTER = dt.timedelta(seconds=30)  # Thirty beats that did not come: it is begun again by whoever is there.

# What a check has found stands until another one is asked for: it is what may be applied.
ASK = """
insert into import_work (org_id, upload_id, wish, asked_at, asked_by)
values (:org, :upload, :wish, :now, :member)
on conflict (org_id, upload_id) do update set
  wish = excluded.wish, asked_by = excluded.asked_by,
  asked_at = greatest(excluded.asked_at, import_work.asked_at + interval '1 microsecond'),
  beat_at = null, done = 0, total = 0, ended_at = null, fault = null,
  found = case when excluded.wish = 'apply' then import_work.found end"""

# Materialized, since a plan that looks for the next one once for each row would take several.
TAKE = """
with next as materialized (
  select upload_id from import_work
  where org_id = :org and ended_at is null and (beat_at is null or beat_at <= :silent_since)
  order by asked_at, upload_id limit 1 for update skip locked)
update import_work w set beat_at = greatest(:now, w.beat_at + interval '1 microsecond'), done = 0, total = 0
from next where w.org_id = :org and w.upload_id = next.upload_id
returning w.upload_id, w.wish, w.asked_at, w.asked_by, w.beat_at"""

# Whoever ends the wish holds the row for a moment: a beat is not worth waiting for that.
BEAT = """
update import_work w set beat_at = greatest(:now, w.beat_at + interval '1 microsecond'), done = :done, total = :total
from (select upload_id from import_work
      where org_id = :org and upload_id = :upload and asked_at = :asked_at and beat_at = :beat_at and ended_at is null
      for update skip locked) mine
where w.org_id = :org and w.upload_id = mine.upload_id
returning w.beat_at"""

STANDS = """
select count(*) from import_work
where org_id = :org and upload_id = :upload and asked_at = :asked_at and beat_at = :beat_at and ended_at is null"""

GIVE_BACK = """
update import_work set beat_at = null
where org_id = :org and upload_id = :upload and asked_at = :asked_at and beat_at = :beat_at and ended_at is null"""

READ = """
select w.wish, w.asked_by, u.file_name, u.content, u.look, u.mapping
from import_work w join import_upload u on u.org_id = :org and u.id = w.upload_id
where w.org_id = :org and w.upload_id = :upload and w.asked_at = :asked_at and w.ended_at is null
  and u.import_run_id is null"""

FIND = """
update import_work set found = cast(:found as jsonb), done = total, ended_at = :now
where org_id = :org and upload_id = :upload and asked_at = :asked_at and ended_at is null"""

FAIL = """
update import_work set fault = :fault, ended_at = :now
where org_id = :org and upload_id = :upload and asked_at = :asked_at and ended_at is null
  and (cast(:beat_at as timestamptz) is null or beat_at = :beat_at)"""

SETTLE = "delete from import_work where org_id = :org and upload_id = :upload and asked_at = :asked_at"
FORGET = "delete from import_work where org_id = :org and upload_id = any (cast(:uploads as bigint[]))"


@dataclass(frozen=True)
class Wish:
    """One wish that somebody works on: which one it is, and the last sign of whoever does it."""

    upload_id: int
    wish: ImportWish
    asked_at: dt.datetime
    asked_by: int
    beat_at: dt.datetime

    @property
    def key(self) -> dict[str, Any]:
        return {"upload": self.upload_id, "asked_at": self.asked_at, "beat_at": self.beat_at}


@dataclass(frozen=True)
class Assignment:
    """What a wish is about: the file, and what was said of it."""

    wish: ImportWish
    asked_by: int
    file_name: str
    content: bytes
    look: Mapping[str, Any]
    mapping: Mapping[str, Any]


def ask(act: Act, upload_id: int, member_id: int, wish: ImportWish) -> None:
    """Wish for it, in place of what was wished for this file before."""
    act.run(ASK, {"upload": upload_id, "member": member_id, "wish": wish.value})


def take(act: Act) -> Wish | None:
    """The oldest wish that nobody works on, or of whose worker nothing was heard for too long. It is ours from now."""
    row = act.run(TAKE, {"silent_since": act.now - SILENT_AFTER}).one_or_none()
    return row and Wish(row.upload_id, ImportWish(row.wish), row.asked_at, row.asked_by, row.beat_at)


def beat(act: Act, wish: Wish, done: int, total: int) -> Wish | None:
    """Say that we still work on it, and how far it is. None: it is no longer ours, and nothing of ours counts."""
    row = act.run(BEAT, wish.key | {"done": done, "total": total}).one_or_none()
    if row is not None:
        return replace(wish, beat_at=row.beat_at)
    return wish if act.run(STANDS, wish.key).scalar_one() else None


def give_back(act: Act, wish: Wish) -> None:
    """Leave it to the next who comes."""
    act.run(GIVE_BACK, wish.key)


def read(act: Act, upload_id: int, asked_at: dt.datetime) -> Assignment | None:
    """What this wish is about, unless it is over, or another one has taken its place."""
    row = act.run(READ, {"upload": upload_id, "asked_at": asked_at}).one_or_none()
    return row and Assignment(**{**row._mapping, "wish": ImportWish(row.wish)})


def find_if_wished(act: Act, upload_id: int, asked_at: dt.datetime, found: Mapping[str, Any]) -> bool:
    """End a check with what it found; False if another wish has taken its place."""
    facts = {"upload": upload_id, "asked_at": asked_at, "found": json.dumps(found)}
    return bool(act.run(FIND, facts).rowcount)


def settle_if_wished(act: Act, upload_id: int, asked_at: dt.datetime) -> bool:
    """End the wish of a file that was applied: nothing is left to wish; False if another one has taken its place."""
    return bool(act.run(SETTLE, {"upload": upload_id, "asked_at": asked_at}).rowcount)


def fail_if_wished(
    act: Act, upload_id: int, asked_at: dt.datetime, fault: str, beat_at: dt.datetime | None = None
) -> bool:
    """End the wish with the reason why it came to nothing; with `beat_at` only if nobody else works on it by now."""
    facts = {"upload": upload_id, "asked_at": asked_at, "fault": fault, "beat_at": beat_at}
    return bool(act.run(FAIL, facts).rowcount)


def forget(act: Act, *upload_ids: int) -> None:
    """Wish nothing more for these files."""
    act.run(FORGET, {"uploads": list(upload_ids)})
