"""What a policy of retention may let go, and how old it must be by then.

Only what no alert, no answer and no decision rests on: the ledger and the events of alerts, entries, deadlines, rules,
people and keys stay for good (P7), and so does everything of the last ninety days.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from dateutil.relativedelta import relativedelta

from app.domain.errors import Refused, quoted

AT_LEAST = dt.timedelta(days=90)  # Pages look as far back as that, and whoever was wrong must have time to see it.
MOST_WORDS = 300  # Characters of a policy in words: a reference and a sentence, as the verifier repeats it.
UNITS = {"d": "days", "w": "weeks", "m": "months", "y": "years"}
AGE = re.compile(r"([1-9][0-9]{0,4})([dwmy])")

# Who came, looked and was turned away. Nothing else in the trail may go.
VISITS = ("absence_summary_read", "access_refused", "looked", "sign_in_refused", "signed_in")


class Kept(StrEnum):
    """The kinds of things that a policy may name; each has an age of its own."""

    visits = "visits"
    messages = "messages"
    imports = "imports"
    reports = "reports"


MEANING: Mapping[Kept, str] = {
    Kept.visits: "events of who signed in, looked and was refused",
    Kept.messages: "the words of e-mails about deadlines that are closed",
    Kept.imports: "lines of imported files",
    Kept.reports: "files of reports that were asked for",
}


@dataclass(frozen=True)
class Policy:
    """What goes at which age. `words` say who decided it, and where it is written down."""

    ages: Mapping[Kept, str]
    words: str

    def before(self, now: dt.datetime) -> dict[Kept, dt.datetime]:
        """The instant before which each kind goes. Raises Refused."""
        return {kept: reach_of(age, now) for kept, age in self.ages.items()}


def policy_of(ages: Mapping[Kept, str], words: str) -> Policy:
    """A policy that names at least one kind, and itself in one line. Raises Refused."""
    if not ages:
        options = ", ".join(f"--{one} 2y" for one in Kept)
        raise Refused("name what goes, and at which age: %(options)s", options=options)
    said = " ".join(words.split())
    if len(said) > MOST_WORDS:
        raise Refused(
            "the policy has %(length)d characters: name it in %(most)d at most", length=len(said), most=MOST_WORDS
        )
    return Policy(ages, said)


def reach_of(age: str, now: dt.datetime) -> dt.datetime:
    """The instant this age ago, by the calendar. Raises Refused for what is no age, or younger than ninety days."""
    found = AGE.fullmatch(age)
    if found is None:
        raise Refused("%(age)s is no age: write 10y, 18m, 26w or 400d", age=quoted(age))
    try:
        reach = now - relativedelta(**{UNITS[found[2]]: int(found[1])})  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        raise Refused("%(age)s is longer than there are dates: nothing is that old", age=quoted(age)) from None
    if now - reach < AT_LEAST:
        raise Refused("%(age)s is too young: all of the last %(days)d days stays", age=age, days=AT_LEAST.days)
    return reach
