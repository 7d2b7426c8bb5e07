"""What can be done to an entry: each act with its form, when it is offered, and the operation that it calls.

The operation decides; the form only says the same sooner, and beside the field.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from app.domain.acts import ArchiveReason, SnoozeReason, Status
from app.operations import register
from app.queries.entry import Deadline, Entry
from app.queries.sight import Sight
from app.web.access import Visit
from app.web.entry_fields import Field, Options, offered, told, typed_code, typed_day, words_of
from app.web.entry_people import candidates_for, owner_of, responsible_of, responsibles
from app.web.typed_form import Form
from app.wording import gettext, later
from app.words import day

Do = Callable[[], object]


def note() -> Field:
    return Field("note", gettext("Note"), "area", hint=gettext("What a reader of the history should know."))


@dataclass(frozen=True)
class Call:
    """Somebody is about to do something to an entry, or to one of its deadlines."""

    visit: Visit
    sight: Sight
    entry: Entry
    deadline: Deadline | None = None
    form: Form = field(default_factory=lambda: Form({}))

    @property
    def act(self) -> Any:
        return self.visit.act

    @property
    def today(self) -> dt.date:
        """The date at the site; where nobody knows it, the operations refuse what depends on it."""
        return self.entry.site.today or self.visit.act.now.date()

    @property
    def obligation_id(self) -> int:
        if self.deadline is None:
            raise ValueError("This act is one on a deadline.")
        return self.deadline.id

    @property
    def note(self) -> str:
        return str(self.form.values["note"])

    @cached_property
    def subject(self) -> Any:
        return register.get_subject(self.act, self.entry.id)

    def day(self, name: str, missing: str | None = None) -> Any:
        return typed_day(self.form, name, missing)

    def code(self, name: str, codes: Any, missing: str = later("Choose a reason.")) -> Any:
        return typed_code(self.form, name, codes, missing)


@dataclass(frozen=True)
class Deed:
    """One act: its marked words, its fields, what they hold at first, when it is offered, and what it does."""

    title: str
    button: str
    do: Callable[[Call], Do]
    fits: Callable[[Entry, Deadline | None], bool]
    fields: Callable[[Call], Sequence[Field]] = lambda _: ()
    holds: Callable[[Call], Mapping[str, Any]] = lambda _: {}
    says: Callable[[Call], str] = lambda _: ""
    is_of_deadline: bool = False


def with_note(_: Call) -> Sequence[Field]:
    return (note(),)


def is_alive(entry: Entry, _: Deadline | None) -> bool:
    return entry.line.status != Status.archived


def stands_alone(entry: Entry, _: Deadline | None) -> bool:
    """A part and its whole stay at one site."""
    return is_alive(entry, None) and entry.part_of_id is None and not entry.parts


def has_status(*statuses: Status) -> Callable[[Entry, Deadline | None], bool]:
    return lambda entry, _: entry.line.status in statuses


def pause(call: Call) -> Do:
    until = call.day("until", later("Choose the day on which alerts go out again."))
    if until is not None and until <= call.today:
        call.form.faults["until"] = gettext("Choose a day after today: at the site it is %(day)s.", day=day(call.today))
    reason = call.code("reason", SnoozeReason)
    return lambda: register.snooze(call.act, call.subject, until, reason, call.note)


def pause_fields() -> Sequence[Field]:
    hint = gettext("The first day on which alerts go out again.")
    return (
        Field("until", gettext("Until"), "day", hint=hint, is_required=True),
        Field("reason", gettext("Reason"), "radio", words_of("snooze_reason", SnoozeReason)),
        note(),
    )


def archive(call: Call) -> Do:
    reason = call.code("reason", ArchiveReason)
    return lambda: register.archive(call.act, call.subject, reason, call.note)


def archive_fields(_: Call) -> Sequence[Field]:
    return (Field("reason", gettext("Reason"), "radio", words_of("archive_reason", ArchiveReason)), note())


STARTS: Options = (
    (register.NOW, later("Now: what is due to be told already is told")),
    (register.NEXT, later("With the next alert: what is past already is not told")),
)


def release(call: Call) -> Do:
    start = offered(call.form, "start", STARTS)
    return lambda: register.release(call.act, call.subject, start or register.NOW)


def move_site(call: Call) -> Do:
    chosen = offered(call.form, "site", other_sites(call))
    if not chosen:
        call.form.faults["site"] = gettext("Choose the site where it is from now on.")
    return lambda: register.move_to_site(call.act, call.subject, int(chosen))


def other_sites(call: Call) -> Options:
    return [(str(site.id), site.name) for site in call.sight.in_use if site.id != call.entry.site.id]


def site_fields(call: Call) -> Sequence[Field]:
    hint = gettext("Due dates stay the same dates, in the calendar of the new site.")
    choose = gettext("Choose a site")
    return (Field("site", gettext("New site"), "choice", other_sites(call), choose, hint, is_required=True),)


def hand_over(call: Call) -> Do:
    chosen = offered(call.form, "responsible", offered_owners(call), later("Choose somebody of the list."))
    return lambda: register.assign(call.act, call.subject, **owner_of(chosen))


def offered_owners(call: Call) -> Options:
    return responsibles(call.visit, candidates_for(call.visit, [call.entry.site]), call.entry)


def owner_fields(call: Call) -> Sequence[Field]:
    owners, nobody = offered_owners(call), gettext("Nobody")
    return (Field("responsible", gettext("Responsible"), "choice", owners, nobody, owner_hint()),)


def owner_hint() -> str:
    return gettext("Alerts that were not answered go to the new responsible, too.")


DEEDS: Mapping[str, Deed] = {
    "hand-over": Deed(
        later("Hand over"), later("Hand over"), hand_over, is_alive, owner_fields,
        lambda call: {"responsible": responsible_of(call.entry)},
    ),
    "pause": Deed(
        later("Pause alerts"), later("Pause alerts"), pause, is_alive, lambda _: pause_fields(),
        says=lambda _: gettext("The date stays. Alerts on the due date and after it are sent all the same."),
    ),
    "resume": Deed(
        later("End the pause"), later("End the pause"),
        lambda call: lambda: register.end_snooze(call.act, call.subject), lambda entry, _: entry.line.is_paused,
        says=lambda call: gettext(
            "Alerts are paused until %(day)s. They go out again at once.", day=day(call.entry.line.snoozed_until)
        ),
    ),
    "release": Deed(
        later("Release the draft"), later("Put it on the watch"), release, has_status(Status.draft),
        lambda _: (Field("start", gettext("Alerts begin"), "radio", told(STARTS)),), lambda _: {"start": register.NOW},
        lambda _: gettext("A draft is not watched. Once it is released, its alerts are sent."),
    ),
    "out-of-service": Deed(
        later("Out of service"), later("Take it out of service"),
        lambda call: lambda: register.take_out_of_service(call.act, call.subject, call.note),
        has_status(Status.watched, Status.draft), with_note,
        says=lambda _: gettext(
            "Nobody is told while it is out of service. Put it back on the watch when it is used again."
        ),
    ),
    "restore": Deed(
        later("Back on the watch"), later("Put it back on the watch"),
        lambda call: lambda: register.restore(call.act, call.subject, call.note),
        has_status(Status.out_of_service, Status.archived), with_note,
        says=lambda _: gettext("Its alerts are sent again, from those that are due by now on."),
    ),
    "move-site": Deed(
        later("Move to another site"), later("Move it"), move_site, stands_alone, site_fields,
    ),
    "archive": Deed(
        later("Archive"), later("Archive it"), archive, is_alive, archive_fields,
        says=lambda _: gettext("Nothing is deleted: the entry keeps its history, and nobody is told of it any more."),
    ),
}  # fmt: skip
