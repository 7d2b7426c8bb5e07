"""Rules in words: applied, applied again, exported, renamed, switched; and every refusal names rule and word."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from sqlalchemy import select

from app.domain.errors import Refused
from app.models import AlertRule, Kind, NotificationLedger, RuleKind, RuleSubject, RuleThreshold
from app.operations import people, rules, rules_file
from app.operations.rules import RuleText
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.operations.story import Since
from tests.people import OFFICER

PERMITS = RuleText("Permits", thresholds=("30d", "7d", "0d"), channels=("in_app",), to=("role:officer",))
FILE = """
[[rule]]
name = "Permits"
kinds = ["permit", "Boiler"]
sites = ["Madrid"]
thresholds = ["90d", "30d", "7d", "0d", "+7d"]
channels = ["email", "in_app"]
to = ["owner", "role:officer", "member:Ana@ACME.example", "post:plant  manager"]
only_if = "nobody_on_it"
fallback = "role:admin"
"""


def kept(act: Act, name: str = "Permits") -> AlertRule:
    return act.session.scalars(select(AlertRule).where(AlertRule.name == name)).one()


def test_a_file_is_applied_and_again_changes_nothing(act: Act, since: Since) -> None:
    people.add_member(act, OFFICER, "officer")
    people.add_post(act, "Plant manager")
    texts = rules_file.read(FILE)
    since.read()
    first = rules.apply(act, texts)
    assert (first.created, first.changed, first.kinds_made) == (["Permits"], [], ["permit", "Boiler"])
    events, rows = since.read()
    assert [event.type for event in events] == ["kind_created", "kind_created", "rule_created"]
    assert events[-1].detail["new"]["thresholds"] == ["90d", "30d", "7d", "0d", "+7d"]
    assert [row.rule_id for row in rows] == [kept(act).id]
    again = rules.apply(act, texts)
    assert (again.created, again.changed, again.unchanged, again.kinds_made) == ([], [], ["Permits"], [])
    assert since.both() == ([], [])
    assert kept(act).version == 1


def test_the_trail_names_people_by_id(act: Act, since: Since) -> None:
    ana = people.add_member(act, OFFICER, "officer")
    since.read()
    rules.apply(act, [replace(PERMITS, to=(f"member:{OFFICER}",), fallback=f"member:{OFFICER}")])
    _, detail = since.event()
    assert detail["new"]["recipients"] == [f"member:{ana}"]
    assert detail["new"]["fallback"] == f"member:{ana}"


def test_a_change_has_a_version_and_old_and_new_values(act: Act, since: Since) -> None:
    rules.apply(act, [PERMITS])
    since.read()
    applied = rules.apply(act, [replace(PERMITS, thresholds=("90d", "7d"), channels=("email",))])
    assert applied.changed == ["Permits"]
    events, rows = since.read()
    assert [event.type for event in events] == ["rule_changed"]
    assert events[0].detail["old"] == {"thresholds": ["30d", "7d", "0d"], "channels": ["in_app"]}
    assert events[0].detail["new"] == {"thresholds": ["90d", "7d"], "channels": ["email"]}
    assert (kept(act).version, events[0].detail["version"], rows[0].rule_id) == (2, 2, kept(act).id)
    held = act.session.scalars(select(RuleThreshold.threshold).where(RuleThreshold.rule_id == kept(act).id))
    assert set(held) == {"90d", "7d"}


def test_rules_that_are_not_named_are_left_alone(act: Act) -> None:
    rules.apply(act, [PERMITS])
    rules.apply(act, [replace(PERMITS, name="Trainings", thresholds=("7d",))])
    assert [text.name for text in rules.export(act)] == ["Permits", "Trainings"]


def test_was_renames_and_again_changes_nothing(act: Act, since: Since) -> None:
    rules.apply(act, [PERMITS])
    rule_id = kept(act).id
    since.read()
    renamed = [replace(PERMITS, name="All permits", was="Permits")]
    assert rules.apply(act, renamed).renamed == ["All permits"]
    assert since.event() == ("rule_renamed", {"rule_id": rule_id, "old": "Permits", "new": "All permits"})
    assert (kept(act, "All permits").id, kept(act, "All permits").version) == (rule_id, 1)
    again = rules.apply(act, renamed)
    assert (again.renamed, again.unchanged) == ([], ["All permits"])
    assert since.events() == []


def test_names_move_along_a_chain_and_a_name_that_is_free_again_is_a_new_rule(act: Act) -> None:
    weekly = replace(PERMITS, name="B", thresholds=("7d",))
    rules.apply(act, [replace(PERMITS, name="A"), weekly])
    ids = {name: kept(act, name).id for name in "AB"}
    moved = [
        replace(PERMITS, name="A", thresholds=("1d",)),
        replace(PERMITS, name="B", was="A"),
        replace(weekly, name="C", was="B"),
    ]
    applied = rules.apply(act, moved)
    assert (sorted(applied.renamed), applied.created) == (["B", "C"], ["A"])
    assert (kept(act, "B").id, kept(act, "C").id) == (ids["A"], ids["B"])
    again = rules.apply(act, moved)
    assert (again.unchanged, again.renamed, again.created) == (["A", "B", "C"], [], [])


def test_was_is_refused_where_both_names_exist(act: Act) -> None:
    rules.apply(act, [PERMITS, replace(PERMITS, name="Trainings", thresholds=("7d",))])
    with pytest.raises(Refused, match=r"Trainings.*Permits.*both exist"):
        rules.apply(act, [replace(PERMITS, name="Trainings", was="Permits")])


def test_a_new_rule_that_equals_an_active_one_is_refused_with_the_hint(act: Act) -> None:
    rules.apply(act, [PERMITS])
    twin = replace(PERMITS, name="New name")
    with pytest.raises(Refused, match=r'New name.*was = "Permits"'):
        rules.apply(act, [twin])
    rules.switch(act, "Permits", False)
    assert rules.apply(act, [twin]).created == ["New name"]


def test_a_rule_that_is_off_is_changed_and_stays_off(act: Act, since: Since) -> None:
    rules.apply(act, [PERMITS])
    assert rules.switch(act, "Permits", False)
    assert not rules.switch(act, "Permits", False)
    since.read()
    assert rules.apply(act, [replace(PERMITS, thresholds=("1d",))]).changed == ["Permits"]
    assert not kept(act).is_active
    assert rules.switch(act, "Permits", True)
    events, rows = since.read()
    assert [event.type for event in events] == ["rule_changed", "rule_switched_on"]
    assert [row.rule_id for row in rows] == [kept(act).id] * 2


def test_a_rule_for_single_entries_at_the_sites_that_are_named(act: Act) -> None:
    people.add_site(act, "Lisboa", "Europe/Lisbon")
    here, there = factories.subject(act, "P-1"), factories.subject(act, "p-1", at="Lisboa")
    with pytest.raises(Refused, match=r"Permits.*P-1.*several sites"):
        rules.apply(act, [replace(PERMITS, subjects=("P-1",))])
    rules.apply(act, [replace(PERMITS, subjects=(" p-1 ",), sites=("madrid",))])
    reached = select(RuleSubject.subject_id).where(RuleSubject.rule_id == kept(act).id)
    assert act.session.scalars(reached).all() == [here.id]
    rules.apply(act, [replace(PERMITS, subjects=("P-1",), sites=("Madrid", "Lisboa"))])
    assert set(act.session.scalars(reached)) == {here.id, there.id}


def test_an_export_is_unchanged_even_where_a_reference_has_become_ambiguous(act: Act) -> None:
    people.add_member(act, OFFICER, "officer")
    people.add_post(act, "Plant manager")
    factories.subject(act, 'P "1" \\ ñ')
    rules.apply(act, [*rules_file.read(FILE), replace(PERMITS, name='Quote " \\ 東', subjects=('P "1" \\ ñ',))])
    rules.switch(act, "Permits", False)
    people.add_site(act, "Lisboa", "Europe/Lisbon")
    factories.subject(act, 'P "1" \\ Ñ', at="Lisboa")
    written = rules_file.write(rules.export(act))
    applied = rules.apply(act, rules_file.read(written))
    assert (len(applied.unchanged), applied.changed, applied.created) == (2, [], [])


def test_kinds_are_the_same_in_any_case_and_spacing(act: Act) -> None:
    permit = factories.kind(act, "permit")
    applied = rules.apply(act, [replace(PERMITS, kinds=(" PERMIT ", "permit"))])
    assert applied.kinds_made == []
    assert act.session.scalars(select(RuleKind.kind_id)).all() == [permit]
    rules.apply(act, [replace(PERMITS, kinds=("Inspection",))])
    assert act.session.scalars(select(Kind.wording).where(Kind.name == "Inspection")).one() == "expires"


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"thresholds": ()}, "thresholds"),
        ({"channels": ()}, "channels"),
        ({"to": ()}, "to is empty"),
        ({"thresholds": ("soon",)}, "soon"),
        ({"thresholds": ("0w",)}, "0w"),
        ({"thresholds": ("7d", "7d")}, "named twice"),
        ({"channels": ("pigeon",)}, "pigeon"),
        ({"to": ("boss",)}, "boss"),
        ({"to": ("role:king",)}, "king"),
        ({"to": ("member:omar@other.example",)}, "omar@other.example"),
        ({"to": ("post:Nobody",)}, "Nobody"),
        ({"fallback": "post:Nobody"}, "Nobody"),
        ({"sites": ("Atlantis",)}, "Atlantis"),
        ({"subjects": ("P-404",)}, "P-404"),
        ({"subjects": ("P\x00",)}, r"U\+0000"),
        ({"only_if": "sometimes"}, "sometimes"),
        ({"start": "yesterday"}, "yesterday"),
        ({"kinds": ("  ",)}, "kind"),
    ],
)
def test_a_refusal_names_rule_and_word(act: Act, wrong: dict[str, object], word: str) -> None:
    with pytest.raises(Refused, match=f"(?s)Permits.*{word}"):
        rules.apply(act, [replace(PERMITS, **wrong)])  # type: ignore[arg-type]


def test_two_rules_of_one_name_are_refused(act: Act) -> None:
    with pytest.raises(Refused, match=r"Permits.*name"):
        rules.apply(act, [PERMITS, replace(PERMITS, name=" Permits ", thresholds=("1d",))])


def test_another_organisation_is_not_seen(acme: Acme) -> None:
    with acme.acting() as ours:
        rules.apply(ours, [PERMITS])
    with factories.acme("other", "Porto", "Europe/Lisbon").acting() as theirs:
        assert rules.export(theirs) == []
        with pytest.raises(Refused, match="Permits"):
            rules.switch(theirs, "Permits", False)
        with pytest.raises(Refused, match="Madrid"):
            rules.apply(theirs, [replace(PERMITS, sites=("Madrid",))])


def test_start_next_holds_back_what_has_crossed_and_only_what_is_new(act: Act) -> None:
    people.add_member(act, OFFICER, "officer")
    subject = factories.subject(act, "P-1", dt.date(2027, 3, 11))
    rules.apply(act, [replace(PERMITS, start="next")])
    held = select(NotificationLedger.threshold, NotificationLedger.reason).order_by(NotificationLedger.id)
    assert [tuple(row) for row in act.session.execute(held)] == [("30d", "start")]
    rules.apply(act, [replace(PERMITS, thresholds=("30d", "14d", "7d", "0d"), start="next")])
    assert [tuple(row) for row in act.session.execute(held)] == [("30d", "start"), ("14d", "start")]
    assert act.session.scalars(select(NotificationLedger.subject_id)).first() == subject.id


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("rule = 1", r"\[\[rule\]\]"),
        ("[rule]\nname = 'x'", r"\[\[rule\]\]"),
        ("[[rules]]\nname = 'x'", "rules"),
        ("[[rule]]\nkinds = ['x']", "no name"),
        ("[[rule]]\nname = 'Permits'\nthreshold = ['7d']", "Permits.*threshold"),
        ("[[rule]]\nname = 'Permits'\nthresholds = '7d'", "Permits.*thresholds"),
        ("[[rule]]\nname = 'Permits'\nthresholds = [7]", "Permits.*thresholds"),
        ("[[rule]]\nname = 'Permits'\nstart = true", "Permits.*start"),
        ("[[rule]\n", "not TOML"),
        ("a = " + "[" * 100_000, "not TOML"),
    ],
)
def test_a_file_with_anything_unknown_is_refused(text: str, word: str) -> None:
    with pytest.raises(Refused, match=word):
        rules_file.read(text)


def test_a_file_without_rules_is_an_export_of_none(act: Act) -> None:
    assert rules_file.read(rules_file.write([])) == []
    assert rules.apply(act, []) == rules.AppliedRules()


def test_what_is_written_is_read_back() -> None:
    text = replace(
        PERMITS,
        name='line\nbreak, "quote", back\\slash, tab\t, del\x7f, ñ, 東, \u2028, \U0001f4cb',
        kinds=("a, b", "[c]"),
        only_if="nobody_on_it",
        start="next",
        fallback="owner",
        was="# old",
    )
    assert rules_file.read(rules_file.write([text, PERMITS])) == [text, PERMITS]
