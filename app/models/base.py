"""What every table shares: types, naming conventions, and the composite key that leads with the organisation."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any

from sqlalchemy import TIMESTAMP, BigInteger, CheckConstraint, ForeignKeyConstraint, Identity, MetaData, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column

NAMING = {
    "pk": "%(table_name)s_pkey",
    "fk": "%(table_name)s_%(column_1_name)s_fkey",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "ck": "%(table_name)s_%(constraint_name)s_check",
    "ix": "%(table_name)s_%(column_0_N_name)s_idx",
}


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={**NAMING, "column_1_name": lambda constraint, table: list(constraint.columns)[-1].name}
    )
    type_annotation_map = {  # noqa: RUF012  SQLAlchemy reads it as a plain class attribute.
        int: BigInteger,
        str: Text,
        dt.datetime: TIMESTAMP(timezone=True),
        dict[str, Any]: JSONB,
        list[Any]: JSONB,
    }


OrgId = Annotated[int, mapped_column(BigInteger, primary_key=True)]
# autoincrement=True lets the ORM insert many rows of a composite key in one statement.
OwnId = Annotated[int, mapped_column(BigInteger, Identity(), primary_key=True, autoincrement=True)]


def of_org(column: str, table: str) -> ForeignKeyConstraint:
    """A foreign key inside the organisation: a row cannot point into another one. Nothing cascades."""
    return ForeignKeyConstraint(["org_id", column], [f"{table}.org_id", f"{table}.id"])


def org_key() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["org_id"], ["organisation.id"])


def one_of(column: str, values: type[StrEnum] | Iterable[str]) -> CheckConstraint:
    """A CHECK that holds the column to the words of the domain; a law test compares it with the database's."""
    words = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} in ({words})", name=column)
