"""Asking for a test mail. The scheduler sends it: here the wish is written, and nothing speaks to a mail server."""

from __future__ import annotations

from sqlalchemy import func, select

from app.config import Settings
from app.domain.errors import Refused
from app.domain.trials import ONE_EVERY
from app.models import MailTrial, Member
from app.trail.act import Act

NO_SERVER = "No mail server is set up, so no test mail can be sent: whoever runs Onus sets ONUS_SMTP_URL first."
NO_ADDRESS = "This person has no e-mail address: an administrator adds one under People, then a test mail can be sent."
NOT_PRESENT = "This person is not active, so no mail goes to them: name somebody who is."
TOO_SOON = "A test mail was asked for less than a minute ago: look what became of it, and ask again after a minute."


def ask_for_trial(act: Act, member_id: int, chosen: Settings) -> int:
    """Ask for one test mail to the member's own address; its id. At most one a minute a member, also from two pages
    at once. Raises Refused."""
    if chosen.smtp_url is None:
        raise Refused(NO_SERVER)
    # Two requests at once stand in line at the member's row, so that the second sees what the first has asked.
    locked = select(Member.email, Member.is_active).where(Member.org_id == act.org, Member.id == member_id)
    member = act.session.execute(locked.with_for_update(key_share=True)).one()
    if not member.is_active:
        raise Refused(NOT_PRESENT)
    if not member.email:
        raise Refused(NO_ADDRESS)
    of_member = (MailTrial.org_id == act.org, MailTrial.member_id == member_id, MailTrial.note.is_(None))
    last = act.session.execute(select(func.max(MailTrial.asked_at)).where(*of_member)).scalar()
    if last is not None and act.now - last < ONE_EVERY:
        raise Refused(TOO_SOON)
    asked = MailTrial(org_id=act.org, member_id=member_id, asked_at=act.now)
    act.session.add(asked)
    act.session.flush()
    act.record("mail_trial_asked", trial_id=asked.id, member_id=member_id)
    return asked.id
