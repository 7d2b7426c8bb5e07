"""In which language a person reads: a member here, and their login on the pages outside any organisation.

The organisation's is that of whoever comes new.
"""

from __future__ import annotations

from sqlalchemy import select, update

from app.domain.errors import Refused, quoted
from app.models import Account, Member, Organisation
from app.trail.act import Act
from app.wording import languages


def check_language(text: str) -> str:
    """Raises Refused for a language without a catalogue."""
    language = text.strip().lower()
    if language not in languages():
        known = ", ".join(sorted(languages()))
        raise Refused("Onus does not speak %(language)s: choose one of %(known)s.", language=quoted(text), known=known)
    return language


def of_new_people(act: Act) -> str:
    return act.session.scalars(select(Organisation.locale).where(Organisation.id == act.org)).one()


def of_member(act: Act, member_id: int) -> str:
    return act.session.scalars(select(Member.locale).where(Member.org_id == act.org, Member.id == member_id)).one()


def set_language(act: Act, member_id: int, language: str, *, everywhere: bool = True) -> bool:
    """Pages and messages of the member are in this language from now on; so is what the login sees `everywhere` else.

    A login belongs to other organisations, too: none but the person, or who runs Onus, speaks for them all (P8).
    """
    query = select(Member).where(Member.org_id == act.org, Member.id == member_id).with_for_update()
    member = act.session.scalars(query.execution_options(populate_existing=True)).one()
    new, old = check_language(language), member.locale
    if everywhere and member.account_id is not None:
        act.session.execute(update(Account).where(Account.id == member.account_id).values(locale=new))
    if new == old:
        return False
    member.locale = new
    act.record("language_changed", member_id=member_id, old=old, new=new)
    return True
