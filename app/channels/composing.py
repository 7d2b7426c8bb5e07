"""Composing: a letter becomes a message, in the reader's language, as plain text and as HTML. Pure; sends nothing.

A message holds no image, nothing from outside, and no link but to pages of Onus, which change nothing by being opened.
"""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from app.channels import message
from app.channels.addresses import envelope_form
from app.channels.message import Composed, encoded, mailbox, one_line
from app.channels.sentences import Sentences, Told
from app.config import Settings, beside
from app.domain.delivery import Outcome, Reply
from app.domain.errors import Refused, quoted
from app.domain.letters import NAMED_AT_MOST, Letter
from app.wording import languages, wording_of

TEMPLATES = ("letter.txt", "letter.html")
OTHERS = ("trial.txt", "trial.html")  # Laid out by `trial.py`.
BUTTONS_AT_MOST = 5  # Alerts that have the four buttons; with more, each has one link, and the mail stays readable.
LONGEST_ID = 250  # Octets of a Message-ID: it stands on a line of its own.


def compose(letter: Letter, settings: Settings) -> Composed | Reply:
    """The message of a letter; the same letter gives the same bytes.

    A letter that cannot be a message is a Reply, `failed` at `compose`, with the reason: one of them must not stop the
    others, so whatever goes wrong with one letter ends here.
    """
    try:
        return written(letter, settings)
    except Refused as refused:
        return Reply(Outcome.failed, "compose", str(refused))
    except Exception as fault:
        return Reply(Outcome.failed, "compose", f"The message could not be put into words ({type(fault).__name__}).")


def prepare() -> None:
    """Read templates and catalogues now, so that a broken installation shows at the start, and not in every message."""
    for language in languages():
        for name in (*TEMPLATES, *OTHERS):
            environment(language).get_template(name)


def written(letter: Letter, settings: Settings) -> Composed:
    recipient, return_address = envelope_form(letter.address), envelope_form(letter.return_address)
    sentences = Sentences(wording_of(letter.locale))
    subject = sentences.subject(letter)
    view = laid_out(letter, settings, sentences, subject)
    text, html = (environment(sentences.wording.language).get_template(name).render(view) for name in TEMPLATES)
    headers = headers_of(letter, settings, recipient, subject)
    return Composed(
        recipient=recipient,
        return_address=return_address,
        message_id=letter.message_id,
        sent_at=letter.sent_at,
        subject=subject,
        text=text,
        html=html,
        wire=message.wire(headers, text, html),
    )


def laid_out(letter: Letter, settings: Settings, sentences: Sentences, subject: str) -> dict[str, object]:
    """What the templates show."""
    inbox = f"{settings.links_to()}/o/{letter.slug}/inbox"
    told = [sentences.told(notice) for notice in letter.notices[:NAMED_AT_MOST]]
    replies_to = answered_by(letter)
    return {
        "language": sentences.wording.language,
        "subject": subject,
        "organisation": one_line(letter.organisation),
        "told": told,
        "links": {one.claim_id: link(inbox, one) for one in told},
        "has_buttons": len(told) <= BUTTONS_AT_MOST,
        "counted": sentences.counted(letter) if len(letter.notices) > 1 else None,
        "unnamed": sentences.unnamed(letter),
        "inbox": inbox,
        "ask": sentences.ask(letter.contacts),
        "replies_to": one_line(replies_to[0]) if replies_to else None,
        "may_repeat": letter.may_repeat,
    }


def link(inbox: str, told: Told) -> str:
    return f"{inbox}/{told.claim_id}"


def headers_of(letter: Letter, settings: Settings, recipient: str, subject: str) -> list[tuple[str, str]]:
    """Folded and encoded. One address in To; replies go to the first person who may be asked."""
    name, address = settings.mail_sender()
    sender = name or f"{one_line(letter.organisation)} (Onus)"
    headers = [
        ("From", mailbox(sender, address, "From")),
        ("To", mailbox(one_line(letter.name), recipient, "To")),
        ("Subject", encoded(subject, "Subject")),
        ("Date", message.date(letter.sent_at)),
        ("Message-ID", checked_id(letter.message_id)),
        ("Auto-Submitted", "auto-generated"),  # RFC 3834: whoever is away need not say so.
        ("X-Auto-Response-Suppress", "All"),  # The same for Exchange.
    ]
    replies_to = answered_by(letter)
    return (
        [*headers, ("Reply-To", mailbox(one_line(replies_to[0]), replies_to[1], "Reply-To"))] if replies_to else headers
    )


def answered_by(letter: Letter) -> tuple[str, str] | None:
    """The first contact with a usable ASCII address who is not the reader: a reply reaches a person."""
    for contact in letter.contacts:
        try:
            address = envelope_form(contact.address or "")
        except Refused:
            continue
        if address.isascii() and address.casefold() != letter.address.strip().casefold():
            return contact.name, address
    return None


def checked_id(message_id: str) -> str:
    inner = message_id[1:-1]
    framed = message_id == f"<{inner}>" and inner.count("@") == 1 and len(message_id) <= LONGEST_ID
    if not framed or not inner.isascii() or not inner.isprintable() or any(char in " <>" for char in inner):
        raise Refused(f"{quoted(message_id)} is not a Message-ID.")
    return message_id


@cache
def environment(language: str) -> Environment:
    """The templates in one language. HTML is escaped, plain text is not; what is missing is a fault, not a blank."""
    made = Environment(
        loader=FileSystemLoader(beside("templates") / "mail"),
        autoescape=select_autoescape(["html"], default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.install_gettext_translations(wording_of(language).translations, newstyle=True)  # type: ignore[attr-defined]
    return made
