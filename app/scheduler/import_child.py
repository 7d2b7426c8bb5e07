"""The child process that works on one large file: read, judged, and brought in if that was wished, in one transaction.

In a process of its own it slows no scan and no message, and gives its memory back. It ends when its parent does: a
leash, the pipe at its standard input, is then at its end. How far it is goes to standard output, two numbers a line.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import sys
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from app import clock, failpoints
from app.config import settings
from app.database import WEB, transaction, tried_again
from app.domain.acts import ImportWish
from app.domain.errors import Refused
from app.imports.choices import Choices, bring_read, read_file
from app.imports.findings import Findings
from app.imports.limits import CHILD_CPU_SECONDS, CHILD_MEMORY
from app.imports.look import Look
from app.imports.register import Found
from app.operations import uploads, wishes
from app.scheduler.leash import OUT_OF_MEMORY, bound, hold_leash
from app.trail.act import SCHEDULER as SCHEDULER_ACTOR
from app.trail.act import Act, member_actor


class Superseded(Exception):
    """Another wish has taken the place of this one, or the file is applied or gone: nothing of this may count."""


def work(org: int, upload_id: int, asked_at: dt.datetime) -> None:
    """Do what was wished for the file at this instant, unless that is over. What is refused is said in the wish."""
    hold_leash()
    bound(CHILD_CPU_SECONDS, CHILD_MEMORY)
    try:
        with contextlib.suppress(Superseded):
            Child(org, upload_id, asked_at).work()
    except MemoryError:
        os._exit(OUT_OF_MEMORY)  # Whatever else is done at an end may need memory, too.


@dataclass(frozen=True)
class Child:
    """One wish, by the file and the instant at which it was wished."""

    org: int
    upload_id: int
    asked_at: dt.datetime

    def work(self) -> None:
        """1. Take the file from the database. 2. Read it, without any transaction. 3. Judge or apply it in one."""
        with transaction(self.org, WEB) as session:
            assigned = wishes.read(self.act(session), self.upload_id, self.asked_at)
        if assigned is None:
            raise Superseded
        look, choices = Look.of_json(assigned.look), Choices.of_json(assigned.mapping)
        try:
            failpoints.reached("import_taken")
            found = read_file(assigned.content, assigned.file_name, look, choices)
            known = replace(assigned, content=b"")
            del assigned  # The file itself is not needed any more, and is not small.
            tried_again(lambda: self.judge(known, found, look, choices))
        except Refused as refused:
            with transaction(self.org, WEB) as session:
                wishes.fail_if_wished(self.act(session), self.upload_id, self.asked_at, str(refused))

    def judge(self, assigned: wishes.Assignment, found: Found, look: Look, choices: Choices) -> None:
        """Raises Superseded, with which everything is undone."""
        with transaction(self.org, WEB) as session:
            act = self.act(session, member_actor(assigned.asked_by))
            if assigned.wish == ImportWish.check:
                self.check(act, found, look, choices)
            else:
                self.apply(act, found, look, choices)
            failpoints.reached("import_before_commit")

    def check(self, act: Act, found: Found, look: Look, choices: Choices) -> None:
        outcome = bring_read(act, found, look, choices, dry_run=True, told=lambda *far: tell(act, *far))
        findings = Findings.of(outcome.imported, choices.digest(look))
        if not wishes.find_if_wished(act, self.upload_id, self.asked_at, findings.as_json()):
            raise Superseded

    def apply(self, act: Act, found: Found, look: Look, choices: Choices) -> None:
        """The lock of the file is what makes it once, however many work on it."""
        try:
            upload = uploads.find_upload(act, self.upload_id, whole=False)
        except LookupError:
            raise Superseded from None
        if upload.import_run_id is not None:
            raise Superseded
        outcome = bring_read(act, found, look, choices, dry_run=False, told=lambda *far: tell(act, *far))
        uploads.settle_upload(act, upload, outcome.imported.import_run_id, outcome.left_over.as_json())
        if not wishes.settle_if_wished(act, self.upload_id, self.asked_at):
            raise Superseded

    def act(self, session: Session, actor: str = SCHEDULER_ACTOR) -> Act:
        return Act(session, self.org, clock.now(session, settings()), actor)


def tell(act: Act, done: int, total: int) -> None:
    """Tell the parent how far it is; and the database, which cuts off who is silent in the middle of a transaction."""
    sys.stdout.write(f"{done} {total}\n")
    sys.stdout.flush()
    act.run("select 1")
    failpoints.reached("import_counted")
