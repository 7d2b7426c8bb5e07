"""A scene: one database of the cluster, one mail server, and the workers that meet there; and how it ends in calm."""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

import psycopg
from flask import Flask

from app import create_app
from app.domain import calendars
from app.domain.calendars import Calendar
from app.domain.thresholds import alert_day
from app.extensions import db
from app.ledger.planning import KEY
from app.operations import people, register, rules
from app.operations.rule_contents import RuleText
from app.queries.facts import read_facts
from app.queries.owed import Check, owed
from app.scheduler.ticks import scan_tick
from app.trail.act import Act
from tests import factories
from tests.chaos.cluster import Cluster
from tests.chaos.invariants import Broken, Evidence, gather, insist
from tests.chaos.mail import MailServer
from tests.chaos.workers import Nursery, Worker
from tests.factories import Acme

WITHIN = 60.0  # Seconds: only a failing test waits so long.
PEOPLE = {"ana": "officer", "berta": "officer", "bruno": "staff"}
MAIL_FROM = "Onus <onus@onus.example>"
RULE = RuleText("Permits", thresholds=("30d", "7d", "0d"), channels=("in_app", "email"), to=("role:officer", "owner"))

# Whether something may still happen by itself; and whether anything has happened at all.
UNDER_WAY = """
select (select count(*) from delivery where org_id = any (%s) and state in ('pending', 'leased', 'handing_over'))
       + (select count(*) from scan_queue where org_id = any (%s) and wake_on is null),
       (select count(*) from delivery where org_id = any (%s) and channel = 'email')"""

# Time passes: what was refused for now is due, and a mail server that is left alone is tried again.
DUE_NOW = """
update delivery set next_attempt_at = clock_timestamp()
where state = 'pending' and id in (
  select id from delivery
  where org_id = any (%s) and state = 'pending' and next_attempt_at > clock_timestamp() for update skip locked)"""
TRY_AGAIN = """
update mail_transport set retry_at = clock_timestamp()
where id in (select id from mail_transport where retry_at > clock_timestamp() for update skip locked)"""
WAITING = "select count(*) from pg_locks where locktype = 'advisory' and classid = %s and objid = %s and not granted"


class Scene:
    """The workers see `database` and `mail`; the test acts by the same application, and looks as the owner."""

    def __init__(self, cluster: Cluster, mail: MailServer, nursery: Nursery, database: str) -> None:
        self.cluster, self.mail, self.nursery, self.database = cluster, mail, nursery, database
        cluster.create_database(database)
        self.settings = cluster.settings(database, mail_from=MAIL_FROM)
        self.app: Flask = create_app(self.settings)
        self.names: dict[int, str] = {}
        self._looking = threading.local()
        self._sessions: list[psycopg.Connection[Any]] = []

    def rows(self, sql: str, *given: Any) -> list[tuple[Any, ...]]:
        """Look as the owner. Each thread keeps one session, and opens another where the server has cut it."""
        for last_try in (False, True):
            try:
                cursor = self._session().execute(sql, given or None)
                return cursor.fetchall() if cursor.description else []
            except psycopg.OperationalError:
                self._looking.session = None
                if last_try:
                    raise
        return []

    def _session(self) -> psycopg.Connection[Any]:
        found: psycopg.Connection[Any] | None = getattr(self._looking, "session", None)
        if found is None:
            found = psycopg.connect(self.settings.owner_url, autocommit=True)
            self._looking.session = found
            self._sessions.append(found)
        return found

    def close(self) -> None:
        for session in self._sessions:
            session.close()
        with self.app.app_context():
            db.engine.dispose()

    def value(self, sql: str, *given: Any) -> Any:
        return self.rows(sql, *given)[0][0]

    def smtp_url(self, verb: float, reply: float) -> str:
        return f"{self.mail.url}?tls=none&verb={verb}&reply={reply}"

    def worker(self, *, verb: float = 5.0, reply: float = 10.0, **given: Any) -> Worker:
        """A scheduler on this database; see Order."""
        url = self.settings.database_url
        return self.nursery.start(database_url=url, smtp_url=self.smtp_url(verb, reply), **given)

    def organisation(self, slug: str, entries: int = 2, *words: RuleText) -> Acme:
        """An organisation with two officers, an owner, rules, and entries that are due from today on."""
        with self.app.app_context():
            acme = factories.acme(slug, now=now())
            with acme.acting() as act:
                for name, role in PEOPLE.items():
                    acme.members[name] = people.add_member(act, f"{name}@{slug}.example", role, name=name.title())
                for number in range(1, entries + 1):
                    enter(act, f"{slug}-N{number}", number % 2, acme.members["bruno"])
                rules.apply(act, words or [RULE])
        self.names[acme.org] = slug
        return acme

    def write_down(self) -> None:
        """Whatever was committed until now outlives a crash."""
        self.rows("select pg_logical_emit_message(false, 'chaos', '', true)")

    def add_member(self, acme: Acme, name: str, address: str) -> None:
        with self.app.app_context(), acme.acting(now()) as act:
            acme.members[name] = people.add_member(act, address, "staff", name=name.title())

    def is_calm(self, orgs: Collection[int]) -> bool:
        """Nothing more is going to happen by itself."""
        return self._under_way(orgs)[0] == 0

    def is_settled(self, acme: Acme) -> bool:
        """Something was told or is in doubt, and all is calm."""
        under_way, mails = self._under_way([acme.org])
        return under_way == 0 and mails > 0

    def _under_way(self, orgs: Collection[int]) -> tuple[Any, ...]:
        return self.rows(UNDER_WAY, *[list(orgs)] * 3)[0]

    def is_waiting(self, acme: Acme) -> bool:
        """Somebody waits for the judge of this organisation."""
        return self.value(WAITING, KEY, acme.org) > 0

    def pass_time(self, orgs: Collection[int]) -> None:
        self.rows(DUE_NOW, list(orgs))
        self.rows(TRY_AGAIN)

    def evidence(self, *orgs: Acme) -> Evidence:
        """What database and mail server say of these organisations; of all without a name."""
        names = {one.org: self.names[one.org] for one in orgs} if orgs else self.names
        assert self.mail.unsigned(self.settings) == 0
        with self.cluster.owner(self.database) as connection:
            return gather(connection, self.mail.accepted(self.settings), names)

    def states(self, acme: Acme) -> dict[str, int]:
        """How many e-mails are in which state."""
        return dict(
            self.rows(
                "select state, count(*) from delivery where org_id = %s and channel = 'email' group by 1", acme.org
            )
        )

    def final_scan(self, acme: Acme) -> None:
        """I4: nothing is owed after a scan, and the full one finds nothing that the queue had missed."""
        with self.app.app_context():
            found = scan_tick(acme.org, trigger="command")
            insist("I4", "the full scan found what the queue had missed", [found] if any(found.counts.values()) else [])
            with acme.watching(now()) as act:
                facts = read_facts(act.session, act.org)
                check_owed(Check(facts, act.now), owed(facts, act.now))


