"""Due dates in cells: which order a column is written in, and which date, if any, each cell means.

Nothing is guessed (P6): a column decides by what it proves as a whole, a cell is a date of the calendar or it is
refused, and a bare number is only ever proposed. No zone is converted.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from app.domain.calendars import FIRST_DAY, LAST_DAY
from app.domain.errors import Refused, quoted
from app.imports.folding import folded, without_accents
from app.imports.records import SPREADSHEET_ZERO

AUTO, YMD, DMY, MDY = "auto", "ymd", "dmy", "mdy"
OTHER_ORDER = {DMY: MDY, MDY: DMY}
WORDED = {YMD: "year-month-day", DMY: "day/month/year", MDY: "month/day/year"}

# Words by which a cell says that there is no due date, folded as `folded` does it.
NO_EXPIRY = frozenset({
    "n/a", "n.a", "na", "not applicable", "none", "never", "no expiry", "no expiration", "no expiry date",
    "no due date", "non-expiring", "does not expire", "does not lapse", "never expires", "without expiry", "permanent",
    "perpetual", "unlimited", "indefinite", "indefinitely", "open-ended", "lifetime",
    "indeterminado", "indeterminada", "indefinido", "indefinida", "ilimitado", "ilimitada", "permanente", "perpetuo",
    "perpetua", "vitalicio", "vitalicia", "no caduca", "no vence", "no aplica", "no procede", "ninguna", "ninguno",
    "sin caducidad", "sin vencimiento", "sin limite", "sin fecha de caducidad", "sin fecha de vencimiento",
    "sin fecha limite",
    "illimite", "illimitee", "indetermine", "indeterminee", "duree indeterminee", "sans objet", "sans echeance",
    "sans limite", "n'expire pas", "aucune", "aucun", "a vie", "non applicable",
    "unbegrenzt", "unbefristet", "keine", "entfallt", "nicht zutreffend", "ohne ablauf", "ohne ablaufdatum",
    "auf lebenszeit",
    "nao se aplica", "nao aplicavel", "sem vencimento", "sem prazo", "prazo indeterminado", "nao expira", "nao vence",
    "nenhuma", "nenhum", "illimitato",
})  # fmt: skip

# In English, Spanish, French, German and Portuguese, without accents.
MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january ene enero janv janvier januar janeiro",
            "feb february febrero fev fevr fevrier februar fevereiro",
            "mar march marzo mars marz maerz mrz marco",
            "apr april abr abril avr avril",
            "may mayo mai maio",
            "jun june junio juin juni junho",
            "jul july julio juil juillet juli julho",
            "aug august ago agosto aout",
            "sep sept september set septiembre setiembre septembre setembro",
            "oct october octubre octobre okt oktober out outubro",
            "nov november noviembre novembre novembro",
            "dec december dic diciembre decembre dez dezember dezembro",
        ),
        1,
    )
    for name in names.split()
}

YEAR_FIRST = re.compile(r"([0-9]{4})([-/. ])([0-9]{1,2})\2([0-9]{1,2})|([0-9]{4})([0-9]{2})([0-9]{2})")
YEAR_LAST = re.compile(r"([0-9]{1,2})([-/. ])([0-9]{1,2})\2([0-9]{4})")
DAY_OF_MONTH = re.compile(
    r"([0-9]{1,2})(?:st|nd|rd|th|er|o|a)?(?: de |[-/. ]+)([a-z]+)\.?(?: del? |[-/., ]+)([0-9]{4})"
)
MONTH_AND_DAY = re.compile(r"([a-z]+)\.?[-/. ]+([0-9]{1,2})(?:st|nd|rd|th)?,?[-/. ]+([0-9]{4})")
SHORT_YEAR = re.compile(r"[0-9]{1,2}([-/. ])(?:[0-9]{1,2}|[^\W\d_]+\.?)\1[0-9]{2}")
NUMBER = re.compile(r"([0-9]{1,7})([.,][0-9]+)?")
ZONE = r"\s*(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})"
CLOCK = r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?"  # 24:00 would be the day after.
TIME = rf"[T ]\s*{CLOCK}(?:\s*[AaPp]\.?\s?[Mm]\.?)?"
INSTANT = re.compile(rf".*[0-9]{TIME}{ZONE}|.*[0-9]T[0-9]{{2}}(?:[0-9]{{2}}){{0,2}}{ZONE}", re.DOTALL)
TIME_OF_DAY = re.compile(rf"(.*[0-9])({TIME})", re.DOTALL)
NO_TIME = re.compile(r"(.*[0-9])[T ]\s*[0-9]{1,2}:[0-9]{2}\b.*", re.DOTALL)  # Looks like a time, and may be none.

LONGEST_CELL = 100  # Characters: no way to write a date is longer.


@dataclass(frozen=True, slots=True)
class Due:
    """What a cell says: a date; a date that a person must confirm; or, without a date, that there is no expiry.

    `number` is what stood in the cell if it was a bare number, confirmed or not.
    """

    on: dt.date | None
    must_confirm: bool = False
    reason: str = ""
    number: str = ""

    def confirmed(self) -> Due:
        """The same after a person has said that the number is this date."""
        reason = f"the number {self.number} was confirmed to be {self.on}"
        return replace(self, must_confirm=False, reason=reason)


@dataclass(frozen=True)
class DateReader:
    """Reads the cells of one column, in the one format that was declared or that the column proves."""

    format: str
    strict: bool
    words: frozenset[str]
    zero: dt.date = SPREADSHEET_ZERO

    def of_date_cell(self, text: str) -> Due:
        """What a cell says that is a date in the file itself: its text begins with the ISO date, in any format."""
        return Due(plausible(dt.date.fromisoformat(text[:10]), text))

    def read(self, cell: str) -> Due:
        """What the cell says. Raises Refused with the reason why it is no due date."""
        text = " ".join(cell.split())
        if not text:
            raise Refused("due date missing")
        if folded(text) in self.words:
            return Due(None, reason=f"the due date says {quoted(text)}: kept without a due date")
        if len(text) > LONGEST_CELL:
            raise Refused(f"{quoted(text)} is not a date")
        day = self.date_of(text)
        if day is None:
            return proposed(text, self.zero) or refuse(text, self.format)
        return Due(plausible(day, text))

    def is_date(self, cell: str) -> bool:
        """Whether the cell is a date, or a number that may be one."""
        try:
            return self.read(cell).on is not None
        except Refused:
            return False

    def is_certain(self, cell: str) -> bool:
        """Whether nobody has to be asked what the cell says: it is a date, or says that there is none."""
        try:
            return not self.read(cell).must_confirm
        except Refused:
            return False

    def date_of(self, text: str) -> dt.date | None:
        """The date of the text in this format, or None. Raises Refused for an instant, which has no date of its own."""
        if "%" in self.format:
            return by_pattern(text, self.format)
        if INSTANT.fullmatch(text):
            raise Refused(f"{quoted(text)} is an instant with a time zone, not a date: give the date at the site")
        written = without_time(text)
        if self.format == YMD or not self.strict:
            found = year_first(written)
            if found is not None:
                return found
        if self.format == YMD and self.strict:
            return None
        return year_last(written, MDY if self.format == MDY else DMY) or with_month_name(written)


def reader_of(
    format: str, cells: Iterable[str], words: Collection[str] = (), zero: dt.date = SPREADSHEET_ZERO
) -> DateReader:
    """The reader of a column. Raises Refused for a format that is none, and if `auto` cannot decide for this column."""
    known = NO_EXPIRY | {folded(word) for word in words if word.strip()}
    format = named if (named := format.strip().casefold()) in (AUTO, *WORDED) else format
    if format == AUTO:
        return DateReader(proven(cells), strict=False, words=known, zero=zero)
    if format not in WORDED:
        check_pattern(format)
    return DateReader(format, strict=True, words=known, zero=zero)


def proven(cells: Iterable[str]) -> str:
    """The order that a whole column proves: dmy or mdy, ymd if nothing in it needs an order.

    1. A cell that is a date in one order only proves that order.
    2. Proofs of both orders contradict each other; two readings without any proof are undecidable: Refused.
    """
    proofs: dict[str, str] = {}
    doubtful = ""
    ordered = False
    for cell in cells:
        text = without_time(" ".join(cell.split()))
        days, months = year_last(text, DMY), year_last(text, MDY)
        ordered = ordered or days is not None or months is not None
        if days is not None and months is None:
            proofs.setdefault(DMY, text)
        elif months is not None and days is None:
            proofs.setdefault(MDY, text)
        elif days != months:
            doubtful = doubtful or text
    if len(proofs) > 1:
        both = f"{quoted(proofs[DMY])} is {WORDED[DMY]}, {quoted(proofs[MDY])} is {WORDED[MDY]}"
        raise Refused(f"The due dates contradict each other ({both}): say which it is with --date-format dmy or mdy.")
    if not proofs and doubtful:
        raise Refused(
            f"Nothing in the column says which is the day in due dates such as {quoted(doubtful)}: "
            "say it with --date-format dmy or mdy."
        )
    return next(iter(proofs), DMY if ordered else YMD)


def warning(reader: DateReader, cells: Iterable[str]) -> str:
    """What to tell of a column that was declared to be in one order and holds dates of the other, or nothing."""
    if reader.format not in OTHER_ORDER or not reader.strict:
        return ""
    other = OTHER_ORDER[reader.format]
    texts = (without_time(" ".join(cell.split())) for cell in cells)
    wrong = [text for text in texts if year_last(text, reader.format) is None and year_last(text, other) is not None]
    if not wrong:
        return ""
    how = f"{len(wrong)} due dates, such as {quoted(wrong[0])}, can only be {WORDED[other]}"
    return f"the column is mixed: {how}; others that were read as {WORDED[reader.format]} may be so, too"


def without_time(text: str) -> str:
    """The text without a time of day behind the date: it is dropped, never converted."""
    timed = TIME_OF_DAY.fullmatch(text)
    return timed[1] if timed else text


def day_of(year: str, month: int | str, day: str) -> dt.date | None:
    """The date of the calendar, or None: there is no 29 February 2027."""
    numbers = int(year), int(month), int(day)
    if not (numbers[0] >= dt.MINYEAR and 1 <= numbers[1] <= 12):
        return None
    return dt.date(*numbers) if 1 <= numbers[2] <= calendar.monthrange(*numbers[:2])[1] else None


def year_first(text: str) -> dt.date | None:
    found = YEAR_FIRST.fullmatch(text)
    if found is None:
        return None
    return day_of(found[1], found[3], found[4]) if found[1] else day_of(found[5], found[6], found[7])


def year_last(text: str, order: str) -> dt.date | None:
    found = YEAR_LAST.fullmatch(text)
    if found is None:
        return None
    day, month = (found[1], found[3]) if order == DMY else (found[3], found[1])
    return day_of(found[4], month, day)


def with_month_name(text: str) -> dt.date | None:
    """A date whose month is a word: no order is in doubt."""
    plain = without_accents(text)
    found = DAY_OF_MONTH.fullmatch(plain)
    if found and found[2] in MONTHS:
        return day_of(found[3], MONTHS[found[2]], found[1])
    found = MONTH_AND_DAY.fullmatch(plain)
    if found and found[1] in MONTHS:
        return day_of(found[3], MONTHS[found[1]], found[2])
    return None


def plausible(day: dt.date, text: str) -> dt.date:
    if not FIRST_DAY <= day <= LAST_DAY:
        years = f"{FIRST_DAY.year} to {LAST_DAY.year}"
        raise Refused(f"the year {day.year} of {quoted(text)} is outside {years}")
    return day


def proposed(text: str, zero: dt.date) -> Due | None:
    """A bare number may be a date that a spreadsheet gave away as its serial number: proposed, never taken."""
    number = NUMBER.fullmatch(text)
    if number is None:
        return None
    day = zero + dt.timedelta(days=min(int(number[1]), 2_900_000))
    if not FIRST_DAY <= day <= LAST_DAY:
        return None
    reason = f"the number {text} would be {day} in a spreadsheet: confirm the date"
    return Due(day, must_confirm=True, reason=reason, number=text)


def refuse(text: str, format: str) -> Due:
    """Raise Refused with the best reason why this text is no date."""
    if SHORT_YEAR.fullmatch(without_time(text)):
        raise Refused(f"{quoted(text)} has a year of two digits: write four")
    if NUMBER.fullmatch(text):
        raise Refused(f"{quoted(text)} is a number, not a date")
    if NO_TIME.fullmatch(text) and not TIME_OF_DAY.fullmatch(text):
        raise Refused(f"{quoted(text)} has a time that no day has: write the date alone")
    for order in (YMD, DMY, MDY):
        other = year_first(text) if order == YMD else year_last(text, order)
        if other is not None:
            raise Refused(
                f"{quoted(text)} is not a date in {WORDED.get(format, format)}; in {WORDED[order]} it would be one"
            )
    raise Refused(f"{quoted(text)} is not a date")


def by_pattern(text: str, pattern: str) -> dt.date | None:
    """The date by a strptime pattern; a two-digit year is one of this century."""
    for written in (text, without_time(text)):
        try:
            day = dt.datetime.strptime(written, pattern).date()  # noqa: DTZ007  A date has no zone (P6).
        except ValueError:
            continue
        # strptime takes 69 to 99 for the last century; a register of what falls due looks ahead.
        return day_of(str(2000 + day.year % 100), day.month, str(day.day)) if "%y" in pattern else day
    return None


def check_pattern(pattern: str) -> None:
    """Raise Refused unless the pattern is one of strptime that fixes day, month and year, and no zone."""
    wanted = f"write {AUTO}, {YMD}, {DMY}, {MDY}, or a pattern such as %d/%m/%Y"
    directives = re.findall("%([a-zA-Z%])", pattern)
    year = sum(directives.count(one) for one in "yY")
    month = sum(directives.count(one) for one in "mbB")
    if "%" not in pattern or year != 1 or month != 1 or directives.count("d") != 1:
        raise Refused(f"--date-format {quoted(pattern)} does not give day, month and year once: {wanted}.")
    if {"z", "Z"} & set(directives):
        raise Refused(f"--date-format {quoted(pattern)} has a time zone, and due dates have none: {wanted}.")
    try:
        dt.datetime.strptime(dt.date(2027, 12, 31).strftime(pattern), pattern)  # noqa: DTZ007
    except (ValueError, re.error):
        raise Refused(f"--date-format {quoted(pattern)} is not a pattern of strptime: {wanted}.") from None
