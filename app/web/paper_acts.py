"""What can be done with the papers of an entry: renew a deadline with a new one, add one, mark one as wrong.

The file of a paper is read within its limit, and checked before anything is written; a form that is shown again says
that the file must be chosen again, since no form can keep it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from flask import request

from app.domain.acts import DropReason, NextFrom
from app.domain.media import LARGEST_FILE, media_type
from app.operations import attachments, documents
from app.queries.answer_files import SentFile
from app.queries.entry import Deadline, Entry
from app.web.entry_acts import Call, Deed, Do, is_alive, note
from app.web.entry_fields import Field, Options, offered, words_of
from app.wording import gettext, later
from app.words import day, local_day, next_from

PROPOSED, ON_A_DAY, NONE = "proposed", "day", "none"


def file_hint() -> str:
    return gettext(
        "At most %(most)s MB: PDF, JPEG, PNG, HEIC, TIFF, WebP, DOCX, XLSX, ODT, ODS, an e-mail (EML), plain text "
        "or CSV.",
        most=LARGEST_FILE // 1_000_000,
    )


def paper_fields() -> Sequence[Field]:
    number = gettext("The number on the paper. It may be the old one.")
    return (
        Field("number", gettext("Number"), hint=number, is_required=True),
        Field("issuer", gettext("Issued by"), hint=gettext("The authority or body that issued it.")),
        Field("issued_on", gettext("Issued on"), "day"),
        Field("valid_from", gettext("Valid from"), "day"),
        Field("valid_until", gettext("Valid until"), "day"),
        Field("file", gettext("File"), "file", hint=file_hint()),
    )


def paper_of(call: Call) -> documents.Paper:
    """What was typed; whatever is wrong stands beside its field."""
    form = call.form
    if not str(form.values["number"]).strip():
        form.faults["number"] = gettext("Write the number of the paper.")
    days = {name: call.day(name) for name in ("issued_on", "valid_from", "valid_until")}
    number, issuer = str(form.values["number"]), str(form.values["issuer"])
    return documents.Paper(number, issuer, **days, note=call.note, file=file_of(call))


def file_of(call: Call) -> attachments.SentFile | None:
    """The file, if one was chosen, looked at already: nothing larger than the limit is kept in memory."""
    file = sent_proof()
    if file is not None:
        call.form.check("file", media_type, file.name, file.content)
    return file


def sent_proof() -> attachments.SentFile | None:
    """The file of a paper as it came, read no further than anything that could be kept."""
    sent = request.files.get("file")
    if sent is None or not sent.filename:
        return None
    return attachments.SentFile(sent.filename, sent.stream.read(LARGEST_FILE + 1))


def renew(call: Call) -> Do:
    """The new paper, the deadline done with it, and what comes next: as proposed, on a day, or nothing."""
    paper, met_on = paper_of(call), call.day("met_on", later("Choose the day on which it was done."))
    if met_on is not None and met_on > call.today:
        call.form.faults["met_on"] = gettext(
            "This day is still to come: at the site it is %(day)s.", day=day(call.today)
        )
    next_due_on, goes_on = next_of(call, paper)
    given = {"goes_on": goes_on, "met_on": met_on, "member_id": call.visit.person.member_id}
    return lambda: documents.renew(call.act, call.obligation_id, paper, next_due_on, **given)


def next_of(call: Call, paper: documents.Paper) -> tuple[dt.date | None, bool]:
    """The next due date if it was typed, and whether anything comes next; whatever is wrong stands beside its field.

    A day that was typed counts, though the proposal is still chosen above it: what a person types is never let go.
    """
    chosen = offered(call.form, "next", nexts(call)) or PROPOSED
    next_due_on = call.day("next_due_on", later("Choose the next due date.") if chosen == ON_A_DAY else None)
    if next_due_on is not None and chosen == NONE:
        call.form.faults["next_due_on"] = gettext(
            "Nothing comes next, as chosen above: leave the day out, or choose it there."
        )
    if chosen == PROPOSED and next_due_on is None and not call.form.is_wrong and has_nothing_to_propose(call, paper):
        call.form.faults["next"] = gettext(
            "The paper has no last day and the entry does not come again: choose a day, or say that nothing comes next."
        )
    return next_due_on, chosen != NONE


def has_nothing_to_propose(call: Call, paper: documents.Paper) -> bool:
    proposal = documents.propose_next(call.act, call.obligation_id, paper.valid_until)
    return proposal.source == NextFrom.nothing


def nexts(call: Call) -> Options:
    return (
        (PROPOSED, gettext("As proposed: %(proposal)s", proposal=proposed(call))),
        (ON_A_DAY, gettext("On the day below")),
        (NONE, gettext("None: nothing comes next")),
    )


def proposed(call: Call) -> str:
    """The proposal in words, and where it comes from. A last day of the paper may still be typed beside it."""
    without_day = documents.propose_next(call.act, call.obligation_id)
    says = next_from(without_day.source, call.entry.recurrence)
    if without_day.source == NextFrom.nothing:
        return next_from(NextFrom.paper, None)
    due_on, paper = day(without_day.due_on), next_from(NextFrom.paper, None)
    if without_day.source == NextFrom.calendar:
        return gettext("%(day)s (%(origin)s)", day=due_on, origin=says)
    return gettext("%(paper)s; without one, %(day)s (%(origin)s)", paper=paper, day=due_on, origin=says)


def renew_fields(call: Call) -> Sequence[Field]:
    return (
        *paper_fields(),
        Field("met_on", gettext("Done on"), "day", (), None, gettext("The day on which the deadline was met."), True),
        *next_fields(call),
        note(),
    )


def next_fields(call: Call) -> Sequence[Field]:
    return (
        Field("next", gettext("Next due date"), "radio", nexts(call)),
        Field("next_due_on", gettext("Next due date, if it is another one"), "day"),
    )


def renew_holds(call: Call) -> Mapping[str, Any]:
    last = call.entry.current_papers[:1]
    return {"met_on": call.today, "next": PROPOSED, "issuer": last[0].issuer if last else ""}


def renew_says(call: Call) -> str:
    last = call.entry.current_papers[:1]
    if not last:
        return gettext("The deadline is closed as done, and the next one is opened.")
    return gettext(
        "The new paper replaces %(number)s. The deadline is closed as done, and the next one is opened.",
        number=last[0].number,
    )


def add(call: Call) -> Do:
    paper = paper_of(call)
    chosen = offered(call.form, "replaces", replaceable(call))
    replaces_id, member_id = int(chosen) if chosen.isdecimal() else None, call.visit.person.member_id
    proved = offered(call.form, "proves", provable(call))
    proves_id = int(proved) if proved.isdecimal() else None
    return lambda: documents.add_paper(call.act, call.subject, paper, replaces_id, member_id, proves_id=proves_id)


def replaceable(call: Call) -> Options:
    return [(str(one.id), one.number) for one in call.entry.current_papers]


def provable(call: Call) -> Options:
    return [(str(one.id), day(one.due_on)) for one in call.entry.open_deadlines]


def add_fields(call: Call) -> Sequence[Field]:
    beside, none = gettext("None: it stands beside the others"), gettext("None of them")
    replaces = Field("replaces", gettext("Replaces"), "choice", replaceable(call), beside)
    proves = Field("proves", gettext("Proof of the deadline"), "choice", provable(call), none)
    shown = (*([replaces] if replaces.options else []), *([proves] if proves.options else []))
    return (*paper_fields(), *shown, note())


def withdraw(call: Call) -> Do:
    chosen = offered(call.form, "paper", removable(call))
    if not chosen:
        call.form.faults["paper"] = gettext("Choose the paper.")
    said, member_id = call.note, call.visit.person.member_id
    return lambda: documents.withdraw(call.act, call.subject, int(chosen), said, member_id)


def removable(call: Call) -> Options:
    return [(str(one.id), one.number) for one in call.entry.papers if one.withdrawn_at is None]


def withdraw_fields(call: Call) -> Sequence[Field]:
    choose = gettext("Choose a paper")
    return (Field("paper", gettext("Paper"), "choice", removable(call), choose, is_required=True), note())


def drop(call: Call) -> Do:
    chosen = offered(call.form, "paper", droppable(call))
    if not chosen:
        call.form.faults["paper"] = gettext("Choose the file.")
    reason, said = call.code("reason", DropReason), call.note
    return lambda: attachments.drop(call.act, call.subject, int(chosen), reason, said)


def droppable(call: Call) -> Options:
    papers = [(one.number, file) for one in call.entry.papers for file in one.files if not file.is_dropped]
    of_papers = [
        (str(file.id), gettext("%(file)s, of %(number)s", file=file.file_name, number=number))
        for number, file in papers
    ]
    return [*of_papers, *((str(one.id), sent_words(one, call.entry.site.timezone)) for one in call.entry.sent_files)]


def sent_words(one: SentFile, zone: str) -> str:
    day_there = local_day(one.sent_at, zone)
    return gettext("%(file)s, sent by %(name)s on %(day)s", file=one.file_name, name=one.person, day=day_there)


def has_files(entry: Entry) -> bool:
    return bool(entry.sent_files) or any(not file.is_dropped for one in entry.papers for file in one.files)


def drop_fields(call: Call) -> Sequence[Field]:
    return (
        Field("paper", gettext("File"), "choice", droppable(call), gettext("Choose a file"), is_required=True),
        Field("reason", gettext("Reason"), "radio", words_of("drop_reason", DropReason)),
        note(),
    )


def can_be_renewed(entry: Entry, deadline: Deadline | None) -> bool:
    return deadline is not None and deadline.is_open and is_alive(entry, deadline)


RENEWING: Mapping[str, Deed] = {
    "renew": Deed(
        later("Renew"), later("Renew"), renew, can_be_renewed, renew_fields, renew_holds, renew_says,
        is_of_deadline=True,
    ),
}  # fmt: skip

PAPER_DEEDS: Mapping[str, Deed] = {
    "add-paper": Deed(
        later("Add a paper"), later("Add the paper"), add, is_alive, add_fields,
        says=lambda _: gettext("No deadline is closed or opened by this. To close one with it, renew that deadline."),
    ),
    "withdraw-paper": Deed(
        later("A paper is wrong"), later("Mark it as entered in error"), withdraw,
        lambda entry, _: any(one.withdrawn_at is None for one in entry.papers), withdraw_fields,
        says=lambda _: gettext(
            "Nothing is deleted: the paper stays, marked as entered in error. A deadline that was closed "
            "with it stays closed; open it again if that was wrong, too."
        ),
    ),
    "drop-file": Deed(
        later("Remove a file"), later("Remove the file for good"), drop,
        lambda entry, _: has_files(entry), drop_fields,
        says=lambda _: gettext(
            "What is in the file is deleted and cannot be brought back. Its name and its fingerprint "
            "(SHA-256) stay, and so does the paper or the answer. Others that have the same file keep it."
        ),
    ),
}  # fmt: skip
