"""Organisations, sites, members and posts: who is there, what they may see, and who holds which post.

People are never deleted. A change of a site, a post or a member can change who is told about anything, so each leaves
a queue row for everything.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection
from typing import Any

from sqlalchemy import and_, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain import calendars
from app.domain.acts import Role, Status
from app.domain.errors import Refused, UnusableZone, quoted
from app.domain.folding import fold_address, fold_name
from app.ledger.queue import changed
from app.models import Member, MemberSite, Organisation, Post, Site, SitePost, Subject
from app.operations import accounts, kinds, typed
from app.operations.languages import check_language, of_new_people, set_language
from app.operations.presence import check_here
from app.operations.promises import take_back_promises
from app.operations.typed import iso
from app.trail.act import Act
from app.wording import ENGLISH, later

SLUG = re.compile("[a-z0-9][a-z0-9-]{0,62}")  # A label of an address; RFC 1035 section 2.3.4 gives the length.
COUNTRY = re.compile("[A-Z]{2}")  # ISO 3166-1 alpha-2.
OTHER = "other"  # The kind that each organisation has, for entries that name none.
SITE_NAME = later("The name of the site")
SITE_TAKEN = later("The site %(name)s is there already: choose another name.")


def find_member(act: Act, email: str) -> Member:
    address = fold_address(email)
    query = select(Member).where(Member.org_id == act.org, func.lower(Member.email) == func.lower(address))
    member = act.session.scalars(query).one_or_none()
    if member is None:
        raise Refused("There is no member %(address)s: `onus member add` makes one.", address=quoted(address))
    return member


def find_site(act: Act, name: str) -> Site:
    folded = fold_name(name)
    query = select(Site).where(Site.org_id == act.org, func.lower(Site.name) == func.lower(folded))
    site = act.session.scalars(query).one_or_none()
    if site is None:
        raise Refused("There is no such site %(name)s: `onus site add` makes one.", name=quoted(folded))
    return site


def find_post(act: Act, name: str) -> Post:
    folded = fold_name(name)
    query = select(Post).where(Post.org_id == act.org, func.lower(Post.name) == func.lower(folded))
    post = act.session.scalars(query).one_or_none()
    if post is None:
        raise Refused("There is no such post %(name)s: `onus post add` makes one.", name=quoted(folded))
    return post


def add_organisation(
    session: Session, now: dt.datetime, actor: str, slug: str, name: str, timezone: str, language: str = ENGLISH
) -> int:
    """Insert the organisation alone: no act and no trail can be of one that is not there yet.

    `furnish` does the rest, by an act of this `now` and `actor`, once the transaction acts for it. Its language is that
    of whoever comes new, until they choose another.
    """
    if SLUG.fullmatch(slug) is None:
        raise Refused(
            "%(text)s cannot stand in an address: use lower-case letters, digits and hyphens, at most 63, "
            "a letter or a digit first.",
            text=quoted(slug),
        )
    calendars.check_zone(timezone)
    values = {"slug": slug, "name": typed.one_line(name, later("The name of the organisation")), "timezone": timezone}
    values["locale"] = check_language(language)
    adding = insert(Organisation).values(values).on_conflict_do_nothing().returning(Organisation.id)
    org = session.scalar(adding)
    if org is None:
        raise Refused("The organisation %(name)s is there already: choose another slug.", name=quoted(slug))
    return org


def furnish(act: Act, name: str, timezone: str, country: str | None = None, region: str | None = None) -> int:
    """What a new organisation begins with: one site with its name and zone, and the kind `other`. Returns the site."""
    act.record("organisation_created", organisation_id=act.org, timezone=timezone)
    site_id = add_site(act, name, timezone, country, region)
    kinds.find_or_make(act, [OTHER])
    return site_id


def add_site(act: Act, name: str, timezone: str, country: str | None = None, region: str | None = None) -> int:
    calendars.check_zone(timezone)
    place = place_of(country, region)
    line = typed.one_line(name, SITE_NAME)
    adding = insert(Site).values(org_id=act.org, name=line, timezone=timezone, **place).on_conflict_do_nothing()
    site_id: int | None = act.session.scalar(adding.returning(Site.id))
    if site_id is None:
        raise Refused(SITE_TAKEN, name=quoted(line))
    changed(act)
    act.record("site_created", site_id=site_id, name=line, timezone=timezone, **place)
    return site_id


def place_of(country: str | None, region: str | None) -> dict[str, Any]:
    """Country and region, whose public holidays count at the site."""
    if not country:
        if region:
            raise Refused("The region %(region)s has no country: name it, too.", region=quoted(region))
        return {"country": None, "region": None}
    code = country.strip().upper()
    if COUNTRY.fullmatch(code) is None:
        words = later("%(text)s is not a country: write the two letters of ISO 3166, such as ES.")
        raise Refused(words, text=quoted(country))
    # A misspelt region would silently mean the holidays of the whole country.
    if region and calendars.known_country(code) and not calendars.known_region(code, region):
        words = later("%(region)s is no region of %(country)s whose holidays are known: correct it or leave it out.")
        raise Refused(words, region=quoted(region), country=code)
    return {"country": code, "region": region or None}


def set_site_zone(act: Act, site_id: int, timezone: str) -> bool:
    calendars.check_zone(timezone)
    site = _locked_site(act, site_id)
    old = site.timezone
    if old == timezone:
        return False
    site.timezone = timezone
    changed(act)
    act.record("site_zone_changed", site_id=site_id, old=old, new=timezone)
    return True


def archive_site(act: Act, site_id: int) -> bool:
    site = _locked_site(act, site_id)
    if site.archived_at is not None:
        return False
    site.archived_at = act.now
    changed(act)
    act.record("site_archived", site_id=site_id)
    return True


def archive_unwatched_site(act: Act, site_id: int) -> bool:
    """Archive a site at which nothing is watched. Raises Refused, with how many entries would go off the watch."""
    _locked_site(act, site_id)
    there = (Subject.org_id == act.org, Subject.site_id == site_id, Subject.status == Status.watched)
    watched = act.session.scalars(select(func.count()).select_from(Subject).where(*there)).one()
    if watched:
        if watched == 1:
            raise Refused("1 entry is watched at this site: move or archive it first.")
        raise Refused("%(number)s entries are watched at this site: move or archive them first.", number=watched)
    return archive_site(act, site_id)


def site_today(act: Act, site_id: int) -> dt.date:
    """The date at the site. Raises UnusableZone, never falls back to UTC."""
    zone = act.session.scalars(select(Site.timezone).where(Site.org_id == act.org, Site.id == site_id)).one()
    return calendars.today(act.now, zone)


def known_day(act: Act, site_id: int) -> dt.date:
    """The date at the site, by which it is judged who is here; of UTC where the site has none, which dates no alert."""
    try:
        return site_today(act, site_id)
    except UnusableZone:
        return act.now.date()


def add_member(
    act: Act,
    email: str,
    role: str,
    name: str | None = None,
    password_hash: str | None = None,
    valid_until: dt.date | None = None,
    language: str | None = None,
) -> int:
    """A member with an account: theirs if the address has one, else a new one, by which they can be let in later.

    Whoever is a member without an account gets one, and this role. New people read in this language, else in the
    organisation's. Raises Refused for who has an account here already.
    """
    address, known = fold_address(email), typed.code(Role, role, later("a role"))
    if (there := accounts.member_without_one(act, address)) is not None:
        if language is not None:
            set_language(act, there.id, language, everywhere=False)
        return accounts.welcome(act, there, known, name, password_hash, valid_until)
    # The name of an account that is there already belongs to other organisations, and is not shown to this one (P8).
    shown = typed.one_line(name, later("The name")) if name is not None else address.partition("@")[0]
    locale = check_language(language) if language else of_new_people(act)
    account_id = accounts.joined(act, address, shown, password_hash, locale)
    adding = insert(Member).values(org_id=act.org, account_id=account_id, name=shown, email=address, role=known)
    adding = adding.values(valid_until=valid_until, locale=locale).on_conflict_do_nothing()
    member_id: int | None = act.session.scalar(adding.returning(Member.id))
    if member_id is None:
        raise Refused("%(address)s is a member already: enable them if they are disabled.", address=address)
    changed(act)
    if valid_until is not None:
        changed(act, wake_on=valid_until + calendars.DAY)
    act.record("member_created", member_id=member_id, role=known, valid_until=iso(valid_until))
    return member_id


def disable_member(act: Act, member_id: int) -> bool:
    """Let the member in no more; what they said to be on is nobody's. Raises Refused for the last administrator."""
    keep_an_admin(act, member_id)
    if not _set_active(act, member_id, False, "member_disabled"):
        return False
    take_back_promises(act, member_id)
    return True


