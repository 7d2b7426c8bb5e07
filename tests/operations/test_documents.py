"""Papers: what a renewal adds, closes and opens, and in which words; what is refused, and what leaves no trace."""

from __future__ import annotations

import datetime as dt
import hashlib
from typing import Any

import pytest
from sqlalchemy import select, text

from app.domain.acts import NextFrom
from app.domain.errors import Refused
from app.ledger.scan import scan
from app.models import Attachment, Document, Obligation, Subject
from app.operations import attachments, documents, obligations, reopenings
from app.operations.attachments import SentFile
from app.operations.documents import Paper
from app.queries.papers import begins_with, read_file, read_papers
from app.queries.sight import read_sight
from app.trail.act import Act
from tests import factories
from tests.operations.story import Since, march

PDF = b"%PDF-1.7\n%%EOF\n"
NEXT_YEAR = dt.date(2028, 3, 20)


@pytest.fixture
def permit(act: Act, since: Since) -> Subject:
    """The permit P-1 at Madrid, due on 20 March; today is 1 March."""
    made = factories.subject(act, "P-1", march(20))
    since.read()
    return made


@pytest.fixture
def due(act: Act, permit: Subject) -> Obligation:
    return obligations.find_obligation(act, permit)


def dates(act: Act, subject: Subject) -> dict[dt.date, str | None]:
    act.session.flush()
    rows = act.session.scalars(select(Obligation).filter_by(subject_id=subject.id).order_by(Obligation.due_on))
    return {row.due_on: row.outcome for row in rows}


def rhythm(subject: Subject, recurrence: str | None, basis: str | None) -> None:
    subject.recurrence, subject.recurrence_basis = recurrence, basis


def test_a_renewal_adds_the_paper_closes_the_deadline_and_opens_the_next(
    act: Act, permit: Subject, due: Obligation, since: Since
) -> None:
    old = documents.add_paper(act, permit, Paper("C-1188"))
    since.read()
    file = SentFile("../C-1340.PDF", PDF)
    paper = Paper(" C-1340 ", "Water authority", march(1), march(2), march(31), "By post", file)
    made = documents.renew(act, due.id, paper, met_on=march(1))
    assert made is not None
    assert made.replaces_id == old
    assert (made.next.due_on, made.next.source) == (march(31), NextFrom.paper)
    assert dates(act, permit) == {march(20): "met", march(31): None}
    assert due.met_on == march(1)
    stored = act.session.get_one(Document, (act.org, made.document_id))
    assert (stored.number, stored.number_key, stored.obligation_id) == ("C-1340", "c-1340", due.id)
    kept = act.session.query(Attachment).one()
    sha256 = hashlib.sha256(PDF).hexdigest()
    assert (kept.file_name, kept.media_type, kept.size, kept.sha256) == (
        "C-1340.PDF", "application/pdf", len(PDF), sha256,
    )  # fmt: skip
    assert kept.content == PDF
    events, rows = since.read()
    assert [event.type for event in events] == ["paper_added", "obligation_closed", "obligation_opened"]
    assert {row.subject_id for row in rows} == {permit.id}
    added = events[0].detail
    assert added["file"] == {
        "attachment_id": kept.id, "name": "C-1340.PDF", "media_type": "application/pdf", "size": len(PDF),
        "sha256": sha256,
    }  # fmt: skip
    assert (added["number"], added["replaces_id"], added["valid_until"]) == ("C-1340", old, "2027-03-31")
    assert events[2].detail["source"] == "paper"
    assert events[2].detail["after_obligation_id"] == due.id


