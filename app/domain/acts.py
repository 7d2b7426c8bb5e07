"""The codes of the register and of what people do to it: roles, statuses, outcomes, answers and mandatory reasons.

Must not hold the codes of claims and deliveries (`delivery.py`), nor words for the screen.
"""

from enum import StrEnum


class Role(StrEnum):
    """What a member may do in an organisation."""

    admin = "admin"
    officer = "officer"
    staff = "staff"
    inspector = "inspector"


class Status(StrEnum):
    """Whether a subject is watched; only a watched one is told about."""

    draft = "draft"
    watched = "watched"
    out_of_service = "out_of_service"
    archived = "archived"


class Basis(StrEnum):
    """What the next date of a recurrence is counted from; `calendar` comes whether the last one was done or not."""

    due = "due"
    done = "done"
    calendar = "calendar"


class NextFrom(StrEnum):
    """Where the next due date of what is renewed comes from: the new paper, a basis of the recurrence, a person."""

    paper = "paper"
    due = Basis.due.value
    done = Basis.done.value
    calendar = Basis.calendar.value
    person = "person"
    nothing = "nothing"


class OnlyIf(StrEnum):
    """The condition of a rule."""

    always = "always"
    nobody_on_it = "nobody_on_it"


class Answer(StrEnum):
    """What a person says to a claim. None of these closes the obligation."""

    seen = "seen"
    on_it = "on_it"
    done = "done"
    not_mine = "not_mine"
    help = "help"


class Outcome(StrEnum):
    """How an obligation was closed."""

    met = "met"
    failed = "failed"
    not_required = "not_required"
    entered_in_error = "entered_in_error"


class FilingResult(StrEnum):
    """How a filing with the authority ended."""

    granted = "granted"
    refused = "refused"
    withdrawn = "withdrawn"


class InForce(StrEnum):
    """Whether the old permit stays in force while a filing is pending; only `yes` silences alerts."""

    yes = "yes"
    no = "no"
    unclear = "unclear"


class MoveReason(StrEnum):
    """Why a due date was moved."""

    authority = "authority"
    typing_error = "typing_error"
    law_change = "law_change"
    agreed = "agreed"
    other = "other"


class SnoozeReason(StrEnum):
    """Why a subject was snoozed."""

    waiting = "waiting"
    planned = "planned"
    other = "other"


class ArchiveReason(StrEnum):
    """Why a subject was archived."""

    gone = "gone"
    replaced = "replaced"
    sold = "sold"
    entered_in_error = "entered_in_error"
    other = "other"


class DropReason(StrEnum):
    """Why the content of a file is not kept any more."""

    kept_long_enough = "kept_long_enough"
    personal = "personal"
    wrong_file = "wrong_file"
    other = "other"


class Contents(StrEnum):
    """What a file that is brought in holds."""

    register = "register"
    people = "people"


class ReportFormat(StrEnum):
    """How a report of the trail is written; `bundle` is for whoever wants to verify it."""

    xlsx = "xlsx"
    pdf = "pdf"
    csv = "csv"
    bundle = "bundle"


class ImportWish(StrEnum):
    """What is to be done with a large file while its reader waits."""

    check = "check"
    apply = "apply"


class CloseReason(StrEnum):
    """Why an obligation was closed without being done."""

    not_required = "not_required"
    replaced = "replaced"
    entered_in_error = "entered_in_error"
    other = "other"


class ReopenReason(StrEnum):
    """Why a closed obligation was opened again."""

    not_done = "not_done"
    typing_error = "typing_error"
    other = "other"


class Held(StrEnum):
    """What becomes of the entries that are about a person who leaves."""

    hand_over = "hand_over"
    archive = "archive"
