"""A new name for what is there already. The index of the table decides whether it is free, never a prior SELECT."""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import IntegrityError

from app.domain.errors import Refused, quoted
from app.trail.act import Act


def give(act: Act, named: Any, name: str, taken: str) -> None:
    """Name this site or kind so. Raises Refused, by the sentence `taken` about `%(name)s`, if another one has it."""
    try:
        with act.session.begin_nested():
            named.name = name
    except IntegrityError:
        raise Refused(taken, name=quoted(name)) from None
