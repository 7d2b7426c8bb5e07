"""What the trail costs a first scan: `python -m bench.first_scan [OBLIGATIONS]`, of 100,000, each told to one person.

The scan of the scheduler, in one transaction that is taken back, turn by turn as it is and with the events of the trail
cut out of its statements: nothing else differs. The medians are compared, in all and statement by statement.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app import clock, create_app
from app.config import Settings, settings
from app.database import SCHEDULER, transaction
from app.extensions import db
from app.ledger.scan import scan
from app.trail.act import SCHEDULER as SCHEDULER_ACTOR
from app.trail.act import Act
from bench.house import House, free_port, machine

OBLIGATIONS = 100_000
TURNS = 3  # Of each kind: the first one of all warms up the caches, and is not counted.
EVENTS = re.compile(r"\), event as \(.*?from event\)", re.DOTALL)  # What is cut out.

FILL = """
set onus.org = '1';
with made as (
  insert into subject (org_id, site_id, kind_id, reference, reference_key, title, owner_member_id)
  select 1, s.id, k.id, 'P-' || n, 'p-' || n, 'Permit ' || n, m.id
  from generate_series(1, {count}) n, (select min(id) as id from site) s, (select min(id) as id from kind) k,
       (select min(id) as id from member) m
  returning id)
insert into obligation (org_id, subject_id, due_on, first_due_on, opened_at)
select 1, id, current_date + 20, current_date + 20, clock_timestamp() from made"""
RULES = """
[[rule]]
name = "Permits"
thresholds = ["30d", "7d", "0d"]
channels = ["in_app"]
to = ["owner"]
"""


class TakenBack(Exception):
    """The turn is over; nothing of it stays."""


@dataclass
class Turns:
    """The seconds of each turn, in all and by statement."""

    before: int  # Events that were there.
    totals: list[float] = field(default_factory=list)
    statements: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    events: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.totals)

    def of(self, statement: str) -> float:
        return statistics.median(self.statements[statement]) if statement in self.statements else 0.0


def without_trail(sql: str) -> str:
    return EVENTS.sub(")", sql)


def turn(org: int, turns: Turns, *, with_trail: bool) -> None:
    """One first scan; its seconds are added to the turns."""
    with contextlib.suppress(TakenBack), transaction(org, SCHEDULER) as session:
        act = Timed(session, org, clock.now(session, settings()), SCHEDULER_ACTOR, with_trail=with_trail)
        began = time.perf_counter()
        claimed = scan(act, full=True).claimed
        turns.totals.append(time.perf_counter() - began)
        turns.events = act.run("select count(*) from audit_unsealed").scalar_one() - turns.before
        if not claimed:
            raise RuntimeError("nothing was claimed: this measures nothing")
        for name, seconds in act.spent.items():
            turns.statements[name].append(seconds)
        raise TakenBack


@dataclass(frozen=True)
class Timed(Act):
    """An act whose statements are timed, and run without their trail if that is wanted."""

    with_trail: bool = True
    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def run(self, sql: str, facts: Mapping[str, Any] | None = None) -> Any:
        began = time.perf_counter()
        found = super().run(sql if self.with_trail else without_trail(sql), facts)
        self.spent[name_of(sql)] += time.perf_counter() - began
        return found


def name_of(sql: str) -> str:
    """The first table that a statement writes to; else how it begins."""
    written = re.search(r"(?:insert into|update|delete from) (\w+)", sql)
    return written[1] if written else " ".join(sql.split())[:40]


@contextlib.contextmanager
def filled(count: int) -> Iterator[House]:
    home = Path(tempfile.mkdtemp(prefix="onus-bench-", dir="/var/tmp"))
    home.chmod(0o755)
    house = House(home, free_port())
    try:
        house.run("db", "upgrade")
        house.furnish()
        (home / "rules.toml").write_text(RULES)
        house.run("rules", "apply", str(home / "rules.toml"))
        with house.database() as session:
            session.execute(FILL.format(count=count).encode())
            session.execute("vacuum analyze")
        yield house
    finally:
        shutil.rmtree(home, ignore_errors=True)


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else OBLIGATIONS
    print(machine(), flush=True)
    with filled(count) as house:
        with house.database() as session:
            before = session.execute("select count(*) from audit_unsealed").fetchone()[0]
        whole, bare = Turns(before), Turns(before)
        with create_app(Settings.from_env(house.environment)).app_context():
            turn(1, Turns(before), with_trail=True)
            for _ in range(TURNS):
                for turns, with_trail in ((whole, True), (bare, False)):
                    with house.database() as session:
                        session.execute("vacuum analyze")
                    turn(1, turns, with_trail=with_trail)
            db.session.remove()
            db.engine.dispose()
    print(f"{count} obligations, {whole.events} events: {whole.median:.2f} s; without the trail {bare.median:.2f} s")
    each = (whole.median - bare.median) / whole.events * 1e6
    print(f"ratio {whole.median / bare.median:.2f}; the trail takes {each:.0f} µs an event")
    for name in sorted(whole.statements, key=whole.of, reverse=True)[:8]:
        print(f"  {whole.of(name):6.2f} s, without {bare.of(name):6.2f} s: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
