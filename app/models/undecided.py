"""Which messages wait for a person, as SQL for ledger and pages: nobody has decided, or only that it was not sent.

*Not sent* is no end: the alert has not arrived, so it stays in the lists until it is sent again or settled otherwise.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, or_

from app.domain.delivery import Resolution, State
from app.models.ledger import Delivery

UNDECIDED = "(x.resolution is null or x.state = 'failed' and x.resolution = 'failed')"


def is_undecided() -> ColumnElement[bool]:
    """The same, for a query over deliveries."""
    not_sent = and_(Delivery.state == State.failed, Delivery.resolution == Resolution.failed)
    return or_(Delivery.resolution.is_(None), not_sent)
