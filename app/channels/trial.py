"""The test mail, and the mail of a checkpoint: laid out as every mail is, with no link and nothing to answer. Pure."""

from __future__ import annotations

from app.channels import message
from app.channels.addresses import envelope_form
from app.channels.composing import environment, headers_of
from app.channels.message import Composed, one_line
from app.config import Settings
from app.domain.delivery import Outcome, Reply
from app.domain.errors import Refused
from app.domain.letters import Letter
from app.wording import wording_of


def compose_trial(letter: Letter, settings: Settings, note: str | None = None) -> Composed | Reply:
    """The test mail of a letter without alerts, or the checkpoint of this note; or why not, `failed` at `compose`."""
    try:
        return written(letter, settings, note)
    except Refused as refused:
        return Reply(Outcome.failed, "compose", str(refused))
    except Exception as fault:
        return Reply(Outcome.failed, "compose", f"The message could not be put into words ({type(fault).__name__}).")


def written(letter: Letter, settings: Settings, note: str | None) -> Composed:
    recipient, return_address = envelope_form(letter.address), envelope_form(letter.return_address)
    wording, organisation = wording_of(letter.locale), one_line(letter.organisation)
    subject = wording.gettext("[%(organisation)s] Test mail", organisation=organisation)
    if note is not None:
        subject = wording.gettext("[%(organisation)s] Seal of the history, to keep", organisation=organisation)
    view = {"language": wording.language, "subject": subject, "organisation": organisation, "note": note}
    made, stem = environment(wording.language), "trial" if note is None else "checkpoint"
    text, html = (made.get_template(f"{stem}.{kind}").render(view) for kind in ("txt", "html"))
    return Composed(
        recipient=recipient,
        return_address=return_address,
        message_id=letter.message_id,
        sent_at=letter.sent_at,
        subject=subject,
        text=text,
        html=html,
        wire=message.wire(headers_of(letter, settings, recipient, subject), text, html),
    )
