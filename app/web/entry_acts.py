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
from app.web.entry_fields import Field, Options, offered, typed_code, typed_day, words_of
from app.web.entry_people import candidates_for, owner_of, responsible_of, responsibles
from app.web.typed_form import Form
from app.words import day

Do = Callable[[], object]
NOTE = Field("note", "Note", "area", hint="What a reader of the history should know.")


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

    def code(self, name: str, codes: Any, missing: str = "Choose a reason.") -> Any:
        return typed_code(self.form, name, codes, missing)


@dataclass(frozen=True)
class Deed:
    """One act: its words, its fields, what they hold at first, when it is offered, and what it does."""

    title: str
    button: str
    do: Callable[[Call], Do]
    fits: Callable[[Entry, Deadline | None], bool]
    fields: Callable[[Call], Sequence[Field]] = lambda _: ()
    holds: Callable[[Call], Mapping[str, Any]] = lambda _: {}
    says: Callable[[Call], str] = lambda _: ""
    is_of_deadline: bool = False


def with_note(_: Call) -> Sequence[Field]:
    return (NOTE,)


def is_alive(entry: Entry, _: Deadline | None) -> bool:
    return entry.line.status != Status.archived


def stands_alone(entry: Entry, _: Deadline | None) -> bool:
    """A part and its whole stay at one site."""
    return is_alive(entry, None) and entry.part_of_id is None and not entry.parts


def has_status(*statuses: Status) -> Callable[[Entry, Deadline | None], bool]:
    return lambda entry, _: entry.line.status in statuses


def pause(call: Call) -> Do:
    until = call.day("until", "Choose the day on which alerts go out again.")
    if until is not None and until <= call.today:
        call.form.faults["until"] = f"Choose a day after today: at the site it is {day(call.today)}."
    reason = call.code("reason", SnoozeReason)
    return lambda: register.snooze(call.act, call.subject, until, reason, call.note)


def pause_fields(_: Call) -> Sequence[Field]:
    return (
        Field("until", "Until", "day", hint="The first day on which alerts go out again.", is_required=True),
        Field("reason", "Reason", "radio", words_of("snooze_reason", SnoozeReason)),
        NOTE,
    )


def archive(call: Call) -> Do:
    reason = call.code("reason", ArchiveReason)
    return lambda: register.archive(call.act, call.subject, reason, call.note)


def archive_fields(_: Call) -> Sequence[Field]:
    return (Field("reason", "Reason", "radio", words_of("archive_reason", ArchiveReason)), NOTE)


STARTS: Options = (
    (register.NOW, "Now: what is due to be told already is told"),
    (register.NEXT, "With the next alert: what is past already is not told"),
)


def release(call: Call) -> Do:
    start = offered(call.form, "start", STARTS)
    return lambda: register.release(call.act, call.subject, start or register.NOW)


def move_site(call: Call) -> Do:
    chosen = offered(call.form, "site", other_sites(call))
    if not chosen:
        call.form.faults["site"] = "Choose the site where it is from now on."
    return lambda: register.move_to_site(call.act, call.subject, int(chosen))


def other_sites(call: Call) -> Options:
    return [(str(site.id), site.name) for site in call.sight.in_use if site.id != call.entry.site.id]


def site_fields(call: Call) -> Sequence[Field]:
    hint = "Due dates stay the same dates, in the calendar of the new site."
    return (Field("site", "New site", "choice", other_sites(call), "Choose a site", hint, is_required=True),)


def hand_over(call: Call) -> Do:
    chosen = offered(call.form, "responsible", offered_owners(call), "Choose somebody of the list.")
    return lambda: register.assign(call.act, call.subject, **owner_of(chosen))


def offered_owners(call: Call) -> Options:
    return responsibles(call.visit, candidates_for(call.visit, [call.entry.site]), call.entry)


def owner_fields(call: Call) -> Sequence[Field]:
    hint = "Alerts that were not answered go to the new responsible, too."
    return (Field("responsible", "Responsible", "choice", offered_owners(call), "Nobody", hint),)


DEEDS: Mapping[str, Deed] = {
    "hand-over": Deed(
        "Hand over", "Hand over", hand_over, is_alive, owner_fields,
        lambda call: {"responsible": responsible_of(call.entry)},
    ),
    "pause": Deed(
        "Pause alerts", "Pause alerts", pause, is_alive, pause_fields,
        says=lambda _: "The date stays. Alerts on the due date and after it are sent all the same.",
    ),
    "resume": Deed(
        "End the pause", "End the pause", lambda call: lambda: register.end_snooze(call.act, call.subject),
        lambda entry, _: entry.line.is_paused,
        says=lambda call: f"Alerts are paused until {day(call.entry.line.snoozed_until)}. They go out again at once.",
    ),
    "release": Deed(
        "Release the draft", "Put it on the watch", release, has_status(Status.draft),
        lambda _: (Field("start", "Alerts begin", "radio", STARTS),), lambda _: {"start": register.NOW},
        lambda _: "A draft is not watched. Once it is released, its alerts are sent.",
    ),
    "out-of-service": Deed(
        "Out of service", "Take it out of service",
        lambda call: lambda: register.take_out_of_service(call.act, call.subject, call.note),
        has_status(Status.watched, Status.draft), with_note,
        says=lambda _: "Nobody is told while it is out of service. Put it back on the watch when it is used again.",
    ),
    "restore": Deed(
        "Back on the watch", "Put it back on the watch",
        lambda call: lambda: register.restore(call.act, call.subject, call.note),
        has_status(Status.out_of_service, Status.archived), with_note,
        says=lambda _: "Its alerts are sent again, from those that are due by now on.",
    ),
    "move-site": Deed(
        "Move to another site", "Move it", move_site, stands_alone, site_fields,
    ),
    "archive": Deed(
        "Archive", "Archive it", archive, is_alive, archive_fields,
        says=lambda _: "Nothing is deleted: the entry keeps its history, and nobody is told of it any more.",
    ),
}  # fmt: skip
