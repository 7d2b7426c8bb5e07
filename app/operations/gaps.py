"""What a person says of a time in which nobody looked: why it came, as words in the trail. The gap itself stays."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import select

from app.domain.errors import Refused
from app.models import ScanRun
from app.models.ledger import GAP_EXPLAINED, LOOKED_UNTIL
from app.operations import typed
from app.trail.act import Act


def explain(act: Act, since: dt.datetime | None, words: str) -> None:
    """Say why nobody looked from this instant on; what is said last counts. Raises Refused."""
    noted = typed.note(words)
    if not noted:
        raise Refused("The explanation is empty: write why nobody looked, and what was done about it.")
    if since is None or not _ended_a_look(act, since):
        raise Refused("There is no gap from this time on: open the list of gaps anew.")
    act.record(GAP_EXPLAINED, since=since.astimezone(dt.UTC).isoformat(), note=noted)


def _ended_a_look(act: Act, instant: dt.datetime) -> bool:
    ended = select(ScanRun.id).where(ScanRun.org_id == act.org, LOOKED_UNTIL.is_not_distinct_from(instant))
    return act.session.scalars(ended.limit(1)).first() is not None
