"""Who is offered as responsible or holder of an entry, as the options of a field; chosen ones are checked again."""

from __future__ import annotations

from app.queries.entry import Entry
from app.queries.register_choices import Candidate, read_candidates, read_posts
from app.queries.sight import SiteDay
from app.web.access import Visit
from app.web.entry_fields import Options
from app.web.typed_form import Form
from app.wording import gettext

MEMBER, POST = "member", "post"


def candidates_for(visit: Visit, sites: list[SiteDay]) -> list[Candidate]:
    """The members who are there today and may see one of the sites."""
    todays = [site.today for site in sites if site.today is not None] or [visit.act.now.date()]
    return read_candidates(visit.act.session, visit.act.org, min(todays), [site.id for site in sites])


def holders(people: list[Candidate], entry: Entry | None = None) -> Options:
    """Members; the present holder stays one of them, so that saving without a change changes nothing."""
    found = [(str(one.id), one.name) for one in people]
    if entry is not None and entry.holder_id is not None and entry.holder_id not in {one.id for one in people}:
        found.append((str(entry.holder_id), gone(entry.holder)))
    return found


def responsibles(visit: Visit, people: list[Candidate], entry: Entry | None = None) -> Options:
    """Members, and posts: whoever holds one at the site."""
    found = [(f"{MEMBER}:{one.id}", one.name) for one in people]
    posts = read_posts(visit.act.session, visit.act.org)
    found += [(f"{POST}:{post.id}", gettext("%(post)s (post: whoever holds it)", post=post.name)) for post in posts]
    present = responsible_of(entry) if entry is not None else ""
    if present and entry is not None and present not in {value for value, _ in found}:
        found.append((present, gone(entry.line.owner)))
    return found


def gone(name: str | None) -> str:
    return gettext("%(name)s (no longer here)", name=name)


def responsible_of(entry: Entry) -> str:
    """Who is responsible, as a field has it."""
    if entry.owner_member_id is not None:
        return f"{MEMBER}:{entry.owner_member_id}"
    return f"{POST}:{entry.owner_post_id}" if entry.owner_post_id is not None else ""


def owner_of(chosen: str) -> dict[str, int]:
    """What was chosen, as the argument of `register.assign`; nobody is nothing."""
    route, _, number = chosen.partition(":")
    if not number:
        return {}
    return {"member_id" if route == MEMBER else "post_id": int(number)}


def check_site(form: Form, people: list[Candidate], site: SiteDay) -> None:
    """Whoever is chosen must be able to see the site that is chosen with them."""
    names = {one.id: one.name for one in people if not one.may_see(site.id)}
    member_id = owner_of(str(form.values["responsible"])).get("member_id")
    if member_id in names:
        form.faults["responsible"] = not_there(names[member_id], site)
    holder = str(form.values["holder"])
    if holder and int(holder) in names:
        form.faults["holder"] = not_there(names[int(holder)], site)


def not_there(name: str, site: SiteDay) -> str:
    return gettext("%(name)s may not see %(site)s: choose somebody else.", name=name, site=site.name)
