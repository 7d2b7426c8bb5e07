"""Entered in error, for a whole import: what it made is archived, what it changed becomes what it was.

Also after a release, and once: of two people who do it at once, one does. Alerts that nobody was told are withdrawn in
the same transaction, those on their way included; what was told stays in the ledger, listed and not undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.database import SCHEDULER, borrowed
from app.domain.acts import CloseReason, MoveReason
from app.domain.errors import Refused
from app.ledger.align import align_subjects
from app.ledger.planning import judge_alone, stand_alone
from app.ledger.site_days import read_site_days
from app.operations import typed
from app.operations.batches import Trail, as_json, batches
from app.operations.imports import queue, take_turns
from app.operations.kinds import key_of, known_kinds
from app.operations.mistake_plan import Moving, Plan, Putting, make_plan, read_touched
from app.operations.typed import iso
from app.trail.act import Act

LEFT = "left_by_mistaken_import"  # The event of an entry that somebody had worked on.

MARK = """
update import_run set in_error_at = :now, in_error_by = :actor, in_error_note = :note
where org_id = :org and id = :import_run and contents = 'register' and in_error_at is null
returning id"""

# All entries, then all of their dates, each in the order of ids: as an import locks them.
LOCK_SUBJECTS = """
select count(*) from (
  select id from subject where org_id = :org and id = any (cast(:subjects as bigint[])) order by id for update) s"""

LOCK_DATES = """
select count(*) from (
  select id from obligation where org_id = :org and subject_id = any (cast(:subjects as bigint[]))
  order by id for update) o"""

CLOSE = """
with closed as (
  update obligation set closed_at = :now, closed_by = :member, outcome = 'entered_in_error', reason = :reason,
                        note = :note
  where org_id = :org and id = any (cast(:ids as bigint[])) and closed_at is null
  returning id, subject_id, due_on
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, detail)
  select :org, :now, :actor, 'obligation_closed', subject_id,
         jsonb_build_object('obligation_id', id, 'due_on', due_on, 'met_on', null, 'outcome', 'entered_in_error',
                            'reason', cast(:reason as text), 'note', cast(:note as text),
                            'import_in_error', cast(:import_run as bigint))
  from closed order by subject_id, id
  returning id)
insert into audit_unsealed (org_id, event_id) select :org, id from event"""

ARCHIVE = """
with old as materialized (
  select id, status from subject
  where org_id = :org and id = any (cast(:ids as bigint[])) and status <> 'archived'
), archived as (
  update subject s set status = 'archived' from old where s.org_id = :org and s.id = old.id
  returning s.id, old.status
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, detail)
  select :org, :now, :actor, 'subject_archived', id,
         jsonb_build_object('old', status, 'new', 'archived', 'reason', cast(:reason as text),
                            'note', cast(:note as text), 'import_in_error', cast(:import_run as bigint))
  from archived order by id
  returning id)
insert into audit_unsealed (org_id, event_id) select :org, id from event"""

MOVE_BACK = """
update obligation o set due_on = g.due_on
from unnest(cast(:ids as bigint[]), cast(:due_ons as date[])) as g (id, due_on)
where o.org_id = :org and o.id = g.id and o.closed_at is null"""

# A column that a row does not name stays as it is.
PUT_BACK = """
update subject s set
  title = case when g.said ? 'title' then g.said ->> 'title' else s.title end,
  kind_id = case when g.said ? 'kind_id' then cast(g.said ->> 'kind_id' as bigint) else s.kind_id end,
  owner_member_id = case when g.said ? 'owner_member_id' then cast(g.said ->> 'owner_member_id' as bigint)
                         else s.owner_member_id end,
  owner_post_id = case when g.said ? 'owner_post_id' then cast(g.said ->> 'owner_post_id' as bigint)
                       else s.owner_post_id end,
  holder_id = case when g.said ? 'holder_id' then cast(g.said ->> 'holder_id' as bigint) else s.holder_id end,
  part_of_id = case when g.said ? 'part_of_id' then cast(g.said ->> 'part_of_id' as bigint) else s.part_of_id end,
  recurrence = case when g.said ? 'recurrence' then g.said ->> 'recurrence' else s.recurrence end,
  recurrence_basis = case when g.said ? 'recurrence_basis' then g.said ->> 'recurrence_basis'
                          else s.recurrence_basis end,
  series_through = case when g.said ?| array['recurrence', 'recurrence_basis'] then null else s.series_through end,
  series_next = case when g.said ?| array['recurrence', 'recurrence_basis'] then null else s.series_next end,
  due_from = case when g.said ? 'due_from' then g.said ->> 'due_from' when g.said ? 'part_of_id' then null
                  else s.due_from end,
  legal_basis = case when g.said ? 'legal_basis' then g.said ->> 'legal_basis' else s.legal_basis end,
  notes = case when g.said ? 'notes' then g.said ->> 'notes' else s.notes end
