"""One act upon many entries of the register: choose them, say what, see what it would do, do just that.

Each step is a form that carries the choice, so that all of it works without script; nothing is written before the last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flask import abort, request, url_for
from flask.typing import ResponseReturnValue

from app.operations import batch_acts
from app.operations.batch_acts import Foresight
from app.operations.batch_plan import Order
from app.queries.batches import Batch, read_batch, read_chosen
from app.web import register
from app.web.access import MANAGERS, READERS, Visit, for_roles
from app.web.batch_choice import Choice, chosen
from app.web.batch_deeds import BATCH_DEEDS, LEFT, OF_ACT, BatchDeed, change_of, read_order
from app.web.entry_fields import place, read_form
from app.web.hypermedia import go_to, page_or_fragment
from app.web.paper_acts import sent_proof
from app.web.register import asked, number, read_filters
from app.web.typed_form import Form, was_done
from app.words import word

pages = register.pages

SHOWN = 200  # Entries, and alerts, that the page of a batch lists of each sort; the figures count all of them.
SEE = "see"


@dataclass(frozen=True)
class Called:
    """A choice, the act that is meant, and what was typed."""

    name: str
    deed: BatchDeed
    choice: Choice
    form: Form
    fields: Any

    @property
    def visit(self) -> Visit:
        return self.choice.visit


@pages.post("/o/<slug>/register/batch")
@for_roles(*MANAGERS)
def batch_chosen(visit: Visit) -> ResponseReturnValue:
    """What is chosen, and what can be done to it."""
    choice = chosen(visit)
    pair = ("register/batch.html", "register/fragments/_batch.html")
    view: dict[str, Any] = {"visit": visit, "choice": choice, "deeds": BATCH_DEEDS}
    return page_or_fragment(*pair, 422 if choice.refusal else 200, **view)


@pages.post("/o/<slug>/register/batch/<deed>")
@for_roles(*MANAGERS)
def batch_looked(visit: Visit, deed: str) -> ResponseReturnValue:
    """The fields of the act; with them filled in, what it would do."""
    called = called_of(visit, deed, is_first=SEE not in request.form)
    foresight = None if SEE not in request.form else foreseen(called)
    return act_page(called, foresight)


@pages.post("/o/<slug>/register/batch/<deed>/apply")
@for_roles(*MANAGERS)
def batch_applied(visit: Visit, deed: str) -> ResponseReturnValue:
    """Do what was seen; if it would be anything else by now, nothing is done, and that is shown."""
    called = called_of(visit, deed)
    order, made = with_file(read_order(called.deed, called.form, called.fields)), list[int]()
    mark, looked = request.form.get("mark", ""), number(request.form.get("looked", "")) or 0

    def apply() -> None:
        if order is not None:
            made.append(batch_acts.apply(visit.act, order, called.choice.ids, mark, looked))

    if was_done(visit.act, called.form, apply, place):
        where: dict[str, Any] = {"batch_id": made[0], **called.choice.asked}
        return go_to(url_for("register.batch_result", slug=visit.place.slug, **where))
    return act_page(called, foreseen(called))


@pages.get("/o/<slug>/register/batches/<int:batch_id>")
@for_roles(*READERS)
def batch_result(visit: Visit, batch_id: int) -> ResponseReturnValue:
    """What was done, and what was left and why; entries out of sight are counted, and not named."""
    sight = visit.sight
    batch = read_batch(visit.act.session, sight, batch_id) or abort(404)
    left = [
        (len(ids), LEFT.get(why, why), read_chosen(visit.act.session, sight, ids, SHOWN))
        for why, ids in batch.left.items()
    ]
    pair = ("register/batch_result.html", "register/fragments/_batch_result.html")
    view: dict[str, Any] = {"batch": batch, "deed": OF_ACT[batch.deed], "left": left, "reason": reason_of(batch)}
    return page_or_fragment(*pair, visit=visit, asked=asked(read_filters()), **view)


def with_file(order: Order | None) -> Order | None:
    """The order with the file of its paper, if there is one: it comes with the last step."""
    if order is None or order.paper is None:
        return order
    return replace(order, paper=replace(order.paper, file=sent_proof()))


def called_of(visit: Visit, name: str, is_first: bool = False) -> Called:
    """404 for an act that there is not."""
    deed = BATCH_DEEDS.get(name) or abort(404)
    choice = chosen(visit)
    fields = deed.fields(visit, choice.sight)
    form = Form({field.name: deed.holds.get(field.name, "") for field in fields}) if is_first else read_form(fields)
    form.refusal = choice.refusal
    return Called(name, deed, choice, form, fields)


def foreseen(called: Called) -> Foresight | None:
    """What it would do now; None, with the words in the form, where it cannot be said."""
    found, refused = list[Foresight](), called.form.refusal
    called.form.refusal = called.choice.refusal
    order = read_order(called.deed, called.form, called.fields)

    def foresee() -> None:
        if order is not None:
            found.append(batch_acts.foresee(called.visit.act, order, called.choice.ids))

    was_done(called.visit.act, called.form, foresee, place)
    called.form.refusal = refused or called.form.refusal
    return found[0] if found else None


def act_page(called: Called, foresight: Foresight | None) -> ResponseReturnValue:
    view: dict[str, Any] = {"called": called, "choice": called.choice, "form": called.form, "most": SHOWN}
    if foresight is not None:
        rows = foresight.plan.doing[:SHOWN]
        view["changes"] = [(step, *change_of(called.deed, step, called.form, called.fields)) for step in rows]
        view["left"] = [
            (LEFT[why], [one for one in foresight.plan.leaving if one.left == why]) for why in foresight.plan.left
        ]
    pair = ("register/batch_act.html", "register/fragments/_batch_act.html")
    return page_or_fragment(*pair, called.form.status, visit=called.visit, foresight=foresight, **view)


def reason_of(batch: Batch) -> str:
    """The word of the reason, where the act has one."""
    codes = {"move": "move_reason", "pause": "snooze_reason", "archive": "archive_reason"}
    reason = batch.detail.get("reason")
    return word(reason, codes[batch.deed]) if reason and batch.deed in codes else ""
