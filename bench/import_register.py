"""A register of 100,000 entries is brought in while people read pages: `python -m bench.import_register [ROWS]`.

Five things are measured in one run, on the same machine and the same server:

- the floor: the same rows put by COPY into bare tables (an entry, a date and two events of the trail for each);
- `onus import register` on the file: wall and CPU seconds, memory at its peak, and each as a ratio to the floor;
- the same file again, which must change nothing;
- another such file brought in by the pages, through the scheduler;
- the pages: how they answer while nothing else goes on, and while a file is brought in, as ratios.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import sys
import time
from pathlib import Path

from bench.house import House, Ran, machine, running
from bench.import_pages import bring_by_pages
from bench.pages import Answers, while_reading

ROWS = 100_000
COLUMNS = ("Reference", "Title", "Kind", "Due date", "Legal basis", "Notes", "Area", "Supplier", "Cost centre", "Room")
QUIET = 15.0  # Seconds for which the pages are read while nothing else goes on.
FIRST = dt.date(2027, 1, 1)
GOALS = {"seconds": 60.0, "megabytes": 300.0}  # Of the command, on two cores.

BARE = """
create schema bench;
create table bench.entry (id bigint primary key, reference text not null unique, title text, kind text, basis text,
                          notes text, extra jsonb);
create table bench.due (id bigint primary key, entry_id bigint not null, due_on date not null,
                        unique (entry_id, due_on));
create table bench.event (id bigint primary key, entry_id bigint not null, at timestamptz not null, type text,
                          detail jsonb);
create index on bench.event (entry_id, id);"""


def rows(count: int, letter: str = "") -> list[list[str]]:
    kinds = ("Permit", "Certificate", "Inspection", "Training", "Calibration")
    return [
        [f"{letter}{n:07d}", f"Permit {n}", kinds[n % 5], str(FIRST + dt.timedelta(days=n % 1500)),
         f"RD {n % 300}/2019", "Ask for it", f"Area {n % 12}", f"Supplier {n % 400}",
         f"{4000 + n % 90}", f"{n % 70:03d}"]
        for n in range(1, count + 1)
    ]  # fmt: skip


def as_file(made: list[list[str]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *made])


def floor(house: House, made: list[list[str]]) -> float:
    """Seconds in which PostgreSQL takes the same rows into bare tables, in one transaction; what is sent is ready."""
    entries, dates, events = io.StringIO(), io.StringIO(), io.StringIO()
    writers = [csv.writer(one) for one in (entries, dates, events)]
    now = dt.datetime(2027, 1, 1, tzinfo=dt.UTC).isoformat()
    for n, (reference, title, kind, due_on, basis, notes, *rest) in enumerate(made, 1):
        extra = json.dumps(dict(zip(COLUMNS[6:], rest, strict=True)))
        writers[0].writerow([n, reference, title, kind, basis, notes, extra])
        writers[1].writerow([n, n, due_on])
        for event, detail in (("created", {"reference": reference, "title": title}), ("opened", {"due_on": due_on})):
            writers[2].writerow([2 * n + (event == "opened"), n, now, event, json.dumps(detail)])
    with house.database() as session:
        session.execute(BARE)
        began = time.monotonic()
        with session.transaction():
            for table, written in (("entry", entries), ("due", dates), ("event", events)):
                with session.cursor().copy(f"copy bench.{table} from stdin (format csv)".encode()) as copy:
                    copy.write(written.getvalue())
        took = time.monotonic() - began
        session.execute("drop schema bench cascade")
        return took


def brought_in(house: House, path: Path, count: int, outcome: str) -> Ran:
    ran = house.run("import", "register", str(path), "--org", "acme", "--json")
    counts = json.loads(ran.said)
    if counts[outcome] != count:
        raise RuntimeError(f"{count} records should be {outcome}; the import says {counts[outcome]}")
    return ran


def told(ran: Ran) -> str:
    return f"{ran.seconds:.1f} s, {ran.cpu:.1f} s of CPU in the command, {ran.megabytes:.0f} MB at the peak"


def main(count: int) -> None:
    print(machine())
    made = rows(count)
    with running() as house:
        path = house.home / "register.csv"
        as_file(made, path)
        bare = floor(house, made)
        quiet = while_reading(house, lambda: time.sleep(QUIET))
        ran: list[Ran] = []
        busy = while_reading(house, lambda: ran.append(brought_in(house, path, count, "new")))
        again = brought_in(house, path, count, "unchanged")
        as_file(rows(count, "W"), path)
        full = while_reading(house, lambda: time.sleep(QUIET))
        walk, read = bring_by_pages(house, path)
    print(f"floor: {count:,} rows by COPY into bare tables: {bare:.2f} s")
    print(f"import: {told(ran[0])}; {ran[0].seconds / bare:.1f} times the floor")
    print(f"again, nothing changed: {told(again)}; {again.seconds / bare:.1f} times the floor")
    print(f"by the pages: checked in {walk.checked:.1f} s, applied in {walk.applied:.1f} s, "
          f"{walk.applied / bare:.1f} times the floor; the child had {walk.megabytes:.0f} MB at its peak")  # fmt: skip
    compare(quiet, busy, "the command")
    print(f"the same with {count:,} entries in the register:")
    compare(full, read, "the import by the pages")
    for goal, most in GOALS.items() if count == ROWS else ():
        print(f"goal of at most {most:.0f} {goal}: {'met' if getattr(ran[0], goal) <= most else 'NOT met'}")


def compare(quiet: Answers, busy: Answers, during: str) -> None:
    print(f"pages, nothing else going on: {quiet}")
    print(f"pages, during {during}: {busy}")
    print(f"ratio: median {busy.median / quiet.median:.1f}, 95 % {busy.slow / quiet.slow:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1].replace("_", "").replace(",", "")) if len(sys.argv) > 1 else ROWS)
