"""Faults by chance at every verb: what the channel says of a message is never more than what the server has taken."""

from __future__ import annotations

from collections import Counter

import pytest

from app.channels.smtp import SmtpChannel
from app.domain.delivery import Outcome
from tests.channels.letters import composed
from tests.chaos.smtp_server import Running

FAULTS = {"drop": 0.06, "garbage": 0.04, "421 4.3.2 closing": 0.04, "451 4.3.0 later": 0.06, "550 5.1.1 no": 0.06}
CHANCE = dict.fromkeys(("GREETING", "EHLO", "NOOP", "RSET", "MAIL", "RCPT", "DATA"), FAULTS)
# What each outcome allows to have been taken.
TAKEN = {
    Outcome.delivered: {1},
    Outcome.in_doubt: {0, 1},
    Outcome.lost_lease: {0},
    Outcome.retry: {0},
    Outcome.failed: {0},
    Outcome.transport: {0},
}


@pytest.mark.parametrize("seed", range(4))
def test_by_chance_every_outcome_is_true(seed: int, server: Running, channel: SmtpChannel) -> None:
    after = {"drop after": 0.1, "garbage after": 0.1}
    server.play({"seed": seed, "chance": CHANCE | {"BODY": {"drop": 0.05}, "DOT": FAULTS | after}})
    outcomes: dict[str, Outcome] = {}
    for number in range(60):
        message_id = f"<{number}@acme.example>"
        ours = number % 10 != 9
        outcomes[message_id] = channel.send(composed(message_id=message_id), lambda ours=ours: ours).outcome  # type: ignore[misc]
    taken = Counter(event["message_id"] for event in server.events("message"))
    assert [pair for pair in outcomes.items() if taken[pair[0]] not in TAKEN[pair[1]]] == []
    assert len(set(outcomes.values())) >= 5
    server.play({})
    assert channel.send(composed(), lambda: True).outcome is Outcome.delivered


def test_the_same_seed_draws_the_same(server: Running, channel: SmtpChannel) -> None:
    found = []
    for _ in range(2):
        channel.close()
        server.play({"seed": 7, "chance": {"RCPT": FAULTS}})
        found.append([channel.send(composed(), lambda: True).outcome for _ in range(20)])
    assert found[0] == found[1]
    assert len(set(found[0])) > 1
