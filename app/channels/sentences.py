"""What a mail says about its alerts, sentence by sentence, in the reader's language; both forms of the mail lay it out.

The words are those of the screens. Must not know a line, a tag or an address of a page.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.channels.message import one_line, some_lines
from app.domain.delivery import Because
from app.domain.letters import NAMED_AT_MOST, Contact, Letter, Notice
from app.wording import Wording, later

THIS_YEAR, ANY_YEAR, DATE = later("EEEE, d MMMM"), later("EEEE, d MMMM y"), later("d MMMM y")
EXPIRES = "expires"  # A paper expires; whatever else falls due.
NAMES_AT_MOST = 10  # People named in one line; the rest is counted.
LONGEST_TITLE = 120  # Characters of a title in a subject: what a mailbox can show, and more.
LONGEST_WHOLE = 50  # Of them for what it is part of, where both do not fit.
WITHIN = " › "  # Between a whole and its part.


@dataclass(frozen=True)
class Told:
    """One alert as a mail tells it. Every text is ready for a line, and not yet for a tag."""

    claim_id: int
    title: str
    is_late: bool
    due: str
    moved: str | None
    entry: str
    where: str
    what_to_do: str
    why: str
    others: str


@dataclass(frozen=True)
class Sentences:
    """The sentences of one language."""

    wording: Wording

    def subject(self, letter: Letter) -> str:
        """The most urgent alert, and how many more there are."""
        _, ngettext = self.wording.gettext, self.wording.ngettext
        first, more = letter.notices[0], len(letter.notices) - 1
        same_year = first.due_on.year == first.today.year
        places = {
            "place": f"{one_line(letter.organisation)} · {one_line(first.site)}",
            "left": self.left(first),
            "title": in_subject(first),
            "day": self.wording.day(first.asked_on or first.due_on, THIS_YEAR if same_year else ANY_YEAR),
        }
        if more == 0:
            return _("[%(place)s] %(left)s: %(title)s (%(day)s)", **places)
        return ngettext(
            "[%(place)s] %(left)s: %(title)s (%(day)s) and %(number)d more",
            "[%(place)s] %(left)s: %(title)s (%(day)s) and %(number)d more",
            more,
            **places,
        )

    def told(self, notice: Notice) -> Told:
        return Told(
            claim_id=notice.claim_id,
            title=titled(notice),
            is_late=notice.days_left < 0 and not notice.asked_on,
            due=self.due(notice),
            moved=self.moved(notice),
            entry=self.entry(notice),
            where=self.wording.gettext(
                "%(site)s (time zone %(zone)s)", site=one_line(notice.site), zone=one_line(notice.timezone)
            ),
            what_to_do=self.what_to_do(notice),
            why=self.why(notice.because, notice.covers, notice.disowned_by),
            others=self.others(notice.others),
        )

    def left(self, notice: Notice) -> str:
        """How far the due date is away today at its site, for a subject."""
        _, ngettext, days = self.wording.gettext, self.wording.ngettext, notice.days_left
        if notice.asked_on:
            return _("Ask the authority again")
        if days > 0:
            return ngettext("%(number)d day", "%(number)d days", days)
        if notice.wording == EXPIRES:
            if days == 0:
                return _("Expires today")
            return ngettext("Expired %(number)d day ago", "Expired %(number)d days ago", -days)
        if days == 0:
            return _("Due today")
        return ngettext("%(number)d day overdue", "%(number)d days overdue", -days)

    def due(self, notice: Notice) -> str:
        """The same as a sentence, with the date."""
        if notice.asked_on and notice.filed_on:
            return self.filed(self.wording.day(notice.filed_on, DATE), one_line(notice.receipt or ""))
        day = self.wording.day(notice.due_on, ANY_YEAR)
        said = self.expires if notice.wording == EXPIRES else self.falls_due
        return said(notice.days_left, day)

    def filed(self, day: str, receipt: str) -> str:
        _ = self.wording.gettext
        if not receipt:
            return _("Filed with the authority on %(day)s, and not answered yet.", day=day)
        return _(
            "Filed with the authority on %(day)s, receipt %(receipt)s, and not answered yet.", day=day, receipt=receipt
        )

    def what_to_do(self, notice: Notice) -> str:
        """What the kind says, and whether proof is needed; of a filing, to ask for its answer."""
        _ = self.wording.gettext
        if notice.asked_on:
            return _("Ask the authority how far it is, and enter its answer, or the next day to ask.")
        proof = _("To close it as done, proof is needed: the number or the file of a paper.")
        return "\n".join(filter(None, (some_lines(notice.what_to_do), proof if notice.proof_needed else "")))

    def expires(self, days: int, day: str) -> str:
        _, ngettext = self.wording.gettext, self.wording.ngettext
        if days == 0:
            return _("Expires today, %(day)s.", day=day)
        if days < 0:
            return ngettext(
                "Expired %(number)d day ago, on %(day)s.", "Expired %(number)d days ago, on %(day)s.", -days, day=day
            )
        return ngettext(
            "%(number)d day left: expires on %(day)s.", "%(number)d days left: expires on %(day)s.", days, day=day
        )

    def falls_due(self, days: int, day: str) -> str:
        _, ngettext = self.wording.gettext, self.wording.ngettext
        if days == 0:
            return _("Due today, %(day)s.", day=day)
        if days < 0:
            return ngettext(
                "%(number)d day overdue: it was due on %(day)s.",
                "%(number)d days overdue: it was due on %(day)s.",
                -days,
                day=day,
            )
        return ngettext("%(number)d day left: due on %(day)s.", "%(number)d days left: due on %(day)s.", days, day=day)

    def moved(self, notice: Notice) -> str | None:
        if notice.first_due_on == notice.due_on or notice.asked_on:
            return None
        day = self.wording.day(notice.first_due_on, DATE)
        return self.wording.gettext("The date was moved: at first it was %(day)s.", day=day)

    def entry(self, notice: Notice) -> str:
        return f"{one_line(notice.kind)} {one_line(notice.reference)}".strip()

    def why(self, because: str, covers: str | None = None, disowned_by: str | None = None) -> str:
        """The route by which the reader is told; a route without a sentence is still a rule."""
        _ = self.wording.gettext
        if covers is not None:
            return _("you stand in for %(name)s.", name=one_line(covers))
        if disowned_by is not None and because == Because.nobody_above:
            return _(
                "%(name)s said that it is not theirs, and nobody has acted since; nobody holds a post above, and you "
                "are an administrator.",
                name=one_line(disowned_by),
            )
        if disowned_by is not None:
            return _(
                "%(name)s said that it is not theirs, and nobody has acted since; you hold the post above.",
                name=one_line(disowned_by),
            )
        sentences: dict[str, str] = {
            Because.owner: _("you are responsible for it."),
            Because.holder: _("you are its holder."),
            Because.post: _("you hold a post that is told."),
            Because.role: _("your role is told."),
            Because.named: _("the rule names you."),
            Because.fallback: _("the message to somebody else came back, and the rule names you for that."),
            Because.returned: _("the message to somebody else came back."),
            Because.cover: _("you stand in for somebody who is away."),
            Because.above: _("somebody said that it is not theirs; you hold the post above."),
            Because.nobody_above: _("somebody said that it is not theirs; you are an administrator."),
        }
        return sentences.get(because, _("a rule says so."))

    def others(self, names: tuple[str, ...]) -> str:
        if not names:
            return self.wording.gettext("Nobody else was told.")
        shown, more = ", ".join(map(one_line, names[:NAMES_AT_MOST])), len(names) - NAMES_AT_MOST
        if more <= 0:
            return self.wording.gettext("Also told: %(names)s.", names=shown)
        return self.wording.ngettext(
            "Also told: %(names)s and %(number)d more person.",
            "Also told: %(names)s and %(number)d more people.",
            more,
            names=shown,
        )

    def counted(self, letter: Letter) -> str:
        number = len(letter.notices)
        return self.wording.ngettext(
            "%(number)d alert for you", "%(number)d alerts for you, the most urgent first", number
        )

    def unnamed(self, letter: Letter) -> str | None:
        """The alerts that one message has no room for."""
        more = len(letter.notices) - NAMED_AT_MOST
        if more <= 0:
            return None
        return self.wording.ngettext(
            "%(number)d more alert is not named here. Your inbox has all of them:",
            "%(number)d more alerts are not named here. Your inbox has all of them:",
            more,
        )

    def ask(self, contacts: tuple[Contact, ...]) -> str:
        named = (f"{one_line(c.name)} ({one_line(c.address)})" if c.address else one_line(c.name) for c in contacts)
        return ", ".join(named)


def titled(notice: Notice) -> str:
    """The title; of a part with what it is part of: 0417 Discharge permit › 4.2 Quarterly sample."""
    return f"{one_line(notice.whole)}{WITHIN}{own_words(notice)}" if notice.whole else one_line(notice.title)


def own_words(notice: Notice) -> str:
    reference, title = one_line(notice.reference), one_line(notice.title)
    return title if title == reference else f"{reference} {title}"


def in_subject(notice: Notice) -> str:
    """The same for a subject: where it is too long, what it is part of gives way first."""
    title = titled(notice)
    if notice.whole is None or len(title) <= LONGEST_TITLE:
        return shortened(title)
    return shortened(f"{shortened(one_line(notice.whole), LONGEST_WHOLE)}{WITHIN}{own_words(notice)}")


def shortened(title: str, longest: int = LONGEST_TITLE) -> str:
    return title if len(title) <= longest else f"{title[: longest - 1].rstrip()}…"
