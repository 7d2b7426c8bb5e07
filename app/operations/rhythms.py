"""What becomes of the dates ahead when an entry comes in another rhythm: those that the calendar had opened, on which
nobody has acted and that the new rhythm does not have, are closed as entered in error.

So the series opens such a date again if the rhythm is changed back. What is missed stays, as missed; so does whatever a
person opened, moved, filed, proved or answered. One date ahead stays at least, unless another one is open.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain import recurrences
from app.domain.acts import Basis, CloseReason, Outcome
from app.ledger.site_days import read_site_days
from app.operations import obligations
from app.trail.act import Act

SOURCE = "rhythm"  # Of the events that say so.

UNTOUCHED_AHEAD = """
select o.id, o.subject_id, o.due_on, s.recurrence, s.recurrence_basis, s.series_from, s.due_from,
       exists (select from obligation x where x.org_id = :org and x.subject_id = s.id and x.closed_at is null
               and x.id <> o.id and (x.due_on <= d.today or x.due_on < o.due_on)) as has_earlier
from subject s
join unnest(cast(:sites as bigint[]), cast(:todays as date[])) as d (site_id, today) on d.site_id = s.site_id
join obligation o on o.org_id = :org and o.subject_id = s.id and o.closed_at is null and o.due_on > d.today
where s.org_id = :org and s.id = any (cast(:subjects as bigint[]))
  and o.due_on = o.first_due_on and o.filed_on is null and o.follows_id is null
  and exists (select from audit_event e
              where e.org_id = :org and e.subject_id = s.id
                and e.type in ('obligation_opened', 'obligation_reopened')
                and e.detail @> jsonb_build_object('obligation_id', o.id, 'source', 'series'))
  and not exists (select from audit_event e
                  where e.org_id = :org and e.subject_id = s.id and e.type = 'date_moved'
                    and e.detail @> jsonb_build_object('obligation_id', o.id))
  and not exists (select from document p where p.org_id = :org and p.obligation_id = o.id and p.withdrawn_at is null)
  and not exists (select from notification_ledger l
                  join acknowledgement a on a.org_id = :org and a.claim_id = l.id and a.taken_back_at is null
                  where l.org_id = :org and l.obligation_id = o.id)
order by o.subject_id, o.due_on"""


@dataclass(frozen=True)
class Ahead:
    """A date ahead that the calendar opened, and nobody has touched; and what decides whether it stays."""

    obligation_id: int
    due_on: dt.date
    recurrence: str | None
    basis: str | None
    series_from: dt.date | None
    follows: bool
    has_earlier: bool  # Another date of the entry is open before it.

    @property
    def stays(self) -> bool:
        """Whether the rhythm that the entry has now has this date, or it is the one that must stay."""
        if self.recurrence is not None and self.basis == Basis.calendar and self.series_from is not None:
            return recurrences.next_due(self.series_from, self.recurrence, self.due_on - dt.timedelta(1)) == self.due_on
        return not self.has_earlier and not self.follows


def untouched_ahead(act: Act, subject_ids: Sequence[int]) -> list[Ahead]:
    """The dates ahead that the calendar opened for these entries, and on which nobody has acted, in their order."""
    act.session.flush()
    days = {site_id: day.today for site_id, day in read_site_days(act).days.items()}
    facts = {"subjects": list(subject_ids), "sites": list(days), "todays": list(days.values())}
    return [
        Ahead(row.id, row.due_on, row.recurrence, row.recurrence_basis, row.series_from, row.due_from is not None,
              row.has_earlier)
        for row in act.run(UNTOUCHED_AHEAD, facts)
    ]  # fmt: skip


def let_go(act: Act, subject_ids: Sequence[int], note: str = "") -> list[int]:
    """Close what the rhythm that these entries have by now does not have; the obligations. Each leaves its event."""
    going = [one.obligation_id for one in untouched_ahead(act, subject_ids) if not one.stays]
    ours = act.as_part_of(**act.origin, source=SOURCE)
    for obligation_id in going:
        obligations.close(ours, obligation_id, Outcome.entered_in_error, None, CloseReason.replaced, note)
    return going
