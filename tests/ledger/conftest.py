"""The watch in tests: an organisation, its facts, and the scan and delivery poked by hand at chosen instants."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import text

from app.database import WEB, borrowed
from app.ledger.align import Delivered, deliver
from app.ledger.coming import open_coming
from app.ledger.scan import Scanned, scan
from app.operations.departures import hand_on_due
from app.queries.facts import read_facts
from app.queries.owed import Owed, owed
from app.trail.act import Act
from tests.factories import Acme


@dataclass
class Watch:
    """Acts, scans and deliveries of acme, each in a transaction of its own."""

    acme: Acme

    def at(self, instant: str) -> Watch:
        """Let it be this instant (ISO, UTC if no offset is given)."""
        moment = dt.datetime.fromisoformat(instant)
        self.acme.now = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        return self

    def do(self, deed: Callable[[Act], Any]) -> Any:
        with self.acme.acting() as act:
            return deed(act)

    def scan(self, *, full: bool = True, trigger: str = "command") -> Scanned:
        with self.acme.watching() as act, borrowed(act.session, WEB):
            open_coming(act)
            hand_on_due(act)
        with self.acme.watching() as act:
            return scan(act, trigger=trigger, full=full)

    def deliver(self) -> Delivered:
        with self.acme.watching() as act:
            return deliver(act)

    def owed(self) -> Owed:
        with self.acme.watching() as act:
            return owed(read_facts(act.session, act.org), act.now)

    def rows(self, sql: str, **given: object) -> list[tuple[Any, ...]]:
        with self.acme.watching() as act:
            return [tuple(row) for row in act.session.execute(text(sql), {"org": act.org, **given})]

    def ledger(self) -> dict[str, str]:
        """Standing and reason of every claim by its threshold, which the due date precedes where there are several."""
        rows = self.rows(
            "select due_on, threshold, standing, reason from notification_ledger order by due_on, crossed_on"
        )
        several = len({due for due, *_ in rows}) > 1
        return {
            (f"{due} {t}" if several else t): standing + (f" ({reason})" if reason else "")
            for due, t, standing, reason in rows
        }

    def deliveries(self) -> list[tuple[Any, ...]]:
        """Threshold, recipient, channel, state, reason of every delivery."""
        return self.rows(
            "select l.threshold, m.name, x.channel, x.state, x.reason from delivery x "
            "join notification_ledger l on l.org_id = x.org_id and l.id = x.claim_id "
            "join member m on m.org_id = x.org_id and m.id = x.recipient_id "
            "order by l.crossed_on, m.name, x.channel, x.id"
        )


@pytest.fixture
def watch(acme: Acme) -> Watch:
    return Watch(acme)
