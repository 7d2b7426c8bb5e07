"""Checkpoints by mail: asked for once a day and member, by the constraint `checkpoint_mailed_once`, however often it is
tried. From then on each goes the way of a test mail (`trials.py`): at most one hand-over, and never a second one."""

from __future__ import annotations

import datetime as dt

from app.trail.act import Act

# By UTC, as the days of the seal are. The newest checkpoint of the moment is the one that is sent.
ASK = """
insert into mail_trial (org_id, member_id, asked_at, checkpoint_on, note)
select m.org_id, m.id, :now, cast(:day as date), c.note
from member m
cross join (select note from audit_checkpoint where org_id = :org order by size desc limit 1) c
where m.org_id = :org and m.daily_checkpoint and m.is_active and m.email is not null
  and (m.left_on is null or m.left_on > cast(:day as date))
order by m.id
on conflict on constraint checkpoint_mailed_once do nothing
returning id, member_id"""


def ask_for_checkpoints(act: Act) -> int:
    """Ask for the mails of today that nobody has asked for yet; how many."""
    day = act.now.astimezone(dt.UTC).date()
    rows = act.run(ASK, {"day": day}).all()
    for row in rows:
        act.record("checkpoint_mail_asked", trial_id=row.id, member_id=row.member_id, day=day.isoformat())
    return len(rows)
