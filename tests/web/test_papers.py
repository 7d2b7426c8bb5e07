"""Papers on the pages: renewed and added by plain forms, found by number, and their files given back safely."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
from collections.abc import Callable

import pytest
from flask import Flask

from app.domain.media import LARGEST_FILE
from app.operations import documents, kinds, obligations, people, register
from app.operations.attachments import SentFile
from app.operations.documents import Paper
from tests import factories
from tests.factories import Acme
from tests.people import ADMIN, INSPECTOR, OFFICER, STAFF
from tests.web.conftest import Browser, forget_request
from tests.web.markup import read
from tests.web.test_entry import events, fields_of, march, page_of, stored, words

SignIn = Callable[[str], Browser]
PDF = b"%PDF-1.7\n%%EOF\n"
TYPED = {
    "number": "C-1340", "issuer": "Water authority", "issued_on": "2027-02-20", "valid_from": "2027-03-01",
    "valid_until": "2029-02-28", "met_on": "2027-02-28", "next": "proposed", "next_due_on": "", "note": "By post",
}  # fmt: skip


@pytest.fixture
def ids(staffed: Acme) -> dict[str, int]:
    """P-1, due on 5 March 2027, every year, with the paper C-1188; a second site."""
    with staffed.acting() as act:
        cork = people.add_site(act, "Cork", "Europe/Dublin")
        permit = factories.subject(act, "P-1", title="Pressure vessel", kind="permit", recurrence="1y")
        deadline = factories.obligation(act, permit, march(5))
        old = documents.add_paper(act, permit, Paper("C-1188", "Authority", file=SentFile("old.pdf", PDF)))
        draft = factories.subject(act, "D-1", march(9))
        return {"P-1": permit.id, "deadline": deadline.id, "D-1": draft.id, "Cork": cork, "old": old}


def file_of(acme: Acme) -> int:
    return int(stored(acme, "select max(id) from attachment")[0][0])


def sent(name: str, content: bytes) -> tuple[io.BytesIO, str]:
    return io.BytesIO(content), name


def test_a_renewal_without_script_from_the_page_to_the_file(
    staffed: Acme, ids: dict[str, int], browser: SignIn
) -> None:
    person = browser(OFFICER)
    page = person.get(page_of(ids)).text
    assert page_of(ids, "renew", deadline=True) in page
    form = person.get(page_of(ids, "renew", deadline=True)).text
    assert 'enctype="multipart/form-data"' in form
    said = words(form)
    assert "The new paper replaces C-1188. The deadline is closed as done, and the next one is opened." in said
    assert (
        "As proposed: the day until which the new paper is valid; without one, 5 March 2028 "
        "(every year, counted from the due date)"
    ) in said
    assert fields_of(form)["met_on"] == "2027-03-01"
    assert fields_of(form)["issuer"] == "Authority"
    answer = person.post(page_of(ids, "renew", deadline=True), **TYPED, file=sent("scan 1.PDF", PDF))
    assert (answer.status_code, answer.location) == (303, page_of(ids))
    assert events(staffed) == ["paper_added", "obligation_closed", "obligation_opened"]
    deadlines = "select due_on, met_on, outcome from obligation where subject_id = :id order by 1"
    assert stored(staffed, deadlines, id=ids["P-1"]) == [
        (march(5), dt.date(2027, 2, 28), "met"), (dt.date(2029, 2, 28), None, None),
    ]  # fmt: skip
    page = person.get(page_of(ids)).text
    said = words(page)
    assert "C-1340 Current replaces C-1188" in said
    assert "C-1188 Replaced by C-1340" in said
    assert "Water authority on 20 February 2027 from 1 March 2027 until 28 February 2029 scan 1.PDF PDF, 1 kB" in said
    assert "Done, renewed with C-1340" in said
    assert "1 March 2027, 12:00:00 +01:00, Ana" in said
    added = "Added the paper C-1340, valid until 28 February 2029, with which it was renewed"
    assert f"{added}, with the file scan 1.PDF (SHA-256 {hashlib.sha256(PDF).hexdigest()})" in said
    assert "Opened the deadline of 28 February 2029, the last day of the new paper" in said
    where = f"{page_of(ids)}/files/{file_of(staffed)}"
    assert f'href="{where}"' in page
    assert person.get(where).data == PDF
    again = person.post(page_of(ids, "renew", deadline=True), **TYPED)
    assert again.location == page_of(ids)
    assert stored(staffed, "select count(*) from document") == [(2,)]


@pytest.mark.parametrize(
    ("given", "due_on", "source"),
    [
        ({"valid_until": ""}, dt.date(2028, 3, 5), ", the next one"),
        ({"next": "day", "next_due_on": "2027-06-01"}, dt.date(2027, 6, 1), ", the next one, as was said"),
        ({"next_due_on": "2027-06-01"}, dt.date(2027, 6, 1), ", the next one, as was said"),
        ({"next": "none"}, None, ""),
    ],
)
def test_what_comes_next(
    staffed: Acme, ids: dict[str, int], browser: SignIn, given: dict[str, str], due_on: dt.date | None, source: str
) -> None:
    person = browser(OFFICER)
    person.get(page_of(ids, "renew", deadline=True))
    assert person.post(page_of(ids, "renew", deadline=True), **TYPED | given).status_code == 303
    coming = "select due_on from obligation where subject_id = :id and closed_at is null"
    assert stored(staffed, coming, id=ids["P-1"]) == ([(due_on,)] if due_on else [])
    page = words(person.get(page_of(ids)).text)
    assert (f"{source} " in page) if due_on else ("it has no open deadline" in page)


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"number": " "}, "number", "Write the number of the paper."),
        ({"issued_on": "2027-02-30"}, "issued_on", "is not a date"),
        ({"issued_on": "2027-03-02"}, "issued_on", "2 March 2027 is still to come"),
        ({"valid_until": "2027-02-01"}, "valid_until", "is before the first, 1 March 2027"),
        ({"valid_until": "2099-02-01"}, "valid_until", "is outside the years 1900 to 2079"),
        ({"met_on": ""}, "met_on", "Choose the day on which it was done."),
        ({"met_on": "2027-03-02"}, "met_on", "This day is still to come"),
        ({"next": "day"}, "next_due_on", "Choose the next due date."),
        ({"next": "day", "next_due_on": "2027-03-05"}, "next_due_on", "has a deadline on 5 March 2027 already"),
        ({"next": "none", "next_due_on": "2027-06-01"}, "next_due_on", "Nothing comes next, as chosen above"),
        ({"issuer": "x" * 201}, "issuer", "The issuer has 201 characters"),
    ],
)
@pytest.mark.parametrize("htmx", [False, True])
def test_what_is_wrong_stands_beside_its_field_and_nothing_is_kept(
    staffed: Acme, ids: dict[str, int], browser: SignIn, given: dict[str, str], field: str, said: str, htmx: bool
) -> None:
    person, where = browser(OFFICER), page_of(ids, "renew", deadline=True)
    person.get(where)
    answer = person.post(where, htmx, **TYPED | given, file=sent("scan.pdf", PDF))
    assert answer.status_code == 422
    faults = {one.get("id"): one.text for one in read(answer.text).walk() if one.get("class") == "fault"}
    assert list(faults) == [f"{field}-fault"]
    assert said in faults[f"{field}-fault"]
    assert "Choose the file again: a page cannot keep it. It was scan.pdf." in words(answer.text)
    assert ">By post</textarea>" in answer.text
    assert events(staffed) == []
    assert stored(staffed, "select count(*) from attachment") == [(1,)]


def test_where_nothing_can_be_proposed_a_person_says_what_comes_next(
    staffed: Acme, ids: dict[str, int], browser: SignIn
) -> None:
    with staffed.acting() as act:
        deadline = obligations.find_obligation(act, register.get_subject(act, ids["D-1"])).id
    person, where = browser(OFFICER), f"/o/acme/register/{ids['D-1']}/deadlines/{deadline}/renew"
    assert "As proposed: the day until which the new paper is valid On the day below" in words(person.get(where).text)
    refused = person.post(where, **TYPED | {"valid_until": ""})
    assert refused.status_code == 422
    assert "choose a day, or say that nothing comes next" in words(refused.text)
    assert person.post(where, **TYPED | {"valid_until": "", "next": "none"}).status_code == 303


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("permit.pdf", b"<!doctype html><script>alert(1)</script>", "of a kind that is not kept"),
        ("permit.svg", b'<svg xmlns="http://www.w3.org/2000/svg"/>', "of a kind that is not kept"),
        ("permit.pdf", b"MZ\x90\0\0", "of a kind that is not kept"),
        ("permit.pdf", b"", "The file is empty"),
        ("permit.pdf", PDF + b"x" * LARGEST_FILE, "more than 20,000,000 bytes"),
    ],
)
def test_a_file_that_is_not_kept_says_why_beside_its_field(
    staffed: Acme, ids: dict[str, int], browser: SignIn, name: str, content: bytes, said: str
) -> None:
    person = browser(OFFICER)
    person.get(page_of(ids, "add-paper"))
    answer = person.post(page_of(ids, "add-paper"), number="X", note="", file=sent(name, content))
    assert answer.status_code == 422
    page = read(answer.text)
    assert said in next(one.text for one in page.walk() if one.get("id") == "file-fault")
    assert next(one for one in page.walk() if one.get("id") == "file").get("aria-invalid") == "true"
    assert events(staffed) == []


def test_the_largest_file_fits_and_a_larger_request_is_refused_with_words(
    staffed: Acme, ids: dict[str, int], browser: SignIn
) -> None:
    person, most = browser(OFFICER), PDF + b"x" * (LARGEST_FILE - len(PDF))
    person.get(page_of(ids, "add-paper"))
    given = {"number": "X", "note": "n" * 4000, "file": sent("a.pdf", most)}
    assert person.post(page_of(ids, "add-paper"), **given).status_code == 303
    assert stored(staffed, "select size, length(content) from attachment order by id desc limit 1") == [
        (LARGEST_FILE, LARGEST_FILE)
    ]
    person.get(page_of(ids, "add-paper"))
    over = person.post(
        page_of(ids, "add-paper"), number="Y", note="", file=sent("a.pdf", b"x" * (LARGEST_FILE + 1_000_000))
    )
    assert over.status_code == 413
    assert "a paper 20 MB" in over.text


def test_what_asks_for_proof_is_closed_with_a_file_or_with_a_paper_that_is_there(
    staffed: Acme, ids: dict[str, int], browser: SignIn
) -> None:
    with staffed.acting() as act:
        kind_id = kinds.add_kind(act, kinds.KindText("Inspection", proof_needed=True))
        subject = factories.subject(act, "S-1", march(9), kind="Inspection", recurrence="1m")
        ids |= {"P-1": subject.id, "deadline": obligations.find_obligation(act, subject).id}
        assert subject.kind_id == kind_id
    person = browser(OFFICER)
    page = words(person.get(page_of(ids)).text)
    assert "Proof Needed to close a deadline as done" in page
    assert "Proof is needed to close it as done." in page
    given = {"how": "met", "met_on": "2027-03-01", "note": "Kept"}
    person.get(page_of(ids, "close", deadline=True))
    refused = person.post(page_of(ids, "close", deadline=True), **given)
    assert refused.status_code == 422
    assert "Proof is needed to close the deadline 9 March 2027 of S-1 as done" in words(
        refused.text.split('id="number-fault"')[1]
    )
    assert ">Kept</textarea>" in refused.text
    file = (io.BytesIO(PDF), "photo of the panel.pdf")
    assert person.post(page_of(ids, "close", deadline=True), **given, file=file).status_code == 303
    page = words(person.get(page_of(ids)).text)
    assert "Done, with photo of the panel.pdf" in page
    assert "photo of the panel.pdf Proof of 9 March 2027" in page
    with staffed.acting() as act:
        ids["deadline"] = obligations.find_obligation(act, register.get_subject(act, ids["P-1"])).id
    person.get(page_of(ids, "add-paper"))
    assert person.post(page_of(ids, "add-paper"), number="R-8", proves=str(ids["deadline"])).status_code == 303
    assert "Proof: R-8." in words(person.get(page_of(ids)).text)
    person.get(page_of(ids, "close", deadline=True))
    assert person.post(page_of(ids, "close", deadline=True), **given).status_code == 303


def test_the_first_paper_of_an_entry(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    with staffed.acting() as act:
        ids["P-1"] = factories.subject(act, "S-2").id
    person = browser(OFFICER)
    person.get(page_of(ids, "add-paper"))
    assert person.post(page_of(ids, "add-paper"), number="C-1").location == page_of(ids)


def test_a_paper_is_added_beside_the_others_or_in_the_place_of_one(
    staffed: Acme, ids: dict[str, int], browser: SignIn
) -> None:
    person = browser(OFFICER)
    assert "No deadline is closed or opened by this." in words(person.get(page_of(ids, "add-paper")).text)
    for number, replaces in (("ANNEX-1", ""), ("C-1340", str(ids["old"]))):
        answer = person.post(page_of(ids, "add-paper"), number=number, note="", replaces=replaces)
        assert answer.location == page_of(ids)
    assert person.post(page_of(ids, "add-paper"), number="C-9", note="", replaces="99999").status_code == 422
    twice = person.post(page_of(ids, "add-paper"), number="annex-1", note="")
    assert twice.status_code == 422
    assert "P-1 has this paper" in words(twice.text)
    page = words(person.get(page_of(ids)).text)
    assert "C-1188 Replaced by C-1340" in page
    assert "ANNEX-1 Current" in page
    assert events(staffed) == ["paper_added", "paper_added"]


def test_a_paper_entered_in_error_stays_and_says_so(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    person = browser(OFFICER)
    form = words(person.get(page_of(ids, "withdraw-paper")).text)
    assert "Nothing is deleted" in form
    assert person.post(page_of(ids, "withdraw-paper"), paper="", note="").status_code == 422
    assert person.post(page_of(ids, "withdraw-paper"), paper=str(ids["old"]), note="Other vessel").status_code == 303
    page = words(person.get(page_of(ids)).text)
    assert "C-1188 Entered in error 1 March 2027, 12:00:00 +01:00, Ana" in page
    assert "Marked the paper C-1188 as entered in error “Other vessel”" in page
    assert person.get(page_of(ids, "withdraw-paper")).location == page_of(ids)


def test_search_finds_every_number_that_it_ever_had(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    with staffed.acting() as act:
        permit = register.get_subject(act, ids["P-1"])
        documents.renew(act, ids["deadline"], Paper("C-1340"))
        wrong = documents.add_paper(act, permit, Paper("C-77"))
        documents.withdraw(act, permit, wrong)
    person = browser(INSPECTOR)
    for asked, said in (
        ("C-1188", "paper C-1188, replaced by C-1340"),
        ("c-13", "paper C-1340"),
        (" C-77 ", "paper C-77, entered in error"),
        ("C-1", "paper C-1340 paper C-1188, replaced by C-1340"),
    ):
        page = words(search(person, asked))
        assert f"Pressure vessel {said} permit" in page, asked
        assert "D-1" not in page
    assert "None: no entry that you may see is like that" in words(search(person, "1188"))
    assert "paper C-" not in words(search(person, "Pressure"))


def search(person: Browser, asked: str) -> str:
    return person.get(f"/o/acme/register?q={asked.replace(' ', '+')}").text


def test_the_answer_with_a_file_is_saved_and_never_shown(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    """Even a file that would be a page elsewhere: the type is the stored one, and nothing of it can run here."""
    with staffed.acting() as act:
        hostile = SentFile('año "x"\r\n.html', PDF + b"<script>alert(1)</script>")
        documents.add_paper(act, register.get_subject(act, ids["P-1"]), Paper("P", file=hostile))
    answer = browser(OFFICER).get(f"{page_of(ids)}/files/{file_of(staffed)}")
    assert answer.headers["Content-Type"] == "application/pdf"
    disposition = answer.headers["Content-Disposition"]
    assert disposition == "attachment; filename=\"ano x .html.pdf\"; filename*=UTF-8''a%C3%B1o%20x%20.html.pdf"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox; default-src 'none';")
    assert "allow-" not in policy
    assert answer.headers.getlist("Content-Security-Policy") == [policy]
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Length"] == str(len(answer.data))


def test_text_says_no_encoding_that_nobody_knows(staffed: Acme, ids: dict[str, int], browser: SignIn) -> None:
    with staffed.acting() as act:
        note = SentFile("note.txt", "año".encode("cp1252"))
        documents.add_paper(act, register.get_subject(act, ids["P-1"]), Paper("T", file=note))
    person = browser(OFFICER)
    forget_request()
    answer = person.client.get(f"{page_of(ids)}/files/{file_of(staffed)}")
    assert (answer.headers["Content-Type"], answer.data) == ("text/plain", "año".encode("cp1252"))


@pytest.mark.parametrize(("email", "status"), [(ADMIN, 200), (OFFICER, 200), (INSPECTOR, 200), (STAFF, 403)])
def test_whoever_may_see_the_entry_may_have_its_files(
    staffed: Acme, ids: dict[str, int], browser: SignIn, email: str, status: int
) -> None:
    person = browser(email)
    assert person.get(page_of(ids)).status_code == status
    assert person.get(f"{page_of(ids)}/files/{file_of(staffed)}").status_code == status


def test_h38_a_file_at_a_site_out_of_sight_is_not_there_nor_found(
    staffed: Acme, ids: dict[str, int], browser: SignIn
) -> None:
    where = f"{page_of(ids)}/files/{file_of(staffed)}"
    beside = f"{page_of(ids, reference='D-1')}/files/{file_of(staffed)}"
    person = browser(INSPECTOR)
    assert person.get(where).status_code == 200
    assert person.get(beside).status_code == 404  # Of another entry.
    with staffed.acting() as act:
        people.limit_member(act, staffed.members["Dana"], [ids["Cork"]])
    assert person.get(where).status_code == 404
    assert person.get(f"{page_of(ids)}/files/1{file_of(staffed)}").status_code == 404
    assert "P-1" not in words(search(person, "C-1188"))


def test_h38_a_file_of_another_organisation_is_not_there(app: Flask, ids: dict[str, int], browser: SignIn) -> None:
    other = factories.acme("other", "Lyon", "Europe/Paris")
    with other.acting() as act:
        theirs = factories.subject(act, "Z-1", march(3), at="Lyon")
        documents.add_paper(act, theirs, Paper("C-1188", file=SentFile("secret.pdf", PDF)))
        subject_id, file_id = theirs.id, act.run("select max(id) from attachment").scalar_one()
    person = browser(OFFICER)
    for subject in (subject_id, ids["P-1"]):
        assert person.get(f"/o/acme/register/{subject}/files/{file_id}").status_code == 404
    assert person.get(f"/o/other/register/{subject_id}/files/{file_id}").status_code == 404
    assert "Z-1" not in words(search(person, "C-1188"))
