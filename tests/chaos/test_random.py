"""P1 to P4 and P8 in a storm: random faults from one seed, then calm, then the invariants, judged from the outside.

`make test` plays one short round. `make chaos MINUTES=60 SEED=7` plays one after the other for so long, each from a
seed of its own, and fails if a point or a kind of fault was never met.
"""

from __future__ import annotations

import os
import time

import pytest

from tests.chaos.conftest import NewScene
from tests.chaos.storm import Report, Storm

pytestmark = pytest.mark.real_commits

SEED = os.environ.get("ONUS_CHAOS_SEED", "1")
MINUTES = float(os.environ.get("ONUS_CHAOS_MINUTES", "0"))
SHORT, LONG = 20.0, 45.0  # Seconds of storm in one round.


def played(new_scene: NewScene, seed: str, seconds: float) -> Report:
    with new_scene() as scene:
        storm = Storm(scene, seed, seconds)
        try:
            return storm.run()
        except BaseException as fault:
            fault.add_note(f"seed {seed}, {seconds:.0f} s of storm\n{storm.report}\nworkers: {scene.nursery.folder}")
            raise


@pytest.mark.parametrize("seed", [SEED])
def test_p3_p4_p8_nothing_is_lost_or_doubled_in_a_storm(new_scene: NewScene, seed: str) -> None:
    if not MINUTES:
        print(f"\nseed {seed}: {played(new_scene, seed, SHORT)}")  # noqa: T201
        return
    total, ends, rounds = Report(), time.monotonic() + MINUTES * 60, 0
    while time.monotonic() < ends:
        rounds += 1
        report = played(new_scene, f"{seed}.{rounds}", LONG)
        total += report
        print(f"\nseed {seed}.{rounds}: {report}", flush=True)  # noqa: T201
    print(f"\n{rounds} rounds from seed {seed}: {total}", flush=True)  # noqa: T201
    assert not total.never_hit, f"seed {seed}: never hit: {total.never_hit}"
