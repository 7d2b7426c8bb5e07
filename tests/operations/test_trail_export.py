"""The trail as a file for an inspector: the same rows in every format, narrowed by one scope, and on record."""

from __future__ import annotations

import csv
import datetime as dt
import io
import tracemalloc
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from python_calamine import CalamineWorkbook

from app.domain.acts import Answer, Outcome
from app.exports.report import alerts
from app.exports.report.section import Column, keep
from app.exports.report.spreadsheets import write_csv, write_xlsx
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.operations import answers, obligations, people
from app.trail.act import member_actor
from tests import factories
from tests.factories import Acme
from tests.operations.story import march
from tests.operations.test_commands import Onus, onus

__all__ = ["onus"]

T = dt.datetime(2027, 3, 2, 11, 0, tzinfo=dt.UTC)
SECTIONS = {
    "register", "alerts", "messages", "tries", "answers", "changes", "people", "checks", "taken_off"
}  # fmt: skip
Rows = dict[str, list[dict[str, str]]]


@pytest.fixture
def told(acme: Acme) -> Acme:
    """P-1 in New York and P-2 in Madrid, told on 2 March; Bruno answers for P-1, which Ana closes the day after."""
    with acme.acting() as act:
        people.add_site(act, "New York", "America/New_York")
        ana, bruno = (
            factories.member(act, name="Ana"),
            factories.member(act, "bruno@acme.example", "staff", name="Bruno"),
        )
        factories.subject(act, "P-1", dt.date(2027, 4, 1), "New York", owner_member_id=bruno, title="=1+1 boiler")
        factories.subject(act, "P-2", dt.date(2027, 4, 1), owner_member_id=ana)
        factories.rule(act, "Permits", ("30d", "7d"), to=("owner",))
        acme.members |= {"ana": ana, "bruno": bruno}
    with acme.watching(T) as act:
        scan(act, trigger="command", full=True)
        deliver(act)
    with acme.acting(T + dt.timedelta(hours=1), actor=member_actor(bruno)) as act:
        claim = act.run("select id from notification_ledger where org_id = :org and reference = 'P-1'").scalar_one()
        answers.acknowledge_claim(act, bruno, claim, Answer.on_it, until_on=march(9))
    with acme.acting(T + dt.timedelta(days=1), actor=member_actor(ana)) as act:
        due = act.run("select min(id) from obligation where org_id = :org").scalar_one()
        obligations.close(act, due, Outcome.met, met_on=march(3), member_id=ana)
    return acme


def read_csv(path: Path) -> Rows:
    found: Rows = defaultdict(list)
    heading: list[str] = []
    for line in csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")):
        if line[0] in ("Section", "Sección"):
            heading = line
        else:
            found[line[0]].append(dict(zip(heading, line, strict=False)))
    return found


def exported(onus: Onus, tmp_path: Path, *words: str) -> tuple[dict[str, Any], Rows]:
    path = tmp_path / "trail.csv"
    return onus.json("export", "trail", "--format", "csv", "-o", str(path), *words), read_csv(path)


def test_a_reader_learns_how_it_was_known(told: Acme, onus: Onus, tmp_path: Path) -> None:
    """H37: who and when, each instant with its offset and the time of the site beside it."""
    report, rows = exported(onus, tmp_path)
    assert report["counts"].keys() == SECTIONS
    [one, other] = rows["Alerts"]
    assert (one["Raised (UTC)"], one["Raised (site time)"]) == ("2027-03-02T11:00:00Z", "2027-03-02T06:00:00-05:00")
    assert one["In one sentence"] == (
        "Raised on 2 March 2027, 06:00:00 -05:00, for the due date 1 April 2027 (30 days before). "
        "Told Bruno in the app on 2 March 2027, 06:00:00 -05:00. "
        "Answered by Bruno on 2 March 2027, 07:00:00 -05:00: On it until 9 March 2027. "
        "Done on 3 March 2027, closed on 3 March 2027, 06:00:00 -05:00 by Ana."
    )
    assert (one["Title"], one["Answered by"], one["State"]) == (
        "'=1+1 boiler",
        f"Bruno (no. {told.members['bruno']})",
        "Answered",
    )
    assert other["Raised (site time)"] == "2027-03-02T12:00:00+01:00"
    ana = f"Ana (no. {told.members['ana']})"
    [closed] = [row for row in rows["Changes"] if row["Type"] == "obligation_closed"]
    assert (closed["By"], closed["Source"]) == (ana, "page")
    assert {row["By"] for row in rows["Changes"]} == {ana, "An operator, by a command"}
    assert rows["Tries"] == [{"Section": "Tries", "Row": "", "Try": "none"}]
    assert dict.fromkeys(row["What"] for row in rows["Cover"]).keys() >= {"Organisation", "Period", "Made by", "Times"}


def test_every_format_has_the_same_rows_under_the_same_numbers(told: Acme, onus: Onus, tmp_path: Path) -> None:
    _, rows = exported(onus, tmp_path)
    book = tmp_path / "trail.xlsx"
    onus.json("export", "trail", "--format", "xlsx", "-o", str(book))
    sheets = CalamineWorkbook.from_path(str(book))
    assert sheets.sheet_names == list(rows)
    heading, *lines = sheets.get_sheet_by_name("Alerts").to_python()
    found = [dict(zip(heading, line, strict=True)) for line in lines]
    assert [(one["Row"], one["Alert"], one["For the due date"]) for one in found] == [
        (int(row["Row"]), int(row["Alert"]), dt.date.fromisoformat(row["For the due date (YYYY-MM-DD)"]))
        for row in rows["Alerts"]
    ]
    assert found[0]["Title"] == "=1+1 boiler"
    assert sheets.get_sheet_by_name("Tries").to_python()[1][1] == "none"


