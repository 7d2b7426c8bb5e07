"""What a message says, read in the transaction of its lease: so it says what was so when it was last checked."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain import calendars
from app.domain.delivery import State
from app.domain.letters import NAMED_AT_MOST, Contact, Letter, Notice
from app.queries.disowned import DISOWNED_BY
from app.queries.places import IN_PLACES
from app.queries.what_to_do import WHAT_TO_DO
from app.queries.wholes import WHOLE

CONTACTS_AT_MOST = 2  # People to ask; more, and nobody feels asked.

READER = """
select g.name as organisation, g.slug, m.name, m.locale
from member m join organisation g on g.id = m.org_id
where m.org_id = :org and m.id = :member"""

ALERTS = f"""
select l.id as claim_id, l.reference, l.title, {WHOLE}, k.name as kind, p.name as site, p.timezone,
       l.threshold, l.due_on, o.first_due_on, k.wording, x.because, {IN_PLACES} as covers, {DISOWNED_BY},
       k.proof_needed, o.filed_on, o.filed_reference as receipt, {WHAT_TO_DO}
from delivery x
join notification_ledger l on l.org_id = :org and l.id = x.claim_id
join subject s on s.org_id = :org and s.id = l.subject_id
join site p on p.org_id = :org and p.id = s.site_id
join kind k on k.org_id = :org and k.id = s.kind_id
join obligation o on o.org_id = :org and o.id = l.obligation_id
join member m on m.org_id = :org and m.id = x.recipient_id
where x.org_id = :org and x.id = any (cast(:deliveries as bigint[]))
order by l.due_on, l.title, l.id"""

OTHERS = """
select distinct x.claim_id, m.name
from delivery x join member m on m.org_id = :org and m.id = x.recipient_id
where x.org_id = :org and x.claim_id = any (cast(:claims as bigint[])) and x.recipient_id <> :member
  and x.state <> :dropped
order by x.claim_id, m.name"""

# An officer who sees all of it comes before one who is limited to sites; without an officer an admin is asked.
CONTACTS = """
select m.name, m.email
from member m
where m.org_id = :org and m.is_active and m.left_on is null and m.role in ('officer', 'admin') and m.id <> :member
  and m.email is not null
  and (not exists (select from member_site v where v.org_id = :org and v.member_id = m.id)
       or exists (select from member_site v join subject s on s.org_id = :org and s.site_id = v.site_id
                  join notification_ledger l on l.org_id = :org and l.subject_id = s.id
                  where v.org_id = :org and v.member_id = m.id and l.id = any (cast(:claims as bigint[]))))
order by m.role = 'officer' desc, m.id limit :contacts"""


@dataclass(frozen=True)
class Envelope:
    """What only the sender of a message knows of it."""

    recipient_id: int
    address: str
    delivery_ids: Sequence[int]
    message_id: str
    return_address: str
    may_repeat: bool


def read_letter(session: Session, org: int, envelope: Envelope, now: dt.datetime) -> Letter:
    """The facts of the message, as of this transaction; the most urgent alert first."""
    member = {"org": org, "member": envelope.recipient_id}
    reader = session.execute(text(READER), member).one()
    rows = session.execute(text(ALERTS), {"org": org, "deliveries": list(envelope.delivery_ids)}).all()
    claims = {"claims": [row.claim_id for row in rows[:NAMED_AT_MOST]]}
    others: defaultdict[int, list[str]] = defaultdict(list)
    for row in session.execute(text(OTHERS), member | claims | {"dropped": State.cancelled}):
        others[row.claim_id].append(row.name)
    contacts = session.execute(text(CONTACTS), member | claims | {"contacts": CONTACTS_AT_MOST})
    return Letter(
        organisation=reader.organisation,
        slug=reader.slug,
        name=reader.name,
        address=envelope.address,
        locale=reader.locale,
        notices=tuple(
            Notice(
                today=calendars.today(now, row.timezone),
                others=tuple(others[row.claim_id]),
                **row._mapping,
            )
            for row in rows
        ),
        contacts=tuple(Contact(row.name, row.email) for row in contacts),
        message_id=envelope.message_id,
        return_address=envelope.return_address,
        sent_at=now,
        may_repeat=envelope.may_repeat,
    )
