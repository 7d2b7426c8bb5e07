"""Who may import whom: the table of the house style, as an `ast` walk over app/.

An import under TYPE_CHECKING counts: whoever names a type of another package knows that package.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# The ground that every package but domain stands on.
GROUND = frozenset(
    {"config", "clock", "database", "extensions", "failpoints", "logs", "version", "vocabulary", "wording", "words"}
)
# Start-up and the machinery of processes: each belongs to the few that are named below.
BY_HAND = frozenset({"embedded", "logins", "preflight", "schema", "supervisor"})
# Whoever verifies must not need us: it is handed out as one file, and imports nothing of ours.
ALONE = frozenset({"verifier"})
PACKAGES = frozenset(
    {"domain", "models", "trail", "ledger", "queries", "operations", "imports", "exports", "channels", "scheduler"}
    | {"web", "cli"}
)

# What each package or top-level module of app/ may import of ours, itself apart. Whoever adds one decides here.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "domain": frozenset(),
    "models": GROUND | {"domain"},
    "trail": GROUND | {"models", "domain"},
    "ledger": GROUND | {"models", "domain", "trail"},
    "queries": GROUND | {"models", "domain"},
    "operations": GROUND | {"ledger", "models", "domain", "trail"},
    "imports": GROUND | {"operations", "queries", "models", "domain", "trail"},
    "exports": GROUND | ALONE | {"operations", "queries", "models", "domain", "trail"},
    "channels": GROUND - {"database", "extensions"} | {"domain"},  # may touch the network, never the database
    "scheduler": GROUND | PACKAGES - {"scheduler", "web", "cli"} | {"preflight"},
    "web": GROUND
    | {"operations", "queries", "imports", "exports", "domain", "trail"}
    | {"preflight"},  # trail: the Act
    "demo": GROUND | PACKAGES - {"web", "cli"},  # lives through a story as a command and a tick do
    "cli": GROUND | PACKAGES - {"cli"} | BY_HAND | ALONE | {"app", "demo"},
    "config": frozenset(),
    "extensions": frozenset(),
    "clock": frozenset({"config"}),
    "database": frozenset({"config", "clock", "extensions", "embedded", "logins"}),
    "failpoints": frozenset(),
    "logs": frozenset(),
    "version": frozenset(),
    "wording": frozenset({"domain"}),
    "vocabulary": frozenset({"domain", "wording"}),
    "words": frozenset({"domain", "vocabulary", "wording"}),
    "embedded": frozenset(),
    "logins": frozenset(),
    "supervisor": frozenset(),
    "verifier": frozenset(),
    "preflight": frozenset({"queries"}),
    "schema": frozenset({"config", "database", "logins"}),
    "app": GROUND | {"web"},  # the factory
    "__main__": frozenset({"cli"}),
}

FLASK = ("flask", "werkzeug", "jinja2", "flask_*", "htmx_flask")
DATABASE = ("sqlalchemy", "alembic", "psycopg", "flask_sqlalchemy", "flask_migrate")
# Libraries that a package must never know.
NEVER: dict[str, tuple[str, ...]] = {
    "domain": FLASK + DATABASE,
    "trail": FLASK,
    "ledger": FLASK,
    "queries": FLASK,
    "operations": FLASK,
    "imports": FLASK,
    "exports": FLASK,
    "channels": tuple(name for name in FLASK if name != "jinja2") + DATABASE,  # a mail has templates, and no request
    "web": DATABASE,
}
DOMAIN_LIBRARIES = frozenset({"dateutil", "holidays"}) | sys.stdlib_module_names
OF_REQUESTS = frozenset({"request", "session", "g"})  # of flask: what only a request has
APSCHEDULER_LIVES_IN = "app/scheduler/process.py"

Law = Callable[["Module"], Iterator[str]]


@dataclass(frozen=True)
class Module:
    """One file of app/ by its path from the root of the project."""

    path: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source, self.path)

    @property
    def parts(self) -> list[str]:
        """The dotted name, in parts; a package's own file has the package's name."""
        parts = list(Path(self.path).with_suffix("").parts)
        return parts[:-1] if parts[-1] == "__init__" else parts

    @property
    def package(self) -> str:
        """The row of the table: `ledger` for app/ledger/scan.py, `clock` for app/clock.py, `app` for the factory."""
        return self.parts[1] if len(self.parts) > 1 else "app"

    def at(self, node: ast.AST) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 1)}"

    def imports(self) -> Iterator[tuple[ast.stmt, str]]:
        """Each import with its dotted target: `from a.b import c` is `a.b.c`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                home = Path(self.path).parent.parts
                above = ".".join(home[: len(home) - node.level + 1]) if node.level else ""
                origin = ".".join(filter(None, (above, node.module)))
                yield from ((node, f"{origin}.{alias.name}") for alias in node.names)


def modules(folder: str = "app") -> list[Module]:
    files = sorted((ROOT / folder).rglob("*.py"))
    return [Module(str(file.relative_to(ROOT)), file.read_text()) for file in files]


MODULES = modules()


def owner_of(target: str) -> str:
    """Whose name `app.…` is: a package's, a top-level module's, or the factory's own."""
    second = target.split(".")[1] if "." in target else "app"
    return second if second in MAY_IMPORT else "app"


def knows(target: str, libraries: tuple[str, ...]) -> bool:
    root = target.split(".")[0]
    return any(root == name or (name.endswith("*") and root.startswith(name[:-1])) for name in libraries)