from (select cast(r.said ->> 'id' as bigint) as id, r.said
      from jsonb_array_elements(cast(:rows as jsonb)) as r (said)) g
where s.org_id = :org and s.id = g.id"""

RUN = "select contents, in_error_at from import_run where org_id = :org and id = :import_run"


def preview_mistake(act: Act, import_run_id: int) -> Plan:
    """What taking the import back would do now. Raises Refused where it cannot be taken back."""
    check_run(act, import_run_id)
    return make_plan(act, import_run_id, read_touched(act, import_run_id))


def enter_in_error(act: Act, import_run_id: int, note: str = "") -> Plan:
    """Take the whole import back, once. Raises Refused for one that was taken back already.

    1. No import and no check of the watch goes on meanwhile, and nothing is handed over: what is not told stays untold.
    2. The import is marked; whoever comes second finds the mark.
    3. Its entries and their dates are locked, then judged, so that nobody's work is missed.
    4. All is changed, each change with its event, and the next check is told.
    5. What was not told is withdrawn. A message that a sender holds already is cancelled, and so he cannot send it.
    """
    noted = typed.note(note)
    take_turns(act)
    stand_alone(act)
    check_run(act, import_run_id)
    if act.run(MARK, {"import_run": import_run_id, "note": noted}).one_or_none() is None:
        raise Refused(ALREADY)
    touched = read_touched(act, import_run_id)
    for lock in (LOCK_SUBJECTS, LOCK_DATES):
        act.run(lock, {"subjects": [row.subject_id for row in touched]})
    plan = make_plan(act, import_run_id, touched)
    take_back(act, plan, noted)
    act.record("import_entered_in_error", import_run_id=import_run_id, note=noted, counts=plan.counts)
    queue(act, [*plan.archived, *plan.changed])
    withdraw(act, [*plan.archived, *plan.changed])
    return plan


ALREADY = "This import was entered in error already: look at its page, which says when and by whom."


def check_run(act: Act, import_run_id: int) -> None:
    run = act.run(RUN, {"import_run": import_run_id}).one_or_none()
    if run is None:
        raise Refused(f"There is no import {import_run_id}: `onus import list` names them.")
    if run.contents != "register":
        raise Refused("Only an import of entries can be entered in error: change people one by one.")
    if run.in_error_at is not None:
        raise Refused(ALREADY)


def withdraw(act: Act, subject_ids: Sequence[int]) -> None:
    """Make what has not left follow what the entries are now."""
    with borrowed(act.session, SCHEDULER):
        judge_alone(act)
        align_subjects(act, read_site_days(act), subject_ids)


def take_back(act: Act, plan: Plan, note: str) -> None:
    trail = Trail(act, {"import_in_error": plan.import_run_id})
    why = {"import_run": plan.import_run_id, "note": note, "reason": CloseReason.entered_in_error.value}
    act.run(CLOSE, why | {"ids": [one.obligation_id for one in plan.closed], "member": act.member_id})
    act.run(ARCHIVE, why | {"ids": plan.archived})
    move_back(act, plan.moved, note, trail)
    put_back(act, plan.put_back, trail)
    for one in plan.left:
        trail.add(LEFT, one.subject_id, work=one.event_id, kept=one.kept)
    trail.write()


def move_back(act: Act, moves: Sequence[Moving], note: str, trail: Trail) -> None:
    for batch in batches(moves):
        act.run(MOVE_BACK, {"ids": [one.obligation_id for one in batch], "due_ons": [one.old for one in batch]})
        for one in batch:
            days = {"old": iso(one.new), "new": iso(one.old), "reason": MoveReason.other, "note": note}
            trail.add("date_moved", one.subject_id, obligation_id=one.obligation_id, **days)


def put_back(act: Act, puttings: Sequence[Putting], trail: Trail) -> None:
    kinds = known_kinds(act)
    for batch in batches(puttings):
        act.run(PUT_BACK, {"rows": as_json([stored(one, kinds) for one in batch])})
        for one in batch:
            trail.add("subject_changed", one.subject_id, old=dict(one.new), new=dict(one.old))


def stored(one: Putting, kinds: Mapping[str, int]) -> dict[str, Any]:
    """The columns as they were, with the id of the kind."""
    columns = {"id": one.subject_id, **one.old}
    if "kind" in columns:
        columns["kind_id"] = kinds[key_of(columns.pop("kind"))]
    return columns
