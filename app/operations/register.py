"""The register: entries are added, assigned, snoozed, taken off the watch and put back on it.

Nothing is deleted. Each function locks the entry that it changes and leaves a queue row for it, since whatever is
changed here decides who is told or what is wanted.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError

from app.domain.acts import ArchiveReason, Basis, SnoozeReason, Status
from app.domain.calendars import DAY
from app.domain.errors import Refused, quoted
from app.domain.folding import clean_text, fold_reference
from app.ledger.coming import open_coming
from app.ledger.followers import follow
from app.ledger.queue import changed
from app.ledger.site_days import read_site_days
from app.ledger.start import hold_back, hold_back_raised
from app.models import Kind, Member, Obligation, Site, Subject
from app.operations import rhythms, typed
from app.operations.obligations import open_obligation
from app.operations.parts import check_place, count_parts
from app.operations.people import check_may_see, find_site, known_day, may_see, site_today
from app.operations.presence import check_here
from app.operations.typed import iso
from app.trail.act import Act
from app.wording import later

NOW, NEXT = "now", "next"  # Where a start begins: with what has crossed already, or with what crosses next.


def find_subject(act: Act, reference: str, site: str | None = None) -> Subject:
    """The entry of this reference, whatever its status; of several sites' entries the one at the site named."""
    key = fold_reference(reference)
    query = select(Subject).where(Subject.org_id == act.org, Subject.reference_key == key)
    if site is not None:
        query = query.where(Subject.site_id == find_site(act, site).id)
    found = list(act.session.scalars(query))
    if not found:
        words = later("There is no entry %(reference)s: look for its reference in the register.")
        raise Refused(words, reference=quoted(reference.strip()))
    if len(found) > 1:
        at = select(Site.name).where(Site.org_id == act.org, Site.id.in_([one.site_id for one in found]))
        sites = ", ".join(act.session.scalars(at.order_by(Site.name)))
        words = later("%(reference)s is at several sites: name one with --site: %(sites)s.")
        raise Refused(words, reference=quoted(reference.strip()), sites=sites)
    return found[0]


def get_subject(act: Act, subject_id: int) -> Subject:
    """The entry of this id, which the caller knows to be there."""
    return act.session.scalars(select(Subject).where(Subject.org_id == act.org, Subject.id == subject_id)).one()


@dataclass(frozen=True)
class Entry:
    """What is known of a new entry; a title that is missing is the reference."""

    site_id: int
    kind_id: int
    reference: str
    title: str = ""
    due_on: dt.date | None = None
    status: str = Status.watched
    owner_member_id: int | None = None
    owner_post_id: int | None = None
    holder_id: int | None = None
    part_of_id: int | None = None
    due_from: str | None = None  # How far its due dates are from those of its whole, as a threshold says it.
    series_from: dt.date | None = None
    recurrence: str | None = None
    recurrence_basis: str | None = None
    comes_as_kind: bool = True  # Without a recurrence of its own it has that of its kind, if the kind has one.
    legal_basis: str = ""
    notes: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


def add_subject(act: Act, entry: Entry) -> int:
    """Add the entry, with one open obligation if it has a due date.

    Refused for a reference that the site already has, and for an owner or holder who is gone or may not see the site.
    """
    site = _open_site(act, entry.site_id)
    if entry.owner_member_id is not None and entry.owner_post_id is not None:
        words = later("%(reference)s names a person and a post as responsible: leave one out.")
        raise Refused(words, reference=quoted(entry.reference))
    for member_id in (entry.owner_member_id, entry.holder_id):
        if member_id is not None:
            _check_assignable(act, site, member_id)
    if entry.due_from and entry.due_on is not None:
        raise Refused("The due date is a day of its own, or follows that of the whole: leave one of the two out.")
    if entry.due_from and entry.recurrence:
        raise Refused("What follows the due date of its whole comes again with it: leave the recurrence out.")
    place = {"due_from": check_place(act, entry.site_id, entry.part_of_id, entry.due_from)}
    stored = _stored(_with_rhythm(act, entry)) | place
    adding = insert(Subject).values(org_id=act.org, **stored).on_conflict_do_nothing().returning(Subject.id)
    subject_id = act.session.scalar(adding)
    if subject_id is None:
        words = later("%(site)s has an entry %(reference)s already: choose another reference.")
        raise Refused(words, site=site.name, reference=quoted(stored["reference"]))
    changed(act, subject_id=subject_id)
    told = ("site_id", "kind_id", "reference", "title", "status", "owner_member_id", "owner_post_id", "holder_id",
            "part_of_id", "due_from")  # fmt: skip
    act.record("subject_created", subject_id=subject_id, **{name: stored[name] for name in told})
    if entry.due_on is not None:
        open_obligation(act, get_subject(act, subject_id), entry.due_on)
    _go_on(act, get_subject(act, subject_id))
    return subject_id


