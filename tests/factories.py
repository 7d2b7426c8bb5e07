"""One function per noun, through the real operations where there is one."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from app.database import SCHEDULER, WEB, act_for, transaction
from app.domain.folding import fold_reference
from app.models import (
    AlertRule,
    Kind,
    Obligation,
    RuleKind,
    RuleRecipient,
    RuleSite,
    RuleSubject,
    RuleThreshold,
    Site,
    Subject,
)
from app.operations import people
from app.trail.act import OPERATOR, Act

NOW = dt.datetime(2027, 3, 1, 11, 0, tzinfo=dt.UTC)


@dataclass
class Acme:
    """An organisation in tests: who acts for it, and at which instant unless told otherwise."""

    org: int
    now: dt.datetime = NOW
    members: dict[str, int] = field(default_factory=dict)

    @contextlib.contextmanager
    def acting(self, now: dt.datetime | None = None, role: str = WEB, actor: str = OPERATOR) -> Iterator[Act]:
        with transaction(self.org, role) as session:
            yield Act(session, self.org, now or self.now, actor)

    def watching(self, now: dt.datetime | None = None) -> contextlib.AbstractContextManager[Act]:
        """An act of the scheduler."""
        return self.acting(now, SCHEDULER, "system:scheduler")


def acme(slug: str = "acme", name: str = "Madrid", timezone: str = "Europe/Madrid", now: dt.datetime = NOW) -> Acme:
    with transaction() as session:
        org = people.add_organisation(session, now, OPERATOR, slug, name, timezone)
        act_for(session, org)
        people.furnish(Act(session, org, now), name, timezone)
    return Acme(org, now)


def site(act: Act, name: str = "Madrid") -> int:
    return act.session.query(Site.id).filter_by(org_id=act.org, name=name).one()[0]


def kind(act: Act, name: str = "other") -> int:
    found = act.session.query(Kind.id).filter_by(org_id=act.org, name=name).one_or_none()
    if found:
        return int(found[0])
    made = Kind(org_id=act.org, name=name)
    act.session.add(made)
    act.session.flush()
    return made.id


def subject(
    act: Act, reference: str = "P-1", due_on: dt.date | None = None, at: str = "Madrid", **given: object
) -> Subject:
    """A watched entry, with one open obligation if a due date is given."""
    kind_name = str(given.pop("kind", "other"))
    made = Subject(
        org_id=act.org,
        site_id=site(act, at),
        kind_id=kind(act, kind_name),
        reference=reference,
        reference_key=fold_reference(reference),
        title=str(given.pop("title", f"Permit {reference}")),
        **given,
    )
    act.session.add(made)
    act.session.flush()
    if due_on is not None:
        obligation(act, made, due_on)
    return made


def obligation(act: Act, of: Subject, due_on: dt.date) -> Obligation:
    made = Obligation(org_id=act.org, subject_id=of.id, due_on=due_on, first_due_on=due_on, opened_at=act.now)
    act.session.add(made)
    act.session.flush()
    return made


def member(act: Act, email: str = "ana@acme.example", role: str = "officer", **given: str) -> int:
    return people.add_member(act, email, role, **given)


def rule(
    act: Act,
    name: str = "Permits",
    thresholds: Sequence[str] = ("30d", "7d", "0d"),
    to: Sequence[str] = ("role:officer",),
    channels: Sequence[str] = ("in_app",),
    kinds: Sequence[str] = (),
    sites: Sequence[str] = (),
    subjects: Sequence[int] = (),
    only_if: str = "always",
) -> AlertRule:
    made = AlertRule(org_id=act.org, name=name, channels=list(channels), only_if=only_if)
    act.session.add(made)
    act.session.flush()
    key = {"org_id": act.org, "rule_id": made.id}
    act.session.add_all(RuleThreshold(**key, threshold=threshold) for threshold in thresholds)
    act.session.add_all(RuleRecipient(**key, recipient=recipient) for recipient in to)
    act.session.add_all(RuleKind(**key, kind_id=kind(act, name)) for name in kinds)
    act.session.add_all(RuleSite(**key, site_id=site(act, name)) for name in sites)
    act.session.add_all(RuleSubject(**key, subject_id=subject) for subject in subjects)
    act.session.flush()
    return made
