"""`onus renew`, as an operator types it: what it prints, where the next date comes from, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.models import Attachment, Document
from tests import factories
from tests.factories import Acme
from tests.operations.story import march
from tests.operations.test_commands import Onus, onus

__all__ = ["onus"]


@pytest.fixture
def permit(acme: Acme, onus: Onus) -> int:
    """The permit P-1 of acme, due on 20 March and every year; its id."""
    with acme.acting() as act:
        return factories.subject(act, "P-1", march(20), recurrence="1y").id


def test_it_adds_the_paper_with_its_file_and_says_what_comes_next(
    onus: Onus, acme: Acme, permit: int, tmp_path: Path
) -> None:
    file = tmp_path / "scan.bin"
    file.write_bytes(b"%PDF-1.7\n%%EOF\n")
    given = ["--number", "C-1", "--issuer", "Authority", "--issued-on", "2027-02-20", "--valid-from", "2027-02-21"]
    given += ["--valid-until", "2029-02-28", "--met-on", "2027-02-28", "--file", str(file), "--note", "By post"]
    made = onus.json("renew", "P-1", *given)
    assert (made["changed"], made["subject_id"], made["outcome"], made["met_on"]) == (True, permit, "met", "2027-02-28")
    assert (made["next_due_on"], made["next_from"]) == ("2029-02-28", "paper")
    assert made["next_words"] == "the day until which the new paper is valid"
    with acme.acting() as act:
        assert act.session.get_one(Document, (act.org, made["document_id"])).valid_until.isoformat() == "2029-02-28"
        assert act.session.query(Attachment.file_name, Attachment.media_type).one() == (
            "scan.bin.pdf", "application/pdf",
        )  # fmt: skip
    again = onus.json("renew", "P-1", "--number", "C-2", "--due-on", "2027-03-20")
    assert again["changed"] is False


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "The next one is due on 2028-03-20: every year, counted from the due date."),
        (["--next", "2027-06-01"], "The next one is due on 2027-06-01: as a person said."),
        (["--next", "none"], "There is no next date."),
    ],
)
def test_it_says_where_the_next_date_comes_from(onus: Onus, permit: int, given: list[str], said: str) -> None:
    result = onus.run("renew", "P-1", "--number", "C-1", *given)
    assert (result.exit_code, result.stdout) == (0, f"P-1 is renewed with C-1. {said}\n")


def test_what_was_filed_and_granted_is_renewed_by_one_command(onus: Onus, permit: int) -> None:
    file = ("obligation", "file", "P-1", "--filed-on", "2027-02-10", "--in-force-meanwhile", "yes")
    end = ("obligation", "file-end", "P-1", "--ended-on", "2027-02-20")
    onus.json(*file)
    assert "only with the result granted" in onus.refusal(*end, "--result", "refused", "--number", "C-1")
    assert "still open" in onus.run(*end, "--result", "granted").stdout
    onus.json(*file)
    made = onus.json(*end, "--result", "granted", "--number", "C-1", "--valid-until", "2029-03-20")
    assert (made["filing_result"], made["outcome"], made["met_on"]) == ("granted", "met", "2027-02-20")
    assert (made["next_due_on"], made["next_from"]) == ("2029-03-20", "paper")
    again = onus.json(*end, "--result", "granted", "--number", "C-2", "--due-on", "2027-03-20")
    assert again["changed"] is False


def test_what_is_wrong_is_refused_and_changes_nothing(onus: Onus, acme: Acme, permit: int, tmp_path: Path) -> None:
    page = tmp_path / "scan.pdf"
    page.write_bytes(b"<html>")
    assert "of a kind that is not kept" in onus.refusal("renew", "P-1", "--number", "C-1", "--file", str(page))
    assert "no entry" in onus.refusal("renew", "P-9", "--number", "C-1")
    assert "The number of the paper is empty" in onus.refusal("renew", "P-1", "--number", " ")
    assert "still to come" in onus.refusal("renew", "P-1", "--number", "C-1", "--met-on", "2027-03-02")
    for wrong in (["--next", "soon"], ["--file", str(tmp_path / "none.pdf")], ["--valid-until", "01/02/2027"]):
        assert onus.run("renew", "P-1", "--number", "C-1", *wrong).exit_code == 2
    assert onus.run("renew", "P-1").exit_code == 2
    with acme.acting() as act:
        assert act.session.query(Document).count() == 0


def test_papers_are_listed_added_withdrawn_and_their_files_removed(
    onus: Onus, acme: Acme, permit: int, tmp_path: Path
) -> None:
    file = tmp_path / "c.pdf"
    file.write_bytes(b"%PDF-1.7\n%%EOF\n")
    assert onus.run("paper", "list", "P-1").stdout == "P-1 has no papers.\n"
    first = onus.json("paper", "add", "P-1", "--number", "C-1", "--file", str(file), "--valid-until", "2027-03-20")
    assert (first["changed"], first["subject_id"], first["replaces_id"]) == (True, permit, None)
    second = onus.json("paper", "add", "P-1", "--number", "C-2", "--replaces", " c-1 ")
    assert second["replaces_id"] == first["document_id"]
    listed = onus.run("paper", "list", "P-1").stdout
    assert listed == "C-2: current\nC-1: replaced by C-2, valid until 2027-03-20, c.pdf\n"
    assert "not current" in onus.refusal("paper", "add", "P-1", "--number", "C-3", "--replaces", "C-1")
    assert "a reason for removing a file" in onus.refusal("paper", "drop-file", "P-1", "C-1")
    assert onus.json("paper", "drop-file", "P-1", "C-1", "--reason", "personal")["changed"] is True
    assert onus.json("paper", "drop-file", "P-1", "C-1", "--reason", "personal")["changed"] is False
    assert "has no file" in onus.refusal("paper", "drop-file", "P-1", "C-2", "--reason", "other")
    assert onus.json("paper", "withdraw", "P-1", "C-2", "--note", "Typo")["document_id"] == second["document_id"]
    assert "no such paper" in onus.refusal("paper", "withdraw", "P-1", "C-9")
    papers = onus.json("paper", "list", "P-1")["papers"]
    assert [(one["number"], one["is_current"]) for one in papers] == [("C-2", False), ("C-1", True)]
    assert papers[1]["files"][0]["is_dropped"] is True
    with acme.acting() as act:
        assert act.session.query(Attachment.content).scalar() is None


def test_many_are_renewed_by_a_command(onus: Onus, acme: Acme, permit: int, tmp_path: Path) -> None:
    file = tmp_path / "c.pdf"
    file.write_bytes(b"%PDF-1.7\n%%EOF\n")
    with acme.acting() as act:
        factories.subject(act, "P-2", march(25))
        factories.subject(act, "P-3")
    given = ["batch", "renew", "P-1", "P-2", "P-3", "--number", "C-1", "--valid-until", "2029-02-28"]
    given += ["--file", str(file), "--met-on", "2027-02-28"]
    dry = onus.json(*given, "--dry-run")
    assert (dry["changed"], dry["renewed"], dry["left"], dry["batch"]) == (False, 2, 1, None)
    made = onus.json(*given)
    assert made["batch"]
    assert made["renewed_entries"] == [
        {"reference": reference, "site": "Madrid", "old": old, "new": "2029-02-28", "next_from": "paper"}
        for reference, old in (("P-1", "2027-03-20"), ("P-2", "2027-03-25"))
    ]
    assert made["left_entries"] == [{"reference": "P-3", "site": "Madrid", "reason": "no_date"}]
    again = onus.run(*given, "--dry-run").stdout
    assert "renewed 0, left 3, parts that follow 0" in again
    assert "P-1: left: has paper" in again
