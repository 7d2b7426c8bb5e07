"""Whom a rule would tell, and whom not, before it is saved: it is saved for real, looked at, and taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask import render_template
from flask.typing import ResponseReturnValue

from app.operations.rules import RuleText
from app.operations.undone import undone
from app.queries import rule_foresight
from app.queries.foretold import Difference, Foretold
from app.queries.rule_foresight import Named, Outlook
from app.queries.rules import RuleLine
from app.web import rule_form
from app.web.access import MANAGERS, Visit, for_roles
from app.web.hypermedia import page_or_fragment
from app.web.rules import FORM, found_rule, kept, pages
from app.web.typed_form import Form

SHOWN = 20  # Lines of each list.


@dataclass(frozen=True)
class Preview:
    """What the page shows: lists that are cut, with how many they have in all."""

    outlook: Outlook
    changes: Difference | None
    named: Named

    @staticmethod
    def cut(alerts: Sequence[Any]) -> Sequence[Any]:
        return alerts[:SHOWN]

    @staticmethod
    def people(alerts: Sequence[Foretold]) -> int:
        return len({person for one in alerts for person in one.people})


def preview_of(visit: Visit, outlook: Outlook, before: Outlook | None = None) -> Preview:
    changes = rule_foresight.compared(before, outlook)
    lists = [outlook.now, outlook.soon, outlook.later, outlook.nobody, *outlook.quiet.values()]
    if changes:
        lists += [list(changes.added), list(changes.dropped), [one for pair in changes.moved[:SHOWN] for one in pair]]
    shown = [one for alerts in lists for one in alerts[: 2 * SHOWN]]
    return Preview(outlook, changes, rule_foresight.read_names(visit.act.session, visit.act.org, shown))


def outlook_of(visit: Visit, rule_id: int, since: int | None = None) -> Outlook:
    session, org = visit.act.session, visit.act.org
    last = rule_foresight.last_claim(session, org) if since is None else since
    return rule_foresight.read_outlook(session, org, rule_id, visit.act.now, visit.today, last)


@pages.get("/o/<slug>/rules/<int:rule_id>/preview")
@for_roles(*MANAGERS)
def preview(visit: Visit, rule_id: int) -> ResponseReturnValue:
    """The days ahead of a rule as it stands."""
    rule = found_rule(visit, rule_id)
    return render_template(
        "rules/preview.html", visit=visit, rule=rule, preview=preview_of(visit, outlook_of(visit, rule_id))
    )


@pages.post("/o/<slug>/rules/preview")
@for_roles(*MANAGERS)
def preview_new(visit: Visit) -> ResponseReturnValue:
    return tried(visit, None)


@pages.post("/o/<slug>/rules/<int:rule_id>/preview")
@for_roles(*MANAGERS)
def preview_change(visit: Visit, rule_id: int) -> ResponseReturnValue:
    return tried(visit, found_rule(visit, rule_id))


def tried(visit: Visit, rule: RuleLine | None) -> ResponseReturnValue:
    """The form as it was filled in, with what saving it would bring."""
    choices = rule_form.choices(visit, rule)
    form, text = rule_form.typed(visit, choices)
    found = foreseen(visit, form, text, rule)
    view = {"visit": visit, "form": form, "choices": choices, "rule": rule, "preview": found}
    return page_or_fragment(*FORM, status=form.status, **view)


def foreseen(visit: Visit, form: Form, text: RuleText, rule: RuleLine | None) -> Preview | None:
    """None where the form is wrong, and says how."""
    since = rule_foresight.last_claim(visit.act.session, visit.act.org)
    before = outlook_of(visit, rule.id, since) if rule and rule.is_active else None
    after: list[Outlook] = []
    with undone(visit.act):
        rule_id = kept(visit, form, text, rule)
        if rule_id is not None:
            after.append(outlook_of(visit, rule_id, since))
    return preview_of(visit, after[0], before) if after else None
