"""What one e-mail says: one person, one or several alerts, as facts. The words and the form belong to `app/channels`.

Must not look anything up. Dates are dates of the alert's own site; days left are counted on the day of sending.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from app.domain.thresholds import asked_on

NAMED_AT_MOST = 50  # Alerts named in one message; the rest is counted and linked.


@dataclass(frozen=True)
class Notice:
    """One alert as it is told. `wording` is `expires` or `falls_due`; `because` the code of the route to the reader."""

    claim_id: int
    reference: str
    title: str
    whole: str | None  # The reference and the title of the entry that this one is part of.
    kind: str
    site: str
    timezone: str
    threshold: str
    due_on: dt.date
    first_due_on: dt.date
    today: dt.date
    wording: str
    what_to_do: str
    because: str
    proof_needed: bool = False  # To close it as done.
    filed_on: dt.date | None = None  # With the authority, and its receipt.
    receipt: str | None = None
    covers: str | None = None  # In whose place the reader is told, by name.
    disowned_by: str | None = None  # Who said that it is not theirs, where the post above is told.
    others: tuple[str, ...] = ()  # Who else was told, by name.

    @property
    def asked_on(self) -> dt.date | None:
        """The day to ask the authority again, if that is what is told; the due date is not what matters then."""
        return asked_on(self.threshold)

    @property
    def days_left(self) -> int:
        """Whole days until it is due, on the day of sending; negative once it is past."""
        return (self.due_on - self.today).days


@dataclass(frozen=True)
class Contact:
    """Somebody whom the reader may ask."""

    name: str
    address: str | None


@dataclass(frozen=True)
class Letter:
    """One message to one person. Its notices are those of one lease, the most urgent first; none may join later."""

    organisation: str
    slug: str
    name: str
    address: str
    locale: str
    notices: tuple[Notice, ...]
    contacts: tuple[Contact, ...]
    message_id: str  # With its angle brackets; a message that is sent again keeps the one of its original.
    return_address: str  # The signed address to which a refusal comes back.
    sent_at: dt.datetime  # Aware, UTC.
    may_repeat: bool = False  # A person had it sent again: the reader may have it already.
