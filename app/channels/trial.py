"""The test mail: put into words and laid out as every mail is, with no link and nothing to answer. Pure."""

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


def compose_trial(letter: Letter, settings: Settings) -> Composed | Reply:
    """The test mail of a letter without alerts; or why it cannot be one, `failed` at `compose`."""
    try:
        return written(letter, settings)
    except Refused as refused:
        return Reply(Outcome.failed, "compose", str(refused))
    except Exception as fault:
        return Reply(Outcome.failed, "compose", f"The message could not be put into words ({type(fault).__name__}).")


def written(letter: Letter, settings: Settings) -> Composed:
    recipient, return_address = envelope_form(letter.address), envelope_form(letter.return_address)
    wording, organisation = wording_of(letter.locale), one_line(letter.organisation)
    subject = wording.gettext("[%(organisation)s] Test mail", organisation=organisation)
    view = {"language": wording.language, "subject": subject, "organisation": organisation}
    made = environment(wording.language)
    text, html = (made.get_template(name).render(view) for name in ("trial.txt", "trial.html"))
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
