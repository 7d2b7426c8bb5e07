"""Obligations: opened, moved and closed. A due date is a date at the site of its subject (P6).

Each function locks the row that it changes, so that of two people who do the same at once exactly one does it.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError

from app.domain import recurrences
from app.domain.acts import Basis, CloseReason, MoveReason, NextFrom, Outcome
from app.domain.calendars import DAY, LAST_DAY
from app.domain.errors import Refused
from app.ledger.followers import follow
from app.ledger.queue import changed
from app.models import AuditEvent, Obligation, Subject
from app.operations import proofs, typed
from app.operations.people import site_today
from app.operations.typed import iso
from app.trail.act import Act
from app.wording import later

LISTED = 12  # Due dates in a refusal that asks for one: a year of monthly ones.
NO_OPEN = later("%(reference)s has no open deadline: look at its dates, and name one with --due-on.")
NO_CLOSED = later("%(reference)s has no closed deadline: look at its dates, and name one with --due-on.")
NONE_ON = later("%(reference)s has no deadline on %(day)s: look at its dates, and name one with --due-on.")


def find_obligation(act: Act, subject: Subject, due_on: dt.date | None = None, closed: bool = False) -> Obligation:
    """The one open deadline of the subject (or the one closed), or the one due on this day, be it open or closed."""
    query = select(Obligation).where(Obligation.org_id == act.org, Obligation.subject_id == subject.id)
    if due_on is not None:
        query = query.where(Obligation.due_on == due_on)
    else:
        query = query.where(Obligation.closed_at.is_not(None) if closed else Obligation.closed_at.is_(None))
    found = list(act.session.scalars(query.order_by(Obligation.due_on.desc())))
    if not found:
        words = NO_CLOSED if closed else NO_OPEN
        raise Refused(NONE_ON if due_on else words, reference=subject.reference, day=due_on)
    if len(found) > 1:
        dates = ", ".join(str(one.due_on) for one in found[:LISTED])
        words = later("%(reference)s has several deadlines: name one with --due-on: %(dates)s.")
        if len(found) > LISTED:
            words = later("%(reference)s has several deadlines: name one with --due-on: %(dates)s and more.")
        raise Refused(words, reference=subject.reference, dates=dates)
    return found[0]


def open_dates(act: Act, subject_id: int) -> list[dt.date]:
    """The due dates of the subject that are open, in their order."""
    query = select(Obligation.due_on).where(Obligation.org_id == act.org, Obligation.subject_id == subject_id)
    return list(act.session.scalars(query.where(Obligation.closed_at.is_(None)).order_by(Obligation.due_on)))


def open_obligation(act: Act, subject: Subject, due_on: dt.date) -> Obligation:
    """The obligation of the subject on this day: a new one, or the one that is there already, be it open or closed."""
    typed.register_day(due_on, later("The due date"))
    return _opened(act, subject.id, due_on)


def add_obligation(act: Act, subject: Subject, due_on: dt.date) -> Obligation:
    """One more obligation of the subject. Refused on a day that it already has."""
    typed.register_day(due_on, later("The due date"))
    key = {"org_id": act.org, "subject_id": subject.id, "due_on": due_on}
    if act.session.scalars(select(Obligation.id).filter_by(**key)).one_or_none() is not None:
        words = later("%(reference)s has a deadline on %(day)s already: choose another day.")
        raise Refused(words, reference=subject.reference, day=due_on)
    return _opened(act, subject.id, due_on)


def open_successor(act: Act, obligation: Obligation, subject: Subject, due_on: dt.date, source: str) -> Obligation:
    """The deadline that follows one that was renewed, on this day; `source` says where the day comes from.

    Renewed, reopened and renewed again gives one, on the last day. Refused on a day that was closed already.
    """
    typed.register_day(due_on, later("The next due date"))
    opened = _opened_before(act, obligation)
    if opened is not None and opened.closed_at is None:
        if opened.due_on != due_on:
            move(act, opened.id, due_on, MoveReason.other)
        return opened
    found = _opened(act, subject.id, due_on, after=obligation.id, source=source)
    if found.closed_at is not None:
        words = later("%(reference)s has a deadline on %(day)s already, and it is closed: choose another day.")
        raise Refused(words, reference=subject.reference, day=due_on)
    return found


def _opened(
    act: Act, subject_id: int, due_on: dt.date, after: int | None = None, source: str | None = None
) -> Obligation:
    """`after` is the obligation whose completion opens this one."""
    key = {"org_id": act.org, "subject_id": subject_id, "due_on": due_on}
    adding = insert(Obligation).values(**key, first_due_on=due_on, opened_at=act.now).on_conflict_do_nothing()
    obligation_id = act.session.scalar(adding.returning(Obligation.id))
    if obligation_id is not None:
        changed(act, subject_id=subject_id)
        detail: dict[str, Any] = {"obligation_id": obligation_id, "due_on": iso(due_on), "after_obligation_id": after}
        detail |= {"source": source} if source else {}
        act.record("obligation_opened", subject_id=subject_id, **detail)
        follow(act, [subject_id])
    return act.session.scalars(select(Obligation).filter_by(**key)).one()


def close(
    act: Act,
    obligation_id: int,
    outcome: str | None,
    met_on: dt.date | None = None,
    reason: str | None = None,
    note: str = "",
    member_id: int | None = None,
    *,
    opens_next: bool = True,
) -> bool:
    """Close it once; what is closed already stays as it is. One that was met opens the next of its recurrence,
    unless `opens_next` is false: then the caller opens what follows.

    `met_on` is the day it was done, the site's today if none is given. Closing without doing needs a reason; closing
    as met needs proof where the kind asks for it.
    """
    became, noted = typed.code(Outcome, outcome, later("an outcome")), typed.note(note)
    done = became in (Outcome.met, Outcome.failed)
    why = typed.code(CloseReason, reason, later("a reason for closing without doing")) if reason or not done else None
    obligation, subject = _locked(act, obligation_id)
    if obligation.closed_at is not None:
        return False
    if not done and met_on is not None:
        raise Refused("The outcome %(outcome)s has no day on which it was done: leave --met-on out.", outcome=became)
    if became is Outcome.met:
        proofs.ask(act, obligation, subject)
    if done:
        obligation.met_on = typed.past_day(met_on, site_today(act, subject.site_id), later("The day it was done"))
    obligation.closed_at, obligation.closed_by = act.now, member_id
    obligation.outcome, obligation.reason, obligation.note = became, why, noted
    _record_closing(act, obligation)
    if became is Outcome.entered_in_error:
        _close_followers(act, obligation, why, noted, member_id)
    if became is Outcome.met and opens_next:
        _open_next(act, obligation, subject)
    return True


def fail(
    act: Act,
    obligation_id: int,
    met_on: dt.date | None = None,
    retest_on: dt.date | None = None,
    note: str = "",
    member_id: int | None = None,
) -> bool:
    """Close it once as done and not passed. The day of the re-test is opened, if one is fixed, and never the interval.

    Refused for a day that is not after the one on which it was done, or that was closed already.
    """
    if not close(act, obligation_id, Outcome.failed, met_on, note=note, member_id=member_id):
        return False
    obligation, subject = find_both(act, obligation_id)
    if retest_on is not None:
        if obligation.met_on is not None and retest_on <= obligation.met_on:
            raise Refused(
                "The re-test on %(day)s is not after %(met_on)s, when it was done: choose a later day.",
                day=retest_on,
                met_on=obligation.met_on,
            )
        if subject.recurrence is not None:
            _remember_anchor(act, subject, obligation.first_due_on)  # The re-test is no date of the series.
        open_successor(act, obligation, subject, retest_on, NextFrom.person)
    return True


def _close_followers(act: Act, obligation: Obligation, why: str | None, note: str, member_id: int | None) -> None:
    """What followed a date that never was is as wrong as that."""
    following = select(Obligation.id).where(Obligation.org_id == act.org, Obligation.follows_id == obligation.id)
    for follower_id in act.session.scalars(
        following.where(Obligation.closed_at.is_(None)).order_by(Obligation.id)
    ).all():
        close(act, follower_id, Outcome.entered_in_error, None, why, note, member_id)


def _record_closing(act: Act, obligation: Obligation) -> None:
    changed(act, subject_id=obligation.subject_id)
    act.record(
        "obligation_closed",
        subject_id=obligation.subject_id,
        obligation_id=obligation.id,
        due_on=iso(obligation.due_on),
        met_on=iso(obligation.met_on),
        outcome=obligation.outcome,
        reason=obligation.reason,
        note=obligation.note,
    )


def next_of(act: Act, obligation: Obligation, subject: Subject, met_on: dt.date | None) -> dt.date | None:
    """The date of the recurrence after this one; None where it does not come again, or only after the last year."""
    if subject.recurrence is None:
        return None
    closed = _closed_days(act, subject) | {obligation.due_on}
    if subject.recurrence_basis == Basis.done and met_on is not None:
        anchor, due_on = met_on, recurrences.occurrence(met_on, subject.recurrence, 1)
        if isinstance(recurrences.parse(subject.recurrence), recurrences.Interval):
            due_on = _not_closed(closed, due_on, met_on)
    else:
        anchor = subject.series_from or obligation.first_due_on
        due_on = recurrences.next_due(anchor, subject.recurrence, after=obligation.due_on)
    while due_on in closed:
        due_on = recurrences.next_due(anchor, subject.recurrence, after=due_on)
    return due_on if due_on <= LAST_DAY else None


def _closed_days(act: Act, subject: Subject) -> set[dt.date]:
    own = select(Obligation.due_on).where(Obligation.org_id == act.org, Obligation.subject_id == subject.id)
    return set(act.session.scalars(own.where(Obligation.closed_at.is_not(None))))


def _open_next(act: Act, obligation: Obligation, subject: Subject) -> None:
    """Open the next occurrence, once: completed, reopened and completed again gives one, on the date of the last."""
    if subject.recurrence_basis == Basis.calendar or subject.due_from is not None:
        return  # The next one is there already, or the watch opens it, or the whole's: it does not hang on this one.
    due_on = next_of(act, obligation, subject, obligation.met_on)
    if due_on is None:
        return
    if subject.recurrence_basis != Basis.done:
        _remember_wanted_day(act, subject, subject.series_from or obligation.first_due_on, due_on)
    opened = _opened_before(act, obligation)
    if opened is None:
        _opened(act, subject.id, due_on, after=obligation.id)
    elif _is_untouched(act, opened) and opened.due_on != due_on and _is_free(act, opened, due_on):
        # Nobody has touched the one that an earlier completion opened, so it follows the day of this one.
        _put_on(act, opened, due_on, MoveReason.other, "")
        opened.first_due_on = due_on


def _not_closed(closed: set[dt.date], due_on: dt.date, done_on: dt.date) -> dt.date:
    """The due date, or the nearest one on which no deadline was closed: done a whole interval early, it is the same.

    An earlier day is safe; a later one is taken only where no day is left after the day it was done.
    """
    while due_on in closed and due_on > done_on:
        due_on -= DAY
    while due_on in closed or due_on <= done_on:
        due_on += DAY
    return due_on


def _remember_wanted_day(act: Act, subject: Subject, anchor: dt.date, due_on: dt.date) -> None:
    """Keep the anchor of a series that a shorter month clamps: after February it goes back to the 31st (H11)."""
    by_months = recurrences.parse(str(subject.recurrence)).is_by_months
    if by_months and due_on.day < anchor.day:
        _remember_anchor(act, subject, anchor)


def _remember_anchor(act: Act, subject: Subject, anchor: dt.date) -> None:
    if subject.series_from is None:
        subject.series_from = anchor
        act.record("recurrence_anchored", subject_id=subject.id, series_from=iso(anchor))


def _is_untouched(act: Act, obligation: Obligation) -> bool:
    """Whether it is as the recurrence has opened it: nobody moved it, and no paper gave its day."""
    opening = select(AuditEvent.detail["source"].as_string()).where(
        AuditEvent.org_id == act.org,
        AuditEvent.subject_id == obligation.subject_id,
        AuditEvent.type == "obligation_opened",
        AuditEvent.detail.contains({"obligation_id": obligation.id}),
    )
    as_opened = obligation.closed_at is None and obligation.due_on == obligation.first_due_on
    return as_opened and act.session.scalars(opening.limit(1)).first() is None


def _opened_before(act: Act, obligation: Obligation) -> Obligation | None:
    """The obligation that the last completion of this one opened; only the trail remembers that."""
    query = select(AuditEvent.detail["obligation_id"].as_integer()).where(
        AuditEvent.org_id == act.org,
        AuditEvent.subject_id == obligation.subject_id,
        AuditEvent.type == "obligation_opened",
        AuditEvent.detail.contains({"after_obligation_id": obligation.id}),
    )
    opened_id = act.session.scalars(query.order_by(AuditEvent.id.desc()).limit(1)).one_or_none()
    return None if opened_id is None else _locked(act, opened_id)[0]


def move(act: Act, obligation_id: int, to: dt.date, reason: str | None, note: str = "") -> bool:
    """Move the due date; the first one stays on record. Refused onto a day that the subject already has."""
    why, noted = typed.code(MoveReason, reason, later("a reason for moving")), typed.note(note)
    typed.register_day(to, later("The due date"))
    obligation, subject = _locked(act, obligation_id)
    refuse_closed(obligation, subject)
    if obligation.due_on == to:
        return False
    if not _is_free(act, obligation, to):
        words = later("%(reference)s has a deadline on %(day)s already: choose another day, or close this one.")
        raise Refused(words, reference=subject.reference, day=to)
    _put_on(act, obligation, to, why, noted)
    return True


def _is_free(act: Act, obligation: Obligation, day: dt.date) -> bool:
    key = {"org_id": act.org, "subject_id": obligation.subject_id, "due_on": day}
    return act.session.scalars(select(Obligation.id).filter_by(**key)).one_or_none() is None


def _put_on(act: Act, obligation: Obligation, to: dt.date, reason: MoveReason, note: str) -> None:
    old, subject_id = obligation.due_on, obligation.subject_id
    try:
        with act.session.begin_nested():
            obligation.due_on = to
    except IntegrityError:
        words = later("The deadline of %(old)s cannot move to %(new)s: another was put there meanwhile.")
        raise Refused(words, old=old, new=to) from None
    changed(act, subject_id=subject_id)
    detail: dict[str, Any] = {"old": iso(old), "new": iso(to), "reason": reason, "note": note}
    act.record("date_moved", subject_id=subject_id, obligation_id=obligation.id, **detail)
    follow(act, [subject_id])


def refuse_closed(obligation: Obligation, subject: Subject) -> None:
    if obligation.closed_at is not None:
        words = later("The deadline %(day)s of %(reference)s is closed: reopen it first.")
        raise Refused(words, day=obligation.due_on, reference=subject.reference)


def _locked(act: Act, obligation_id: int) -> tuple[Obligation, Subject]:
    return find_both(act, obligation_id, lock=True)


def find_both(act: Act, obligation_id: int, lock: bool = False) -> tuple[Obligation, Subject]:
    """The obligation, read afresh and its row locked if so wished, and its subject."""
    query = select(Obligation).where(Obligation.org_id == act.org, Obligation.id == obligation_id)
    query = query.with_for_update() if lock else query
    obligation = act.session.scalars(query.execution_options(populate_existing=True)).one()
    of = select(Subject).where(Subject.org_id == act.org, Subject.id == obligation.subject_id)
    return obligation, act.session.scalars(of).one()
