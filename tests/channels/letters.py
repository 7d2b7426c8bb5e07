"""Letters for the tests of the channels: one function a noun, everything else by keyword."""

from __future__ import annotations

import datetime as dt
import email
import email.policy
from email.message import EmailMessage
from pathlib import Path
from uuid import UUID

from app.channels.composing import compose
from app.channels.message import Composed
from app.channels.returns import sign_return
from app.config import Settings
from app.domain.letters import Contact, Letter, Notice

TODAY = dt.date(2027, 3, 5)
SENT_AT = dt.datetime(2027, 3, 5, 7, 0, 4, tzinfo=dt.UTC)
SETTINGS = Settings(home=Path("nowhere"), secret_key="a key for tests", base_url="https://onus.acme.example")
ANA = Contact("Ana Ficticia", "ana@acme.example")


def notice(days: int = 7, **facts: object) -> Notice:
    """An alert about something that falls due in so many days."""
    due_on = TODAY + dt.timedelta(days)
    given: dict[str, object] = {
        "claim_id": 41,
        "reference": "VIT-4.2",
        "title": "Discharge sample, point V-2",
        "whole": None,
        "kind": "Sample",
        "site": "Vitoria",
        "timezone": "Europe/Madrid",
        "threshold": "7d",
        "due_on": due_on,
        "first_due_on": due_on,
        "today": TODAY,
        "wording": "falls_due",
        "what_to_do": "Take 2 litres in the blue bottle to reception before 14:00.",
        "because": "owner",
    }
    return Notice(**(given | facts))  # type: ignore[arg-type]


def letter(*notices: Notice, **facts: object) -> Letter:
    """A letter to Bruno about these alerts; about one if none is given."""
    given: dict[str, object] = {
        "organisation": "Acme",
        "slug": "acme",
        "name": "Bruno Supuesto",
        "address": "bruno@acme.example",
        "locale": "en",
        "notices": notices or (notice(),),
        "contacts": (ANA,),
        "message_id": "<5.41@onus.acme.example>",
        "return_address": sign_return(SETTINGS, 7, UUID(int=41)),
        "sent_at": SENT_AT,
    }
    return Letter(**(given | facts))  # type: ignore[arg-type]


def composed(*notices: Notice, **facts: object) -> Composed:
    """The message of `letter(…)`, which must be one."""
    found = compose(letter(*notices, **facts), SETTINGS)
    assert isinstance(found, Composed), found
    return found


def to(address: str) -> Composed:
    return composed(address=address)


def parsed(wire: bytes | str) -> EmailMessage:
    """What a mail program reads."""
    octets = wire.encode("utf-8", "surrogateescape") if isinstance(wire, str) else wire
    found = email.message_from_bytes(octets, policy=email.policy.default)
    assert isinstance(found, EmailMessage)
    assert not found.defects
    return found


def body(message: EmailMessage, kind: str) -> str:
    """The words of one form, with newlines."""
    part = message.get_body((kind,))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")
