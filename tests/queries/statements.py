"""Which statements a piece of work asks the database; savepoints are the tests' own and are left out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from sqlalchemy import event
from sqlalchemy.orm import Session

from app.extensions import db

OF_TESTS = ("SAVEPOINT", "RELEASE", "ROLLBACK")


@contextlib.contextmanager
def asked(session: Session | None = None) -> Iterator[list[str]]:
    """The statements of what happens inside, in their order."""
    seen: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if not statement.startswith(OF_TESTS):
            seen.append(statement)

    engine = db.engine if session is None else session.get_bind().engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)
