"""What happened is taken back, the last event first."""

from __future__ import annotations

import datetime as dt

from app.domain.hindsight import Deadline, Entry, take_back

DUE, LATER = dt.date(2027, 5, 1), dt.date(2027, 6, 1)
NOW = Entry({"title": "New", "site_id": 2, "owner_member_id": None, "owner_post_id": 4}, {7: Deadline(LATER)})
ASSIGNED = {"old": {"member_id": 3, "post_id": None}, "new": {"member_id": None, "post_id": 4}}


def test_an_entry_is_what_it_was_before_each_of_its_changes() -> None:
    since = [("subject_assigned", ASSIGNED), ("subject_moved", {"old": 1}), ("subject_retitled", {"old": "Old"})]
    assert take_back(NOW, since).facts == {
        "title": "Old",
        "site_id": 1,
        "owner_member_id": 3,
        "owner_post_id": None,
    }
    assert NOW.facts["title"] == "New", "what it is now stays as it is"


def test_of_several_changes_of_one_fact_the_first_one_decides() -> None:
    since = [("subject_changed", {"old": {"title": "Second"}}), ("subject_changed", {"old": {"title": "First"}})]
    assert take_back(NOW, since).facts["title"] == "First"


def test_an_import_names_the_kind_where_a_person_numbers_it() -> None:
    since = [("subject_changed", {"old": {"kind": "Permit"}}), ("subject_changed", {"old": {"kind_id": 4}})]
    assert [take_back(NOW, since[:n]).facts.get("kind_id") for n in range(3)] == [None, "Permit", 4]


def test_a_date_that_was_moved_closed_and_opened_again_is_followed_back() -> None:
    reopened = {"obligation_id": 7, "old": {"outcome": "met", "met_on": "2027-04-30"}}
    closed, moved = {"obligation_id": 7}, {"obligation_id": 7, "old": "2027-05-01"}
    back = [("obligation_reopened", reopened), ("obligation_closed", closed), ("date_moved", moved)]
    steps = [take_back(NOW, back[:n]).deadlines[7] for n in range(4)]
    done = Deadline(LATER, "met", dt.date(2027, 4, 30))
    assert steps == [Deadline(LATER), done, Deadline(LATER), Deadline(DUE)]
    assert take_back(NOW, [*back, ("obligation_opened", {"obligation_id": 7})]).deadlines == {}


def test_what_was_entered_since_was_not_there() -> None:
    assert take_back(NOW, [("subject_created", {})]).exists is False
    assert take_back(NOW, [("looked_at_by_somebody", {"old": 1})]) == NOW