def enable_member(act: Act, member_id: int) -> bool:
    return _set_active(act, member_id, True, "member_enabled")


def keep_an_admin(act: Act, leaving: int) -> None:
    """Raise Refused if nobody but this member administers the organisation, now and for good. Two at once take turns.

    Whoever leaves on a day, or is let in until one, administers it no longer than that.
    """
    today = act.now.date()
    stays = and_(Member.left_on.is_(None), Member.valid_until.is_(None)).label("stays")
    admins = select(Member.id, Member.name, stays).where(
        Member.org_id == act.org,
        Member.role == Role.admin,
        Member.is_active,
        Member.left_on.is_(None) | (Member.left_on > today),
        Member.valid_until.is_(None) | (Member.valid_until >= today),
    )
    present = act.session.execute(admins.order_by(Member.id).with_for_update()).all()
    for known in (present, [row for row in present if row.stays]):
        if {row.id for row in known} == {leaving}:
            words = later("%(name)s is the only administrator: make somebody else one first.")
            if len(present) > 1:
                words = later("%(name)s is the only administrator who stays: make somebody else one first.")
            raise Refused(words, name=known[0].name)


def _set_active(act: Act, member_id: int, active: bool, event: str) -> bool:
    member = _locked_member(act, member_id)
    if member.is_active is active:
        return False
    member.is_active = active
    changed(act)
    act.record(event, member_id=member_id)
    return True


