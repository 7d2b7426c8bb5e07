"""Who and where: the made-up organisation of the demo, its sites, people, posts, kinds and rules.

Every name says that it is made up. Everything is made by the operations that people use.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from app.operations import kinds, people, rules
from app.operations.inspectors import limit_to_kinds
from app.operations.posts_above import set_post_above
from app.operations.rule_contents import RuleText
from app.trail.act import Act

SLUG, NAME, ZONE = "quimeralia", "Quimeralia Glass & Tile (demo)", "Europe/Madrid"

# Name, zone, country, region. The first is made with the organisation.
SITES = (
    ("Vitoria", "Europe/Madrid", "ES", "PV"),
    ("Arinaga depot", "Atlantic/Canary", "ES", "CN"),
    ("Aveiro tiles", "Europe/Lisbon", "PT", None),
    ("Cork laboratory", "Europe/Dublin", "IE", None),
    ("Monterrey mouldings", "America/Monterrey", "MX", None),
    ("Tucson warehouse", "America/Phoenix", "US", "AZ"),
    ("Port Augusta yard", "Australia/Adelaide", "AU", "SA"),
)

# Name, role, the sites that they are limited to.
PEOPLE = (
    ("Adela Modelo", "admin", ()),
    ("Ana Ficticia", "officer", ()),
    ("Bruno Supuesto", "staff", ("Vitoria",)),
    ("Carla Inventada", "staff", ("Aveiro tiles",)),
    ("Dana Madeup", "inspector", ("Vitoria", "Aveiro tiles")),
    ("Emil Pretend", "officer", ()),
    ("Fay Notreal", "staff", ("Tucson warehouse",)),
    ("Gil Imaginario", "staff", ()),
)

READS = {"Bruno Supuesto": "es"}  # Everybody else reads English.

POSTS = {
    "Plant manager": (("Vitoria", "Adela"), ("Aveiro tiles", "Carla"), ("Tucson warehouse", "Fay")),
    "EHS coordinator": (("Vitoria", "Ana"), ("Arinaga depot", "Ana"), ("Cork laboratory", "Ana")),
    "Maintenance": (("Vitoria", "Bruno"), ("Aveiro tiles", "Carla"), ("Tucson warehouse", "Fay")),
    "HR": (("Aveiro tiles", "Ana"), ("Vitoria", "Ana")),
}

ABOVE = {"Maintenance": "Plant manager", "EHS coordinator": "Plant manager"}

# Name, whether it expires or falls due, what to do.
KINDS = (
    ("Permit", "expires", "Ask the authority for the renewal; file the receipt."),
    ("Inspection", "falls_due", "Have it inspected, and keep the report."),
    ("Lifting gear", "falls_due", "Have it examined by the competent person; out of use until then."),
    ("Training", "expires", "Book the next course with HR."),
    ("Insurance", "expires", "Ask the broker for the new policy."),
    ("Contract", "expires", "Renew it or give notice."),
    ("Report", "falls_due", "Send it to the authority and keep the receipt."),
    ("Sample", "falls_due", "Take the sample (2 litres, blue bottle) and hand it in at reception before 14:00."),
    ("Radiation source", "expires", "Ask the authority for the renewal."),
)

# No rule is for the kind "Radiation source": the entry that has it is not watched, and the first page says so.
RULES = (
    RuleText(
        "Permits",
        kinds=("Permit",),
        thresholds=("180d", "90d", "30d", "7d", "0d", "+7d"),
        channels=("email", "in_app"),
        to=("owner",),
    ),
    RuleText(
        "Inspections and lifting gear",
        kinds=("Inspection", "Lifting gear"),
        thresholds=("30d", "7d", "0d", "+7d"),
        channels=("email", "in_app"),
        to=("owner", "post:Maintenance"),
    ),
    RuleText(
        "Plant manager, if nobody acts",
        kinds=("Permit", "Inspection", "Lifting gear"),
        thresholds=("7d", "+1d"),
        channels=("in_app",),
        to=("post:Plant manager",),
        only_if="nobody_on_it",
    ),
    RuleText("Training", kinds=("Training",), thresholds=("60d", "14d", "0d"), channels=("in_app",), to=("post:HR",)),
    RuleText(
        "Insurance and contracts",
        kinds=("Insurance", "Contract"),
        thresholds=("60d", "30bd", "7d"),
        channels=("email", "in_app"),
        to=("owner",),
    ),
    RuleText(
        "Reports and samples",
        kinds=("Report", "Sample"),
        thresholds=("10bd", "2bd", "0d"),
        channels=("in_app",),
        to=("owner",),
    ),
)


@dataclass
class Cast:
    """The ids that the story needs, by the names that it uses (first names for people)."""

    sites: dict[str, int] = field(default_factory=dict)
    people: dict[str, int] = field(default_factory=dict)
    posts: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)


def address_of(name: str) -> str:
    return f"{name.split()[0].lower()}@quimeralia.example"


def furnish(act: Act, password_hash: str, today: dt.date) -> Cast:
    """Sites, people, posts, kinds and rules of the organisation that the act is for."""
    cast = Cast()
    for number, (name, zone, country, region) in enumerate(SITES):
        made = (
            people.furnish(act, name, zone, country, region)
            if number == 0
            else people.add_site(act, name, zone, country, region)
        )
        cast.sites[name] = made
    for name, role, sites in PEOPLE:
        until = today + dt.timedelta(days=30) if role == "inspector" else None
        member = people.add_member(act, address_of(name), role, name, password_hash, until, READS.get(name))
        people.limit_member(act, member, [cast.sites[site] for site in sites])
        cast.people[name.split()[0]] = member
    for post, holders in POSTS.items():
        cast.posts[post] = people.add_post(act, post)
        for site, first_name in holders:
            people.assign_post(act, cast.posts[post], cast.people[first_name], cast.sites[site])
    for post, above in ABOVE.items():
        set_post_above(act, cast.posts[post], cast.posts[above])
    cast.kinds = {
        name: kinds.add_kind(act, kinds.KindText(name, wording, what_to_do)) for name, wording, what_to_do in KINDS
    }
    limit_to_kinds(act, cast.people["Dana"], [number for name, number in cast.kinds.items() if name != "Training"])
    rules.apply(act, RULES)
    return cast