def until(fact: Callable[[], Any], what: str, within: float = WITHIN) -> None:
    """Wait for the fact to hold. It is asked seldom, since much is under way at once."""
    deadline = time.monotonic() + within
    while not fact():
        if time.monotonic() > deadline:
            raise Broken(f"{what} did not come true in {within:.0f} s")
        time.sleep(0.1)


def check_owed(check: Check, debts: Any) -> None:
    """I4: the ledger's keys are the oracle's."""
    insist("I4", "owed and not in the ledger", [*debts.missing, *debts.stalled, *debts.unaddressed])
    wanted = {
        (family.rule.id, family.subject.id, family.due_on, threshold)
        for obligation in check.facts.register.obligations
        for family in check.families(obligation)
        for threshold in family.crossed
    }
    for claim in check.facts.claims:
        site = check.sites[check.subjects[claim.subject_id].site_id]
        if claim.crossed_on != alert_day(claim.threshold, claim.due_on, Calendar(site.country, site.region)):
            raise Broken(f"I4: claim {claim.id} has a wrong alert day: {claim}")
        key = (claim.rule_id, claim.subject_id, claim.due_on, claim.threshold)
        if claim.standing == "open" and claim.id not in check.told and key not in wanted:
            raise Broken(f"I4: claim {claim.id} is open, and nobody wants it: {claim}")


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def enter(act: Act, reference: str, days: int, owner: int | None = None) -> int:
    """A new entry that is due so many days from its site's today."""
    site_id, kind_id = factories.site(act), factories.kind(act)
    due_on = people.site_today(act, site_id) + days * calendars.DAY
    entry = register.Entry(site_id, kind_id, reference=reference, due_on=due_on, owner_member_id=owner)
    return register.add_subject(act, entry)


def hits_of(worker: Worker, point: str) -> int:
    return sum(name == point for name, _ in worker.hits)


@contextlib.contextmanager
def ending(worker: Worker) -> Iterator[Worker]:
    """A worker that ends, gently, with the block; how it does is part of the test."""
    try:
        yield worker
    finally:
        worker.ask_to_stop()
        code = worker.ended()
    assert code == 0, worker.said


def settle(scene: Scene, acme: Acme, what: str = "calm", **given: Any) -> None:
    """Let a clean worker do whatever is left for this organisation."""
    if scene.is_settled(acme):
        return
    with ending(scene.worker(only=acme.org, **given)):
        until(lambda: scene.is_settled(acme), what)
