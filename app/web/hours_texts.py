"""The hours of e-mail in words, for their owner and for whoever manages people; and what is left untold without."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from app.domain.mail_hours import Rest
from app.queries.settings import PersonLine
from app.queries.untold import Untold
from app.wording import gettext, ngettext, pgettext, plural

NAMED_AT_MOST = 5  # Rules; who tells by more is a sentence that nobody reads.


def rest_words(rest: Rest) -> str:
    """20:00 to 06:00 and days off; none."""
    if rest.begins is None or rest.ends is None:
        return gettext("days off") if rest.days_off else pgettext("rest time", "none")
    hours = {"begins": f"{rest.begins:%H:%M}", "ends": f"{rest.ends:%H:%M}"}
    if rest.days_off:
        return gettext("%(begins)s to %(ends)s and days off", **hours)
    return gettext("%(begins)s to %(ends)s", **hours)


def hours_words(daily_at: dt.time | None, rest: Rest | None) -> str:
    """Once a day at 08:00; rest 20:00 to 06:00. Nothing for who has chosen nothing."""
    daily = gettext("once a day at %(hour)s", hour=f"{daily_at:%H:%M}") if daily_at else ""
    own = "" if rest is None else gettext("no rest time")
    if rest is not None and not rest.is_none:
        own = gettext("rest %(hours)s", hours=rest_words(rest))
    return "; ".join(filter(None, [daily, own]))


def alerts_words(person: PersonLine, rest_of_all: Rest) -> str:
    """Whether e-mail goes to the person, and when: On: once a day at 08:00; rest 20:00 to 06:00."""
    if not person.email:
        return gettext("No e-mail address: nothing goes by e-mail.")
    if not person.email_alerts:
        return gettext("Off: nothing goes by e-mail.")
    as_all = person.rest is None and not rest_of_all.is_none
    parts = (
        "" if person.mail_hour else gettext("at once"),
        hours_words(person.mail_hour, person.rest),
        gettext("rest as everybody, %(hours)s", hours=rest_words(rest_of_all)) if as_all else "",
    )
    return gettext("On: %(hours)s.", hours="; ".join(filter(None, parts)))


# By whether it is said to the person, and whether e-mail is off already.
ONLY_IN_APP: Mapping[tuple[bool, bool], tuple[str, str]] = {
    (True, False): plural(
        "Of %(number)d deadline you would be told only here in the app.",
        "Of %(number)d deadlines you would be told only here in the app.",
    ),
    (True, True): plural(
        "Of %(number)d deadline you are told only here in the app.",
        "Of %(number)d deadlines you are told only here in the app.",
    ),
    (False, False): plural(
        "Of %(number)d deadline %(name)s would be told only in the app.",
        "Of %(number)d deadlines %(name)s would be told only in the app.",
    ),
    (False, True): plural(
        "Of %(number)d deadline %(name)s is told only in the app.",
        "Of %(number)d deadlines %(name)s is told only in the app.",
    ),
}
NOT_TOLD: Mapping[tuple[bool, bool], tuple[str, str]] = {
    (True, False): plural(
        "Of %(number)d deadline you would not be told at all: %(rules)s.",
        "Of %(number)d deadlines you would not be told at all: %(rules)s.",
    ),
    (True, True): plural(
        "Of %(number)d deadline you are not told at all: %(rules)s.",
        "Of %(number)d deadlines you are not told at all: %(rules)s.",
    ),
    (False, False): plural(
        "Of %(number)d deadline %(name)s would not be told at all: %(rules)s.",
        "Of %(number)d deadlines %(name)s would not be told at all: %(rules)s.",
    ),
    (False, True): plural(
        "Of %(number)d deadline %(name)s is not told at all: %(rules)s.",
        "Of %(number)d deadlines %(name)s is not told at all: %(rules)s.",
    ),
}
NOBODY: Mapping[bool, tuple[str, str]] = {
    False: plural(
        "Of %(number)d deadline nobody else would be told, either.",
        "Of %(number)d deadlines nobody else would be told, either.",
    ),
    True: plural(
        "Of %(number)d deadline nobody else is told, either.", "Of %(number)d deadlines nobody else is told, either."
    ),
}


def untold_words(untold: Untold, person: str | None = None, *, is_so: bool = False) -> str:
    """What follows without e-mail, said to the person, or of the person of this name; `is_so`: it is off already."""
    case, parts = (person is None, is_so), []
    if untold.in_app:
        parts.append(ngettext(*ONLY_IN_APP[case], len(untold.in_app), name=person))
    if untold.not_told:
        rules = rules_by_mail(sorted(untold.rules))
        parts.append(ngettext(*NOT_TOLD[case], len(untold.not_told), name=person, rules=rules))
    if untold.nobody:
        parts.append(ngettext(*NOBODY[is_so], len(untold.nobody)))
    return " ".join(parts)


def rules_by_mail(rules: list[str]) -> str:
    """2 rules tell by e-mail only (Permits, Training)."""
    names, more = ", ".join(rules[:NAMED_AT_MOST]), len(rules) - NAMED_AT_MOST
    if more > 0:
        names = gettext("%(names)s and %(number)s more", names=names, number=more)
    return ngettext(
        "%(number)d rule tells by e-mail only (%(names)s)",
        "%(number)d rules tell by e-mail only (%(names)s)",
        len(rules),
        names=names,
    )
