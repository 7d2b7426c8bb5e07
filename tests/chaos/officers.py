"""Officers at work while everything breaks: entries, dates, people, rules, and decisions about what is in doubt.

Each act is one transaction of the pages' own role, and may fail as theirs do: with a refusal, or with the database.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import psycopg
from sqlalchemy.exc import DBAPIError

from app.database import LOST
from app.domain import calendars
from app.domain.errors import Refused
from app.operations import doubts, obligations, people, register, rules
from app.operations.rule_contents import RuleText
from app.trail.act import Act
from tests import factories
from tests.chaos.faults import Happening
from tests.chaos.scene import RULE, Scene, enter, now
from tests.factories import Acme

THRESHOLDS = (("30d", "7d", "0d"), ("14d", "7d", "1d", "+2d"), ("60d", "5bd", "0d"), ("10d",))
RECIPIENTS = (("role:officer", "owner"), ("owner",), ("role:officer",), ("role:staff", "owner"), ("role:admin",))
ARCHIVED = "select id from subject where org_id = :org and status = 'archived' order by id"
DISABLED = "select id from member where org_id = :org and not is_active order by id"
SILENT = "select id from member where org_id = :org and not email_alerts order by id"
SUBJECTS = "select id from subject where org_id = :org order by id"
OPEN = "select id from obligation where org_id = :org and closed_at is null order by id"
UNDECIDED = """
select id, state from delivery
where org_id = :org and channel = 'email' and resolution is null and state in ('in_doubt', 'failed') order by id"""
# As after a restore: what the database remembers of itself is not what it is.
ANOTHER = "update database_identity set timeline_id = timeline_id + 1000"


def one(act: Act, sql: str, number: int) -> int | None:
    found = act.run(sql).scalars().all()
    return found[number % len(found)] if found else None


def edited(act: Act) -> RuleText:
    """The one rule that is changed all the time; the other stands."""
    return next(rule for rule in rules.export(act) if rule.name == RULE.name)


class Officers:
    """They act on the organisations of a scene, one act after the other."""

    def __init__(self, scene: Scene, orgs: list[Acme]) -> None:
        self.scene, self.orgs = scene, orgs
        self.done: Counter[str] = Counter()
        self.fault: BaseException | None = None
        self.entered: Counter[int] = Counter()
        for acme in orgs:
            self.entered[acme.org] = scene.value("select count(*) from subject where org_id = %s", acme.org)

    def work(self, acts: list[Happening], began: float) -> None:
        """In a thread of their own, since a worker that was stopped may hold what they wait for."""
        try:
            for happening in acts:
                time.sleep(max(0.0, began + happening.at - time.monotonic()))
                self.act(happening)
        except BaseException as fault:
            self.fault = fault

    def act(self, happening: Happening) -> None:
        acme = self.orgs[happening.number % len(self.orgs)]
        draw = random.Random(happening.chance)
        if happening.what == "restore":
            with contextlib.suppress(psycopg.OperationalError):
                self.scene.rows(ANOTHER)
                self.done["restore"] += 1
            return
        deed: Callable[[Act, Acme, random.Random], object] = getattr(self, happening.what)
        try:
            with self.scene.app.app_context(), acme.acting(now()) as act:
                deed(act, acme, draw)
            self.done[happening.what] += 1
        except (Refused, LookupError):
            self.done["refused"] += 1
        except (*LOST, DBAPIError):
            self.done["lost"] += 1

    def entry(self, act: Act, acme: Acme, draw: random.Random) -> None:
        self.entered[acme.org] += 1
        owner = draw.choice([*acme.members.values()])
        enter(act, f"{self.scene.names[acme.org]}-N{self.entered[acme.org]}", draw.randrange(-3, 40), owner)

    def close(self, act: Act, _: Acme, draw: random.Random) -> None:
        if (obligation := one(act, OPEN, draw.randrange(1 << 20))) is not None:
            obligations.close(act, obligation, "met")

    def move(self, act: Act, acme: Acme, draw: random.Random) -> None:
        if (obligation := one(act, OPEN, draw.randrange(1 << 20))) is not None:
            today = people.site_today(act, factories.site(act))
            obligations.move(act, obligation, today + draw.randrange(-5, 60) * calendars.DAY, "typing_error")

    def assign(self, act: Act, acme: Acme, draw: random.Random) -> None:
        if (subject := one(act, SUBJECTS, draw.randrange(1 << 20))) is not None:
            owner = draw.choice([*acme.members.values(), None])
            register.assign(act, register.get_subject(act, subject), member_id=owner)

    def snooze(self, act: Act, _: Acme, draw: random.Random) -> None:
        if (subject_id := one(act, SUBJECTS, draw.randrange(1 << 20))) is not None:
            subject = register.get_subject(act, subject_id)
            today = people.site_today(act, subject.site_id)
            if not register.end_snooze(act, subject):
                register.snooze(act, subject, today + 5 * calendars.DAY, "waiting")

    def archive(self, act: Act, _: Acme, draw: random.Random) -> None:
        """Put back the one that is archived, or archive one."""
        if (archived := one(act, ARCHIVED, 0)) is not None:
            register.restore(act, register.get_subject(act, archived))
        elif (subject_id := one(act, SUBJECTS, draw.randrange(1 << 20))) is not None:
            register.archive(act, register.get_subject(act, subject_id), "gone")

    def disable(self, act: Act, acme: Acme, draw: random.Random) -> None:
        """Let in again whoever is disabled, or disable somebody."""
        if (gone := one(act, DISABLED, 0)) is not None:
            people.enable_member(act, gone)
        else:
            people.disable_member(act, draw.choice([*acme.members.values()]))

    def silence(self, act: Act, acme: Acme, draw: random.Random) -> None:
        """Whoever gets no e-mail gets it again, or somebody gets none any more."""
        silent = one(act, SILENT, 0)
        people.set_email_alerts(act, silent or draw.choice([*acme.members.values()]), silent is not None)

    def thresholds(self, act: Act, _: Acme, draw: random.Random) -> None:
        rules.apply(act, [replace(edited(act), thresholds=draw.choice(THRESHOLDS))])

    def recipients(self, act: Act, _: Acme, draw: random.Random) -> None:
        rules.apply(act, [replace(edited(act), to=draw.choice(RECIPIENTS))])

    def switch(self, act: Act, _: Acme, draw: random.Random) -> None:
        rules.switch(act, RULE.name, draw.random() < 0.7)

    def decide(self, act: Act, _: Acme, draw: random.Random) -> None:
        found = act.run(UNDECIDED).all()
        if found:
            delivery = draw.choice(found)
            choices = doubts.CHOICES[delivery.state]
            doubts.resolve(act, delivery.id, draw.choice(choices))

    def release(self, act: Act, *_: object) -> None:
        doubts.release(act)
