"""Law 3 for deliveries: a transition names its origin, and both ends of it come from the one table of moves."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from app.domain.delivery import MOVES, TOLD, State
from tests.laws.test_code import composition, is_text, strings
from tests.laws.test_imports import MODULES, Module

# One UPDATE of a delivery, up to the next part of its statement.
UPDATE = re.compile(r"update delivery\b.*?(?=\binsert into\b|\bselect (?:count|m\.id)\b|\Z)", re.DOTALL)
FROM_THE_TABLE = re.compile(r"\bstate in hole")
TO_THE_TABLE = re.compile(r"\bset\s+state = (hole|case\b.*?then hole else hole end)", re.DOTALL)
SETS_THE_HOUR = re.compile(r"\bset ready_at = ")  # It moves nothing, and names all the same what it is about.
DECIDES_ONLY = re.compile(r"\bset (hole|seen_at = :now|sent_to = case when sent_to is not null then :name end,)\s")


def statements(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Every text of the module, with `hole` for what is put in."""
    inside = {id(part) for node in ast.walk(module.tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.JoinedStr):
            yield node, composition(node)[0]
    for node, text in strings(module):
        if id(node) not in inside and is_text(node):
            yield node, text


def faults(module: Module) -> Iterator[str]:
    for node, text in statements(module):
        for found in UPDATE.findall(text):
            if module.package != "ledger":
                yield f"{module.at(node)}: only the ledger moves a delivery"
            elif DECIDES_ONLY.search(found):
                continue
            elif not (FROM_THE_TABLE.search(found) and (TO_THE_TABLE.search(found) or SETS_THE_HOUR.search(found))):
                yield f"{module.at(node)}: {' '.join(found.split())[:90]}"


def test_every_move_of_a_delivery_takes_both_ends_from_the_table() -> None:
    found = [fault for module in MODULES for fault in faults(module)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("app/web/x.py", 'X = f"update delivery set state = {A.TO} where state in {A.FROM}"'),
        ("app/ledger/x.py", "X = f\"update delivery x set state = 'pending' where x.state in {A.FROM}\""),
        ("app/ledger/x.py", 'X = f"update delivery x set state = {A.TO} where x.id = :id"'),
        ("app/ledger/x.py", 'X = f"update delivery x set ready_at = :now where x.id = :id"'),
        ("app/ledger/x.py", "X = \"update delivery x set state = 'failed' where x.state = 'leased'\""),
    ],
)
def test_a_move_that_names_its_own_ends_is_found(path: str, source: str) -> None:
    assert list(faults(Module(path, source)))


def test_what_may_have_left_is_pending_again_only_by_the_servers_word_or_the_tokens_owner() -> None:
    """P3, as the table says it; the model in tests/chaos says why."""
    back = {name for name, move in MOVES.items() if move.target is State.pending and move.origins & TOLD}
    assert back == {"retry", "give_back"}
    assert MOVES["hand_over"].origins == {State.leased}
    assert MOVES["sweep"].origins == MOVES["give_up"].origins == {State.leased}
    assert not MOVES["cancel"].origins & TOLD
    assert not MOVES["hold"].origins & TOLD