def limit_member(act: Act, member_id: int, site_ids: Collection[int]) -> bool:
    """Let the member see these sites only; no site means all of them again."""
    _locked_member(act, member_id)
    old, new = _limits(act, member_id), set(site_ids)
    if old == new:
        return False
    own = (MemberSite.org_id == act.org, MemberSite.member_id == member_id)
    act.session.execute(delete(MemberSite).where(*own, MemberSite.site_id.in_(old - new)))
    act.session.add_all(MemberSite(org_id=act.org, member_id=member_id, site_id=site_id) for site_id in new - old)
    changed(act)
    act.record("member_limited", member_id=member_id, old=sorted(old), new=sorted(new))
    return True


def check_may_see(act: Act, member: Member, site: Site) -> None:
    """Raise Refused if the member is limited to other sites."""
    if not may_see(act, member.id, site.id):
        words = later("%(name)s may not see site %(site)s: widen their sites, or name another.")
        raise Refused(words, name=member.name, site=site.name)


def may_see(act: Act, member_id: int, site_id: int) -> bool:
    limits = _limits(act, member_id)
    return not limits or site_id in limits


def _limits(act: Act, member_id: int) -> set[int]:
    query = select(MemberSite.site_id).where(MemberSite.org_id == act.org, MemberSite.member_id == member_id)
    return set(act.session.scalars(query))


def set_email_alerts(act: Act, member_id: int, wanted: bool) -> bool:
    member = _locked_member(act, member_id)
    if member.email_alerts is wanted:
        return False
    member.email_alerts = wanted
    changed(act)
    act.record("email_alerts_changed", member_id=member_id, old=not wanted, new=wanted)
    return True


def add_post(act: Act, name: str) -> int:
    line = typed.one_line(name, later("The name of the post"))
    adding = insert(Post).values(org_id=act.org, name=line).on_conflict_do_nothing().returning(Post.id)
    post_id = act.session.scalar(adding)
    if post_id is None:
        raise Refused("The post %(name)s is there already: choose another name.", name=quoted(line))
    act.record("post_created", post_id=post_id, name=line)
    return post_id


