"""The register as a file, brought in again, changes nothing; in an empty organisation it makes the same register."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Sequence
from typing import Any

from app.domain.acts import ArchiveReason, Status
from app.exports.tables import write_csv
from app.models import Subject
from app.operations import departures, obligations, parts, people, register
from app.operations.register import Entry
from app.queries.register import Filters
from app.queries.register_export import read_exported
from app.queries.sight import read_sight
from app.trail.act import Act
from app.web.exported import header_of, row_of
from tests import factories
from tests.factories import Acme
from tests.operations.story import march
from tests.operations.test_import import Imported, bring_bytes, counts

FACTS = """
select s.reference, s.title, k.name as kind, m.email, p.name as post, h.email as holder, w.reference as whole,
       s.due_from, s.recurrence, coalesce(s.recurrence_basis, 'due') as basis, s.legal_basis, s.notes,
       (select array_agg(o.due_on order by o.due_on) from obligation o
        where o.org_id = :org and o.subject_id = s.id and o.closed_at is null) as dates
from subject s join kind k on k.org_id = :org and k.id = s.kind_id
left join member m on m.org_id = :org and m.id = s.owner_member_id
left join post p on p.org_id = :org and p.id = s.owner_post_id
left join member h on h.org_id = :org and h.id = s.holder_id
left join subject w on w.org_id = :org and w.id = s.part_of_id
where s.org_id = :org and s.status = 'watched' order by s.reference"""


def exported(act: Act) -> bytes:
    file, sight = io.BytesIO(), read_sight(act.session, act.org, 0, act.now)
    write_csv(file, header_of("csv"), map(row_of, read_exported(act.session, sight, Filters())))
    return file.getvalue()


def members(act: Act) -> dict[str, int]:
    emails = ("ana@acme.example", "bruno@acme.example", "root@acme.example")
    found = {email: factories.member(act, email, "admin") for email in emails}
    return found | {"post": people.add_post(act, "Plant manager")}


def stock(act: Act, who: dict[str, int]) -> None:
    """What a register has after some years: of each kind of entry one, and each in a state of its own."""
    site, kind, ana = factories.site(act), factories.kind(act, "permit"), who["ana@acme.example"]

    def add(reference: str, **given: Any) -> Subject:
        return register.get_subject(act, register.add_subject(act, Entry(site, kind, reference, **given)))

    whole = add("0417", title="=Discharge", due_on=march(20), owner_post_id=who["post"], legal_basis="RD 1/2001, “7”")
    add("0417/1", part_of_id=whole.id, due_from="180d", holder_id=ana)
    add("0417/2", part_of_id=whole.id, due_from="+10bd", owner_member_id=ana)
    add("0417/3", part_of_id=whole.id, due_on=march(31), recurrence="3m", recurrence_basis="calendar")
    for basis in ("due", "done", "calendar", None):
        add(f"R-{basis}", due_on=march(31), recurrence="1m", recurrence_basis=basis, notes="Two\nlines; and, so on")
    add("FIXED", recurrence="03-31,09-30", recurrence_basis="calendar")
    add("GONE", due_on=march(9), owner_member_id=who["bruno@acme.example"], holder_id=who["bruno@acme.example"])
    add("LIMITED", due_on=march(9), owner_member_id=ana)
    done, several = add("DONE", due_on=march(2)), add("SEVERAL", due_on=march(5))
    obligations.close(act, obligations.find_obligation(act, done).id, "met")
    obligations.add_obligation(act, several, march(6))


def in_states(act: Act, who: dict[str, int]) -> None:
    """States that no file brings: they stay what they are."""
    other = people.add_site(act, "Cork", "Europe/Dublin")
    for number, status in enumerate(Status):
        factories.subject(act, f"S-{number}", march(8), status=status)
    wrong = factories.subject(act, "WRONG", march(8))
    register.archive(act, wrong, ArchiveReason.entered_in_error)
    factories.subject(act, "CORK", march(8), at="Cork", status=Status.archived)
    people.archive_site(act, other)
    departures.leave(act, who["bruno@acme.example"], march(1), to_member_id=who["root@acme.example"])
    for role in ("owner_member_id", "holder_id"):  # As where nobody could take over.
        setattr(register.find_subject(act, "GONE"), role, who["bruno@acme.example"])
    people.limit_member(act, who["ana@acme.example"], [other])
    parts.put_into(act, register.find_subject(act, "SEVERAL"), register.find_subject(act, "DONE").id, None)


def written(act: Act) -> Sequence[Any]:
    tables = ("subject", "obligation", "scan_queue", "kind")
    return [act.run(f"select count(*) from {table} where org_id = :org").scalar_one() for table in tables]


def outcomes(imported: Imported) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in imported.rows:
        found.setdefault(row.outcome, []).append(f"{row.reference}: {row.reason}")
    return found


def test_a_register_that_is_brought_in_again_is_unchanged_line_by_line(act: Act) -> None:
    """What has no open date says so, and is kept without one; what was entered in error is not in the file."""
    who = members(act)
    stock(act, who)
    in_states(act, who)
    file, before = exported(act), written(act)
    again = bring_bytes(act, file)
    found = outcomes(again)
    assert {row.partition(":")[0] for row in found.pop("no_expiry")} == {"DONE"}
    assert list(found) == ["unchanged"], found
    assert written(act) == before
    assert b"WRONG" not in file


def test_in_an_empty_organisation_it_makes_the_same_register(acme: Acme) -> None:
    with acme.acting() as act:
        stock(act, members(act))
        file, ours = exported(act), act.run(FACTS).all()
    other = factories.acme("other", now=acme.now)
    with other.acting() as act:
        members(act)
        made = bring_bytes(act, file)
        assert counts(made) == {"new": len(made.rows) - 1, "no_expiry": 1}
        theirs = act.run(FACTS).all()
    assert len(theirs) == len(ours)
    for mine, copy in zip(ours, theirs, strict=True):
        if mine.reference == "SEVERAL":
            assert copy.dates == [march(5)], "of several open dates the file has the first one"
        else:
            assert copy == mine


def test_a_file_of_conditions_needs_no_dates_of_its_own(act: Act) -> None:
    """They follow the whole; by a post as responsible; and a file says so of entries that are there."""
    post = people.add_post(act, "EHS")
    header = "reference,due_on,part_of,due_from,owner,recurrence,recurrence_basis\n"
    text = header + "W,2027-09-30,,,post:ehs,1y,done\nC,,W,30d,POST:EHS,,\nD,2027-03-31,W,,,,\n"
    assert counts(bring_bytes(act, text.encode())) == {"new": 3}
    assert obligations.open_dates(act, register.find_subject(act, "C").id) == [dt.date(2027, 8, 31)]
    assert {row.owner_post_id for row in act.session.query(Subject).all()} == {post, None}
    changed = header + "W,2027-09-30,,,,1y,calendar\nC,,W,60d,,,\n"
    assert counts(bring_bytes(act, changed.encode())) == {"changed": 2}
    assert obligations.open_dates(act, register.find_subject(act, "C").id) == [dt.date(2027, 8, 1)]
    assert register.find_subject(act, "W").recurrence_basis == "calendar"
    bad = header + "X,2027-03-31,,,,,done\nX,2027-03-31,,30d,,,\nX,2027-03-31,W,30d,,1y,\nX,2027-03-31,,,post:no,,\n"
    said = [row.reason for row in bring_bytes(act, bad.encode()).rows]
    assert said == [
        "the recurrence_basis has no recurrence: say both",
        "the due_from has no part_of: say whose due date it follows",
        "what has a due_from comes again with its whole: leave the recurrence out",
        "no such post: 'no'",
    ]
