"""In whose places somebody is told who stands in: the names, for the "why you" of a message."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Text, any_, func, literal, select
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.orm import aliased

from app.domain.delivery import Because
from app.models import Delivery, Member

# Of a delivery `x`; null where its reader is told by a route of their own, whomever it reaches beside.
IN_PLACES = """(
         select string_agg(v.name, ', ' order by v.name) from member v
         where v.org_id = :org and x.because = 'cover' and v.id = any (x.covers_id || x.also_covers))"""


def in_places() -> ColumnElement[str | None]:
    """The same for a select of deliveries."""
    away = aliased(Member)
    names = func.string_agg(away.name, aggregate_order_by(literal(", "), away.name), type_=Text)
    query = select(names).where(away.org_id == Delivery.org_id, Delivery.because == Because.cover)
    places = func.array_prepend(Delivery.covers_id, Delivery.also_covers)
    return query.where(away.id == any_(places)).correlate(Delivery).scalar_subquery()