def _with_rhythm(act: Act, entry: Entry) -> Entry:
    if entry.recurrence or entry.due_from or not entry.comes_as_kind:
        return entry
    kind = act.session.scalars(select(Kind).where(Kind.org_id == act.org, Kind.id == entry.kind_id)).one()
    basis = entry.recurrence_basis or kind.recurrence_basis
    return replace(entry, recurrence=kind.recurrence, recurrence_basis=basis)


def _stored(entry: Entry) -> dict[str, Any]:
    """The columns of a new subject, cleaned and checked."""
    columns = {name: value for name, value in vars(entry).items() if name not in ("due_on", "comes_as_kind")}
    reference = typed.reference(entry.reference, later("The reference"))
    return columns | {
        "reference": reference,
        "reference_key": fold_reference(reference),
        "title": typed.text(entry.title or reference, later("The title"), typed.LONGEST_TITLE),
        "status": typed.code(Status, entry.status, later("a status")),
        **typed.rhythm(entry.recurrence, entry.recurrence_basis),
        "legal_basis": clean_text(entry.legal_basis, later("The legal basis"), typed.LONGEST_NOTE),
        "notes": typed.note(entry.notes),
    }


def retitle(act: Act, subject: Subject, title: str) -> bool:
    new = typed.text(title, later("The title"), typed.LONGEST_TITLE)
    old = _locked(act, subject).title
    if old == new:
        return False
    subject.title = new
    changed(act, subject_id=subject.id)
    act.record("subject_retitled", subject_id=subject.id, old=old, new=new)
    return True


def amend(
    act: Act,
    subject: Subject,
    *,
    kind_id: int,
    recurrence: str | None,
    recurrence_basis: str | None,
    legal_basis: str,
    notes: str,
) -> bool:
    """Make the entry say this. Only what differs is written, and stands in the trail with its old and new value."""
    said = {
        "kind_id": kind_id,
        **typed.rhythm(recurrence, recurrence_basis),
        "legal_basis": clean_text(legal_basis, later("The legal basis"), typed.LONGEST_NOTE),
        "notes": typed.note(notes),
    }
    _locked(act, subject)
    if subject.due_from and said["recurrence"]:
        raise Refused("What follows the due date of its whole comes again with it: leave the recurrence out.")
    new = {name: value for name, value in said.items() if value != getattr(subject, name)}
    if not new:
        return False
    old = {name: getattr(subject, name) for name in new}
    for name, value in new.items():
        setattr(subject, name, value)
    changed(act, subject_id=subject.id)
    act.record("subject_changed", subject_id=subject.id, old=old, new=new)
    if new.keys() & {"recurrence", "recurrence_basis"}:
        rhythms.let_go(act, [subject.id])
        subject.series_through = subject.series_next = None  # From now on, by the day that it was counted from.
        _go_on(act, subject)
    return True


def _go_on(act: Act, subject: Subject) -> list[int]:
    """Open what a series by the calendar, and what follows another date, must have by now; the dates that are news.

    What lay in a time without watch is not opened.
    """
    if subject.recurrence_basis != Basis.calendar or subject.status != Status.watched:
        return follow(act, [subject.id]).dates
    days = read_site_days(act)
    if subject.site_id in days.days and subject.series_through is not None:
        subject.series_through = max(subject.series_through, days.days[subject.site_id].today - DAY)
    return open_coming(act, [subject.id], days).dates


