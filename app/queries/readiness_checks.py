"""Each check of *Is this site ready?*, judged in plain Python over facts that were read once, and said in a sentence.

Whatever Today and `onus status` count is counted by the same judge (`watched.py`). Nothing that nobody has looked at is
fine: where a check cannot be made, it is open.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.acts import Status
from app.domain.delivery import Channel, State
from app.domain.recipients import POST, parse
from app.queries.facts import MemberRow, RuleRow, SubjectRow
from app.queries.sight import SiteDay
from app.queries.watch import SiteWatch
from app.queries.watched import Gap, Judge, is_reachable
from app.wording import gettext, later, ngettext, plural
from app.words import day

AHEAD = 30  # Days: a successor who is named within a month can be told in time.
UNKNOWN_DAY = later("The time zone of the site cannot be used, so nobody can say what day it is there: correct it.")
NO_ALERT = {
    Gap.no_rule: plural("%(kind)s: %(number)d entry has no rule", "%(kind)s: %(number)d entries have no rule"),
    Gap.nobody_to_tell: plural(
        "%(kind)s: %(number)d entry has a rule, and nobody whom it could tell",
        "%(kind)s: %(number)d entries have a rule, and nobody whom it could tell",
    ),
}
NEVER_DATED = plural(
    "Besides, %(number)d entry has never had a date and is taken for one that does not expire: no alert ever comes "
    "for it.",
    "Besides, %(number)d entries have never had a date and are taken for such that do not expire: no alert ever comes "
    "for them.",
)
NOT_FILLED = plural(
    "%(open)s of the %(number)d post that rules and entries here name must be filled.",
    "%(open)s of the %(number)d posts that rules and entries here name must be filled.",
)
FILLED = plural(
    "Filled, today and for the next %(days)s days: the %(number)d post that rules and entries here name.",
    "Filled, today and for the next %(days)s days: the %(number)d posts that rules and entries here name.",
)
UNREACHED = plural(
    "%(open)s of the %(number)d person whom the rules would tell here cannot be reached.",
    "%(open)s of the %(number)d people whom the rules would tell here cannot be reached.",
)


class About(StrEnum):
    """What a check is about, in the order of the page."""

    rules = "rules"
    drafts = "drafts"
    dates = "dates"
    responsible = "responsible"
    posts = "posts"
    people = "people"
    watch = "watch"
    server = "server"
    line = "line"
    trial = "trial"


class Verdict(StrEnum):
    """How a check ended. What was not tested is not fine."""

    fine = "fine"
    open = "open"
    untested = "untested"


@dataclass(frozen=True)
class Point:
    """One thing that is open. The id is that of the kind, the post or the person, whatever the check is about;
    `responsible` is what finds its entries in the register."""

    text: str
    id: int | None = None
    responsible: str = ""


@dataclass(frozen=True)
class Check:
    """One check of one site. `count` is how many things are open, where they can be counted."""

    about: About
    verdict: Verdict
    sentence: str
    count: int = 0
    points: Sequence[Point] = ()

    @property
    def is_fine(self) -> bool:
        return self.verdict is Verdict.fine


@dataclass(frozen=True)
class SiteFacts:
    """What the checks of one site look at: its entries but the archived ones, why some are not watched, and names.

    `told` are the people whom the rules would tell here, with these rules; `faults` what became of the last mail of
    those whom it did not reach; `undated` the entries that never had a date.
    """

    site: SiteDay
    judge: Judge
    entries: Sequence[SubjectRow]
    gaps: Mapping[int, Gap]
    undated: frozenset[int]
    told: Mapping[int, Sequence[RuleRow]]
    faults: Mapping[int, str]
    kinds: Mapping[int, str]
    posts: Mapping[int, str]
    members: Mapping[int, str]
    mark: SiteWatch | None
    problems: Sequence[str]

    @property
    def watched(self) -> list[SubjectRow]:
        """The entries that somebody has put on the watch."""
        return [entry for entry in self.entries if entry.status == Status.watched]


def checks_of(facts: SiteFacts) -> Iterator[Check]:
    """The checks of the site itself; those of the mail are the organisation's (`mail_checks`)."""
    for about, check in CHECKS.items():
        needs_day = about in (About.rules, About.responsible, About.posts, About.people)
        if needs_day and facts.site.today is None:
            yield Check(about, Verdict.open, gettext(UNKNOWN_DAY))
        else:
            yield check(facts)


