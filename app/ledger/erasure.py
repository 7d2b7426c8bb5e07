"""A person who is forgotten, in the ledger: to which address a message went, its words, and what a server said of it.

That there was a message, when, by which route and with what outcome stays.
"""

from __future__ import annotations

from app.trail.act import Act

# Servers repeat the address in their answers.
ADDRESS = "[^\\s<>]+@[^\\s<>]+"
FORGET_DELIVERIES = """
update delivery set sent_to = case when sent_to is not null then :name end,
                    last_reply = regexp_replace(last_reply, :address, :name, 'g')
where org_id = :org and recipient_id = :member and (sent_to is not null or last_reply is not null)"""
FORGET_ATTEMPTS = """
update delivery_attempt a set reply = regexp_replace(a.reply, :address, :name, 'g')
from delivery d where d.org_id = :org and d.recipient_id = :member and a.org_id = :org and a.delivery_id = d.id"""
FORGET_TRIALS = """
update mail_trial set sent_to = case when sent_to is not null then :name end,
                      reply = regexp_replace(reply, :address, :name, 'g')
where org_id = :org and member_id = :member"""
FORGET_MESSAGES = """
update mail_message set sent_to = :name, body = :name where org_id = :org and recipient_id = :member"""


def forget_in_messages(act: Act, member_id: int, name: str) -> int:
    """Put the new name in place of the person's address and of the words sent to them; how many messages there were."""
    facts = {"member": member_id, "name": name}
    for statement in (FORGET_DELIVERIES, FORGET_ATTEMPTS, FORGET_TRIALS):
        act.run(statement, facts | {"address": ADDRESS})
    return int(act.run(FORGET_MESSAGES, facts).rowcount)
