"""The commands of a person's acts, as an operator types them: exit codes, one JSON object, one line of refusal."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from click.testing import CliRunner, Result
from flask import Flask
from sqlalchemy import select, text, update

from app.cli import main
from app.database import transaction
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.models import Account, Acknowledgement, Organisation, Site, SitePost
from app.trail.act import Act
from tests import factories
from tests.factories import NOW, Acme
from tests.operations.story import march
from tests.people import OFFICER, STAFF


@dataclass
class Onus:
    """The command line, at 2027-03-01T11:00Z."""

    runner: CliRunner

    def run(self, *words: str, stdin: bytes | None = None) -> Result:
        return self.runner.invoke(main, words, input=stdin)

    def json(self, *words: str, stdin: bytes | None = None) -> dict[str, Any]:
        """The one object of a command that went well."""
        result = self.run(*words, "--json", stdin=stdin)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.count("\n") == 1
        return dict(json.loads(result.stdout))

    def changed(self, *words: str) -> bool:
        return bool(self.json(*words)["changed"])

    def refusal(self, *words: str, stdin: bytes | None = None) -> str:
        """The one line of a command that was refused."""
        result = self.run(*words, stdin=stdin)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("onus: ")
        assert result.stderr.count("\n") == 1
        return result.stderr


@pytest.fixture
def onus(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Onus:
    monkeypatch.setitem(app.extensions, "onus_settings", replace(app.extensions["onus_settings"], clock=NOW))
    return Onus(CliRunner())


@pytest.fixture
def permit(acme: Acme, onus: Onus) -> int:
    """The permit P-1 of acme, due on 20 March, with Ana and Bruno; its id."""
    with acme.acting() as act:
        factories.member(act, OFFICER)
        factories.member(act, STAFF, "staff")
        return factories.subject(act, "P-1", march(20)).id


def row(acme: Acme, query: Callable[[Act], Any]) -> Any:
    with acme.acting() as act:
        return query(act)


def test_an_organisation_is_made_with_one_site(onus: Onus) -> None:
    made = onus.json("org", "add", "acme", "--name", "Acme", "--timezone", "Europe/Madrid")
    assert (made["changed"], made["slug"]) == (True, "acme")
    with transaction(made["org_id"]) as session:
        assert session.scalars(select(Organisation.slug)).all() == ["acme"]
    assert "there already" in onus.refusal("org", "add", "acme", "--name", "Acme", "--timezone", "Europe/Madrid")
    assert onus.json("site", "add", "Cork", "--timezone", "Europe/Dublin", "--country", "ie")["site_id"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["org", "add", "Ac me", "--name", "Acme", "--timezone", "Europe/Madrid"], "cannot stand in an address"),
        (["org", "add", "acme", "--name", "Acme", "--timezone", "Mars/Olympus"], "time zone"),
        (["site", "add", "Cork", "--timezone", "Europe/Dublin"], "there are 0 organisations"),
    ],
)
def test_a_bad_organisation_leaves_nothing_behind(onus: Onus, words: list[str], said: str) -> None:
    assert said in onus.refusal(*words)
    with transaction() as session:
        assert session.scalars(select(Organisation.slug)).all() == []


def test_a_password_comes_by_stdin_and_one_newline_is_cut(acme: Acme, onus: Onus) -> None:
    words = ["member", "add", OFFICER, "--role", "officer", "--password-stdin"]
    assert "6 characters: use 12 to 128" in onus.refusal(*words, stdin=b"short\n\n")
    assert "not UTF-8" in onus.refusal(*words, stdin=b"\xff" * 20)
    assert onus.json(*words, stdin="contraseña larga\n\n".encode())["member_id"]
    with acme.acting() as act:
        [kept] = act.session.scalars(select(Account.password_hash))
    assert PasswordHasher().verify(str(kept), "contraseña larga\n")


@pytest.mark.parametrize(
    "twice",
    [
        ["member", "disable", STAFF],
        ["member", "limit", STAFF, "--site", "Madrid"],
        ["member", "email-alerts", STAFF, "off"],
        ["subject", "assign", "P-1", "--to", OFFICER, "--holder", STAFF],
        ["subject", "assign", "P-1", "--to", "member:ANA@acme.example"],
        ["subject", "snooze", "P-1", "--until", "2027-03-10", "--reason", "waiting", "--note", "lab"],
        ["subject", "archive", "P-1", "--reason", "sold"],
        ["subject", "out-of-service", "P-1"],
        ["obligation", "close", "p-1", "--due-on", "2027-03-20", "--outcome", "met"],
        ["obligation", "close", "P-1", "--due-on", "2027-03-20", "--outcome", "not_required", "--reason", "replaced"],
        ["obligation", "move", "P-1", "--to", "2027-09-01", "--reason", "authority"],
        ["obligation", "file", "P-1", "--in-force-meanwhile", "yes", "--ask-again-on", "2027-03-18"],
    ],
)
def test_an_act_done_twice_changes_something_once(permit: int, onus: Onus, twice: list[str]) -> None:
    assert onus.changed(*twice)
    assert not onus.changed(*twice)
    assert onus.run(*twice).stdout.startswith("Nothing changed: ")


@pytest.mark.parametrize(
    ("there", "back"),
    [
        (["member", "disable", STAFF], ["member", "enable", STAFF]),
        (["member", "limit", STAFF, "--site", "Madrid"], ["member", "limit", STAFF]),
        (["subject", "archive", "P-1", "--reason", "gone"], ["subject", "restore", "P-1"]),
        (["subject", "snooze", "P-1", "--until", "2027-03-10", "--reason", "planned"],
         ["subject", "snooze", "P-1", "--take-back"]),
        (["obligation", "close", "P-1", "--met-on", "2027-02-20"],
         ["obligation", "reopen", "P-1", "--reason", "not_done"]),
        (["obligation", "file", "P-1", "--filed-on", "2027-02-20", "--in-force-meanwhile", "no"],
         ["obligation", "file-end", "P-1", "--outcome", "granted", "--ended-on", "2027-03-01"]),
        (["obligation", "file", "P-1", "--filed-reference", "ENT-1", "--in-force-meanwhile", "no"],
         ["obligation", "file-end", "P-1", "--result", "refused"]),
    ],
)  # fmt: skip
def test_an_act_can_be_undone(permit: int, onus: Onus, there: list[str], back: list[str]) -> None:
    assert onus.changed(*there)
    assert onus.changed(*back)
    assert onus.changed(*there)


def test_an_act_reports_the_ids_and_what_became(permit: int, onus: Onus) -> None:
    moved = onus.json("obligation", "move", "P-1", "--to", "2027-04-01", "--reason", "agreed")
    assert (moved["subject_id"], moved["due_on"], moved["first_due_on"]) == (permit, "2027-04-01", "2027-03-20")
    closed = onus.json("obligation", "close", "P-1", "--met-on", "2027-02-20")
    assert (closed["obligation_id"], closed["outcome"]) == (moved["obligation_id"], "met")
    assert (closed["met_on"], closed["open_due_on"]) == ("2027-02-20", [])


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ([], "met"),
        (["--met-on", "2027-02-20"], "met"),
        (["--reason", "replaced"], "not_required"),
        (["--reason", "entered_in_error"], "entered_in_error"),
        (["--outcome", "failed"], "failed"),
    ],
)
def test_the_outcome_that_goes_without_saying(permit: int, onus: Onus, words: list[str], outcome: str) -> None:
    assert onus.json("obligation", "close", "P-1", *words)["outcome"] == outcome


def test_closing_tells_the_next_due_date(acme: Acme, onus: Onus) -> None:
    row(acme, lambda act: factories.subject(act, "I-1", march(5), recurrence="1w"))
    assert onus.json("obligation", "close", "I-1", "--outcome", "met")["open_due_on"] == ["2027-03-12"]


def test_a_post_is_made_held_and_responsible(permit: int, acme: Acme, onus: Onus) -> None:
    post_id = onus.json("post", "add", "Plant manager")["post_id"]
    words = ["post", "assign", "plant manager", STAFF, "--site", "madrid"]
    assert onus.changed(*words, "--from", "2027-03-01", "--until", "2027-03-31")
    assert not onus.changed(*words, "--until", "2027-03-31")
    held = row(acme, lambda act: act.session.scalars(select(SitePost)).one())
    assert (held.from_on, held.until_on) == (march(1), march(31))
    assigned = onus.json("subject", "assign", "P-1", "--to", "post:plant manager")
    assert (assigned["owner_post_id"], assigned["owner_member_id"]) == (post_id, None)


def test_a_post_is_put_above_another(acme: Acme, onus: Onus) -> None:
    fitter, manager = (onus.json("post", "add", name)["post_id"] for name in ("Fitter", "Manager"))
    done = onus.json("post", "above", "fitter", "--to", "manager")
    assert done == {"changed": True, "post_id": fitter, "above_id": manager}
    assert not onus.changed("post", "above", "fitter", "--to", "manager")
    assert "one of them" in onus.refusal("post", "above", "Fitter")
    assert "'Fitter' is under 'Manager', so it cannot be above it" in onus.refusal(
        "post", "above", "Manager", "--to", "Fitter"
    )
    assert "one of them" in onus.refusal("post", "above", "Fitter", "--to", "Manager", "--none")
    assert "no such post" in onus.refusal("post", "above", "Fitter", "--to", "King")
    assert onus.json("post", "above", "fitter", "--none")["above_id"] is None


def test_an_entry_moves_and_is_named_by_its_site(permit: int, acme: Acme, onus: Onus) -> None:
    cork = onus.json("site", "add", "Cork", "--timezone", "Europe/Dublin")["site_id"]
    row(acme, lambda act: factories.subject(act, "P-2", at="Cork"))
    row(acme, lambda act: factories.subject(act, "P-2"))
    assert "name one with --site: Cork, Madrid" in onus.refusal("subject", "move", "P-2", "--to", "Cork")
    assert "has an entry 'P-2'" in onus.refusal("subject", "move", "P-2", "--site", "Madrid", "--to", "Cork")
    assert onus.json("subject", "move", "P-1", "--to", "Cork")["site_id"] == cork


def test_a_draft_is_released(acme: Acme, onus: Onus) -> None:
    row(acme, lambda act: factories.subject(act, "D-1", march(20), status="draft"))
    assert "'soon' is not a start" in onus.refusal("subject", "release", "D-1", "--start", "soon")
    assert onus.json("subject", "release", "D-1", "--start", "next")["status"] == "watched"
    assert not onus.changed("subject", "release", "D-1")


def test_a_person_answers_an_alert_and_takes_it_back(permit: int, acme: Acme, onus: Onus) -> None:
    row(acme, lambda act: factories.rule(act, "Permits", ("30d",)))
    with acme.watching() as act:
        scan(act, trigger="command", full=True)
        deliver(act)
    words = ["acknowledge", "P-1", "--as", OFFICER]
    named = ["--due-on", "2027-03-20", "--rule", "Permits", "--threshold", "30d"]
    answered = onus.json(*words, "--answer", "on_it", "--until", "2027-03-05", "--note", "tomorrow", *named)
    assert (answered["changed"], answered["subject_id"]) == (True, permit)
    kept = row(acme, lambda act: act.session.scalars(select(Acknowledgement)).one())
    assert (kept.claim_id, kept.member_id) == (answered["claim_id"], answered["member_id"])
    assert (kept.answer, kept.until_on, kept.note) == ("on_it", march(5), "tomorrow")
    assert onus.changed(*words, "--answer", "done", "--done-on", "2027-03-01")
    assert not onus.changed(*words, "--answer", "done", "--done-on", "2027-03-01")
    assert onus.changed(*words, "--take-back")
    assert not onus.changed(*words, "--take-back")
    assert "was not sent to bruno" in onus.refusal("acknowledge", "P-1", "--as", STAFF, "--answer", "seen")


def test_the_five_moments_of_a_supervisor_and_what_an_officer_makes_of_them(
    permit: int, acme: Acme, onus: Onus, tmp_path: Path
) -> None:
    row(acme, lambda act: factories.rule(act, "Permits", ("30d",), to=("role:staff",)))

    def tell(hour: int) -> int:
        """Scan and deliver at this hour of Madrid, an hour ahead of UTC; how many alerts have arrived by then."""
        with acme.watching(NOW.replace(hour=hour - 1)) as act:
            scan(act, trigger="command", full=True)
            deliver(act)
            return int(act.session.scalar(text("select count(delivered_at) from delivery")) or 0)

    row(acme, lambda act: act.session.execute(update(Site).values(alert_from=dt.time(6))))
    assert (tell(5), tell(6)) == (0, 1)
    bruno = ["acknowledge", "P-1", "--as", STAFF]
    assert onus.changed(*bruno, "--answer", "help", "--note", "Which bottle?")
    assert onus.changed(*bruno, "--answer", "not_mine", "--whose", OFFICER)
    assert onus.changed(*bruno, "--take-back")
    photo, page = tmp_path / "IMG_1.jpg", tmp_path / "page.jpg"
    photo.write_bytes(b"\xff\xd8\xff photo")
    page.write_bytes(b"<html>")
    done = [*bruno, "--answer", "done", "--done-on", "2027-02-27", "--file"]
    assert "of a kind that is not kept" in onus.refusal(*done, str(page))
    assert onus.changed(*done, str(photo))
    [waiting] = onus.json("answer", "check", "list")["answers"]
    assert (waiting["reference"], waiting["person"], waiting["files"]) == ("P-1", "bruno", ["IMG_1.jpg"])
    one = str(waiting["id"])
    assert onus.changed("answer", "check", "send-back", one, "--note", "It cannot be read.", "--as", OFFICER)
    assert "was sent back already by ana" in onus.refusal("answer", "check", "accept", one)
    assert "There is no answer 999" in onus.refusal("answer", "check", "accept", "999")
    assert onus.changed(*done, str(photo))
    listed = onus.run("answer", "check", "list").stdout
    assert "P-1 2027-03-20: bruno says done on 2027-02-27 (IMG_1.jpg)" in listed
    dropping = ("answer", "drop-file", "P-1", "IMG_1.jpg", "--reason", "personal")
    assert len(onus.json(*dropping)["attachment_ids"]) == 2
    assert "has a file 'IMG_1.jpg' that is kept" in onus.refusal(*dropping)
    accepted = onus.json("answer", "check", "accept", listed.split()[0], "--as", OFFICER)
    assert (accepted["met_on"], accepted["due_on"]) == ("2027-02-27", "2027-03-20")
    assert onus.json("answer", "check", "list")["answers"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["site", "add", "Madrid", "--timezone", "Europe/Madrid"], "there already"),
        (["site", "add", "Cork", "--timezone", "Europe/Dublin", "--country", "IRL"], "not a country"),
        (["member", "add", OFFICER, "--role", "officer"], "a member already"),
        (["member", "add", "x@acme.example", "--role", "boss"], "not a role"),
        (["member", "disable", "x@acme.example"], "no member 'x@acme.example'"),
        (["member", "limit", STAFF, "--site", "Cork"], "no such site 'Cork'"),
        (["member", "email-alerts", STAFF, "maybe"], "neither on nor off"),
        (["member", "mail", STAFF, "--daily-at", "25:00"], "no time of day"),
        (["member", "mail", STAFF, "--daily-at", "08:00", "--at-once"], "exclude each other"),
        (["member", "mail", STAFF, "--rest", "20:00"], "20:00-06:00"),
        (["member", "mail", STAFF, "--rest", "20:00-20:00"], "never end"),
        (["member", "mail", STAFF, "--days-off"], "--rest"),
        (["member", "mail", STAFF, "--timezone", "Mars/Olympus"], "Mars/Olympus"),
        (["member", "mail", STAFF, "--region", "CN"], "has no country"),
        (["post", "assign", "EHS", STAFF, "--site", "Madrid"], "no such post 'EHS'"),
        (["subject", "assign", "P-1"], "add --to or --holder"),
        (["subject", "assign", "P-1", "--to", "role:staff"], "name one person or post:NAME"),
        (["subject", "assign", "P-1", "--to", "nobody"], "not an e-mail address"),
        (["subject", "snooze", "P-1"], "either --until or --take-back"),
        (["subject", "snooze", "P-1", "--until", "2027-03-10"], "needs a reason for snoozing"),
        (["subject", "archive", "P-9", "--reason", "gone"], "no entry 'P-9'"),
        (["subject", "archive", "P-1"], "needs a reason for archiving"),
        (["subject", "archive", "P-1", "--reason", "gone", "--site", "Cork"], "no such site 'Cork'"),
        (["subject", "restore", "P-1", "--org", "umbrosa"], "no organisation 'umbrosa'"),
        (["obligation", "close", "P-1", "--outcome", "done"], "not an outcome"),
        (["obligation", "close", "P-1", "--outcome", "not_required"], "needs a reason for closing"),
        (["obligation", "close", "P-1", "--outcome", "met", "--due-on", "2027-03-21"], "no deadline on 2027-03-21"),
        (["obligation", "move", "P-1", "--to", "2027-04-01"], "needs a reason for moving"),
        (["obligation", "move", "P-1", "--to", "2080-01-01", "--reason", "agreed"], "outside the years"),
        (["obligation", "reopen", "P-1", "--reason", "not_done"], "no closed deadline"),
        (["obligation", "file", "P-1"], "in force meanwhile"),
        (["obligation", "file-end", "P-1", "--outcome", "granted"], "no filing"),
        (["acknowledge", "P-1", "--as", OFFICER], "--answer or --take-back"),
        (["acknowledge", "P-1", "--as", OFFICER, "--answer", "seen"], "no such alert"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(permit: int, onus: Onus, words: list[str], said: str) -> None:
    assert said in onus.refusal(*words)


@pytest.mark.parametrize("day", ["1 March", "2027-3-1", "20270301", "2027-02-29", "2027-W09-1"])
def test_a_date_that_is_none_is_bad_usage(permit: int, onus: Onus, day: str) -> None:
    result = onus.run("obligation", "move", "P-1", "--to", day, "--reason", "agreed")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"'{day}' is not a date" in result.stderr


def test_people_are_imported_by_a_command(acme: Acme, onus: Onus, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("Mote,Apellidos,Legajo,Puesto\nAna,Gil,007,Cook\nIvo,Paz,,\n")
    words = [
        "import",
        "people",
        str(file),
        "--map",
        "name=Mote+Apellidos",
        "--map",
        "number=Legajo",
        "--map",
        "post=Puesto",
    ]
    dry = onus.json(*words, "--dry-run")
    assert (dry["new"], dry["rejected"], dry["dry_run"], dry["import_run_id"]) == (1, 1, True, None)
    made = onus.json(*words)
    assert list(made)[:7] == ["new", "changed", "unchanged", "duplicate", "conflict", "skipped", "rejected"]
    assert (made["posts_made"], made["people_new"], made["mapping"]["name"]) == (["Cook"], 1, ["Mote", "Apellidos"])
    assert made["rows"] == [
        {"line": 2, "outcome": "new", "reason": "sees all sites: none is named; holds Cook at Madrid",
         "name": "Ana Gil", "number": "007", "email": "", "site": "Madrid", "post": "Cook"},
        {"line": 3, "outcome": "rejected", "reason": "neither a number nor an e-mail: nothing says who this is",
         "name": "Ivo Paz", "number": "", "email": "", "site": "", "post": ""},
    ]  # fmt: skip
    again = onus.run(*words)
    assert (again.exit_code, again.stderr) == (0, "")
    assert again.stdout.splitlines()[1:] == [
        "unchanged 1, rejected 1", "people new 0, changed 0",
        "line 3: rejected: Ivo Paz: neither a number nor an e-mail: nothing says who this is",
    ]  # fmt: skip
    assert "No column is the number or the email" in onus.refusal("import", "people", str(file), "--map", "name=Mote")


def test_a_person_of_a_file_is_let_in_by_member_add(acme: Acme, onus: Onus, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("name,email,role\nIda,ida@x.example,\n")
    onus.json("import", "people", str(file))
    let_in = onus.json(
        "member", "add", "IDA@x.example", "--role", "staff", "--password-stdin", stdin=b"a long pass phrase"
    )
    with acme.acting() as act:
        [(member_id, name, has_hash)] = act.run(
            "select m.id, m.name, a.password_hash is not null from member m join account a on a.id = m.account_id "
            "where m.org_id = :org"
        ).all()
    assert (member_id, name, has_hash) == (let_in["member_id"], "Ida", True)


def test_import_confirms_lines_or_all_of_them(onus: Onus, acme: Acme, tmp_path: Path) -> None:
    register = tmp_path / "register.csv"
    register.write_text("reference,due_on\nA-1,46023\nA-2,46054\nA-3,2027-03-31\n")
    command = ("import", "register", str(register), "--dry-run")
    assert onus.json(*command, "--confirm", "2")["confirm"] == 1
    assert onus.json(*command, "--confirm", "2", "--confirm", "3")["new"] == 3
    assert onus.json(*command, "--confirm", "all")["confirm"] == 0
    assert "--confirm 4: no date is to be confirmed there" in onus.refusal(*command, "--confirm", "4")
    assert "write the number of a line, or all" in onus.refusal(*command, "--confirm", "first")


def test_dates_of_many_are_moved_by_one_command(acme: Acme, onus: Onus) -> None:
    with acme.acting() as act:
        for name in ("P-1", "P-2"):
            factories.subject(act, name, march(31))
        factories.subject(act, "P-3")
    words = ("batch", "move", "P-1", "P-2", "p-3", "P-1", "--by", "1m", "--reason", "law_change", "--by-act", "RD 1")
    dry = onus.json(*words, "--dry-run")
    assert (dry["changed"], dry["batch"], dry["moved"], dry["left"]) == (False, None, 2, 1)
    with acme.acting() as act:
        assert act.run("select count(*) from audit_event where type = 'batch_applied'").scalar_one() == 0
    done = onus.json(*words)
    assert (done["changed"], done["dry_run"], done["moved"]) == (True, False, 2)
    assert done["moved_entries"][0] == {
        "reference": "P-1", "site": "Madrid", "old": "2027-03-31", "new": "2027-04-30",
    }  # fmt: skip
    assert done["left_entries"] == [{"reference": "P-3", "site": "Madrid", "reason": "no_date"}]
    with acme.acting() as act:
        events = act.run("select detail from audit_event where type = 'date_moved'").scalars().all()
    assert {(one["batch"], one["by_act"], one["others"]) for one in events} == {(done["batch"], "RD 1", 1)}
    told = onus.run("batch", "move", "P-1", "P-3", "--to", "2027-05-01", "--reason", "agreed").stdout.splitlines()
    assert told == [
        "dates moved 1, left 1, parts that follow 0", "  P-1: 2027-04-30 -> 2027-05-01", "  P-3: left: no date",
        "alerts raised at once 0, messages 0; alerts stopped 0",
    ]  # fmt: skip
    assert "give one of the two" in onus.refusal("batch", "move", "P-1", "--reason", "agreed")
    assert "no entry" in onus.refusal("batch", "move", "P-9", "--by", "1m", "--reason", "agreed")
