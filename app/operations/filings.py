"""Filings: a deadline is filed with the authority, and what the authority answered. Neither closes nor moves it."""

from __future__ import annotations

import datetime as dt

from app.domain.acts import FilingResult, InForce
from app.domain.errors import Refused
from app.domain.folding import clean_text
from app.ledger.queue import changed
from app.models import Obligation
from app.operations import typed
from app.operations.obligations import find_both, refuse_closed
from app.operations.people import site_today
from app.operations.typed import iso
from app.trail.act import Act
from app.wording import later


def file(
    act: Act,
    obligation_id: int,
    filed_on: dt.date | None,
    filed_reference: str | None,
    in_force_meanwhile: str | None,
    ask_again_on: dt.date | None = None,
) -> bool:
    """Note that it was filed with the authority; a filing that is there already is corrected or begins anew.

    Only `in_force_meanwhile = yes` keeps its alerts silent, until the filing ends.
    """
    in_force = typed.code(InForce, in_force_meanwhile, later("an answer to whether it stays in force meanwhile"))
    reference = clean_text(filed_reference or "", later("The reference of the filing"), typed.LONGEST_NAME) or None
    obligation, subject = find_both(act, obligation_id, lock=True)
    refuse_closed(obligation, subject)
    filed = typed.past_day(filed_on, site_today(act, subject.site_id), later("The day of filing"))
    if ask_again_on is not None and ask_again_on <= filed:
        words = later("The day to ask again, %(day)s, is not after the day of filing, %(filed)s: correct one.")
        raise Refused(words, day=ask_again_on, filed=filed)
    old = _filing(obligation)
    obligation.filed_on, obligation.filed_reference = filed, reference
    obligation.in_force_meanwhile, obligation.ask_again_on = in_force, ask_again_on
    obligation.filing_ended_on = obligation.filing_result = None
    return _filing_changed(act, obligation, old, "obligation_filed")


def end_filing(act: Act, obligation_id: int, ended_on: dt.date | None, result: str | None) -> bool:
    """Note how the filing ended; it neither closes nor moves the deadline."""
    became = typed.code(FilingResult, result, later("a result"))
    obligation, subject = find_both(act, obligation_id, lock=True)
    if obligation.filed_on is None:
        words = later("%(reference)s has no filing for %(day)s: `onus obligation file` notes one.")
        raise Refused(words, reference=subject.reference, day=obligation.due_on)
    old = _filing(obligation)
    ended = typed.past_day(ended_on, site_today(act, subject.site_id), later("The day on which the filing ended"))
    if obligation.filing_result == became and ended_on is None:
        return False
    if ended < obligation.filed_on:
        words = later("The filing began on %(filed)s and cannot have ended on %(ended)s: correct the day.")
        raise Refused(words, filed=obligation.filed_on, ended=ended)
    obligation.filing_ended_on, obligation.filing_result = ended, became
    return _filing_changed(act, obligation, old, "filing_ended")


def _filing(obligation: Obligation) -> dict[str, str | None]:
    return {
        "filed_on": iso(obligation.filed_on),
        "filed_reference": obligation.filed_reference,
        "in_force_meanwhile": obligation.in_force_meanwhile,
        "ask_again_on": iso(obligation.ask_again_on),
        "filing_ended_on": iso(obligation.filing_ended_on),
        "filing_result": obligation.filing_result,
    }


def _filing_changed(act: Act, obligation: Obligation, old: dict[str, str | None], event: str) -> bool:
    new = _filing(obligation)
    if old == new:
        return False
    changed(act, subject_id=obligation.subject_id)
    act.record(event, subject_id=obligation.subject_id, obligation_id=obligation.id, old=old, new=new)
    return True
