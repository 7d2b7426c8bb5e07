"""Every code that can be stored has its words: states, reasons, decisions, verbs of a try, events of the trail.

The codes are read off the enumerations, and off the sources where they are written; so a new one without words fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import pytest
from flask import Flask

from app.channels.session import STEPS
from app.domain.acts import Answer
from app.domain.delivery import Because, Channel, Fate, Outcome, Reason, Resolution, Standing, State, TimedBy
from app.domain.trials import TrialEnd
from app.exports.event_words import BUILT, PLAIN
from app.ledger.sweep import LOST
from app.ledger.trials import CHECKPOINT_HANDED_OVER, CHECKPOINT_SETTLED, HANDED_OVER, SETTLED
from app.queries.unreached import Unheard
from app.vocabulary import OF
from app.web.message_texts import BUTTONS
from app.wording import spoken
from tests.laws.test_imports import ROOT

RESOLVED = "doubt_resolved_"
NEVER = re.compile(
    r"\b(claim|crossing|threshold|lease|leased|hand-over|tick|standing|watermark|horizon|poison)s?\b", re.I
)


def sources(*packages: str) -> str:
    files = [file for package in packages for file in sorted((ROOT / "app" / package).rglob("*.py"))]
    return "\n".join(file.read_text() for file in files)


def events() -> set[str]:
    """The types that the ledger writes: by record(…), or as a column of a statement."""
    text = sources("ledger")
    found = set(re.findall(r'\.record\(\s*"(\w+)"', text))
    for column in re.findall(
        r"((?:case\b(?:(?!\bcase\b).)*?\bend|'\w+'(?: \|\| :\w+)?))\s+as (?:happened|type|becomes)\b", text, re.S
    ):
        found |= set(re.findall(r"(?:then|else|^)\s*'(\w+)'", column))
    if RESOLVED in found:
        found.remove(RESOLVED)
        found |= {RESOLVED + decision for decision in Resolution}
    # The second and later branches of a union name no column.
    found |= set(re.findall(r"select id, claim_id, '(\w+)'", text))
    return found - {Standing.open}  # Of what opens the event is `claimed` or `reopened`.


def verbs() -> set[str]:
    """How far a try had come, as channels and ledger note it."""
    patterns = (
        r'Reply\([\w.]+, "(\w+)"', r'SessionFault\("(\w+)"', r'blaming\("(\w+)"\)', r'asked\(session, "(\w+)"',
        r'\("(\w+)", (?:""|f?"[^"]*"), \d\)', r'"verb": "(\w+)"', r":now, '(\w+)', :reply",
    )  # fmt: skip
    text = sources("channels", "ledger", "scheduler")
    return {name for name, _ in STEPS} | {verb for pattern in patterns for verb in re.findall(pattern, text)}


def test_the_sources_are_read() -> None:
    """What is found is not nothing, so that the tests below can fail."""
    assert {
        "claimed", "superseded", "reopened", "withdrawn", "delivery_due", "delivery_cancelled", "delivered",
        "delivery_timed", "claim_delivered", "late_answer",
        "nobody_to_tell", "somebody_to_tell", "handed_over", "delivery_put_off", "delivery_failed", "delivery_in_doubt",
        "delivery_given_back", "delivery_lost", "doubt_resolved_settled", "delivery_resent", "bounced", "delivery_held",
        "delivery_released", "deliveries_held", "deliveries_released", "opened", "acknowledged", "answer_taken_back",
    } <= events()  # fmt: skip
    assert {"connect", "starttls", "auth", "mail", "rcpt", "data", "body", "dot", "mark", "compose", "file", "lease",
            "bounce"} <= verbs()  # fmt: skip


@pytest.mark.parametrize(
    ("of", "codes"),
    [
        ("state", State),
        ("standing", Standing),
        ("channel", Channel),
        ("because", Because),
        ("why_unreached", Unheard),
        ("timed_by", TimedBy),
        ("waits_for", TimedBy),
        ("reason", [*Reason, *Fate]),
        ("resolution", Resolution),
        ("answer", Answer),
        ("try", [*Outcome, LOST, State.bounced]),
        ("verb", sorted(verbs())),
        ("event", sorted(events())),
        ("event", [HANDED_OVER, SETTLED, CHECKPOINT_HANDED_OVER, CHECKPOINT_SETTLED]),
        ("trial_end", TrialEnd),
        ("checkpoint_end", TrialEnd),
    ],
)
def test_every_code_has_its_words(of: str, codes: Iterable[StrEnum | str]) -> None:
    known = {str(code) for code in OF[of]}
    assert {str(code) for code in codes} - known == set()


def test_every_event_of_an_entry_has_its_sentence() -> None:
    # Of the organisation, and in the history of no entry.
    of_all = {"deliveries_held", "deliveries_released", "checkpoint_mail_asked"}
    assert events() - of_all - PLAIN.keys() - BUILT.keys() == set()


def test_every_decision_has_its_button() -> None:
    assert BUTTONS.keys() == set(Resolution)


def test_no_word_is_one_of_the_code() -> None:
    shown = [words for of in OF.values() for words in of.values()]
    shown += [*PLAIN.values(), (Path(ROOT) / "app/web/message_texts.py").read_text().partition("BUTTONS")[2]]
    assert [words for words in shown[:-1] if NEVER.search(words)] == []


def test_words_of_a_constant_are_those_of_the_reader_each_time(app: Flask) -> None:
    """A template is compiled once, for whoever comes first; the second may read another language."""
    page = app.jinja_env.from_string('{{ "unwatched" | word("queue_hint") }}|{{ "30d" | before }}')
    english = page.render()
    with spoken("es"):
        spanish = page.render()
    assert english.endswith("|30 days before")
    assert spanish.endswith("|30 días antes")
    assert not set(english.split("|")) & set(spanish.split("|"))
