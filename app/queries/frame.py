"""What stands around every page of an organisation, read at once: who visits, what they see, what is new to them,
and what keeps messages from leaving."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app import clock
from app.config import Settings
from app.models import Member
from app.queries.inbox import new_to
from app.queries.sight import Sight, sight_asked, sight_of
from app.queries.stops import Stops, stops_asked, stops_of
from app.queries.together import together
from app.queries.visitors import Person, Place, person_asked, person_of


@dataclass(frozen=True)
class Frame:
    """`now` is the database's, of this request. `new_in` are the entries of which the inbox may hold something new."""

    now: dt.datetime
    person: Person | None
    sight: Sight
    stops: Stops
    new_in: Sequence[int]


def read_frame(session: Session, place: Place, account_id: int, settings: Settings) -> Frame:
    """`person` is None where nobody with this account is a present member."""
    org = place.org
    member = select(Member.id).where(Member.org_id == org, Member.account_id == account_id).scalar_subquery()
    asked = (clock.ASKED, person_asked(org, account_id), new_to(org, member))
    instant, who, new, *rest = together(session, *asked, *sight_asked(org, member), *stops_asked(org))
    now = settings.clock or clock.read_by(instant.scalar_one())
    sight, stops = sight_of(org, now, *rest[:3]), stops_of(now, settings, *rest[3:])
    return Frame(now, person_of(who, place.day(now)), sight, stops, list(new.scalars()))
