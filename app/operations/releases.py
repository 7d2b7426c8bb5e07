"""Releasing the drafts of one import, all of them at once; and, before that, whom it would tell.

The preview is no estimate: the release and the look of the next check are done, read, and undone.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from app.database import SCHEDULER, borrowed
from app.domain.delivery import State
from app.domain.errors import Refused, quoted
from app.ledger.coming import Came, open_coming
from app.ledger.planning import judge_alone
from app.ledger.scan import look
from app.ledger.site_days import read_site_days
from app.ledger.start import hold_back, hold_back_raised
from app.operations.imports import NEXT, NOW, queue
from app.operations.undone import undone
from app.trail.act import Act

MOST_PREVIEWED = 20_000  # Drafts of one import whose alerts are worked out on a page; it takes five seconds.

IN_ERROR = "select in_error_at is not null from import_run where org_id = :org and id = :import_run"

# The events of an import bear its instant, by which the trail is indexed.
DRAFTS = """
select s.id from import_run r
join audit_event e on e.org_id = :org and e.at = r.at and e.type in ('subject_created', 'subject_restored')
 and e.detail -> 'import_run_id' = to_jsonb(r.id)
join subject s on s.org_id = :org and s.id = e.subject_id
where r.org_id = :org and r.id = :import_run and s.status = 'draft'
order by s.id"""

RELEASE = """
with released as (
  update subject set status = 'watched' where org_id = :org and id = any (cast(:ids as bigint[])) and status = 'draft'
  returning id
), event as (
  insert into audit_event (org_id, at, actor, type, subject_id, detail)
  select :org, :now, :actor, 'subject_released', id,
         jsonb_build_object('old', 'draft', 'new', 'watched', 'start', cast(:start as text),
                            'of_import', cast(:import_run as bigint))
  from released order by id
  returning id, subject_id
), unsealed as (
  insert into audit_unsealed (org_id, event_id) select :org, id from event)
select subject_id from event order by subject_id"""

OPEN_DATES = """
select id from obligation
where org_id = :org and subject_id = any (cast(:ids as bigint[])) and closed_at is null order by id"""

LAST_EVENT = "select coalesce(max(id), 0) from audit_event where org_id = :org"

# What is raised now, or once more, as it is for an entry that has come back; and what is on its way for it.
TOLD = """
select n.subject_id, n.reference, n.title, s.name as site, n.threshold, n.due_on, n.crossed_on,
       coalesce(array_agg(distinct m.name order by m.name) filter (where m.id is not null), '{}') as people,
       coalesce(array_agg(distinct d.channel order by d.channel) filter (where d.id is not null), '{}') as channels,
       count(d.id) as messages
from notification_ledger n
join site s on s.org_id = :org and s.id = n.site_id
left join delivery d on d.org_id = :org and d.claim_id = n.id and d.state = :waiting
left join member m on m.org_id = :org and m.id = d.recipient_id
where n.org_id = :org and n.subject_id = any (cast(:ids as bigint[])) and n.standing = 'open'
  and n.id in (select e.claim_id from audit_event e
               where e.org_id = :org and e.at = :now and e.id > :since
                 and e.type in ('claimed', 'reopened', 'delivery_due'))
group by n.id, n.subject_id, n.reference, n.title, s.name, n.threshold, n.due_on, n.crossed_on
order by n.due_on, n.reference, n.id"""


@dataclass(frozen=True)
class Alert:
    """One alert that would be raised at once, and who would get it."""

    subject_id: int
    reference: str
    title: str
    site: str
    threshold: str
    due_on: dt.date
    crossed_on: dt.date
    people: list[str]
    channels: list[str]
    messages: int


@dataclass(frozen=True)
class Preview:
    """What a release would tell now. `alerts` is None where there are too many drafts to work it out on a page."""

    drafts: int
    alerts: list[Alert] | None

    @property
    def people(self) -> list[str]:
        return sorted({person for alert in self.alerts or () for person in alert.people})

    @property
    def messages(self) -> int:
        return sum(alert.messages for alert in self.alerts or ())

    @property
    def quiet(self) -> int:
        """How many entries tell nobody now."""
        return self.drafts - len({alert.subject_id for alert in self.alerts or () if alert.people})


def drafts_of(act: Act, import_run_id: int) -> list[int]:
    """The entries that the import has made or brought back, and that nobody has released yet."""
    return [row.id for row in act.run(DRAFTS, {"import_run": import_run_id})]


def is_in_error(act: Act, import_run_id: int) -> bool:
    return bool(act.run(IN_ERROR, {"import_run": import_run_id}).scalar())


def preview_release(act: Act, import_run_id: int) -> Preview:
    """Whom a release with start `now` would tell. Leaves nothing behind."""
    drafts = [] if is_in_error(act, import_run_id) else drafts_of(act, import_run_id)
    if not drafts or len(drafts) > MOST_PREVIEWED:
        return Preview(len(drafts), None if drafts else [])
    alerts: list[Alert] = []
    since = act.run(LAST_EVENT).scalar_one()
    with undone(act):
        release_drafts(act, import_run_id, NOW)
        alerts = raised(act, drafts, since)
    return Preview(len(drafts), alerts)


def raised(act: Act, subject_ids: list[int], since: int) -> list[Alert]:
    """What the next check raises for these entries. `since` is the last event before."""
    with borrowed(act.session, SCHEDULER):
        judge_alone(act)
        look(act, read_site_days(act), subject_ids, None)
        facts = {"ids": subject_ids, "since": since, "waiting": State.pending}
        return [Alert(**row._mapping) for row in act.run(TOLD, facts)]


def open_dates(act: Act, ids: Sequence[int], came: Came) -> list[int]:
    """The open dates of released entries, and what came with them, of their parts, too."""
    return sorted({*(row.id for row in act.run(OPEN_DATES, {"ids": list(ids)})), *came.dates})


def release_drafts(act: Act, import_run_id: int, start: str = NOW) -> Sequence[int]:
    """Watch all drafts of the import. With start `next` nothing is told of what has come already.

    Raises Refused if none is left, and for an import that was entered in error.
    """
    if start not in (NOW, NEXT):
        raise Refused("%(start)s is not a start: write %(now)s or %(next)s.", start=quoted(start), now=NOW, next=NEXT)
    if is_in_error(act, import_run_id):
        raise Refused("This import was entered in error: what is left of it is released entry by entry.")
    facts = {"ids": drafts_of(act, import_run_id), "import_run": import_run_id, "start": start}
    released = [row.subject_id for row in act.run(RELEASE, facts)]
    if not released:
        raise Refused("No draft of this import is left: somebody has released them already.")
    act.record("import_released", import_run_id=import_run_id, start=start, entries=len(released))
    queue(act, released)
    came = open_coming(act, released)
    if start == NEXT:
        dates = open_dates(act, released, came)
        hold_back(act, obligation_ids=dates)
        hold_back_raised(act, dates)  # Of an entry that has come back.
    return released
