"""The posts: functions at a site, such as plant manager, and who holds one from a day until a day."""

from __future__ import annotations

import datetime as dt

from flask import abort, render_template, url_for
from flask.typing import ResponseReturnValue

from app.operations import people as operations
from app.operations import typed
from app.operations.posts_above import set_post_above
from app.queries import settings as queries
from app.queries.settings import PostLine
from app.web.access import MANAGERS, Visit, for_roles
from app.web.hypermedia import go_to, page_or_fragment
from app.web.listing import asked_number
from app.web.settings_area import ADMINS, back_to, form_page, or_404, pages
from app.web.typed_form import Form, beside, day_of, sent, was_done
from app.wording import gettext, later

ADD, ASSIGN = "settings/fragments/_post_form.html", "settings/fragments/_assign_form.html"
FIELDS = ("site", "member", "from_on", "until_on")


@pages.get("/o/<slug>/settings/posts")
@for_roles(*MANAGERS)
def posts(visit: Visit) -> ResponseReturnValue:
    found = queries.posts(visit.act.session, visit.act.org, visit.act.now, asked_number("after"))
    return render_template("settings/posts.html", visit=visit, found=found, form=Form({"name": ""}))


@pages.post("/o/<slug>/settings/posts")
@for_roles(*ADMINS)
def add_post(visit: Visit) -> ResponseReturnValue:
    form = sent("name")
    form.check("name", typed.one_line, form.values["name"], later("The name of the post"))
    if was_done(visit.act, form, lambda: operations.add_post(visit.act, form.values["name"]), beside("name")):
        return back_to(visit, "posts")
    return form_page(visit, ADD, gettext("Add a post"), form)


@pages.get("/o/<slug>/settings/posts/<int:post_id>")
@for_roles(*MANAGERS)
def post(visit: Visit, post_id: int) -> ResponseReturnValue:
    return post_page(visit, Form({}), found_post(visit, post_id))


@pages.post("/o/<slug>/settings/posts/<int:post_id>/assign")
@for_roles(*ADMINS)
def assign_post(visit: Visit, post_id: int) -> ResponseReturnValue:
    found, form, act = found_post(visit, post_id), sent(*FIELDS), visit.act
    site_id = chosen(form, "site", queries.site_names(act.session, act.org), gettext("Choose the site."))
    member_id = chosen(form, "member", queries.member_names(act.session, act.org), gettext("Choose who holds it."))
    days = [form.check(name, holding_day, form.values[name]) for name in ("from_on", "until_on")]
    if was_done(act, form, lambda: operations.assign_post(act, post_id, member_id, site_id, *days)):
        return shown(visit, post_id)
    return post_page(visit, form, found)


@pages.post("/o/<slug>/settings/posts/<int:post_id>/end")
@for_roles(*ADMINS)
def end_post(visit: Visit, post_id: int) -> ResponseReturnValue:
    """End the one holding that the form names, with the day that was chosen."""
    found, form, act = found_post(visit, post_id), sent("site", "member", "from_on", "until_on"), visit.act
    held = next((one for one in found.holdings if key_of(one) == tuple(form.values[n] for n in FIELDS[:3])), None)
    holding = or_404(held)
    until = form.check("until_on", holding_day, form.values["until_on"]) or holding.today or holding.from_on
    key = (post_id, holding.member_id, holding.site_id, holding.from_on)
    if was_done(act, form, lambda: operations.end_post(act, *key, until)):
        return shown(visit, post_id)
    form.refusal = form.refusal or form.faults.pop("until_on")
    return post_page(visit, Form({}, refusal=form.refusal), found)


@pages.post("/o/<slug>/settings/posts/<int:post_id>/above")
@for_roles(*ADMINS)
def put_above(visit: Visit, post_id: int) -> ResponseReturnValue:
    """The post that is told of what is nobody's of this one; an empty choice means none."""
    found, form, act = found_post(visit, post_id), sent("above"), visit.act
    offered = queries.post_names(act.session, act.org)
    above_id = chosen(form, "above", offered, "") if form.values["above"] else None
    if was_done(act, form, lambda: set_post_above(act, post_id, above_id), beside("above")):
        return shown(visit, post_id)
    return post_page(visit, form, found)


def key_of(holding: queries.Holding) -> tuple[str, str, str]:
    return str(holding.site_id), str(holding.member_id), holding.from_on.isoformat()


def shown(visit: Visit, post_id: int) -> ResponseReturnValue:
    return go_to(url_for("settings.post", slug=visit.place.slug, post_id=post_id))


def found_post(visit: Visit, post_id: int) -> PostLine:
    return or_404(queries.post(visit.act.session, visit.act.org, visit.act.now, post_id))


def post_page(visit: Visit, form: Form, found: PostLine) -> ResponseReturnValue:
    """The page has several forms: what was not sent shows what is so."""
    form.values = {**dict.fromkeys(FIELDS, ""), "above": str(found.above_id or ""), **form.values}
    posts = queries.post_names(visit.act.session, visit.act.org)
    offered = {
        "posts": [(id_, name) for id_, name in posts.items() if id_ != found.id],
        "sites": list(queries.site_names(visit.act.session, visit.act.org).items()),
        "members": list(queries.member_names(visit.act.session, visit.act.org).items()),
    }
    page = ("settings/post.html", "settings/fragments/_post.html")
    return page_or_fragment(*page, form.status, visit=visit, form=form, post=found, offered=offered)


def chosen(form: Form, name: str, offered: dict[int, str], words: str) -> int:
    """The id that was chosen; one that was not on the page is not there: 404. None is a fault of the field."""
    given = form.values[name]
    if not given:
        form.faults[name] = words
        return 0
    return int(given) if given.isdecimal() and int(given) in offered else abort(404)


def holding_day(text: str) -> dt.date | None:
    day = day_of(text)
    return None if day is None else typed.register_day(day, later("The day"))