def assign_post(
    act: Act,
    post_id: int,
    member_id: int,
    site_id: int,
    from_on: dt.date | None = None,
    until_on: dt.date | None = None,
) -> bool:
    """Let the member hold the post at the site, both days included, from the site's today if no day is given.

    Refused for who is gone by the first day, unless it only ends earlier. Several people may hold it at once.
    Periods of one person that overlap are one holding: it keeps the earlier first day and gets the new last day,
    which is how it is ended or prolonged.
    """
    today = site_today(act, site_id)
    first = from_on or today
    if until_on is not None and until_on < first:
        days = {"last": until_on, "first": first}
        raise Refused("The last day %(last)s is before the first day %(first)s: correct one of them.", **days)
    member = _locked_member(act, member_id)
    check_may_see(act, member, _locked_site(act, site_id))
    key = {"org_id": act.org, "site_id": site_id, "post_id": post_id, "member_id": member_id}
    held = _overlapping(act, key, first, until_on)
    if held is None or not _is_shorter(held, until_on):
        check_here(member, first)
    old = None if held is None else [iso(held.from_on), iso(held.until_on)]
    if held is None:
        held = SitePost(**key, from_on=first, until_on=until_on)
        act.session.add(held)
    held.from_on, held.until_on = min(held.from_on, first), until_on
    if old == (new := [iso(held.from_on), iso(held.until_on)]):
        return False
    _wake(act, today, held)
    act.record("post_assigned", post_id=post_id, member_id=member_id, site_id=site_id, old=old, new=new)
    return True


def _is_shorter(held: SitePost, until_on: dt.date | None) -> bool:
    """Whether nobody holds it one day longer by this: so it can be ended for somebody who is gone."""
    return until_on is not None and (held.until_on is None or until_on <= held.until_on)


def end_post(act: Act, post_id: int, member_id: int, site_id: int, from_on: dt.date, until_on: dt.date) -> bool:
    """Let the holding that began on `from_on` end with this day. Raises Refused for a day before it began."""
    key = {"org_id": act.org, "site_id": site_id, "post_id": post_id, "member_id": member_id, "from_on": from_on}
    held = act.session.scalars(select(SitePost).filter_by(**key).with_for_update()).one()
    if until_on < from_on:
        days = {"last": until_on, "first": from_on}
        raise Refused("The last day %(last)s is before the first day %(first)s: correct it.", **days)
    old = [iso(from_on), iso(held.until_on)]
    if held.until_on == until_on:
        return False
    held.until_on = until_on
    _wake(act, site_today(act, site_id), held)
    new = [iso(from_on), iso(until_on)]
    act.record("post_assigned", post_id=post_id, member_id=member_id, site_id=site_id, old=old, new=new)
    return True


def _overlapping(act: Act, key: dict[str, int], first: dt.date, last: dt.date | None) -> SitePost | None:
    query = select(SitePost).filter_by(**key).order_by(SitePost.from_on)
    query = query.where(or_(SitePost.until_on.is_(None), SitePost.until_on >= first))
    if last is not None:
        query = query.where(SitePost.from_on <= last)
    return act.session.scalars(query.limit(1)).one_or_none()


def _wake(act: Act, today: dt.date, held: SitePost) -> None:
    """Everything must be looked at now, when the holding begins, and on the first day after it."""
    changed(act)
    if held.from_on > today:
        changed(act, wake_on=held.from_on)
    if held.until_on is not None and held.until_on >= today:
        changed(act, wake_on=held.until_on + calendars.DAY)


def _locked_member(act: Act, member_id: int) -> Member:
    query = select(Member).where(Member.org_id == act.org, Member.id == member_id).with_for_update()
    return act.session.scalars(query.execution_options(populate_existing=True)).one()


def _locked_site(act: Act, site_id: int) -> Site:
    query = select(Site).where(Site.org_id == act.org, Site.id == site_id).with_for_update()
    return act.session.scalars(query.execution_options(populate_existing=True)).one()
