"""What was typed into a form, kept as it was, with what is wrong beside each field or above them all.

A refusal by an operation leaves nothing behind: it happens in a savepoint, so that the page can be shown again (422).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from flask import request

from app.domain.errors import Refused, quoted
from app.trail.act import Act
from app.wording import said

Checked = TypeVar("Checked")


@dataclass
class Form:
    """The values by field, texts or lists of texts; `faults` by field; `refusal` for what concerns no single one."""

    values: dict[str, Any]
    faults: dict[str, str] = field(default_factory=dict)
    refusal: str | None = None

    def check(self, name: str, rule: Callable[..., Checked], *given: Any) -> Checked | None:
        """What the rule makes of it, or None, with its refusal beside the field."""
        try:
            return rule(*given)
        except Refused as refused:
            self.faults[name] = said(refused)
            return None

    @property
    def is_wrong(self) -> bool:
        return bool(self.faults or self.refusal)

    @property
    def status(self) -> int:
        return 422 if self.is_wrong else 200


def sent(*texts: str, lists: tuple[str, ...] = ()) -> Form:
    """The fields of the request; one that is missing is empty."""
    values: dict[str, Any] = {name: request.form.get(name, "") for name in texts}
    return Form(values | {name: request.form.getlist(name) for name in lists})


def above(form: Form, refused: Refused) -> None:
    form.refusal = said(refused)


def beside(name: str) -> Callable[[Form, Refused], None]:
    """Put the words of a refusal beside this field."""
    return lambda form, refused: form.faults.update({name: said(refused)})


def was_done(act: Act, form: Form, deed: Callable[[], object], place: Callable[[Form, Refused], None] = above) -> bool:
    """Whether the deed was done: the form was sound so far, and nothing was refused. `place` puts the words."""
    if form.is_wrong:
        return False
    try:
        with act.session.begin_nested():
            deed()
    except Refused as refused:
        place(form, refused)
        return False
    return True


def day_of(text: str) -> dt.date | None:
    """A date as the browser sends it, or None for an empty field. Raises Refused."""
    if not text.strip():
        return None
    try:
        return dt.date.fromisoformat(text.strip())
    except ValueError:
        raise Refused("%(text)s is no date: choose one, or write it as 2027-04-03.", text=quoted(text)) from None


def time_of(text: str) -> dt.time:
    """A time of day; an empty field is midnight. Raises Refused."""
    if not text.strip():
        return dt.time()
    try:
        return dt.datetime.strptime(text.strip()[:5], "%H:%M").time()  # noqa: DTZ007  A time of day has no zone.
    except ValueError:
        raise Refused("%(text)s is no time of day: write it as 08:00.", text=quoted(text)) from None


def whole_number(text: str) -> int:
    """Raises Refused."""
    if not (text.strip().isascii() and text.strip().isdecimal() and len(text.strip()) <= 9):
        raise Refused("%(text)s is no whole number: write one, such as 24.", text=quoted(text))
    return int(text)