def assign(act: Act, subject: Subject, *, member_id: int | None = None, post_id: int | None = None) -> bool:
    """Make a member, or whoever holds a post at the site, responsible; neither means nobody."""
    if member_id is not None and post_id is not None:
        raise ValueError("A person or a post is responsible, not both.")
    _locked(act, subject)
    old = {"member_id": subject.owner_member_id, "post_id": subject.owner_post_id}
    new = {"member_id": member_id, "post_id": post_id}
    if old == new:
        return False
    if member_id is not None:
        _check_assignable(act, _site(act, subject.site_id), member_id)
    subject.owner_member_id, subject.owner_post_id = member_id, post_id
    changed(act, subject_id=subject.id)
    act.record("subject_assigned", subject_id=subject.id, old=old, new=new)
    return True


def assign_holder(act: Act, subject: Subject, member_id: int | None) -> bool:
    old = _locked(act, subject).holder_id
    if old == member_id:
        return False
    if member_id is not None:
        _check_assignable(act, _site(act, subject.site_id), member_id)
    subject.holder_id = member_id
    changed(act, subject_id=subject.id)
    act.record("holder_assigned", subject_id=subject.id, old=old, new=member_id)
    return True


def _check_assignable(act: Act, site: Site, member_id: int) -> None:
    member = _member(act, member_id)
    check_here(member, known_day(act, site.id))
    check_may_see(act, member, site)


def snooze(act: Act, subject: Subject, until: dt.date, reason: str | None, note: str = "") -> bool:
    """Keep thresholds before the due date silent until the start of this day; the due date stays."""
    why, noted = typed.code(SnoozeReason, reason, later("a reason for snoozing")), typed.note(note)
    _locked(act, subject)
    if subject.status == Status.archived:
        raise Refused("%(reference)s is archived and tells nobody: restore it first.", reference=subject.reference)
    today = site_today(act, subject.site_id)
    if until <= today:
        words = later("A snooze until %(until)s is over already: today is %(today)s at the site.")
        raise Refused(words, until=until, today=today)
    day = typed.register_day(until, later("The day"))
    return _snoozed(act, subject, day, "subject_snoozed", reason=why, note=noted)


def end_snooze(act: Act, subject: Subject) -> bool:
    _locked(act, subject)
    return _snoozed(act, subject, None, "snooze_ended")


def _snoozed(act: Act, subject: Subject, until: dt.date | None, event: str, **detail: Any) -> bool:
    old = subject.snoozed_until
    if old == until:
        return False
    subject.snoozed_until = until
    changed(act, subject_id=subject.id)
    if until is not None:
        changed(act, subject_id=subject.id, wake_on=until)
    act.record(event, subject_id=subject.id, old=iso(old), new=iso(until), **detail)
    return True


def archive(act: Act, subject: Subject, reason: str | None, note: str = "") -> bool:
    why, noted = typed.code(ArchiveReason, reason, later("a reason for archiving")), typed.note(note)
    _locked(act, subject)
    return _become(act, subject, Status.archived, "subject_archived", reason=why, note=noted)


def take_out_of_service(act: Act, subject: Subject, note: str = "") -> bool:
    noted = typed.note(note)
    if _locked(act, subject).status == Status.archived:
        raise Refused("%(reference)s is archived: restore it first.", reference=subject.reference)
    return _become(act, subject, Status.out_of_service, "subject_out_of_service", note=noted)


def restore(act: Act, subject: Subject, note: str = "") -> bool:
    """Watch again what was archived or out of service."""
    noted = typed.note(note)
    if _locked(act, subject).status == Status.draft:
        raise Refused("%(reference)s is a draft: release it instead.", reference=subject.reference)
    return _watched_again(act, subject, "subject_restored", note=noted) is not None


