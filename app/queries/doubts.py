"""Messages in doubt, with what evidence there is of each; one line a message, however many alerts it named."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.delivery import State

# Deliveries that went as one message have one token, and one line here.
DOUBTS = """
select min(x.id) as id, max(x.message_id) as message_id, m.name as recipient, max(x.sent_to) as sent_to,
       max(x.handed_over_at) as handed_over_at, max(x.reason) as reason, max(x.last_reply) as reply,
       bool_or(y.seen_at is not null) as opened_in_app,
       array_agg(l.reference || ' ' || l.title order by l.due_on, l.id) as alerts
from delivery x
join notification_ledger l on l.org_id = :org and l.id = x.claim_id
join member m on m.org_id = :org and m.id = x.recipient_id
left join delivery y on y.org_id = :org and y.claim_id = x.claim_id and y.recipient_id = x.recipient_id
     and y.channel = 'in_app' and y.state = :arrived
where x.org_id = :org and x.state = :doubtful and x.resolution is null
group by coalesce(cast(x.lease_token as text), cast(x.id as text)), m.name
order by max(x.handed_over_at), min(x.id)"""


@dataclass(frozen=True)
class Doubt:
    """One message that may have been sent. `id` is that of one of its deliveries; any of them names the message."""

    id: int
    message_id: str | None
    recipient: str
    sent_to: str | None
    handed_over_at: dt.datetime | None
    reason: str | None
    reply: str | None
    opened_in_app: bool
    alerts: list[str]


def read_doubts(session: Session, org: int) -> list[Doubt]:
    """All doubts of the organisation that nobody has decided about, the oldest first."""
    facts = {"org": org, "doubtful": State.in_doubt, "arrived": State.delivered}
    return [Doubt(**row) for row in session.execute(text(DOUBTS), facts).mappings()]
