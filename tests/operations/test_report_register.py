"""The register of a report is as of its last day, as the page of a past day says; whatever has a name is named."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from app.exports.report import cover, register
from app.exports.report.changes import change_rows
from app.exports.report.cover import Origin
from app.operations import documents, filings, inspectors, obligations, people
from app.operations import register as entries
from app.operations.attachments import SentFile
from app.operations.documents import Paper
from app.queries.as_of import read_as_of
from app.queries.report.scope import Asked, Scope
from app.queries.sight import read_sight
from app.trail.act import Act
from tests import factories
from tests.factories import NOW, Acme
from tests.operations.story import march

DAY = dt.timedelta(days=1)
PDF = b"%PDF-1.7\n%%EOF\n"


def scope_of(act: Act, to_on: dt.date | None = None) -> Scope:
    return Scope(read_sight(act.session, act.org, 0, act.now), "Europe/Madrid", Asked(to_on=to_on))


def rows_of(act: Act, to_on: dt.date | None = None) -> dict[str, dict[str, object]]:
    keys = [column.key for column in register.PLAN.columns]
    found = (dict(zip(keys, row, strict=True)) for row in register.rows(act.session, scope_of(act, to_on)))
    return {str(row["reference"]): row for row in found}


def test_each_entry_is_as_it_stood_at_the_end_of_the_last_day(acme: Acme) -> None:
    with acme.acting() as act:
        people.add_site(act, "Auckland", "Pacific/Auckland")
        ana, bruno = (factories.member(act, f"{name}@acme.example", name=name.title()) for name in ("ana", "bruno"))
        permit = factories.subject(act, "P-1", title="Boiler permit", owner_member_id=bruno)
        deadline = factories.obligation(act, permit, march(20))
        crane = factories.subject(act, "A-1", at="Auckland", title="Crane permit", owner_member_id=bruno)
        documents.add_paper(act, permit, Paper("C-1", "Authority", file=SentFile("c-1.pdf", PDF)))
        before = rows_of(act)
    with acme.acting(NOW + DAY) as act:
        permit, crane = (entries.find_subject(act, reference) for reference in ("P-1", "A-1"))
        entries.retitle(act, permit, "Steam boiler")
        entries.assign(act, permit, member_id=ana)
        obligations.move(act, deadline.id, march(25), "agreed")
        filings.file(act, deadline.id, march(2), "R-7", "yes", None)
        documents.add_paper(act, permit, Paper("C-2", "Authority"))
        entries.retitle(act, crane, "Tower crane")
        entries.add_subject(act, entries.Entry(factories.site(act), factories.kind(act), "NEW"))
    with acme.acting(NOW + 2 * DAY) as act:
        then, now = rows_of(act, march(1)), rows_of(act)
        page = read_as_of(act.session, scope_of(act).sight, scope_of(act, march(1)).until)
        shown = {
            row[0]: row[1] for row in cover.rows(Origin(1, "Acme", "Ana", [], [], None), scope_of(act, march(1)), [])
        }
    assert then == before
    assert now["P-1"] | {"title": "Steam boiler", "due_on": march(25), "paper": "C-2"} == now["P-1"]
    assert "receipt R-7" in str(now["P-1"]["filing"])
    assert "NEW" in now
    assert {row.reference: (row.title, row.responsible) for row in page.rows} == {
        reference: (row["title"], str(row["responsible"]).partition(" (")[0]) for reference, row in then.items()
    }
    assert str(shown["The register"]).startswith("as it stood at the end of 2027-03-01, at each site by its own clock")


def test_what_names_rows_names_them_in_words(acme: Acme, tmp_path: Path) -> None:
    with acme.acting() as act:
        dana = factories.member(act, "dana@acme.example", "inspector", name="Dana")
        people.limit_member(act, dana, [factories.site(act)])
        inspectors.limit_to_kinds(act, dana, [factories.kind(act, "permit")])
        changed = {row[6]: row for row in change_rows(act.session, scope_of(act))}
    assert changed["member_limited"][9:11] == (None, "Madrid")
    assert changed["member_limited_to_kinds"][9:11] == (None, "permit")
