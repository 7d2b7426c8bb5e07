"""The migration of e-mail back and forth, over rows that only it has words for, by an owner whom the walls bind."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace

import flask_migrate
import psycopg
import pytest
from psycopg import sql

from app import create_app
from app.extensions import db
from app.ledger.scan import scan
from app.operations import people
from tests import factories
from tests.conftest import DSN, named, settings_of, url_of
from tests.mail.conftest import BEGIN, permit


@pytest.fixture
def owner() -> Iterator[str]:
    """A plain owner, no superuser, of an empty database of his own."""
    name, database = named("plain_owner"), sql.Identifier(named("plain"))
    role = sql.Identifier(name)
    with contextlib.closing(psycopg.connect(os.environ[DSN], autocommit=True)) as connection:
        connection.execute(sql.SQL("create role {} login createrole").format(role))
        connection.execute(sql.SQL("grant onus_web, onus_scheduler to {} with admin option").format(role))
        connection.execute(sql.SQL("create database {} owner {}").format(database, role))
        try:
            yield name
        finally:
            connection.execute(sql.SQL("drop database {} with (force)").format(database))
            connection.execute(sql.SQL("drop role {}").format(role))


def test_what_only_the_new_code_has_words_for_survives_the_way_back(owner: str) -> None:
    url = url_of("plain", owner)
    settings = replace(settings_of("plain"), clock=BEGIN, database_url=url, owner_url=url)
    with create_app(settings).app_context():
        flask_migrate.upgrade()
        acme = factories.acme(now=BEGIN)
        with acme.acting() as act:
            people.add_member(act, "ana@acme.example", "officer", name="Ana")
            factories.rule(act, to=("role:officer",), channels=("email", "in_app"))
            permit(act)
        with acme.watching() as act:
            scan(act)
            act.run("update delivery set state = 'held', reason = 'restored', because = 'returned' where org_id = :org")
        db.engine.dispose()
        flask_migrate.downgrade(revision="0003")
        flask_migrate.upgrade()
        with acme.watching() as act:
            rows = act.run("select distinct state, reason, because from delivery where org_id = :org").all()
        db.engine.dispose()
    assert [tuple(row) for row in rows] == [("held", None, "role")]
