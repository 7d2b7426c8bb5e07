"""Adding an entry, and changing what one says: the same fields, checked in the same way.

A due date is only given to a new entry; afterwards it is moved, with a reason. So saving again changes nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain import thresholds
from app.domain.acts import Basis
from app.operations import kinds, register
from app.queries.register_choices import Candidate, read_kinds
from app.queries.sight import Sight
from app.vocabulary import OF
from app.web.access import Visit
from app.web.entry_acts import Call, Deed, Do
from app.web.entry_fields import Field, Options, offered, typed_day
from app.web.entry_parts import PLACE
from app.web.entry_people import candidates_for, check_site, holders, owner_of, responsible_of, responsibles
from app.web.typed_form import Form
from app.wording import later

NEVER = "never"  # Typed for a recurrence: not that of the kind either.
EVERY = later(
    "For example 1y for every year, 3m for every 3 months, 2w for every 2 weeks; or days of the year, month first, "
    "such as 03-31,09-30. Empty: it does not come again."
)


def bases() -> Options:
    return [(basis, OF["basis"][basis]) for basis in Basis]


def kind_fields(visit: Visit) -> list[Field]:
    known = [(str(kind.id), kind.name) for kind in read_kinds(visit.act.session, visit.act.org)]
    return [
        Field("kind", "Kind", "choice", known, "A new kind, named below", is_required=True),
        Field("new_kind", "Name of a new kind", hint="Only where the list has none that fits."),
    ]


def people_fields(owners: Options, members: Options) -> list[Field]:
    return [
        Field(
            "responsible", "Responsible", "choice", owners, "Nobody", "A person, or whoever holds a post at the site."
        ),
        Field("holder", "Holder", "choice", members, "Nobody", "Whom it is about, such as the person trained."),
    ]


def rhythm_fields(hint: str) -> list[Field]:
    return [
        Field("recurrence", "Comes again every", hint=hint),
        Field("recurrence_basis", "Counted", "choice", bases(), "from the due date, unless said otherwise"),
        Field("legal_basis", "Legal basis", "area"),
        Field("notes", "Notes", "area"),
    ]


def chosen_kind(form: Form, options: Options) -> None:
    """A kind of the list, or the name of a new one."""
    chosen = offered(form, "kind", options)
    if not chosen and not str(form.values["new_kind"]).strip():
        form.faults["kind"] = "Choose a kind, or name a new one."


def kind_id_of(visit: Visit, form: Form) -> int:
    """The kind that was chosen; a new name makes one, once."""
    name = str(form.values["new_kind"])
    if not name.strip():
        return int(form.values["kind"])
    return kinds.find_or_make(visit.act, [name]).ids[kinds.key_of(name)]


def text(form: Form, name: str) -> str:
    return str(form.values[name])


def distance_of(form: Form) -> str | None:
    return text(form, "due_from").strip() or None


def rhythm_of(form: Form) -> dict[str, Any]:
    recurrence = text(form, "recurrence").strip()
    return {
        "recurrence": recurrence if recurrence.lower() not in ("", NEVER) else None,
        "recurrence_basis": text(form, "recurrence_basis") or None,
        "legal_basis": text(form, "legal_basis"),
        "notes": text(form, "notes"),
    }


def edit_fields(call: Call) -> Sequence[Field]:
    people = candidates_for(call.visit, [call.entry.site])
    return [
        Field("title", "Title", is_required=True),
        *kind_fields(call.visit),
        *people_fields(responsibles(call.visit, people, call.entry), holders(people, call.entry)),
        *rhythm_fields(EVERY),
    ]


def edit_holds(call: Call) -> Mapping[str, Any]:
    entry = call.entry
    said = {name: getattr(entry, name) or "" for name in ("recurrence", "recurrence_basis", "legal_basis", "notes")}
    return said | {
        "title": entry.line.title,
        "kind": entry.kind_id,
        "responsible": responsible_of(entry),
        "holder": entry.holder_id or "",
    }


def edit(call: Call) -> Do:
    form, fields = call.form, {field.name: field.options for field in edit_fields(call)}
    chosen_kind(form, fields["kind"])
    for name in ("responsible", "holder", "recurrence_basis"):
        offered(form, name, fields[name])
    return lambda: save(call)


def save(call: Call) -> None:
    """Each part leaves its own trail, and nothing where it says what it said before."""
    act, subject, form = call.act, call.subject, call.form
    register.retitle(act, subject, text(form, "title"))
    register.amend(act, subject, kind_id=kind_id_of(call.visit, form), **rhythm_of(form))
    register.assign(act, subject, **owner_of(text(form, "responsible")))
    register.assign_holder(act, subject, int(text(form, "holder")) if text(form, "holder") else None)


EDITING: Mapping[str, Deed] = {
    "edit": Deed("Change the entry", "Save", edit, lambda *_: True, edit_fields, edit_holds),
}


@dataclass(frozen=True)
class NewEntry:
    """The form of a new entry: what it offers, and what becomes of what was typed."""

    visit: Visit
    sight: Sight
    people: list[Candidate]

    @classmethod
    def of(cls, visit: Visit, sight: Sight) -> NewEntry:
        return cls(visit, sight, candidates_for(visit, sight.in_use))

    @property
    def sites(self) -> Options:
        return [(str(site.id), site.name) for site in self.sight.in_use]

    @property
    def fields(self) -> list[Field]:
        return [
            Field("reference", "Reference", hint="The number by which people know it. It stays.", is_required=True),
            Field("title", "Title", hint="What it is, in a few words. Empty: the reference."),
            *kind_fields(self.visit),
            Field("site", "Site", "choice", self.sites, None if len(self.sites) == 1 else "Choose a site", None, True),
            *people_fields(responsibles(self.visit, self.people), holders(self.people)),
            Field("due_on", "Due date", "day", hint="A date in the calendar of the site. Empty: no date yet."),
            *PLACE,
            *rhythm_fields(f"{EVERY} {NEVER.capitalize()}: not even if its kind does."),
        ]

    def check(self, form: Form) -> Callable[[], int]:
        """What adds the entry and gives its id; whatever is wrong stands beside its field, and then it must not run."""
        options = {field.name: field.options for field in self.fields}
        chosen_kind(form, options["kind"])
        for name in ("site", "responsible", "holder", "recurrence_basis"):
            offered(form, name, options[name])
        if not text(form, "site"):
            form.faults["site"] = "Choose a site."
        if not text(form, "reference").strip():
            form.faults["reference"] = "Write the reference."
        due_on = typed_day(form, "due_on")
        self.check_place(form)
        if not form.is_wrong:
            check_site(form, self.people, self.sight.sites[int(text(form, "site"))])
        return lambda: self.add(form, due_on)

    def check_place(self, form: Form) -> None:
        """A date that follows that of a whole needs the whole, and leaves no room for a date or a rhythm of its own."""
        if not distance_of(form):
            return
        form.check("due_from", thresholds.parse, distance_of(form))
        if not text(form, "part_of").strip():
            form.faults["part_of"] = "Name the entry whose due date it follows."
        if text(form, "due_on").strip():
            form.faults["due_on"] = "It follows the due date of its whole: leave this one out, or that."
        if rhythm_of(form)["recurrence"]:
            form.faults["recurrence"] = "It comes again with its whole: leave this out."

    def whole_id(self, form: Form) -> int | None:
        """The entry at the chosen site that was named. Raises Refused."""
        reference = text(form, "part_of").strip()
        if not reference:
            return None
        return register.find_subject(self.visit.act, reference, self.sight.sites[int(text(form, "site"))].name).id

    def add(self, form: Form, due_on: dt.date | None) -> int:
        owner = owner_of(text(form, "responsible"))
        return register.add_subject(
            self.visit.act,
            register.Entry(
                site_id=int(text(form, "site")),
                kind_id=kind_id_of(self.visit, form),
                reference=text(form, "reference"),
                title=text(form, "title").strip(),
                due_on=due_on,
                owner_member_id=owner.get("member_id"),
                owner_post_id=owner.get("post_id"),
                holder_id=int(text(form, "holder")) if text(form, "holder") else None,
                part_of_id=self.whole_id(form),
                due_from=distance_of(form),
                comes_as_kind=text(form, "recurrence").strip().lower() != NEVER,
                **rhythm_of(form),
            ),
        )
