"""Rules: who is told what, how long before a due date, as sentences; a form to make and change them; on and off."""

from __future__ import annotations

from urllib.parse import quote

from flask import Blueprint, abort, make_response, render_template, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.errors import Refused
from app.operations import rules
from app.operations.rules import RefusedRule, RuleText
from app.queries import rules as queries
from app.queries.rule_reach import raised_at_once
from app.queries.rule_versions import read_versions
from app.queries.rules import RuleLine
from app.web import rule_form
from app.web.access import MANAGERS, Visit, for_roles
from app.web.hypermedia import go_to, page_or_fragment, wants_fragment
from app.web.listing import asked_number
from app.web.rule_sentence import recipient_in_words, sentence
from app.web.rule_versions import versions_in_words
from app.web.typed_form import Form, was_done

pages = Blueprint("rules", __name__)

FORM = ("rules/edit.html", "rules/fragments/_form.html")
FIELD_OF = {"subjects": "entries", "name": "name"}


@pages.get("/o/<slug>/rules")
@for_roles(*MANAGERS)
def index(visit: Visit) -> ResponseReturnValue:
    found = queries.rules(visit.act.session, visit.act.org, asked_number("after"))
    return page_or_fragment(
        "rules/index.html", "rules/fragments/_list.html", visit=visit, found=found, sentence=sentence
    )


@pages.get("/o/<slug>/rules/new")
@for_roles(*MANAGERS)
def new(visit: Visit) -> ResponseReturnValue:
    return page_or_fragment(*FORM, visit=visit, form=rule_form.blank(), choices=rule_form.choices(visit), rule=None)


@pages.post("/o/<slug>/rules")
@for_roles(*MANAGERS)
def create(visit: Visit) -> ResponseReturnValue:
    return saved(visit, None)


@pages.get("/o/<slug>/rules/<int:rule_id>")
@for_roles(*MANAGERS)
def show(visit: Visit, rule_id: int) -> ResponseReturnValue:
    rule = found_rule(visit, rule_id)
    at_once = raised_at_once(visit.act.session, visit.act.org, visit.act.now, rule)
    versions = versions_in_words(read_versions(visit.act.session, visit.act.org, rule_id), visit.place.timezone)
    view = {"rule": rule, "at_once": at_once, "sentence": sentence, "recipient": recipient_in_words}
    view |= {"versions": versions}
    return render_template("rules/show.html", visit=visit, **view)


@pages.get("/o/<slug>/rules/<int:rule_id>/edit")
@for_roles(*MANAGERS)
def edit(visit: Visit, rule_id: int) -> ResponseReturnValue:
    rule = found_rule(visit, rule_id)
    form, choices = rule_form.filled(rule), rule_form.choices(visit, rule)
    return page_or_fragment(*FORM, visit=visit, form=form, choices=choices, rule=rule)


@pages.post("/o/<slug>/rules/<int:rule_id>")
@for_roles(*MANAGERS)
def change(visit: Visit, rule_id: int) -> ResponseReturnValue:
    return saved(visit, found_rule(visit, rule_id))


@pages.post("/o/<slug>/rules/<int:rule_id>/switch")
@for_roles(*MANAGERS)
def switch(visit: Visit, rule_id: int) -> ResponseReturnValue:
    """On or off, as the button says; a second press changes nothing."""
    rule, on = found_rule(visit, rule_id), request.form.get("on") == "yes"
    rules.switch(visit.act, rule.name, on)
    if not wants_fragment():
        return go_to(url_for("rules.index", slug=visit.place.slug))
    view = {"rule": found_rule(visit, rule_id), "sentence": sentence}
    response = make_response(render_template("rules/fragments/_rule.html", visit=visit, **view))
    response.headers["X-Said"] = quote(f"The rule {rule.name} is {'on' if on else 'off'} now.")
    return response


def found_rule(visit: Visit, rule_id: int) -> RuleLine:
    return queries.rule(visit.act.session, visit.act.org, rule_id) or abort(404)


def saved(visit: Visit, rule: RuleLine | None) -> ResponseReturnValue:
    """The page of the saved rule, or the form again with what was typed and what is wrong (422)."""
    choices = rule_form.choices(visit, rule)
    form, text = rule_form.typed(visit, choices)
    rule_id = kept(visit, form, text, rule)
    if rule_id is not None:
        return go_to(url_for("rules.show", slug=visit.place.slug, rule_id=rule_id))
    return page_or_fragment(*FORM, status=form.status, visit=visit, form=form, choices=choices, rule=rule)


def kept(visit: Visit, form: Form, text: RuleText, rule: RuleLine | None) -> int | None:
    """The id of the rule that was saved; or None, and the form says why not."""
    seen = form.values["version"]
    version = int(seen) if rule and seen.isdecimal() else None
    made: list[int] = []

    def place(form: Form, refused: Refused) -> None:
        part = refused.part if isinstance(refused, RefusedRule) else ""
        words = refused.reason if isinstance(refused, RefusedRule) else str(refused)
        words = words[:1].upper() + words[1:]
        if part in FIELD_OF:
            form.faults[FIELD_OF[part]] = words
            return
        form.refusal = words
        if part == "version" and rule:  # Seen now: the next press is meant.
            form.values["version"] = str(rule.version)

    def deed() -> None:
        made.append(rules.save(visit.act, text, rule.id if rule else None, version))

    return made[0] if was_done(visit.act, form, deed, place) else None
