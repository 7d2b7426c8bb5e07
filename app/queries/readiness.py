"""Whether a site is ready: every check of it, read in few statements, whatever the number of its entries. Read only.

The same judges as Today and `onus status` count, so that no page says another number than the next.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.domain.acts import Status
from app.domain.trials import TrialEnd
from app.models import Kind, Member, Subject
from app.queries.facts import People, Register, RuleRow, SubjectRow, read_register_and_people
from app.queries.readiness_checks import About, Check, SiteFacts, Verdict, checks_of
from app.queries.settings import mail_faults
from app.queries.sight import Sight, SiteDay
from app.queries.stops import Stops
from app.queries.today import Look, look_at_watch
from app.queries.trials import Trial, read_last_trial
from app.queries.watched import Gap, Judge
from app.wording import gettext, later

ON_PURPOSE = (Gap.out_of_service, Gap.paused)  # Somebody has taken these off, and the site can be ready without them.

# What became of the last test mail, where no mail server took it.
LAST_TRIAL = {
    None: later("The last test mail is still on its way."),
    TrialEnd.filed: later("The last test mail was written to a file, so that no mail server was tested by it."),
    TrialEnd.put_off: later("The mail server did not take the last test mail for now: send another one later."),
    TrialEnd.refused: later("The mail server refused the last test mail."),
    TrialEnd.broken: later("The line to the mail server broke before the last test mail was sent."),
    TrialEnd.no_answer: later("The last test mail may have been sent, not confirmed: send another one."),
    TrialEnd.too_late: later("The last test mail was not sent: no mail was sent within an hour."),
}

Told = dict[int, list[RuleRow]]


@dataclass(frozen=True)
class Readiness:
    """A site and its checks. `gaps` counts what is not watched there, as Today does."""

    site: SiteDay
    checks: Sequence[Check]
    gaps: Mapping[Gap, int]

    @property
    def open(self) -> list[Check]:
        return [check for check in self.checks if not check.is_fine]

    @property
    def is_ready(self) -> bool:
        """Only if every check is fine."""
        return not self.open

    @property
    def on_purpose(self) -> dict[Gap, int]:
        return {gap: self.gaps[gap] for gap in ON_PURPOSE if self.gaps.get(gap)}


def read_readiness(
    session: Session, sight: Sight, name: str, late: dt.timedelta, stops: Stops, site_id: int | None = None
) -> list[Readiness]:
    """The sites in use that are seen, or one of them. `late` is the patience of the settings, `name` as on Today."""
    ids = None if site_id is None else select(Subject.id).where(Subject.org_id == sight.org, Subject.site_id == site_id)
    register, people = read_register_and_people(session, sight.org, ids)
    judge = Judge(register, people, sight.now)
    entries: defaultdict[int, list[SubjectRow]] = defaultdict(list)
    for entry in register.subjects:
        if entry.status != Status.archived:
            entries[entry.site_id].append(entry)
    sites = [site for site in sight.in_use if site_id in (None, site.id)]
    told = {site.id: told_at(judge, site, entries[site.id]) for site in sites}
    known = Known.read(session, sight.org, register, people, told)
    look = look_at_watch(session, sight, name, late)
    mail = list(mail_checks(stops, read_last_trial(session, sight.org)))
    return [
        judged(known.facts_of(site, judge, entries[site.id], told[site.id], relevant(look, stops, name, site)), mail)
        for site in sites
    ]


def judged(facts: SiteFacts, mail: Sequence[Check]) -> Readiness:
    return Readiness(facts.site, [*checks_of(facts), *mail], Counter(facts.gaps.values()))


def told_at(judge: Judge, site: SiteDay, entries: Sequence[SubjectRow]) -> Told:
    """Whom the rules in force would tell of what is on the watch here, and by which rules."""
    told: dict[tuple[int, int], RuleRow] = {}
    for entry in entries if site.today is not None else ():
        if entry.status == Status.watched and site.today is not None:
            for rule in judge.reach.rules_for(entry):
                if rule.id in judge.with_threshold:
                    told |= {(id, rule.id): rule for id in judge.audience.told(rule, entry, site.today)}
    found: defaultdict[int, list[RuleRow]] = defaultdict(list)
    for (member_id, _), rule in told.items():
        found[member_id].append(rule)
    return dict(found)


def relevant(look: Look, stops: Stops, name: str, site: SiteDay) -> Look:
    """The look as it concerns this site: not what the last check said of another one."""
    others = tuple(f"{name}, {mark.site}: " for mark in look.marks if mark.site != site.name)
    problems = [problem for problem in look.problems if not problem.startswith(others)]
    halts = [f"{halt[0].upper()}{halt[1:]}." for halt in stops.halts]
    return Look([mark for mark in look.marks if mark.site == site.name], look.looked_at, [*halts, *problems])


@dataclass(frozen=True)
class Known:
    """What the checks of all sites need beside their entries: names, faults of mail, what never had a date."""

    kinds: Mapping[int, str]
    posts: Mapping[int, str]
    members: Mapping[int, str]
    faults: Mapping[int, str]
    dated: frozenset[int]

    @classmethod
    def read(cls, session: Session, org: int, register: Register, people: People, told: Mapping[int, Told]) -> Known:
        to_tell = {id for found in told.values() for id in found}
        kinds = session.execute(select(Kind.id, Kind.name).where(Kind.org_id == org)).all()
        members = session.execute(select(Member.id, Member.name).where(Member.org_id == org)).all()
        faults = mail_faults(session, org, to_tell) if to_tell else {}
        dated = frozenset(row.subject_id for row in register.obligations)
        posts = {row.id: row.name for row in people.posts}
        return cls({row[0]: row[1] for row in kinds}, posts, {row[0]: row[1] for row in members}, faults, dated)

    def facts_of(self, site: SiteDay, judge: Judge, entries: Sequence[SubjectRow], told: Told, look: Look) -> SiteFacts:
        gaps = {entry.id: gap for entry in entries if (gap := judge.gap_of(entry)) is not None}
        return SiteFacts(
            site=site,
            judge=judge,
            entries=entries,
            gaps=gaps,
            undated=frozenset(entry.id for entry in entries) - self.dated,
            told=told,
            faults=self.faults,
            kinds=self.kinds,
            posts=self.posts,
            members=self.members,
            mark=next(iter(look.marks), None),
            problems=look.problems,
        )


def mail_checks(stops: Stops, trial: Trial | None) -> Iterator[Check]:
    """The checks of the mail, the same for every site; where no rule tells by e-mail, none is needed."""
    mail = stops.mail
    if not stops.uses_email and not mail.is_configured:
        for about in (About.server, About.line, About.trial):
            yield Check(about, Verdict.fine, gettext("Not needed: no rule in force tells by e-mail."))
        return
    if not mail.is_configured:
        lack = gettext("No mail server is set up: whoever runs Onus sets ONUS_SMTP_URL.")
        yield Check(About.server, Verdict.open, lack)
    elif mail.to_files:
        files = gettext(
            "E-mail is written to files of the host of Onus and reaches nobody: whoever runs Onus sets ONUS_SMTP_URL."
        )
        yield Check(About.server, Verdict.open, files)
    else:
        yield Check(About.server, Verdict.fine, gettext("A mail server is set up."))
    if mail.open_since is not None:
        halted = gettext("The mail server cannot be used: %(reason)s. Messages wait.", reason=mail.reason)
        yield Check(About.line, Verdict.open, halted)
    elif mail.to_files:
        yield Check(About.line, Verdict.untested, gettext("Not tested: e-mail is written to files."))
    elif mail.is_configured:
        yield Check(About.line, Verdict.fine, gettext("Nothing keeps e-mail from leaving."))
    else:
        yield Check(About.line, Verdict.untested, gettext("Not tested: there is no mail server."))
    yield check_trial(trial)


def check_trial(trial: Trial | None) -> Check:
    if trial is None:
        never = gettext("Nobody has sent a test mail yet: send one to yourself.")
        return Check(About.trial, Verdict.untested, never)
    if trial.was_taken:
        return Check(About.trial, Verdict.fine, gettext("The mail server took the last test mail."))
    verdict = Verdict.untested if trial.outcome in (None, TrialEnd.filed) else Verdict.open
    return Check(About.trial, verdict, gettext(LAST_TRIAL[trial.outcome]))