def faults_of_table(module: Module) -> Iterator[str]:
    if module.package not in MAY_IMPORT:
        yield f"{module.path}: {module.package} is not in the table"
        return
    for node, target in module.imports():
        if target.split(".")[0] == "app":
            owner = owner_of(target)
            if owner != module.package and owner not in MAY_IMPORT[module.package]:
                yield f"{module.at(node)}: {module.package} imports {target}"


def faults_of_libraries(module: Module) -> Iterator[str]:
    for node, target in module.imports():
        root, name = target.split(".")[0], target.split(".")[-1]
        if knows(target, NEVER.get(module.package, ())):
            yield f"{module.at(node)}: {module.package} imports {target}"
        elif module.package == "domain" and root not in DOMAIN_LIBRARIES | {"app"}:
            yield f"{module.at(node)}: domain imports {target}"
        elif module.package == "scheduler" and root == "flask" and (name in OF_REQUESTS or name == "flask"):
            yield f"{module.at(node)}: scheduler imports {target}, which belongs to a request"
        elif root == "apscheduler" and module.path != APSCHEDULER_LIVES_IN:
            yield f"{module.at(node)}: {target} belongs to {APSCHEDULER_LIVES_IN}"


def faults_of_place(module: Module) -> Iterator[str]:
    """Imports inside functions, and imports by a string, which no table sees."""
    free = {id(inner) for node in ast.walk(module.tree) if is_type_checking(node) for inner in ast.walk(node)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Import | ast.ImportFrom) and id(inner) not in free:
                    yield f"{module.at(inner)}: an import inside a function"
        elif isinstance(node, ast.Name | ast.Attribute | ast.alias):
            name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", getattr(node, "name", ""))
            if name in {"__import__", "import_module"}:
                yield f"{module.at(node)}: an import by {name}"


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).split(".")[-1] == "TYPE_CHECKING"


@pytest.mark.parametrize("law", [faults_of_table, faults_of_libraries, faults_of_place])
def test_every_import_is_one_that_the_table_allows(law: Law) -> None:
    faults = [fault for module in MODULES for fault in law(module)]
    assert not faults, "\n".join(faults)


def test_the_walk_sees_the_whole_application() -> None:
    seen = {module.package for module in MODULES}
    assert seen >= {"app", "domain", "models", "trail", "ledger", "queries", "operations", "scheduler", "web", "cli"}
    assert sum(len(list(module.imports())) for module in MODULES) > 100


def test_the_table_has_no_circle() -> None:
    """A package is above whatever it may import, so that no two need each other."""
    left = {name: set(may) for name, may in MAY_IMPORT.items()}
    while free := {name for name, may in left.items() if not may & left.keys()}:
        left = {name: may for name, may in left.items() if name not in free}
    assert left == {}


@pytest.mark.parametrize(
    ("path", "source", "law"),
    [
        ("app/domain/x.py", "from app.clock import now", faults_of_table),
        ("app/ledger/x.py", "import app.queries.owed", faults_of_table),
        ("app/ledger/x.py", "from ..queries import owed", faults_of_table),
        ("app/ledger/x.py", "from .. import queries", faults_of_table),
        ("app/operations/x.py", "from app import queries", faults_of_table),
        ("app/queries/x.py", "if TYPE_CHECKING:\n    from app.ledger.scan import Scanned", faults_of_table),
        ("app/web/x.py", "from app.models import Subject", faults_of_table),
        ("app/scheduler/x.py", "from app.web import front", faults_of_table),
        ("app/channels/x.py", "from app.database import transaction", faults_of_table),
        ("app/models/x.py", "from app import create_app", faults_of_table),
        ("app/utils/x.py", "", faults_of_table),
        ("app/domain/x.py", "import holidays, sqlalchemy", faults_of_libraries),
        ("app/domain/x.py", "import structlog", faults_of_libraries),
        ("app/operations/x.py", "from flask import g", faults_of_libraries),
        ("app/trail/x.py", "from flask_login import current_user", faults_of_libraries),
        ("app/web/x.py", "from sqlalchemy.orm import Session", faults_of_libraries),
        ("app/channels/x.py", "import psycopg", faults_of_libraries),
        ("app/scheduler/ticks.py", "from apscheduler.triggers import cron", faults_of_libraries),
        ("app/web/server.py", "import apscheduler", faults_of_libraries),
        ("app/scheduler/x.py", "from flask import request", faults_of_libraries),
        ("app/scheduler/x.py", "import flask", faults_of_libraries),
        ("app/cli/x.py", "def f():\n    import json", faults_of_place),
        ("app/cli/x.py", "class C:\n    async def f(self):\n        from app import web", faults_of_place),
        ("app/cli/x.py", "from importlib import import_module", faults_of_place),
        ("app/cli/x.py", "web = __import__('app.web')", faults_of_place),
    ],
)
def test_the_laws_see_a_breach(path: str, source: str, law: Law) -> None:
    assert len(list(law(Module(path, source)))) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("app/domain/x.py", "import datetime as dt\nfrom dateutil.easter import easter\nfrom app.domain import errors"),
        (
            "app/scheduler/process.py",
            "from apscheduler.executors.pool import ThreadPoolExecutor\nfrom flask import Flask",
        ),
        ("app/cli/x.py", "from app import create_app\nfrom app.schema import upgrade"),
        ("app/queries/x.py", "def f():\n    if TYPE_CHECKING:\n        import json"),
    ],
)
def test_the_laws_allow_what_the_table_allows(path: str, source: str) -> None:
    laws = (faults_of_table, faults_of_libraries, faults_of_place)
    assert [fault for law in laws for fault in law(Module(path, source))] == []