def check_rules(facts: SiteFacts) -> Check:
    """Each kind of what is watched has a rule in force, with a distance, that finds somebody."""
    kinds = Counter((entry.kind_id, gap) for entry in facts.watched if (gap := facts.gaps.get(entry.id)) in NO_ALERT)
    if not facts.watched:
        nothing = gettext("No entry is on the watch here yet, so there is nothing to be told of.")
        return Check(About.rules, Verdict.open, nothing)
    points = [
        Point(ngettext(*NO_ALERT[gap], count, kind=facts.kinds[kind_id]), kind_id)
        for (kind_id, gap), count in sorted(kinds.items(), key=lambda one: (facts.kinds[one[0][0]].lower(), one[0][1]))
        if gap is not None
    ]
    fine = ngettext(
        "Every kind of the %(number)d entry on the watch has a rule that finds somebody.",
        "Every kind of the %(number)d entries on the watch has a rule that finds somebody.",
        len(facts.watched),
    )
    count = kinds.total()
    found = ngettext(
        "No alert comes for %(number)d entry: make a rule for the kind, or name somebody in it.",
        "No alert comes for %(number)d entries: make a rule for the kind, or name somebody in it.",
        count,
    )
    return judged(About.rules, points, fine, found, count)


def check_drafts(facts: SiteFacts) -> Check:
    count = count_of(facts, Gap.draft)
    found = ngettext(
        "%(number)d entry is a draft, and nobody is told of a draft: release it.",
        "%(number)d entries are drafts, and nobody is told of a draft: release it.",
        count,
    )
    return counted(About.drafts, count, gettext("No entry waits to be released."), found)


def check_dates(facts: SiteFacts) -> Check:
    """What never had a date is taken for what does not expire; it is counted beside, and leaves the site ready."""
    dateless = [id for id, gap in facts.gaps.items() if gap is Gap.no_date]
    never = sum(1 for id in dateless if id in facts.undated)
    count = len(dateless) - never
    beside = ngettext(*NEVER_DATED, never) if never else ""
    fine = gettext("Every entry on the watch that had a date has an open one.")
    found = ngettext(
        "%(number)d entry has no open date: the last one was closed, and no next one was set. Set it, or archive "
        "the entry.",
        "%(number)d entries have no open date: the last one was closed, and no next one was set. Set it, or archive "
        "the entry.",
        count,
    )
    return counted(About.dates, count, f"{fine} {beside}".rstrip(), f"{found} {beside}".rstrip())


def check_responsible(facts: SiteFacts) -> Check:
    """Somebody who is there answers for each entry: a person, or whoever holds a post today."""
    lacks: Counter[tuple[str, str]] = Counter()
    for entry in facts.watched:
        if (lack := lack_of_owner(facts, entry)) is not None:
            lacks[lack] += 1
    points = [
        Point(
            ngettext("%(number)d entry: %(lack)s", "%(number)d entries: %(lack)s", count, lack=lack), None, responsible
        )
        for (lack, responsible), count in sorted(lacks.items())
    ]
    count = lacks.total()
    found = ngettext(
        "Nobody is responsible for %(number)d entry: name a person, or fill the post.",
        "Nobody is responsible for %(number)d entries: name a person, or fill the post.",
        count,
    )
    fine = gettext("Somebody is responsible for every entry on the watch.")
    return judged(About.responsible, points, fine, found, count)


def lack_of_owner(facts: SiteFacts, entry: SubjectRow) -> tuple[str, str] | None:
    """Why nobody answers for the entry, and whom the register names in its place."""
    audience, day = facts.judge.audience, facts.site.today
    if day is None or (entry.owner_member_id is None and entry.owner_post_id is None):
        return gettext("neither a person nor a post is named"), "nobody"
    if entry.owner_member_id is not None and audience.may_be_told(entry.owner_member_id, entry.site_id, day):
        return None
    if entry.owner_post_id is None:
        name = facts.members[entry.owner_member_id or 0]
        lack = gettext("%(name)s is not there any more, or may not see the site", name=name)
        return lack, f"member:{entry.owner_member_id}"
    if audience.is_held(entry.owner_post_id, entry.site_id, day):
        return None
    lack = gettext("nobody holds the post %(post)s", post=facts.posts[entry.owner_post_id])
    return lack, f"post:{entry.owner_post_id}"


def check_posts(facts: SiteFacts) -> Check:
    """Each post that a rule in force or an entry names is filled today, and stays so for thirty days."""
    named = {name.lower(): name for name in named_posts(facts)}
    points = [point for name in sorted(named) if (point := fault_of_post(facts, name, named[name])) is not None]
    if not named:
        return Check(About.posts, Verdict.fine, gettext("No rule and no entry here names a post."))
    fine = ngettext(*FILLED, len(named), days=AHEAD)
    found = ngettext(*NOT_FILLED, len(named), open=len(points))
    return judged(About.posts, points, fine, found, len(points))


