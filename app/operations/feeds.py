"""Calendar feeds: made for a member, read by whoever has the address, revoked for ever.

An address is shown once, to whoever made it: only a hash of it is kept, and the trail never has it.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
from hashlib import sha256

from sqlalchemy import func, or_, select, update

from app.domain.errors import Refused
from app.models import CalendarFeed, Member, Site
from app.operations.people import may_see
from app.trail.act import Act

SECRET_BYTES = 32  # 256 bits: nobody guesses it, so that a plain hash of it is safe to keep.
MOST = 20  # Addresses of one person; more than calendars that anybody has, and a list that can be looked through.
# The organisation's number, without which no row could be looked for behind its wall, and the secret.
TOKEN = re.compile(r"([1-9][0-9]{0,17})\.([A-Za-z0-9_-]{43})", re.ASCII)


def make_feed(act: Act, member_id: int, site_id: int | None = None) -> str:
    """Make an address of the member's own dates, or of those of a site; the token that it ends in. Raises Refused."""
    # Two requests at once stand in line at the member's row, so that the second counts what the first has made.
    act.session.execute(
        select(Member.id).where(Member.org_id == act.org, Member.id == member_id).with_for_update(key_share=True)
    ).one()
    mine = (CalendarFeed.org_id == act.org, CalendarFeed.member_id == member_id, CalendarFeed.revoked_at.is_(None))
    if act.session.execute(select(func.count()).select_from(CalendarFeed).where(*mine)).scalar_one() >= MOST:
        raise Refused(
            "You have %(most)s addresses already: revoke one that is not used any more, then make this one.", most=MOST
        )
    if site_id is not None and not _may_choose(act, member_id, site_id):
        raise Refused("This site cannot be chosen: it is archived, or it is none of yours.")
    token = f"{act.org}.{secrets.token_urlsafe(SECRET_BYTES)}"
    facts = {"member_id": member_id, "site_id": site_id, "created_at": act.now}
    made = CalendarFeed(org_id=act.org, token_sha256=hashed(token), **facts)
    act.session.add(made)
    act.session.flush()
    act.record("calendar_feed_made", feed_id=made.id, member_id=member_id, site_id=site_id)
    return token


def _may_choose(act: Act, member_id: int, site_id: int) -> bool:
    in_use = select(Site.id).where(Site.org_id == act.org, Site.id == site_id, Site.archived_at.is_(None))
    return act.session.execute(in_use).one_or_none() is not None and may_see(act, member_id, site_id)


def revoke_feed(act: Act, member_id: int, feed_id: int) -> bool:
    """Let the address lead nowhere from now on; whether it led somewhere. Raises LookupError if it is not theirs."""
    own = (CalendarFeed.org_id == act.org, CalendarFeed.member_id == member_id, CalendarFeed.id == feed_id)
    if act.session.execute(select(CalendarFeed.id).where(*own)).one_or_none() is None:
        raise LookupError("no such feed")
    revoking = update(CalendarFeed).where(*own, CalendarFeed.revoked_at.is_(None)).values(revoked_at=act.now)
    if act.session.execute(revoking.returning(CalendarFeed.id)).one_or_none() is None:
        return False
    act.record("calendar_feed_revoked", feed_id=feed_id, member_id=member_id)
    return True


def owner_of(act: Act, feed_id: int) -> int | None:
    """Whose feed it is, revoked or not; None where there is none such."""
    this = (CalendarFeed.org_id == act.org, CalendarFeed.id == feed_id)
    return act.session.execute(select(CalendarFeed.member_id).where(*this)).scalar_one_or_none()


def note_reading(act: Act, feed_id: int) -> None:
    """Note that it was read, once a day (UTC), so that its owner sees which address is in use.

    No event: who reads is not known, and it changes nothing that anybody relies on.
    """
    today = dt.datetime.combine(act.now.date(), dt.time(), dt.UTC)
    unread = or_(CalendarFeed.last_read_at.is_(None), CalendarFeed.last_read_at < today)
    this = (CalendarFeed.org_id == act.org, CalendarFeed.id == feed_id, unread)
    act.session.execute(update(CalendarFeed).where(*this).values(last_read_at=act.now))


def organisation_of(token: str) -> int | None:
    """The organisation that the token names, whether there is one or not; None for what is no token."""
    found = TOKEN.fullmatch(token)
    return int(found[1]) if found else None


def hashed(token: str) -> str:
    return sha256(token.encode()).hexdigest()
