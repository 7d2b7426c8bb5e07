"""P1, P4: after any history of acts, downtime and ticks the ledger is what the independent oracle says it should be."""

from __future__ import annotations

import os

from flask import Flask
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.ledger.life import Life

LIVES = int(os.environ.get("ONUS_TEST_LIVES", "20"))  # `make long` lives longer.


def test_p1_p4_random_life_agrees_with_the_oracle(real_app: Flask) -> None:
    run_state_machine_as_test(
        Life,
        settings=settings(
            max_examples=LIVES, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