def test_the_bytes_are_those_a_spreadsheet_reads_right(told: Acme, onus: Onus, tmp_path: Path) -> None:
    """H34: the mark, CRLF, ISO dates, texts that are no formula; a number may begin with a sign."""
    exported(onus, tmp_path)
    content = (tmp_path / "trail.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbfSection,Row,What,Value\r\n")
    assert content.count(b"\n") == content.count(b"\r\n")
    assert b",'=1+1 boiler," in content
    assert b",2027-04-01," in content


def test_filters_narrow_every_section(told: Acme, onus: Onus, tmp_path: Path) -> None:
    _, of_site = exported(onus, tmp_path, "--site", "New York")
    sections = ("Register", "Alerts", "Messages", "Answers")
    assert {row["Reference"] for name in sections for row in of_site[name]} == {"P-1"}
    assert "P-2" not in (tmp_path / "trail.csv").read_text()
    assert {row["Name"] for row in of_site["People and roles"]} == {"Bruno"}
    report, of_entry = exported(onus, tmp_path, "--subject", "P-2", "--rule", "Permits")
    assert (report["counts"]["register"], report["counts"]["alerts"], report["counts"]["answers"]) == (1, 1, 0)
    assert [row["Reference"] for row in of_entry["Alerts"]] == ["P-2"]
    assert [(row["What"], row["Raised"]) for row in of_entry["Checks"]] == [("Check", "2")]
    report, _ = exported(onus, tmp_path, "--from", "2027-03-03")
    assert (report["counts"]["alerts"], report["counts"]["changes"]) == (0, 1)
    report, _ = exported(onus, tmp_path, "--to", "2027-03-02")
    assert report["counts"]["alerts"] == 2


def test_nothing_of_another_organisation_is_in_it(told: Acme, onus: Onus, tmp_path: Path) -> None:
    theirs = factories.acme("theirs", "Porto")
    with theirs.acting() as act:
        factories.subject(act, "THEIRS-1", march(20), "Porto")
        factories.member(act, "eve@theirs.example", name="Evelyne")
    exported(onus, tmp_path, "--org", "acme")
    content = (tmp_path / "trail.csv").read_text()
    assert not any(word in content for word in ("THEIRS", "Porto", "Evelyne"))


def test_who_took_what_is_on_record(told: Acme, onus: Onus, tmp_path: Path) -> None:
    report, _ = exported(onus, tmp_path, "--site", "Madrid", "--from", "2027-03-01")
    with told.acting() as act:
        event = act.run("select actor, detail from audit_event where type = 'exported'").one()
        kept = act.run("select sha256, content, fault, counts from export_run").one()
        site = factories.site(act)
    assert event.actor == "system:operator"
    assert event.detail["filters"] == {"from_on": "2027-03-01", "site_id": site}
    assert event.detail["sha256"] == report["sha256"] == kept.sha256
    assert event.detail["counts"] == report["counts"] == kept.counts
    assert (kept.content, kept.fault) == (None, None)
    assert [path.name for path in tmp_path.iterdir()] == ["trail.csv"]


def test_what_cannot_be_made_is_refused_in_words(told: Acme, onus: Onus, tmp_path: Path) -> None:
    path = tmp_path / "trail.csv"
    command = ("export", "trail", "--format", "csv", "-o", str(path))
    assert "no such site" in onus.refusal(*command, "--site", "Nowhere")
    assert "no rule" in onus.refusal(*command, "--rule", "Nothing")
    assert "no entry" in onus.refusal(*command, "--subject", "P-9")
    assert "before the first" in onus.refusal(*command, "--from", "2027-03-02", "--to", "2027-03-01")
    assert onus.run(*command, "--from", "02/03/2027").exit_code == 2
    assert "cannot be written" in onus.refusal("export", "trail", "--format", "csv", "-o", str(tmp_path / "no" / "x"))
    assert list(tmp_path.iterdir()) == []


def peak_of(rows: int, folder: Path) -> int:
    """The most memory, in bytes, that it takes to keep and to write so many alerts."""
    columns = len(alerts.PLAN.columns)
    many = (tuple(f"word {number} {column}" for column in range(columns)) for number in range(rows))
    plan = replace(alerts.PLAN, columns=tuple(Column(column.key, column.name) for column in alerts.PLAN.columns))
    tracemalloc.start()
    try:
        section = keep(plan, many, folder, lambda _: None)
        report: Any = SimpleNamespace(sections=(section,))
        for write in (write_csv, write_xlsx):
            with (folder / "out").open("wb") as file:
                write(file, report)
        assert section.count == rows
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    assert peak_of(2_000, tmp_path) < 1.2 * peak_of(200, tmp_path) + 200_000


def test_the_language_is_that_which_was_asked_for(told: Acme, onus: Onus, tmp_path: Path) -> None:
    _, rows = exported(onus, tmp_path, "--lang", "es")
    [one, _] = rows["Avisos"]
    assert one["En una frase"].startswith(
        "Generado el 2 de marzo de 2027, 06:00:00 -05:00, para la fecha de vencimiento "
    )
    assert rows["Intentos"] == [{"Sección": "Intentos", "Fila": "", "Intento": "ninguno"}]
    front = {row["Qué"]: row["Valor"] for row in rows["Portada"]}
    assert front["El control de vencimientos"].startswith("tal como estaba el ")
    assert onus.run("export", "trail", "--format", "csv", "--lang", "xx", "-o", str(tmp_path / "x")).exit_code == 2
