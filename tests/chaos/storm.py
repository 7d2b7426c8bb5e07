"""A storm: schedulers that are killed, stopped and cut off at random, on a database that crashes and a mail server that
breaks, while officers work; then calm, in which all that is left is done. What remains is judged by the invariants.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

import psycopg
from sqlalchemy.exc import DBAPIError

from app.database import LOST
from app.domain.errors import Refused
from app.failpoints import POINTS
from app.operations import doubts
from app.operations.rule_contents import RuleText
from tests.chaos import faults, invariants
from tests.chaos.faults import Happening
from tests.chaos.invariants import Evidence
from tests.chaos.officers import Officers
from tests.chaos.scene import RULE, Scene, now, until
from tests.chaos.workers import Worker

SCHEDULERS = 3  # At once, on all organisations.
STANDING = RuleText("Owners", thresholds=("60d", "14d"), channels=("email",), to=("owner", "role:staff"))
STAFF = ("carla", "dario", "elena", "fermin", "gala", "hugo")
TIME_PASSES = 0.4  # Seconds between two moments at which whatever waits for its hour is due.
PACE = {"verb": 1.0, "reply": 1.5, "lease": 1.5, "deliver_every": 0.8, "scan_every": 2.0}  # Seconds.
LEFT = (
    "select org_id, channel, state, count(*), min(id) from delivery group by 1, 2, 3 order by 1, 2, 3",
    "select org_id, subject_id, rule_id, wake_on, count(*) from scan_queue group by 1, 2, 3, 4",
    "select org_id, cause, released_at from delivery_hold where released_at is null",
    "select id, opened_at, retry_at, reason from mail_transport",
)
HELD = "select count(*) from delivery where org_id = any (%s) and state = 'held'"


@dataclass
class Report:
    """What was done, and what became of it."""

    faults: Counter[str] = field(default_factory=Counter)
    points: Counter[str] = field(default_factory=Counter)
    smtp: Counter[tuple[str, str]] = field(default_factory=Counter)
    acts: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    doubts: int = 0
    seconds: float = 0.0

    def __iadd__(self, other: Report) -> Report:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self

    @property
    def never_hit(self) -> list[str]:
        """Points and kinds of fault that were never met: of these, the run says nothing."""
        smtp = {point for point, _ in self.smtp}
        points = [point for point in POINTS if not self.points[point]]
        kinds = [kind for kind in faults.FAULTS if not self.faults[kind]]
        return points + kinds + [f"mail server: {point}" for point in faults.SMTP if point not in smtp]

    @property
    def after_dot(self) -> int:
        return sum(n for (point, deed), n in self.smtp.items() if point == "DOT" and deed in faults.DOUBTFUL)

    @property
    def process_faults(self) -> int:
        """At most so many hand-overs were interrupted by what struck a process or a session."""
        everywhere = SCHEDULERS * (self.faults["crash"] + self.faults["shot"])
        return sum(self.faults[kind] for kind in ("kill", "stop", "cut")) + sum(self.points.values()) + everywhere

    def __str__(self) -> str:
        smtp = Counter({f"{point} {deed!r}": count for (point, deed), count in self.smtp.items()})
        lines = [
            f"{self.seconds:.0f} s; {self.messages} messages accepted, {self.doubts} were in doubt",
            f"deliveries: {told(self.states)}",
            f"faults: {told(self.faults)}",
            f"failpoints: {told(self.points)}",
            f"mail server ({sum(smtp.values())}, of which after the dot {self.after_dot}): {told(smtp)}",
            f"officers: {told(self.acts)}",
            f"never hit: {', '.join(self.never_hit) or 'nothing'}",
        ]
        return "\n".join(lines)


def told(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counted.items())) or "none"


class Storm:
    def __init__(self, scene: Scene, seed: str, seconds: float) -> None:
        self.scene, self.seconds = scene, seconds
        self.report = Report()
        self.planned = faults.plan(seed, faults.FAULTS, faults.FAULTS_A_SECOND, seconds)
        self.acts = faults.plan(seed, faults.ACTS, faults.ACTS_A_SECOND, seconds)
        self.draw = random.Random(f"{seed} workers")
        self.arms = faults.arms(self.draw)
        self.orgs = [scene.organisation(slug, 6, RULE, STANDING) for slug in ("north", "south", "west")]
        for acme in self.orgs:
            for name in STAFF:
                scene.add_member(acme, name, f"{name}@both.example")  # The same people in both.
        scene.write_down()
        self.officers = Officers(scene, self.orgs)
        self.workers: list[Worker] = []
        self.resume: dict[int, float] = {}

    @property
    def ids(self) -> list[int]:
        return [acme.org for acme in self.orgs]

    def run(self) -> Report:
        """The storm, the calm and the judgement. Raises Broken."""
        began = time.monotonic()
        self.rage(began)
        self.calm()
        for acme in self.orgs:
            self.scene.final_scan(acme)
        evidence = self.scene.evidence()
        self.report.seconds = time.monotonic() - began
        self.count(evidence)
        assert evidence.accepted, "nothing was sent, so nothing was tried"
        invariants.check(evidence)
        invariants.i9_few_doubts(evidence, self.report.after_dot, self.report.process_faults)
        return self.report

    def rage(self, began: float) -> None:
        self.scene.mail.play(faults.script(self.draw.randrange(1 << 30)))
        officers = threading.Thread(target=self.officers.work, args=(self.acts, began))
        officers.start()
        waiting, time_passed = list(self.planned), began
        while time.monotonic() < began + self.seconds or officers.is_alive():
            self.tend()
            if waiting and waiting[0].at <= time.monotonic() - began:
                self.strike(waiting.pop(0))
            if time.monotonic() > time_passed + TIME_PASSES:
                with contextlib.suppress(psycopg.OperationalError):
                    self.scene.pass_time(self.ids)
                time_passed = time.monotonic()
            time.sleep(0.02)
        officers.join()
        if self.officers.fault is not None:
            raise self.officers.fault

    def tend(self) -> None:
        """Let go on whoever was stopped for long enough, and replace the dead."""
        for worker in list(self.workers):
            if worker.is_gone:
                self.workers.remove(worker)
                self.count_hits(worker)
                worker.bury()
            elif worker.is_stopped:
                until_then = self.resume.setdefault(worker.pid, time.monotonic() + faults.resting(self.draw.random()))
                if time.monotonic() >= until_then:
                    self.resume.pop(worker.pid)
                    worker.signal(signal.SIGCONT)
        while len(self.workers) < SCHEDULERS:
            self.workers.append(self.scene.worker(failpoints=next(self.arms), **PACE))

    def count_hits(self, worker: Worker) -> None:
        self.report.points.update(point for point, _ in worker.hits)

    def strike(self, happening: Happening) -> None:
        worker = self.workers[happening.number % len(self.workers)]
        if happening.what == "kill":
            worker.kill()
        elif happening.what == "stop":
            self.resume[worker.pid] = time.monotonic() + faults.resting(happening.chance)
            worker.signal(signal.SIGSTOP)
        elif happening.what == "script":
            self.scene.mail.play(faults.script(happening.number))
        elif happening.what == "crash":
            self.scene.cluster.crash(signal.SIGQUIT if happening.chance < 0.5 else signal.SIGKILL)
        elif not self.struck_session(happening):
            return
        self.report.faults[happening.what] += 1

    def struck_session(self, happening: Happening) -> bool:
        """One session of a worker: cut as by an operator, or shot, which makes the server start afresh."""
        with contextlib.suppress(psycopg.OperationalError):
            pids = self.scene.cluster.sessions(self.scene.database)
            if pids:
                pid = pids[happening.number % len(pids)]
                if happening.what == "cut":
                    self.scene.rows("select pg_terminate_backend(%s)", pid)
                else:
                    os.kill(pid, signal.SIGKILL)
                return True
        return False

    def calm(self) -> None:
        """All faults off. The armed workers end, as they would in a shift to a new version; clean ones take over."""
        self.scene.mail.play({})
        for worker in self.workers:
            worker.ask_to_stop()
        for worker in self.workers:
            until(lambda worker=worker: self.has_ended(worker), f"the end of {worker.folder}")
            self.count_hits(worker)
            worker.bury()
        self.workers = [self.scene.worker(**PACE) for _ in range(2)]
        try:
            until(self.nothing_is_due, "calm")
        except AssertionError as fault:
            fault.add_note(f"left: {[self.scene.rows(what) for what in LEFT]}")
            raise
        for worker in self.workers:
            worker.ask_to_stop()
            assert worker.ended() == 0, worker.said

    def has_ended(self, worker: Worker) -> bool:
        if worker.is_stopped:  # At a failpoint, after it was asked to stop.
            worker.signal(signal.SIGCONT)
        return worker.is_gone

    def nothing_is_due(self) -> bool:
        try:
            self.scene.pass_time(self.ids)
        except psycopg.OperationalError:  # It is still on its way up.
            return False
        for acme in self.orgs:
            with (
                contextlib.suppress(Refused, *LOST, DBAPIError),
                self.scene.app.app_context(),
                acme.acting(now()) as act,
            ):
                doubts.release(act)
        return self.scene.is_calm(self.ids) and self.scene.value(HELD, self.ids) == 0

    def count(self, evidence: Evidence) -> None:
        self.report.acts = self.officers.done
        self.report.smtp = self.scene.mail.faults()
        self.report.states = Counter(row.state for row in evidence.mails())
        self.report.messages = len(evidence.accepted)
        self.report.doubts = len(evidence.doubted())
