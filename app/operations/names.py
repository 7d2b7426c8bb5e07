"""A new name for what is there already. The index of the table decides whether it is free, never a prior SELECT."""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import IntegrityError

from app.domain.errors import Refused, quoted
from app.trail.act import Act


def give(act: Act, named: Any, name: str, what: str) -> None:
    """Name this site, kind or post so; `what` says which it is. Raises Refused if another one has the name."""
    try:
        with act.session.begin_nested():
            named.name = name
    except IntegrityError:
        raise Refused(f"The {what} {quoted(name)} is there already: choose another name.") from None
