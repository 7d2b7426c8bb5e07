"""What waits for one person in the app."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.domain.delivery import Channel, State
from app.models import Delivery


def count_unread(session: Session, org: int, member_id: int) -> int:
    """The alerts delivered to the person in the app that they have not opened."""
    query = select(func.count()).where(
        Delivery.org_id == org,
        Delivery.recipient_id == member_id,
        Delivery.channel == Channel.in_app,
        Delivery.state == State.delivered,
        Delivery.seen_at.is_(None),
    )
    return session.execute(query).scalar_one()
