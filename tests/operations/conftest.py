"""What the tests of operations share."""

from __future__ import annotations

import pytest

from app.trail.act import Act
from tests.operations.story import Since


@pytest.fixture
def since(act: Act) -> Since:
    """What the act has left behind since the last reading."""
    return Since(act)
