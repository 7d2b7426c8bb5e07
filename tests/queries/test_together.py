"""Several selects as one statement: the same rows and types as each by itself."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pytest
from sqlalchemy import ARRAY, Date, LargeBinary, Select, cast, func, literal, null, select, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from app.models import Member, Organisation, Site
from app.queries.together import together
from app.trail.act import Act
from tests.queries.statements import asked

INSTANT = dt.datetime(2027, 3, 1, 11, 0, 0, 123456, dt.UTC)
VALUES: list[Any] = [
    0, 2**63 - 1, -1, True, "", 'a "quote", \\ and é 漢', dt.date(2027, 2, 28), dt.date(1, 1, 1), INSTANT,
    dt.time(23, 59, 1), dt.timedelta(days=400, microseconds=1), uuid.UUID(int=7), 0.1,
]  # fmt: skip


def same(session: Session, *queries: Select[Any]) -> None:
    apart = [[tuple(row) for row in session.execute(query)] for query in queries]
    assert [[tuple(row) for row in result] for result in together(session, *queries)] == apart


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_value_comes_back_as_it_would_alone(act: Act, value: object) -> None:
    same(act.session, select(literal(value), cast(null(), Date).label("nothing")))


def test_lists_and_documents_come_back(act: Act) -> None:
    days = literal([dt.date(2027, 3, 1), None], ARRAY(Date))
    same(act.session, select(days, literal([1, 2], ARRAY(Site.id.type)), func.jsonb_build_object("a", 1, type_=JSONB)))


def test_rows_of_tables_keep_their_order_and_their_names(act: Act) -> None:
    sites = select(Site.id, Site.name, Site.alert_from).where(Site.org_id == act.org).order_by(Site.name.desc())
    nobody = select(Member.name).where(Member.org_id == act.org, Member.name == "Nobody of this name")
    place = select(Organisation.name, Organisation.grace_period)
    same(act.session, sites, nobody, place)
    found, none, (here,) = together(act.session, sites, nobody, place)
    assert found.first().name == act.session.execute(sites).first().name  # type: ignore[union-attr]
    assert none.scalar() is None
    assert here.grace_period == dt.timedelta(hours=24)


def test_it_is_one_statement(act: Act) -> None:
    act.session.connection()  # Its transaction begins with a statement of its own.
    with asked(act.session) as statements:
        together(act.session, select(literal(1)), select(literal(2)), select(literal(3)))
    assert len(statements) == 1


def test_written_statements_are_given_their_values(act: Act) -> None:
    written = text("select :number + 1 as more").columns(more=Site.id.type)
    (found,) = together(act.session, written, given={"number": 2})
    assert found.scalar_one() == 3


def test_what_json_cannot_carry_is_refused(act: Act) -> None:
    for column in (literal(b"x", LargeBinary), func.of_no_known_type()):
        with pytest.raises(TypeError, match="ask for this column by itself"):
            together(act.session, select(column))