@pytest.mark.parametrize(
    ("recurrence", "basis", "valid_until", "next_on", "goes_on", "due_on", "source"),
    [
        (None, None, None, None, True, None, NextFrom.nothing),
        (None, None, march(31), None, True, march(31), NextFrom.paper),
        ("1y", None, None, None, True, NEXT_YEAR, NextFrom.due),
        ("1y", "due", None, None, True, NEXT_YEAR, NextFrom.due),
        ("1y", "done", None, None, True, dt.date(2028, 2, 25), NextFrom.done),
        ("1y", "due", march(31), None, True, march(31), NextFrom.paper),
        ("1y", "done", march(31), None, True, march(31), NextFrom.paper),
        ("1y", "due", march(31), march(25), True, march(25), NextFrom.person),
        ("1y", "due", march(31), None, False, None, NextFrom.nothing),
        ("03-31,09-30", "due", None, None, True, march(31), NextFrom.due),
    ],
)
def test_the_next_date_and_where_it_comes_from(
    act: Act, permit: Subject, due: Obligation, recurrence: str | None, basis: str | None,
    valid_until: dt.date | None, next_on: dt.date | None, goes_on: bool, due_on: dt.date | None, source: NextFrom,
) -> None:  # fmt: skip
    """One successor at most: with a last day of the paper, or a day of the person, the recurrence opens none."""
    rhythm(permit, recurrence, basis)
    if next_on is None and goes_on:
        said = documents.propose_next(act, due.id, valid_until, dt.date(2027, 2, 25))
        assert (said.due_on, said.source) == (due_on, source)
    paper = Paper("C-1", valid_until=valid_until)
    made = documents.renew(act, due.id, paper, next_on, goes_on=goes_on, met_on=dt.date(2027, 2, 25))
    assert made is not None
    assert (made.next.due_on, made.next.source) == (due_on, source)
    assert dates(act, permit) == {march(20): "met"} | ({due_on: None} if due_on else {})


def test_what_comes_by_the_calendar_does_not_hang_on_the_paper(act: Act, permit: Subject, due: Obligation) -> None:
    """The watch opens the next one, as it does without a paper; a last day of the paper opens no second one."""
    rhythm(permit, "1y", "calendar")
    made = documents.renew(act, due.id, Paper("C-1", valid_until=march(31)))
    assert made is not None
    assert (made.next.due_on, made.next.source) == (NEXT_YEAR, NextFrom.calendar)
    assert dates(act, permit) == {march(20): "met"}


def test_without_a_day_it_was_done_today_at_the_site(act: Act, due: Obligation) -> None:
    documents.renew(act, due.id, Paper("C-1"))
    assert due.met_on == march(1)


def test_renewed_again_it_stays_as_it_is(act: Act, permit: Subject, due: Obligation, since: Since) -> None:
    assert documents.renew(act, due.id, Paper("C-1", valid_until=march(31)))
    since.read()
    assert documents.renew(act, due.id, Paper("C-2", valid_until=march(30))) is None
    assert since.both() == ([], [])
    assert [one.number for one in read_papers(act.session, act.org, permit.id)] == ["C-1"]


@pytest.mark.parametrize("again", [{"valid_until": march(28)}, {}])
def test_renewed_reopened_and_renewed_gives_one_successor(
    act: Act, permit: Subject, due: Obligation, again: dict[str, Any]
) -> None:
    rhythm(permit, "1y", "due")
    documents.renew(act, due.id, Paper("C-1", valid_until=march(31)))
    reopenings.reopen(act, due.id, "typing_error")
    documents.renew(act, due.id, Paper("C-2", **again))
    due_on = again.get("valid_until", march(31))
    assert len([day for day, outcome in dates(act, permit).items() if outcome is None]) == 1
    assert dates(act, permit)[march(20)] == "met"
    if again:
        assert due_on in dates(act, permit)


def test_a_day_that_is_open_already_is_the_next_one_and_a_closed_one_is_refused(
    act: Act, permit: Subject, due: Obligation
) -> None:
    obligations.add_obligation(act, permit, march(25))
    closed = obligations.add_obligation(act, permit, march(27))
    obligations.close(act, closed.id, "met")
    for taken in (march(27), march(20)):
        with (
            pytest.raises(Refused, match=f"a deadline on {taken} already, and it is closed"),
            act.session.begin_nested(),
        ):
            documents.renew(act, due.id, Paper("C-1"), taken)
    assert documents.renew(act, due.id, Paper("C-1"), march(25))
    assert dates(act, permit) == {march(20): "met", march(25): None, march(27): "met"}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"number": "  "}, "The number of the paper is empty"),
        ({"number": "x" * 401}, "The number of the paper has 401 characters"),
        ({"issuer": "x" * 201}, "The issuer has 201 characters"),
        ({"issued_on": march(2)}, "The day of issue 2027-03-02 is still to come"),
        ({"issued_on": dt.date(1899, 12, 31)}, "The day of issue 1899-12-31 is outside the years 1900 to 2079"),
        ({"valid_until": dt.date(2080, 1, 1)}, "The last day of validity 2080-01-01 is outside"),
        ({"valid_from": march(5), "valid_until": march(4)}, "is before the first, 2027-03-05"),
        ({"file": SentFile("a.pdf", b"<html>")}, "of a kind that is not kept"),
        ({"file": SentFile("a.pdf", b"")}, "The file is empty"),
        ({"note": "x" * 4001}, "The note has 4001"),
    ],
)
def test_what_is_wrong_is_refused_with_words_and_changes_nothing(
    act: Act, permit: Subject, due: Obligation, since: Since, wrong: dict[str, Any], words: str
) -> None:
    paper = Paper(**{"number": "C-1", **wrong})
    for deed in (lambda: documents.renew(act, due.id, paper), lambda: documents.add_paper(act, permit, paper)):
        with pytest.raises(Refused, match=words), act.session.begin_nested():
            deed()
    assert since.both() == ([], [])
    assert act.session.query(Document).count() == act.session.query(Attachment).count() == 0
    assert dates(act, permit) == {march(20): None}


