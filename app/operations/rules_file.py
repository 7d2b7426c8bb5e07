"""The rules file: TOML, one [[rule]] for each rule. Reads and writes words only; what they mean is for `rules.py`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from app.domain.errors import Refused, quoted
from app.operations.rules import RuleText
from app.wording import later

LISTS = ("kinds", "sites", "subjects", "thresholds", "channels", "to")
WORDS = ("only_if", "start", "fallback", "was")
KEYS = ("name", *LISTS, *WORDS)


def read(text: str) -> list[RuleText]:
    """The rules of a file. Raises Refused for what is not TOML, and for any key or value that it does not know."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as fault:
        raise Refused("The rules file is not TOML: %(fault)s.", fault=fault) from None
    for key in content:
        if key != "rule":
            words = later("The rules file has the unknown key %(key)s: it holds [[rule]] tables only.")
            raise Refused(words, key=quoted(key))
    tables = content.get("rule", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise Refused("The rules file has one rule without a list: write [[rule]] with two brackets.")
    return [rule_of(table, number) for number, table in enumerate(tables, 1)]


def write(rules: Iterable[RuleText]) -> str:
    """A rules file that `read` reads back as these rules."""
    return "\n".join(written(rule) for rule in rules)


def rule_of(table: Mapping[str, Any], number: int) -> RuleText:
    name = table.get("name")
    if not isinstance(name, str) or not name.strip():
        raise Refused('Rule number %(number)s has no name: write name = "…".', number=number)
    for key, value in table.items():
        if key not in KEYS:
            words = later("Rule %(rule)s has the unknown key %(key)s: the keys are %(keys)s.")
            raise Refused(words, rule=quoted(name), key=quoted(key), keys=", ".join(KEYS))
        if key in LISTS and not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
            words = later('rule %(rule)s: %(key)s must be a list of texts, such as %(key)s = ["…"].')
            raise Refused(words, rule=quoted(name), key=key)
        if key in WORDS and not isinstance(value, str):
            raise Refused("Rule %(rule)s: %(key)s must be a text in quotes.", rule=quoted(name), key=key)
    given: dict[str, Any] = {key: tuple(table[key]) for key in LISTS if key in table}
    given.update((key, table[key]) for key in WORDS if key in table)
    return RuleText(name=name, **given)


def written(rule: RuleText) -> str:
    lines = ["[[rule]]", f"name = {toml_text(rule.name)}"]
    for key in LISTS:
        words: tuple[str, ...] = getattr(rule, key)
        if words:
            lines.append(f"{key} = [{', '.join(toml_text(word) for word in words)}]")
    lines.append(f"only_if = {toml_text(rule.only_if)}")
    if rule.start != "now":
        lines.append(f"start = {toml_text(rule.start)}")
    for key, word in (("fallback", rule.fallback), ("was", rule.was)):
        if word is not None:
            lines.append(f"{key} = {toml_text(word)}")
    return "\n".join(lines) + "\n"


def toml_text(text: str) -> str:
    """A basic string of TOML 1.0: JSON's escapes are TOML's, but TOML refuses a raw DEL, too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
