"""What is tried and taken back: an act is done for real, its effects are read, and nothing of it stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from app.trail.act import Act


class _Undone(Exception):
    """Leaves a savepoint, so that nothing of it stays."""


@contextmanager
def undone(act: Act) -> Iterator[None]:
    """Whatever happens within is taken back. What refuses is refused here, too."""
    try:
        with act.session.begin_nested():
            yield
            raise _Undone
    except _Undone:
        act.session.expire_all()
