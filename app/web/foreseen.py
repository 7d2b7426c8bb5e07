"""What a change of calendar would move is shown before it is saved; whoever sends the same again has seen it."""

from __future__ import annotations

from collections.abc import Callable

from flask import request

from app.operations.calendar_changes import Foresight, foresee
from app.trail.act import Act
from app.web.typed_form import Form, above, was_done

SEEN = "seen"  # The hidden field that names the change that was shown.


def foreseen(
    act: Act, form: Form, change: Callable[[], object], *facts: object, place: Callable[..., None] = above
) -> Foresight | None:
    """What the change of these facts would move; None if it was shown already, moves nothing, or is refused.

    A refusal is put into the form by `place`. Nothing of the change stays.
    """
    form.values[SEEN] = "|".join(map(str, facts))
    if form.is_wrong or request.form.get(SEEN) == form.values[SEEN]:
        return None
    found: list[Foresight] = []
    was_done(act, form, lambda: found.append(foresee(act, change)), place)
    return next((one for one in found if not one.is_nothing), None)
