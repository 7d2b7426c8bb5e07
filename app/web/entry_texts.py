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
from app.operations import kinds, register, rhythms
from app.queries.register_choices import Candidate, read_kinds
from app.queries.sight import Sight
from app.web.access import Visit
from app.web.entry_acts import Call, Deed, Do
from app.web.entry_fields import Field, Options, offered, typed_day, words_of
from app.web.entry_parts import place_fields
from app.web.entry_people import candidates_for, check_site, holders, owner_of, responsible_of, responsibles
from app.web.typed_form import Form
from app.wording import gettext, later, listed, ngettext
from app.words import day

NEVER = later("never")  # Typed for a recurrence, in the reader's language or in English: not that of the kind either.
EVERY = later(
    "For example 1y for every year, 3m for every 3 months, 2w for every 2 weeks; or days of the year, month first, "
    "such as 03-31,09-30. Empty: it does not come again."
)


def bases() -> Options:
    return words_of("basis", Basis)


def kind_fields(visit: Visit) -> list[Field]:
    known = [(str(kind.id), kind.name) for kind in read_kinds(visit.act.session, visit.act.org)]
    return [
        Field("kind", gettext("Kind"), "choice", known, gettext("A new kind, named below"), is_required=True),
        Field("new_kind", gettext("Name of a new kind"), hint=gettext("Only where the list has none that fits.")),
    ]


def people_fields(owners: Options, members: Options) -> list[Field]:
    nobody, owner = gettext("Nobody"), gettext("A person, or whoever holds a post at the site.")
    about = gettext("Whom it is about, such as the person trained.")
    return [
        Field("responsible", gettext("Responsible"), "choice", owners, nobody, owner),
        Field("holder", gettext("Holder"), "choice", members, nobody, about),
    ]


def rhythm_fields(hint: str) -> list[Field]:
    unsaid = gettext("from the due date, unless said otherwise")
    return [
        Field("recurrence", gettext("Comes again every"), hint=hint),
        Field("recurrence_basis", gettext("Counted"), "choice", bases(), unsaid),
        Field("legal_basis", gettext("Legal basis"), "area"),
        Field("notes", gettext("Notes"), "area"),
    ]


def chosen_kind(form: Form, options: Options) -> None:
    """A kind of the list, or the name of a new one."""
    chosen = offered(form, "kind", options)
    if not chosen and not str(form.values["new_kind"]).strip():
        form.faults["kind"] = gettext("Choose a kind, or name a new one.")


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


def is_never(recurrence: str) -> bool:
    return recurrence.strip().lower() in (NEVER, gettext(NEVER))


def rhythm_of(form: Form) -> dict[str, Any]:
    recurrence = text(form, "recurrence").strip()
    return {
        "recurrence": None if not recurrence or is_never(recurrence) else recurrence,
        "recurrence_basis": text(form, "recurrence_basis") or None,
        "legal_basis": text(form, "legal_basis"),
        "notes": text(form, "notes"),
    }


def edit_fields(call: Call) -> Sequence[Field]:
    people = candidates_for(call.visit, [call.entry.site])
    return [
        Field("title", gettext("Title"), is_required=True),
        *kind_fields(call.visit),
        *people_fields(responsibles(call.visit, people, call.entry), holders(people, call.entry)),
        *rhythm_fields(gettext(EVERY)),
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


def edit_says(call: Call) -> str:
    """What another rhythm would do to the dates ahead that the calendar has opened."""
    ahead = [day(one.due_on) for one in rhythms.untouched_ahead(call.act, [call.subject.id])]
    if not ahead:
        return ""
    return ngettext(
        "Opened by the calendar, and not acted on yet: %(days)s. If you change how often it comes again, or how that "
        "is counted, the date stays only if the new rhythm has it.",
        "Opened by the calendar, and not acted on yet: %(days)s. If you change how often it comes again, or how that "
        "is counted, only those stay that the new rhythm has.",
        len(ahead),
        days=listed(ahead),
    )


EDITING: Mapping[str, Deed] = {
    "edit": Deed(later("Change the entry"), later("Save"), edit, lambda *_: True, edit_fields, edit_holds, edit_says),
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
        never = gettext("Never: not even if its kind does.")
        known_by = gettext("The number by which people know it. It stays.")
        choose = None if len(self.sites) == 1 else gettext("Choose a site")
        no_date = gettext("A date in the calendar of the site. Empty: no date yet.")
        words = gettext("What it is, in a few words. Empty: the reference.")
        return [
            Field("reference", gettext("Reference"), hint=known_by, is_required=True),
            Field("title", gettext("Title"), hint=words),
            *kind_fields(self.visit),
            Field("site", gettext("Site"), "choice", self.sites, choose, None, True),
            *people_fields(responsibles(self.visit, self.people), holders(self.people)),
            Field("due_on", gettext("Due date"), "day", hint=no_date),
            *place_fields(),
            *rhythm_fields(f"{gettext(EVERY)} {never}"),
        ]

    def check(self, form: Form) -> Callable[[], int]:
        """What adds the entry and gives its id; whatever is wrong stands beside its field, and then it must not run."""
        options = {field.name: field.options for field in self.fields}
        chosen_kind(form, options["kind"])
        for name in ("site", "responsible", "holder", "recurrence_basis"):
            offered(form, name, options[name])
        if not text(form, "site"):
            form.faults["site"] = gettext("Choose a site.")
        if not text(form, "reference").strip():
            form.faults["reference"] = gettext("Write the reference.")
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
            form.faults["part_of"] = gettext("Name the entry whose due date it follows.")
        if text(form, "due_on").strip():
            form.faults["due_on"] = gettext("It follows the due date of its whole: leave this one out, or that.")
        if rhythm_of(form)["recurrence"]:
            form.faults["recurrence"] = gettext("It comes again with its whole: leave this out.")

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
                comes_as_kind=not is_never(text(form, "recurrence")),
                **rhythm_of(form),
            ),
        )