def release(act: Act, subject: Subject, start: str = NOW) -> bool:
    """Watch a draft. With start `next` it tells nothing of what has crossed already."""
    if start not in (NOW, NEXT):
        raise Refused("%(start)s is not a start: write %(now)s or %(next)s.", start=quoted(start), now=NOW, next=NEXT)
    if _locked(act, subject).status not in (Status.draft, Status.watched):
        words = later("%(reference)s is out of service and no draft: restore it instead.")
        if subject.status == Status.archived:
            words = later("%(reference)s is archived and no draft: restore it instead.")
        raise Refused(words, reference=subject.reference)
    came = _watched_again(act, subject, "subject_released", start=start)
    if came is None:
        return False
    if start == NEXT:
        own = select(Obligation.id).where(Obligation.org_id == act.org, Obligation.subject_id == subject.id)
        open_ids = sorted({*act.session.scalars(own.where(Obligation.closed_at.is_(None))), *came})
        hold_back(act, obligation_ids=open_ids)
        hold_back_raised(act, open_ids)  # Of an entry that has come back by an import.
    return True


def _watched_again(act: Act, subject: Subject, event: str, **detail: Any) -> list[int] | None:
    """The dates that come with it, its parts' included; None where it was watched already."""
    return _go_on(act, subject) if _become(act, subject, Status.watched, event, **detail) else None


def _become(act: Act, subject: Subject, status: Status, event: str, **detail: Any) -> bool:
    old = subject.status
    if old == status:
        return False
    subject.status = status
    changed(act, subject_id=subject.id)
    act.record(event, subject_id=subject.id, old=old, new=status, **detail)
    return True


def _refuse_blind(act: Act, subject: Subject, site: Site) -> None:
    """Whoever is named in an entry may see its site."""
    people = [_member(act, who) for who in {subject.owner_member_id, subject.holder_id} if who is not None]
    blind = sorted(one.name for one in people if not may_see(act, one.id, site.id))
    words = later("%(name)s may not see site %(site)s: assign %(reference)s to somebody else first.")
    if len(blind) > 1:
        words = later("%(name)s and %(other)s may not see site %(site)s: assign %(reference)s to somebody else first.")
    if blind:
        raise Refused(words, name=blind[0], other=blind[-1], site=site.name, reference=subject.reference)


def move_to_site(act: Act, subject: Subject, site_id: int) -> bool:
    """Move the entry; its due dates stay the same dates, read in the new site's calendar from now on."""
    old = _locked(act, subject).site_id
    if old == site_id:
        return False
    site = _open_site(act, site_id)
    if subject.part_of_id is not None or count_parts(act, subject.id):
        words = later("%(reference)s is a part of another entry, or has parts: they stay at one site.")
        raise Refused(words, reference=subject.reference)
    _refuse_blind(act, subject, site)
    taken = later("%(site)s has an entry %(reference)s already: give one of them another reference.")
    try:
        with act.session.begin_nested():
            subject.site_id = site_id
    except IntegrityError:
        raise Refused(taken, site=site.name, reference=quoted(subject.reference)) from None
    changed(act, subject_id=subject.id)
    act.record("subject_moved", subject_id=subject.id, old=old, new=site_id)
    return True


def _open_site(act: Act, site_id: int) -> Site:
    site = _site(act, site_id)
    if site.archived_at is not None:
        raise Refused("The site %(site)s is archived: choose another.", site=site.name)
    return site


def _site(act: Act, site_id: int) -> Site:
    return act.session.scalars(select(Site).where(Site.org_id == act.org, Site.id == site_id)).one()


def _member(act: Act, member_id: int) -> Member:
    return act.session.scalars(select(Member).where(Member.org_id == act.org, Member.id == member_id)).one()


def _locked(act: Act, subject: Subject) -> Subject:
    """The same object, its row locked and read afresh."""
    query = select(Subject).where(Subject.org_id == act.org, Subject.id == subject.id).with_for_update()
    return act.session.scalars(query.execution_options(populate_existing=True)).one()
