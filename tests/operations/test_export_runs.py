"""Reports that a person asks for: made as that person may see, kept for a time, and seen by whoever may see as much."""

from __future__ import annotations

import csv
import datetime as dt
import io
from typing import Any

import psycopg
import pytest
from flask import Flask
from sqlalchemy import text

from app.database import transaction
from app.domain.acts import ReportFormat
from app.domain.errors import Refused
from app.operations import export_runs, inspectors, people
from app.operations.export_runs import Limits, Made
from app.queries.export_runs import read_export_file, read_exports
from app.queries.sight import read_sight
from app.scheduler import export_child
from app.trail.act import Act, member_actor
from tests import factories
from tests.conftest import url_of
from tests.factories import Acme
from tests.operations.story import march


@pytest.fixture
def peopled(acme: Acme) -> Acme:
    """Ana sees all; Dana inspects permits in Madrid. A permit and a training there, and a permit in Porto."""
    with acme.acting() as act:
        people.add_site(act, "Porto", "Europe/Lisbon")
        ana, dana = factories.member(act, name="Ana"), factories.member(act, "dana@acme.example", "inspector")
        permit = factories.kind(act, "permit")
        people.limit_member(act, dana, [factories.site(act)])
        inspectors.limit_to_kinds(act, dana, [permit])
        factories.subject(act, "MAD-P", march(20), kind="permit", owner_member_id=ana)
        factories.subject(act, "MAD-T", march(20), kind="training")
        factories.subject(act, "POR-P", march(20), "Porto", kind="permit")
        acme.members |= {"ana": ana, "dana": dana}
    return acme


def asked(acme: Acme, name: str, limits: Limits | None = None) -> int:
    with acme.acting(actor=member_actor(acme.members[name])) as act:
        return export_runs.ask(act, ReportFormat.csv, "en", {}, limits or Limits())


def kept(acme: Acme, export_id: int) -> Any:
    with acme.acting() as act:
        return act.run("select * from export_run where id = :id", {"id": export_id}).one()


def test_an_inspector_gets_nothing_of_another_site_or_kind(peopled: Acme) -> None:
    export_id = asked(peopled, "dana")
    export_child.finish(peopled.org, export_id)
    row = kept(peopled, export_id)
    content = bytes(row.content).decode("utf-8-sig")
    lines = list(csv.reader(io.StringIO(content, newline="")))
    assert [line[3] for line in lines if line[0] == "Register"] == ["MAD-P"]
    assert not any(word in content for word in ("MAD-T", "POR-P", "Porto", "Lisbon"))
    assert "This report shows no more than whoever asked for it may see: Madrid; permit" in content
    assert row.counts["register"] == 1
    with peopled.acting() as act:
        event = act.run("select actor, detail from audit_event where type = 'exported'").one()
    assert event.actor == member_actor(peopled.members["dana"])
    assert (event.detail["export_id"], event.detail["sha256"]) == (export_id, row.sha256)
    export_child.finish(peopled.org, export_id)
    with peopled.acting() as act:
        assert act.run("select count(*) from audit_event where type = 'exported'").scalar_one() == 1


def test_whoever_sees_less_than_a_report_shows_does_not_see_it(peopled: Acme) -> None:
    with peopled.acting() as act:
        site, kind = factories.site(act), factories.kind(act, "permit")
    of_all, of_hers = asked(peopled, "ana"), asked(peopled, "dana", Limits([site], [kind]))
    for export_id in (of_all, of_hers):
        export_child.finish(peopled.org, export_id)
    with peopled.acting() as act:
        for name, ids in (("ana", [of_hers, of_all]), ("dana", [of_hers])):
            sight = read_sight(act.session, act.org, peopled.members[name], act.now)
            assert [line.id for line in read_exports(act.session, sight)] == ids
            files = [read_export_file(act.session, sight, export_id) for export_id in (of_all, of_hers)]
            assert [file is not None for file in files] == [of_all in ids, True]


def test_one_who_is_not_let_in_any_more_gets_none(peopled: Acme) -> None:
    export_id = asked(peopled, "dana")
    with peopled.acting() as act:
        people.disable_member(act, peopled.members["dana"])
    export_child.finish(peopled.org, export_id)
    assert (kept(peopled, export_id).fault, kept(peopled, export_id).content) == (
        "Whoever asked for this report is not let in any more.", None,
    )  # fmt: skip


def test_a_report_is_made_by_one_and_begun_again_when_nothing_is_heard(peopled: Acme) -> None:
    first, second = asked(peopled, "ana"), asked(peopled, "ana")
    later = peopled.now + dt.timedelta(seconds=31)
    with peopled.acting() as act:
        taken = export_runs.take(act)
        other = export_runs.take(act)
        assert taken is not None
        assert other is not None
        assert (taken.id, other.id, export_runs.take(act)) == (first, second, None)
    with peopled.acting(later) as act:
        again = export_runs.take(act)
        assert again is not None
        assert (again.id, export_runs.beat(act, taken, 1, 10)) == (first, None)
        assert export_runs.beat(act, again, 2, 20) is not None
        export_runs.fail(act, first, "Ended.", taken.beat_at)
        assert export_runs.read(act, first) is not None
    assert (kept(peopled, first).done, kept(peopled, first).rows) == (2, 20)


def test_files_are_kept_for_thirty_days_and_few_wait(peopled: Acme) -> None:
    export_id = asked(peopled, "ana")
    with peopled.acting() as act:
        order = export_runs.read(act, export_id)
        assert order is not None
        export_runs.settle(act, order, Made({}, 1, "0", b"x"))
    for days, there in ((30, True), (31, False)):
        with peopled.acting(peopled.now + dt.timedelta(days=days)) as act:
            export_runs.let_old_go(act)
        assert (kept(peopled, export_id).content is not None) is there
    for _ in range(export_runs.MOST_WAITING):
        asked(peopled, "ana")
    with pytest.raises(Refused, match="are being made already"):
        asked(peopled, "ana")


@pytest.mark.real_commits
def test_what_comes_in_meanwhile_is_not_in_a_snapshot(real_app: Flask, worker: str) -> None:
    acme = factories.acme()
    entries = text("select count(*) from subject where org_id = :org")
    with acme.acting() as act:
        factories.subject(act, "A")
    with transaction(acme.org, snapshot=True) as session:
        assert session.scalar(entries, {"org": acme.org}) == 1
        with psycopg.connect(url_of(f"real_{worker}", "postgres"), autocommit=True) as other:
            other.execute("delete from subject")
        assert session.scalar(entries, {"org": acme.org}) == 1
        assert Act(session, acme.org, acme.now).run("show transaction_isolation").scalar_one() == "repeatable read"
    with acme.acting() as act:
        assert act.run(str(entries)).scalar_one() == 0