def test_a_day_to_come_or_one_past_the_register_is_refused(act: Act, due: Obligation) -> None:
    for given, words in (({"met_on": march(2)}, "still to come"), ({"next_due_on": dt.date(2080, 1, 1)}, "outside")):
        with pytest.raises(Refused, match=words), act.session.begin_nested():
            documents.renew(act, due.id, Paper("C-1"), **given)  # type: ignore[arg-type]


def test_a_paper_may_keep_its_number_but_not_come_twice(act: Act, permit: Subject, due: Obligation) -> None:
    documents.add_paper(act, permit, Paper("C-1", valid_until=march(20)))
    with pytest.raises(Refused, match="P-1 has this paper"), act.session.begin_nested():
        documents.add_paper(act, permit, Paper(" c-1", valid_until=march(20)))
    assert documents.renew(act, due.id, Paper("C-1", valid_until=NEXT_YEAR))
    papers = read_papers(act.session, act.org, permit.id)
    assert [(one.number, one.replaced_by) for one in papers] == [("C-1", None), ("C-1", "C-1")]


def test_a_paper_added_touches_no_deadline_and_may_replace_a_current_one(
    act: Act, permit: Subject, since: Since
) -> None:
    first = documents.add_paper(act, permit, Paper("A"))
    assert since.both() == (["paper_added"], [])
    documents.add_paper(act, permit, Paper("B"))
    documents.add_paper(act, permit, Paper("A2"), first)
    with pytest.raises(Refused, match="not current any more"):
        documents.add_paper(act, permit, Paper("A3"), first)
    papers = {one.number: (one.replaces, one.replaced_by) for one in read_papers(act.session, act.org, permit.id)}
    assert papers == {"A": (None, "A2"), "B": (None, None), "A2": ("A", None)}
    assert dates(act, permit) == {march(20): None}


def test_a_paper_of_another_entry_is_neither_replaced_nor_marked(act: Act, permit: Subject) -> None:
    other = factories.subject(act, "P-2")
    theirs = documents.add_paper(act, other, Paper("Z"))
    with pytest.raises(Refused, match="not current"):
        documents.add_paper(act, permit, Paper("A"), theirs)
    with pytest.raises(Refused, match="no such paper"):
        documents.withdraw(act, permit, theirs)


def test_entered_in_error_it_stays_and_the_chain_closes_over_it(act: Act, permit: Subject, since: Since) -> None:
    a = documents.add_paper(act, permit, Paper("A"))
    b = documents.add_paper(act, permit, Paper("B"), a)
    c = documents.add_paper(act, permit, Paper("C"), b)
    since.read()
    assert documents.withdraw(act, permit, b, "Typo")
    assert since.event() == (
        "paper_withdrawn", {"document_id": b, "number": "B", "note": "Typo", "successor_id": c},
    )  # fmt: skip
    assert not documents.withdraw(act, permit, b)
    assert since.events() == []
    papers = {one.number: (one.replaced_by, one.withdrawn_at is not None) for one in
              read_papers(act.session, act.org, permit.id)}  # fmt: skip
    assert papers == {"A": ("C", False), "B": (None, True), "C": (None, False)}
    documents.withdraw(act, permit, c)
    assert documents.add_paper(act, permit, Paper("D"), a)


def test_a_renewal_stops_the_alerts_of_the_old_date(act: Act, permit: Subject, due: Obligation) -> None:
    factories.member(act)
    factories.rule(act, thresholds=("30d",))
    documents.renew(act, due.id, Paper("C-1", valid_until=dt.date(2027, 9, 1)))
    with act.session.begin_nested():
        act.run("set local role onus_scheduler")
        assert scan(act).claimed == 0


