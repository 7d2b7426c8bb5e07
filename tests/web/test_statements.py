"""How often a page asks the database: each way there and back is time, whatever the statement."""

from __future__ import annotations

import pytest
from flask import Flask

from tests.queries.statements import asked
from tests.web.furnished import ROLES, Furnished, SignIn, address, routes, undone
from tests.web.test_matrix import MATRIX

pytestmark = pytest.mark.furnished

MOST = 12
# Pages that ask more often, and how often: a number only ever goes down, and at MOST the page leaves the list.
MORE = {
    "GET /o/<slug>/register/imports/<int:import_run_id>/release": 34,
    "GET /o/<slug>/register/imports/<int:import_run_id>/in-error": 23,
    "GET /o/<slug>/settings/people/<int:member_id>/leaving": 18,
    "GET /o/<slug>/rules/<int:rule_id>/preview": 17,
    "GET /o/<slug>/register/<int:subject_id>/story": 15,
    "GET /o/<slug>/settings/people/<int:member_id>": 14,
    "GET /o/<slug>/settings/sites/ready": 13,
    "GET /o/<slug>/settings/sites/<int:site_id>/ready": 13,
}


def test_no_page_asks_the_database_more_than_twelve_times(app: Flask, own: Furnished, browser: SignIn) -> None:
    """As whoever may see it and has something new in the inbox; an inspector's look leaves its event besides."""
    visitors = {role: browser(email) for role, email in ROLES.items()}
    counted = {}
    for name, rule in routes(app).items():
        if name.startswith("GET /o/") and name in MATRIX:
            with undone(), asked() as statements:
                page = visitors[MATRIX[name][0][0]].get(address(rule, "acme", own.ids))
                assert page.status_code == MATRIX[name][1], name
            counted[name] = len(statements)
    assert len(counted) > 60
    assert {name: count for name, count in counted.items() if count > MOST} == MORE