def named_posts(facts: SiteFacts) -> Iterator[str]:
    ids = {entry.id for entry in facts.entries}
    for rule in facts.judge.reach.rules_at(facts.site.id, ids):
        beside = [parse(rule.fallback)] if rule.fallback else []
        for recipient in (*facts.judge.audience.routes.get(rule.id, ()), *beside):
            if recipient.route == POST and recipient.name:
                yield recipient.name
    for post_id in {entry.owner_post_id for entry in facts.entries} - {None}:
        yield facts.posts[post_id or 0]


def fault_of_post(facts: SiteFacts, folded: str, name: str) -> Point | None:
    audience, today = facts.judge.audience, facts.site.today
    post_id = audience.posts.get(folded)
    if today is None:
        return None
    for ahead in range(AHEAD + 1):
        on = today + dt.timedelta(ahead)
        if not audience.is_held(post_id, facts.site.id, on):
            post = facts.posts.get(post_id or 0, name)
            if ahead:
                return Point(gettext("%(post)s: from %(day)s on nobody holds it", post=post, day=day(on)), post_id)
            return Point(gettext("%(post)s: nobody holds it today", post=post), post_id)
    return None


def check_people(facts: SiteFacts) -> Check:
    """Whoever would be told here can be reached by each rule that tells them."""
    if not facts.told:
        nobody = gettext("No rule would tell anybody of anything here, as things stand.")
        return Check(About.people, Verdict.open, nobody)
    lacks = {id: lack for id, rules in facts.told.items() if (lack := lack_of_channel(facts, id, rules)) is not None}
    points = [Point(f"{facts.members[id]}: {lacks[id]}", id) for id in sorted(lacks, key=lambda id: facts.members[id])]
    fine = ngettext(
        "Reachable: the %(number)d person whom the rules would tell here.",
        "Reachable: the %(number)d people whom the rules would tell here.",
        len(facts.told),
    )
    found = ngettext(*UNREACHED, len(facts.told), open=len(points))
    return judged(About.people, points, fine, found, len(points))


def lack_of_channel(facts: SiteFacts, member_id: int, rules: Sequence[RuleRow]) -> str | None:
    member = facts.judge.audience.members[member_id]
    fault = facts.faults.get(member_id)
    for rule in rules:
        if not is_reachable(member, rule.channels):
            return unreachable(member, rule)
        signs_in = Channel.in_app in rule.channels and member.account_id is not None
        if fault is not None and not signs_in:
            came_back = fault == State.bounced
            return gettext("the last mail came back") if came_back else gettext("the last mail was refused")
    return None


def unreachable(member: MemberRow, rule: RuleRow) -> str:
    """Why no channel of the rule reaches the member."""
    if Channel.email not in rule.channels:
        return gettext("the rule %(rule)s tells in the app only, and there is no sign-in", rule=rule.name)
    if Channel.in_app not in rule.channels:
        return gettext("e-mail alerts are off") if member.email else gettext("there is no e-mail address")
    if member.email:
        return gettext("e-mail alerts are off, and there is no sign-in")
    return gettext("there is no e-mail address, and there is no sign-in")


def check_watch(facts: SiteFacts) -> Check:
    """The site was checked up to its today, and the watch runs: as Today says it."""
    mark = facts.mark
    points = [Point(problem) for problem in facts.problems]
    if mark is None or mark.today is None:
        points.append(Point(gettext(UNKNOWN_DAY)))
    elif mark.scanned_through is None:
        points.append(Point(gettext("The site was not checked yet: the watch looks at it within minutes, if it runs.")))
    elif not mark.up_to_date:
        days = {"day": day(mark.scanned_through), "today": day(mark.today)}
        points.append(Point(gettext("Checked up to %(day)s only, and there it is %(today)s.", **days)))
    fine = gettext("The watch is running.")
    if mark and mark.scanned_through:
        until = day(mark.scanned_through)
        fine = gettext("The watch is running. The site is checked up to %(day)s.", day=until)
    found = gettext("Alerts of this site may be late until this is put right; none is lost.")
    return judged(About.watch, points, fine, found, len(points))


CHECKS: Mapping[About, Callable[[SiteFacts], Check]] = {
    About.rules: check_rules,
    About.drafts: check_drafts,
    About.dates: check_dates,
    About.responsible: check_responsible,
    About.posts: check_posts,
    About.people: check_people,
    About.watch: check_watch,
}


def count_of(facts: SiteFacts, gap: Gap) -> int:
    return sum(1 for one in facts.gaps.values() if one is gap)


def judged(about: About, points: Sequence[Point], fine: str, found: str, count: int) -> Check:
    return Check(about, Verdict.open, found, count, tuple(points)) if points else Check(about, Verdict.fine, fine)


def counted(about: About, count: int, fine: str, found: str) -> Check:
    return Check(about, Verdict.open, found, count) if count else Check(about, Verdict.fine, fine)
