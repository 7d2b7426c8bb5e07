"""People from a file: who is meant, what becomes of each line, and that a file hands out no powers."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select, text

from app.domain.errors import Refused
from app.imports.people import Imported, Options, import_people, read_people
from app.imports.people_outcomes import NO_POWERS, OTHER_NUMBER, ROLE_STAYS, SIGHT_STAYS, SIGNS_IN, TWO_PEOPLE
from app.models import AuditEvent, ImportRun, Member
from app.operations import people, rules
from app.operations.inspectors import limit_to_kinds
from app.operations.rules import RuleText
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.operations.story import Since, march
from tests.people import INSPECTOR, OFFICER, STAFF

HEADER = "name,number,email,site,post,role\n"
WRITTEN = ("member", "member_site", "post", "site_post", "account", "scan_queue", "rule_recipient", "import_run")


def bring(act: Act, lines: str, header: str = HEADER, **options: Any) -> Imported:
    return bring_bytes(act, (header + lines).encode(), **options)


def bring_bytes(act: Act, source: bytes, **options: Any) -> Imported:
    asked = Options(**options)
    return import_people(act, read_people(source, "people.csv", asked), asked)


def counts(imported: Imported) -> dict[str, int]:
    """The outcomes that came up."""
    return {outcome: count for outcome, count in imported.counts.items() if count}


def told(imported: Imported) -> dict[int, tuple[str, str]]:
    """Outcome and reason by line."""
    return {row.line: (row.outcome.value, row.reason) for row in imported.rows}


def kept(act: Act) -> dict[str, list[Any]]:
    """Every row that a file of people could write."""
    act.session.flush()
    return {
        name: [tuple(row) for row in act.session.execute(text(f"select * from {name} order by 1, 2"))]
        for name in WRITTEN
    }


def person(act: Act, name: str) -> Member:
    return act.session.scalars(
        select(Member).where(Member.name == name).execution_options(populate_existing=True)
    ).one()


def limits(act: Act, name: str) -> list[str]:
    sql = "select s.name from member_site x join site s on s.id = x.site_id where x.member_id = :id order by 1"
    return list(act.session.scalars(text(sql), {"id": person(act, name).id}))


def held(act: Act, name: str) -> list[tuple[str, str, str, str | None]]:
    sql = (
        "select p.name, s.name, x.from_on::text, x.until_on::text from site_post x join post p on p.id = x.post_id "
        "join site s on s.id = x.site_id where x.member_id = :id order by 1, 2, 3"
    )
    return [tuple(row) for row in act.session.execute(text(sql), {"id": person(act, name).id})]  # type: ignore[misc]


@pytest.fixture
def yard(act: Act) -> int:
    """A second site, where it is an hour earlier."""
    return people.add_site(act, "Yard", "Atlantic/Canary")


def test_people_come_without_an_account_limited_to_their_sites(act: Act, yard: int, since: Since) -> None:
    since.read()
    brought = bring(
        act,
        "Ana Gil,007,Ana.Gil@ACME.example,Madrid,Plant manager,\nBo,,bo@acme.example,,,inspector\n"
        "Cy,C-9,,yard,plant  manager,Staff\nCy,c-9,,Madrid,Fire warden,\n",
    )
    assert counts(brought) == {"new": 4}
    assert [row.reason for row in brought.rows] == [
        "sees Madrid only; holds Plant manager at Madrid", "role inspector; sees all sites: none is named",
        "sees Yard, Madrid only; holds plant manager at Yard", "the same person as line 4; holds Fire warden at Madrid",
    ]  # fmt: skip
    assert vars(brought.effects) == {
        "people_new": 3, "people_changed": 0, "limited": 2, "unlimited": 1, "widened": 0,
        "posts_made": ["Plant manager", "Fire warden"],
    }  # fmt: skip
    ana, bo, cy = (person(act, name) for name in ("Ana Gil", "Bo", "Cy"))
    assert (ana.number, ana.email, ana.role, ana.account_id) == ("007", "ana.gil@acme.example", "staff", None)
    assert (bo.number, bo.email, bo.role) == (None, "bo@acme.example", "inspector")
    assert (cy.number, cy.email, cy.email_alerts, cy.is_active) == ("C-9", None, True, True)
    assert [limits(act, name) for name in ("Ana Gil", "Bo", "Cy")] == [["Madrid"], [], ["Madrid", "Yard"]]
    assert held(act, "Ana Gil") == [("Plant manager", "Madrid", "2027-03-01", None)]
    assert held(act, "Cy") == [
        ("Fire warden", "Madrid", "2027-03-01", None), ("Plant manager", "Yard", "2027-03-01", None),
    ]  # fmt: skip
    assert act.session.scalar(text("select count(*) from account")) == 0
    events, queued = since.both()
    assert events == [
        "people_imported", "post_created", "post_created", "member_created", "member_created", "member_created",
        "member_limited", "member_limited", "post_assigned", "post_assigned", "post_assigned",
    ]  # fmt: skip
    assert queued == [(None, None)]


def test_posts_begin_on_the_day_of_their_site(acme: Acme) -> None:
    with acme.acting(dt.datetime(2027, 3, 1, 23, 30, tzinfo=dt.UTC)) as act:
        people.add_site(act, "Yard", "Atlantic/Canary")
        bring(act, "Ana,1,,Madrid,Cook,\nAna,1,,Yard,Cook,\n")
        assert [row[2] for row in held(act, "Ana")] == ["2027-03-02", "2027-03-01"]


FIRST = "Ana,1,ana@x.example,Madrid,Cook,\nAna,1,,Yard,Cook,\nBo,2,,,,inspector\n,,,,,\nAna,1,,Yard,Cook,\nDi,,,,,\n"


def test_the_same_file_again_changes_nothing(act: Act, yard: int) -> None:
    dry = bring(act, FIRST, dry_run=True)
    first = bring(act, FIRST)
    assert told(dry) == told(first)
    assert dry.effects == first.effects
    before = kept(act)
    again = bring(act, FIRST)
    assert counts(again) == {"unchanged": 3, "duplicate": 1, "rejected": 1, "skipped": 1}
    after = kept(act)
    assert len(after.pop("import_run")) == len(before.pop("import_run")) + 1
    assert after == before


def test_a_dry_run_writes_nothing(act: Act, yard: int, since: Since) -> None:
    before = kept(act)
    brought = bring(act, FIRST, dry_run=True)
    assert (counts(brought)["new"], brought.effects.posts_made, brought.import_run_id) == (3, ["Cook"], None)
    assert kept(act) == before
    assert since.both() == ([], [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (",1,,,,", "the name is empty: write one"),
        ("Ana,,,,,", "neither a number nor an e-mail: nothing says who this is"),
        ("Ana,n/a,-,,,", "neither a number nor an e-mail: nothing says who this is"),
        ("Ana,1,ana@,,,", "the e-mail is not one address, such as ana@example.com"),
        ("Ana,1,a@x.example; b@x.example,,,", "the e-mail is not one address, such as ana@example.com"),
        ("Ana,1,,Atlantis,,", "no such site: 'Atlantis'"),
        ("Ana,1,,,Cook,", "no such site: none is named, and there are 2"),
        ("Ana,1,,,,Welder", "no such role: 'Welder'; write staff or inspector, or leave it out"),
        ("Ana,1,,,,admin", NO_POWERS),
        ("Ana,1,,,,Administrador", NO_POWERS),
        ("Ana,1,,,,Compliance Manager", NO_POWERS),
        ("Ana,1,,,,,shifted", "7 cells where the header has 6: columns are shifted"),
        (f"{'x' * 201},1,,,,", "the name has 201 characters: shorten it to at most 200"),
        (f"Ana,{'1' * 101},,,,", "the number has 101 characters: shorten it to at most 100"),
    ],
)
def test_a_line_is_rejected_with_its_reason_and_nothing_of_it_is_done(
    act: Act, yard: int, line: str, reason: str
) -> None:
    before = kept(act)
    assert told(bring(act, line + "\n")) == {2: ("rejected", reason)}
    after = kept(act)
    assert after.pop("import_run") != before.pop("import_run")
    assert after == before


def test_the_site_of_lines_that_name_none(act: Act, yard: int) -> None:
    assert counts(bring(act, "Ana,1,,,Cook,\n", site="yard")) == {"new": 1}
    assert (limits(act, "Ana"), held(act, "Ana")[0][:2]) == (["Yard"], ("Cook", "Yard"))
    with pytest.raises(Refused, match="--site: no such site: 'Nowhere': name a site that is there"):
        bring(act, "Bo,2,,,Cook,\n", site="Nowhere")
    people.archive_site(act, yard)
    assert told(bring(act, "Cy,3,,Yard,,\n")) == {2: ("rejected", "the site 'Yard' is archived")}
    assert counts(bring(act, "Di,4,,,Cook,\n")) == {"new": 1}  # There is one site left.
    assert (limits(act, "Di"), held(act, "Di")[0][:2]) == ([], ("Cook", "Madrid"))


def test_a_site_without_a_day_takes_no_post(act: Act, yard: int) -> None:
    act.run("update site set timezone = 'Mars/Olympus' where id = :yard", {"yard": yard})
    brought = bring(act, "Ana,1,,Yard,Cook,\nAna,1,,Madrid,Cook,\nBo,2,,Yard,,\n")
    assert [row.outcome.value for row in brought.rows] == ["rejected", "new", "new"]
    assert (limits(act, "Ana"), limits(act, "Bo")) == (["Madrid"], ["Yard"])


@pytest.mark.parametrize(
    ("lines", "outcomes"),
    [
        ("Ana,1,,,,\nAna,1,,,,\n", ["new", "duplicate"]),
        ("Ana,1,a@x.example,,,\nANA, 1 ,A@X.example,,,\n", ["new", "duplicate"]),
        ("Ana,a1,,,,\nAna,A1,,Madrid,,\n", ["new", "new"]),
        ("Ana,1,,,,\nAna,01,,,,\n", ["new", "new"]),
        ("Ana,1,,,,\nBo,1,,,,\n", ["conflict", "conflict"]),
        ("Ana,1,a@x.example,,,\nAna,1,b@x.example,,,\n", ["conflict", "conflict"]),
        ("Ana,1,a@x.example,,,\nAna,2,a@x.example,,,\n", ["conflict", "conflict"]),
        ("Ana,1,,,,staff\nAna,1,,,,inspector\n", ["conflict", "conflict"]),
        ("Ana,1,a@x.example,,,\nAna,1,,,,\nAna,,a@x.example,,Cook,\n", ["new", "new", "new"]),
        ("Ana,1,,,,\nAna,,a@x.example,,,\nAna,1,a@x.example,,,\n", ["new", "new", "new"]),
        (
            "Ana,1,a@x.example,,,\nAna,1,,,,\nBo,,a@x.example,,,\nCy,3,,,,\n",
            ["conflict", "conflict", "conflict", "new"],
        ),
        ("Ana,1,,,,\nAna,1,,,,\nBo,1,,,,\n", ["conflict", "duplicate", "conflict"]),
        ("Ana,1,,,,\nAna,1,,Nowhere,,\n", ["new", "rejected"]),
    ],
)
def test_lines_of_one_file_about_one_person(act: Act, lines: str, outcomes: list[str]) -> None:
    assert [row.outcome.value for row in bring(act, lines).rows] == outcomes


def test_a_contradiction_names_the_other_lines_and_what_differs(act: Act) -> None:
    reason = "line 3 gives the same person another name and another e-mail: none of them is applied"
    brought = bring(act, "Ana,1,a@x.example,,,\nBo,1,b@x.example,,,\n")
    assert told(brought)[2] == ("conflict", reason)
    many = bring(act, "".join(f"N{n},1,,,,\n" for n in range(9)))
    assert told(many)[3][1].startswith("line 2, 4, 5, 6, 7 and others gives")


class TestSomebodyWhoIsThere:
    """Against Bruno, who has a login, number 7 and sees all sites, and Cy, who has none, number 8 and sees Madrid."""

    @pytest.fixture(autouse=True)
    def staffed(self, act: Act, yard: int) -> None:
        people.add_member(act, STAFF, "staff", "Bruno")
        act.run("update member set number = '7' where org_id = :org and name = 'Bruno'")
        assert counts(bring(act, "Cy,8,cy@x.example,Madrid,Cook,\n")) == {"new": 1}

    @pytest.mark.parametrize(
        ("line", "outcome", "reason"),
        [
            ("Bruno,7,,,,", "unchanged", ""),
            ("Bruno,7,BRUNO@acme.example,,,staff", "unchanged", ""),
            (f"Bruno,,{STAFF},Yard,,", "unchanged", ""),  # Who sees all sites goes on seeing them.
            ("Bruno Sanz,7,,,,", "changed", "name"),
            ("Bruno,7,,Yard,Cook,", "changed", "holds Cook at Yard"),
            ("Bruno,7,,,,inspector", "changed", "role staff → inspector"),
            ("Bruno,7,new@x.example,,,", "rejected", SIGNS_IN),
            ("Bruno,7,cy@x.example,,,", "conflict", TWO_PEOPLE.format(2)),
            ("Bruno,9,bruno@acme.example,,,", "conflict", OTHER_NUMBER),
            ("Cy,8,new@x.example,,,", "changed", "e-mail"),
            ("Cy,08,cy@x.example,,,", "conflict", OTHER_NUMBER),
            ("Cy,8,,Yard,,", "changed", "may now see Yard"),
            ("Cy,8,,Yard,Cook,", "changed", "may now see Yard; holds Cook at Yard"),
            ("Cy,8,,Madrid,COOK,", "unchanged", ""),
            ("Cy,8,,,,officer", "rejected", NO_POWERS),
        ],
    )  # fmt: skip
    def test_one_line(self, act: Act, line: str, outcome: str, reason: str) -> None:
        before = kept(act)
        assert told(bring(act, line + "\n")) == {2: (outcome, reason)}
        after = kept(act)
        after.pop("import_run"), before.pop("import_run")
        assert (after != before) == (outcome == "changed")
        if outcome == "changed":
            assert counts(bring(act, line + "\n")) == {"unchanged": 1}

    def test_each_change_leaves_the_trail_of_the_change_by_hand(self, act: Act, yard: int, since: Since) -> None:
        since.read()
        bring(act, "Cy Young,8,new@x.example,Yard,Cook,inspector\n")
        cy, (events, queued) = person(act, "Cy Young"), since.read()
        madrid = factories.site(act)
        details = {event.type: event.detail for event in events}
        run = details["people_imported"]["import_run_id"]
        origin = {"source": "import", "import_run_id": run, "line": 2, "member_id": cy.id}
        post = people.find_post(act, "Cook").id
        assert details == {
            "people_imported": details["people_imported"],
            "member_renamed": origin,
            "member_address_changed": {**origin, "has_address": True},
            "member_role_changed": {**origin, "old": "staff", "new": "inspector"},
            "member_limited": {**origin, "old": [madrid], "new": sorted([madrid, yard])},
            "post_assigned": {**origin, "post_id": post, "site_id": yard, "old": None, "new": ["2027-03-01", None]},
        }
        assert [(row.subject_id, row.wake_on) for row in queued] == [(None, None)]
        assert (cy.email, cy.role, limits(act, "Cy Young")) == ("new@x.example", "inspector", ["Madrid", "Yard"])

    def test_a_rule_goes_on_naming_the_person_whose_address_changes(self, act: Act) -> None:
        factories.kind(act, "permit")
        text_of_rule = RuleText("Permits", thresholds=("30d",), channels=("email",), to=("member:cy@x.example",))
        rules.apply(act, [text_of_rule])
        bring(act, "Cy,8,new@x.example,,,\n")
        recipients = act.session.scalars(text("select recipient from rule_recipient")).all()
        assert recipients == ["member:new@x.example"]

    def test_a_number_is_given_and_never_changed(self, act: Act, since: Since) -> None:
        people.add_member(act, INSPECTOR, "inspector", "Dana")
        since.read()
        assert told(bring(act, f"Dana,0042,{INSPECTOR},,,\n")) == {2: ("changed", "number")}
        assert person(act, "Dana").number == "0042"
        assert since.events() == ["people_imported", "member_number_changed"]
        assert told(bring(act, f"Dana,0043,{INSPECTOR},,,\n")) == {2: ("conflict", OTHER_NUMBER)}

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ("is_active = false", "is disabled: enable them in Settings first"),
            ("left_on = '2027-03-01'", "left on 2027-03-01"),
            ("valid_until = '2027-02-28'", "ended on 2027-02-28: prolong it in Settings first"),
        ],
    )
    def test_whoever_is_not_here_any_more_is_not_brought_back(self, act: Act, change: str, words: str) -> None:
        act.run(f"update member set {change} where org_id = :org and name = 'Cy'")
        before = kept(act)
        [row] = bring(act, "Cyrus,8,,Yard,Cook,\n").rows
        assert row.outcome == "rejected"
        assert words in row.reason
        assert {**kept(act), "import_run": 0} == {**before, "import_run": 0}

    @pytest.mark.parametrize("role", ["admin", "officer"])
    def test_powers_are_neither_given_nor_taken_nor_widened(self, act: Act, role: str) -> None:
        member_id = people.add_member(act, OFFICER, role, "Ana")
        people.limit_member(act, member_id, [factories.site(act)])
        other = "officer" if role == "admin" else "admin"
        brought = bring(
            act,
            f"Ana,,{OFFICER},,,{role}\nAna,,{OFFICER},Yard,,\nAna,,{OFFICER},Madrid,Cook,\n",
        )
        assert told(brought) == {
            2: ("unchanged", ""), 3: ("rejected", SIGHT_STAYS), 4: ("changed", "holds Cook at Madrid"),
        }  # fmt: skip
        assert told(bring(act, f"Ana,,{OFFICER},,,staff\n")) == {2: ("rejected", ROLE_STAYS)}
        assert told(bring(act, f"Ana,,{OFFICER},,,{other}\n")) == {2: ("rejected", NO_POWERS)}
        assert (person(act, "Ana").role, limits(act, "Ana")) == (role, ["Madrid"])

    def test_a_post_that_has_not_ended_is_left_as_it_is(self, act: Act, yard: int) -> None:
        cy, post = person(act, "Cy"), people.find_post(act, "Cook").id
        madrid = factories.site(act)
        people.assign_post(act, post, cy.id, madrid, None, march(20))
        assert counts(bring(act, "Cy,8,,Madrid,Cook,\n")) == {"unchanged": 1}
        assert held(act, "Cy") == [("Cook", "Madrid", "2027-03-01", "2027-03-20")]
        act.run("update site_post set until_on = '2027-02-20', from_on = '2027-01-01' where org_id = :org")
        assert counts(bring(act, "Cy,8,,Madrid,Cook,\n")) == {"changed": 1}
        assert held(act, "Cy")[1] == ("Cook", "Madrid", "2027-03-01", None)

    def test_whoever_is_not_in_the_file_is_left_alone(self, act: Act) -> None:
        before = kept(act)["member"]
        bring(act, "Zoe,9,,,,\n")
        assert kept(act)["member"][: len(before)] == before


def test_what_is_kept_for_good_names_nobody(act: Act, since: Since) -> None:
    since.read()
    bring(
        act,
        "Ana Secreta,1,secreta@x.example,,,\nBo Secreto,2,secreto@,,,\nCy,3,,Secreta Site,,\nDi Secreta,4,,,,Secreta\n"
        "Ed Secreto,5,secreta5@x.example,,,\nEd Otro,5,,,,\n",
    )
    bring(act, "Ana Secretissima,1,secreta1@x.example,,Cook,\n")
    runs = act.session.scalars(select(ImportRun)).all()
    events = act.session.scalars(select(AuditEvent).order_by(AuditEvent.id)).all()
    for one in (*(run.rows for run in runs), *(run.mapping for run in runs), *(event.detail for event in events)):
        assert "secret" not in json.dumps(one).lower()
    first = next(run for run in runs if run.counts["rejected"])
    assert first.contents == "people"
    assert first.rows[0] == {
        "line": 2, "outcome": "new", "reason": "sees all sites: none is named", "number": "1", "member_id": None,
    }  # fmt: skip
    assert first.rows[2]["reason"] == "no such site: …"


def test_a_line_that_was_taken_for_the_header_is_not_kept_either(act: Act) -> None:
    imported = bring(act, "Ida,2\n", "Ana Secreta,Number\n", maps=("name=Ana Secreta", "number=2"))
    assert imported.reading.mapping == {"name": ["Ana Secreta"], "number": ["Number"]}
    run = act.session.scalars(select(ImportRun)).one()
    assert run.mapping["mapping"] == {"name": ["column 1"], "number": ["Number"]}
    assert "Secreta" not in json.dumps(run.mapping)


def test_the_account_of_somebody_elsewhere_is_neither_touched_nor_revealed(app: object) -> None:
    there, here = factories.acme("there"), factories.acme("here")
    with there.acting() as act:
        people.add_member(act, OFFICER, "officer", "Ana of there")
        act.run("update member set number = '7' where org_id = :org")
        elsewhere = kept(act)
    with here.acting() as act:
        before = act.session.execute(text("select * from account")).all()
        assert told(bring(act, f"Ana,7,{OFFICER},,,\nBo,7,,,,\n"))[2][0] == "conflict"
        assert counts(bring(act, f"Ana,7,{OFFICER},,,\n")) == {"new": 1}
        assert counts(bring(act, "Ana,7,other@x.example,,,\n")) == {"changed": 1}
        assert act.session.execute(text("select * from account")).all() == before
        assert person(act, "Ana").account_id is None
    with there.acting() as act:
        assert kept(act) == elsewhere


CELLS = st.sampled_from(
    ["", " ", "Ana", "Bo", "1", "01", "a1", "A1", "a@x.example", "b@x.example", "A@X.EXAMPLE", "@", "n/a", "Madrid",
     "Yard", "Cook", "staff", "inspector", "admin", "=1+1", "\x00", "\u202e", "\u00e9", "e\u0301", "\u0130", "\u00df"]
) | st.text(max_size=4)  # fmt: skip


@given(lines=st.lists(st.lists(CELLS, min_size=1, max_size=7), max_size=6), again=st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_arbitrary_cells_never_crash_and_again_changes_nothing(act: Act, lines: list[list[str]], again: bool) -> None:
    cells = [[cell.replace('"', '""') for cell in line] for line in lines]
    source = HEADER + "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in cells)
    with act.session.begin_nested() as savepoint:
        try:
            first = bring_bytes(act, source.encode("utf-8", "replace"))
        except Refused:
            savepoint.rollback()
            return
        assert len(first.rows) == sum(first.counts.values())
        before = kept(act)
        second = bring_bytes(act, source.encode("utf-8", "replace"))
        assert not second.counts["new"] + second.counts["changed"]
        after = kept(act)
        assert {**after, "import_run": 0} == {**before, "import_run": 0}
        savepoint.rollback()


def test_an_inspector_who_becomes_staff_by_a_file_sees_all_kinds_again(acme: Acme) -> None:
    with acme.acting() as act:
        ivo = factories.member(act, "ivo@acme.example", "inspector")
        limit_to_kinds(act, ivo, [factories.kind(act)])
        bring(act, "Ivo,,ivo@acme.example,,,staff\n")
        assert act.run("select count(*) from member_kind").scalar_one() == 0