def test_the_index_of_numbers_serves_the_search_behind_row_level_security(act: Act, permit: Subject) -> None:
    documents.add_paper(act, permit, Paper("C-1188"))
    act.run("set local enable_seqscan = off")
    query = select(Document.subject_id).where(Document.org_id == act.org, begins_with("c-11"))
    plain = query.compile(act.session.get_bind(), compile_kwargs={"literal_binds": True})
    plan = "\n".join(act.session.execute(text(f"explain {str(plain).replace('%%', '%')}")).scalars())
    assert "document_number_idx" in plan
    assert "~>=~ 'c-11'" in plan.partition("Index Cond")[2].partition("Filter")[0]
    assert act.session.scalars(query).all() == [permit.id]
    like = query = select(Document.subject_id).where(Document.number_key.like("c-11%"))
    plain = like.compile(act.session.get_bind(), compile_kwargs={"literal_binds": True})
    plan = "\n".join(act.session.execute(text(f"explain {str(plain).replace('%%', '%')}")).scalars())
    assert "~>=~" not in plan  # Which is why the search does not say LIKE.


@pytest.mark.parametrize(
    ("asked", "found"),
    [("C-1188", True), (" c-1188 ", True), ("c-11", True), ("1188", False), ("C_1", False), ("c-11889", False),
     ("STRASSE-1", True), ("straße", True)],
)  # fmt: skip
def test_a_number_is_found_by_its_beginning_however_it_is_typed(
    act: Act, permit: Subject, asked: str, found: bool
) -> None:
    for number in ("C-1188", "Straße-1"):
        documents.add_paper(act, permit, Paper(number))
    query = select(Document.number).where(Document.org_id == act.org, begins_with(asked))
    assert bool(act.session.scalars(query).all()) is found


def test_the_same_file_of_several_papers_is_kept_once_and_removed_one_by_one(
    act: Act, permit: Subject, since: Since
) -> None:
    ana = factories.member(act)
    papers = [documents.add_paper(act, permit, Paper(f"C-{n}", file=SentFile(f"{n}.pdf", PDF))) for n in range(3)]
    files = [one.id for one in act.session.query(Attachment).order_by(Attachment.document_id)]

    def stored() -> list[tuple[bool, int | None, bool]]:
        rows = act.run("select content is not null, same_as_id, dropped_at is not null from attachment order by id")
        return [tuple(row) for row in rows]

    def content(file_id: int) -> bytes | None:
        sight = read_sight(act.session, act.org, ana, act.now)
        found = read_file(act.session, sight, permit.id, file_id)
        return found.content if found else None

    assert stored() == [(True, None, False), (False, files[0], False), (False, files[0], False)]
    assert [content(one) for one in files] == [PDF] * 3
    since.read()
    assert attachments.drop(act, permit, files[0], "kept_long_enough", "Ten years")
    assert since.event() == ("file_dropped", {
        "attachment_id": files[0], "document_id": papers[0], "name": "0.pdf", "reason": "kept_long_enough",
        "sha256": hashlib.sha256(PDF).hexdigest(), "note": "Ten years", "kept_elsewhere": 2,
    })  # fmt: skip
    assert stored() == [(False, None, True), (True, None, False), (False, files[1], False)]
    assert [content(one) for one in files] == [None, PDF, PDF]
    assert not attachments.drop(act, permit, files[0], "other")
    attachments.drop(act, permit, files[2], "personal")
    attachments.drop(act, permit, files[1], "personal")
    assert stored() == [(False, None, True)] * 3
    assert [one.files[0].sha256 for one in read_papers(act.session, act.org, permit.id)] == [
        hashlib.sha256(PDF).hexdigest()
    ] * 3
    documents.add_paper(act, permit, Paper("C-9", file=SentFile("9.pdf", PDF)))
    assert stored()[-1] == (True, None, False)


def test_a_file_is_removed_with_a_reason_and_by_its_own_entry_only(act: Act, permit: Subject) -> None:
    other = factories.subject(act, "P-2")
    documents.add_paper(act, permit, Paper("C-1", file=SentFile("a.pdf", PDF)))
    file_id = act.session.query(Attachment.id).scalar()
    for subject, reason, why in ((permit, None, "a reason for removing"), (other, "other", "no such file")):
        with pytest.raises(Refused, match=why):
            attachments.drop(act, subject, file_id, reason)
