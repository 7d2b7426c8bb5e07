"""`onus import list` and `onus import in-error`, as an operator types them."""

from __future__ import annotations

from pathlib import Path

from app.domain.acts import Role
from app.operations import people
from tests import factories
from tests.factories import Acme
from tests.operations.test_commands import Onus, onus  # noqa: F401  (fixture)


def imported(onus: Onus, folder: Path, lines: str) -> int:  # noqa: F811
    file = folder / "wrong\x1b.csv"
    file.write_text(f"reference,due_on\n{lines}\n")
    return int(onus.json("import", "register", str(file))["import_run_id"])


def test_an_import_is_listed_looked_at_and_taken_back_once(onus: Onus, acme: Acme, tmp_path: Path) -> None:  # noqa: F811
    with acme.acting() as act:
        people.add_member(act, "ana@acme.example", Role.officer, name="Ana")
        factories.rule(act, channels=("in_app",))
    run = imported(onus, tmp_path, "A-1,2027-03-05\nA-2,2027-03-05")
    assert onus.run("scan").exit_code == onus.run("deliver").exit_code == 0
    assert onus.changed("subject", "snooze", "A-2", "--until", "2027-03-09", "--reason", "planned")
    dry = onus.json("import", "in-error", str(run), "--dry-run")
    counts = {"archived": 1, "closed": 1, "put_back": 0, "moved_back": 0, "left": 1, "told": 2}
    assert {name: dry[name] for name in counts} == counts
    assert [(one["reference"], one["work"]["type"]) for one in dry["left_entries"]] == [("A-2", "subject_snoozed")]
    assert {(one["reference"], one["person"], one["channel"]) for one in dry["told_messages"]} == {
        ("A-1", "Ana", "in_app"), ("A-2", "Ana", "in_app"),
    }  # fmt: skip
    assert onus.json("import", "list")["imports"][0]["in_error_at"] is None

    done = onus.run("import", "in-error", str(run), "--note", "The wrong file.")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "entries archived 1, deadlines closed 1" in done.stdout
    assert "A-2: subject snoozed by system:operator" in done.stdout
    [listed] = onus.json("import", "list")["imports"]
    assert (listed["id"], listed["contents"], listed["in_error_note"]) == (run, "register", "The wrong file.")
    assert listed["in_error_by"] == "system:operator"
    shown = onus.run("import", "list").stdout
    assert "new 2; entered in error 2027-03-01 11:00 UTC" in shown
    assert "\x1b" not in shown
    assert onus.run("owed").exit_code == 0
    assert "entered in error already" in onus.refusal("import", "in-error", str(run))
    assert "There is no import 987" in onus.refusal("import", "in-error", "987", "--dry-run")


def test_the_import_of_another_organisation_is_none(onus: Onus, acme: Acme, tmp_path: Path) -> None:  # noqa: F811
    run = imported(onus, tmp_path, "A-1,2027-03-05")
    factories.acme("elsewhere", "Porto")
    assert "There is no import" in onus.refusal("import", "in-error", str(run), "--org", "elsewhere")
    assert onus.json("import", "list", "--org", "elsewhere") == {"imports": []}
