"""P3, P4: whatever workers, servers and people do, nothing is accepted twice, no state lies, nothing stays stuck."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from flask import Flask
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.mail.life import PostLife

LIVES = int(os.environ.get("ONUS_TEST_LIVES", "8"))  # `make long` lives longer.


@pytest.fixture
def kept(real_app: Flask) -> Iterator[Flask]:
    before = real_app.extensions["onus_settings"]
    yield real_app
    real_app.extensions["onus_settings"] = before


def test_p3_random_life_of_the_post(kept: Flask) -> None:
    run_state_machine_as_test(
        PostLife,
        settings=settings(
            max_examples=LIVES, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
