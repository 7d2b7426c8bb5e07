"""The laws of behaviour and of style that can be read off the source: app/, templates/ and migrations/.

Each law yields the faults of one file. An exemption stands in EXEMPT with its reason, and must be needed. Each law is
tried on breaches of its own, so that none of them passes because it is blind.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain.delivery import State
from tests.laws.test_imports import MODULES, ROOT, Module, modules

Law = Callable[[Module], Iterator[str]]

LONGEST_FILE, LONGEST_TEMPLATE = 400, 120  # lines
LONGEST_FUNCTION, LONGEST_CRUX, LONGEST_VIEW = 30, 60, 20  # lines of the body, without the docstring
BANNED = frozenset({"job", "task", "item", "data", "info", "manager", "helper", "util", "utils", "process", "handle"})

CLOCKS = frozenset(
    {f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")}
    | {"datetime.date.today", *(f"sqlalchemy.func.{name}" for name in ("now", "current_date", "current_timestamp"))}
    | {f"time.{name}" for name in ("time", "monotonic", "perf_counter", "process_time", "localtime", "gmtime", "ctime")}
    | {f"time.{name}_ns" for name in ("time", "monotonic", "perf_counter", "process_time")}
)
SQL_CLOCK = re.compile(
    r"\b(now|(clock|statement|transaction)_timestamp|timeofday) ?\("
    r"|\b(current_(date|time|timestamp)|localtime(stamp)?)\b",
    re.IGNORECASE,
)
ENVIRONMENT = frozenset({"os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv", "os.unsetenv"})
COMMITS = frozenset({"commit", "rollback", "begin", "raw_connection", "autocommit"})
CONNECTIONS = frozenset({"psycopg.connect", "psycopg.Connection.connect", "app.extensions.db.session"})

OF_MIGRATIONS = "statements for the migrations, made of their own tables of names"
# (law, file, what is there): why it may.
EXEMPT = {
    ("clock", "app/embedded.py", "time.monotonic"): "waits for a server, also where there is no application",
    ("clock", "app/supervisor.py", "time.monotonic"): "waits for children; it decides nothing of an organisation",
    ("clock", "app/models/register.py", "now("): "a row that somebody writes by hand; each operation gives its own now",
    ("names", "app/imports/sheet_parts.py", "CharacterDataHandler"): "the name is expat's",
    ("names", "app/web/access.py", "MANAGERS"): "the screens' word for an officer is compliance manager",
    ("names", "app/web/access.py", "is_manager"): "the same",
    ("environment", "app/embedded.py", "os.environ"): "passes PATH on to the server, and nothing of ours",
    ("environment", "app/supervisor.py", "os.environ"): "takes away the mark by which a child knows its parent",
    ("environment", "app/cli/process.py", "os.environ"): "passes the whole environment on to web and scheduler",
    ("names", "app/scheduler/process.py", "process"): "the word of DESIGN: a dedicated scheduler process",
    ("names", "app/cli/process.py", "process"): "the commands of the processes, DESIGN section 10",
    ("names", "app/models/ledger.py", "SchedulerProcess"): "the table scheduler_process of DESIGN section 3",
    ("sql", "app/models/tenancy.py", "table"): OF_MIGRATIONS,
    ("sql", "app/models/tenancy.py", "role"): OF_MIGRATIONS,
    ("sql", "app/models/tenancy.py", "rights"): OF_MIGRATIONS,
    ("sizes", "app/verifier.py", "427 lines"): "whoever verifies reads one file; each line more is weighed here",
    ("states", "app/verifier.py", "delivered"): "the name of an event, in a file that imports nothing of ours",
    ("states", "app/imports/entries.py", "pending"): "what the files of others say where a reference is missing",
}

# A statement or a piece of one; `hole` is whatever is put in.
SQL = re.compile(
    r"\bselect\b.+\bfrom\b|\bselect (set_config|pg_|count|exists|1\b)|\binsert\s+into\b|\bupdate\s+\S+(\s+\w+)?\s+set\b"
    r"|\bdelete\s+from\b|\btruncate\s+(table\b|hole\b)|\b(create|alter|drop)\s+(table|role|view|policy|index|database)\b"
    r"|\b(grant|revoke)\b.+\b(to|from)\b|\bjoin\s+\S+.*\bon\b|\b(where|and|or)\s+\S+\s*(=|<|>|<>)\s*'?hole\b"
    r"|\b(where|and|or)\s+\S+\s+(in|is|like|between)\s+[('%]*hole\b|\bset\s+(local|role|session)\b|\border by\b",
    re.IGNORECASE | re.DOTALL,
)
RUNS_SQL = frozenset({"text", "execute", "exec_driver_sql", "scalar", "scalars", "run"})
QUOTED_STATE = re.compile(rf"(['\"])({'|'.join(State)})\1")
UNESCAPED = re.compile(r"\|\s*safe\b|\bMarkup\b|\bautoescape\b\W*false\b|\brender_template_string\b", re.IGNORECASE)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")


def exempt(law: str, module: Module, what: str) -> bool:
    return (law, module.path, what) in EXEMPT


def dotted_names(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Every name and attribute as the dotted name that the file's imports make of it; the imports themselves, too."""
    known: dict[str, str] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            origin = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
            for alias in node.names:
                root = alias.name.split(".")[0]
                known[alias.asname or root] = origin + alias.name if alias.asname or origin else root
    yield from module.imports()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name | ast.Attribute):
            root, _, rest = ast.unparse(node).partition(".")
            yield node, ".".join(filter(None, (known.get(root, root), rest)))


def strings(module: Module) -> Iterator[tuple[ast.Constant, str]]:
    """Every string but the docstrings; of f-strings the pieces."""
    silent = {
        id(node.body[0].value)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node, node.value


def clock(module: Module) -> Iterator[str]:
    """Law 1: now is an argument, in SQL `:now`; only app/clock.py reads a clock."""
    if module.path == "app/clock.py":
        return
    for node, name in dotted_names(module):
        if name in CLOCKS and not exempt("clock", module, name):
            yield f"{module.at(node)}: {name}"
    for node, text in strings(module):
        if (found := SQL_CLOCK.search(text)) and not exempt("clock", module, found[0]):
            yield f"{module.at(node)}: the database's clock, {found[0]}"


def commits(module: Module) -> Iterator[str]:
    """Law 5: app/database.py alone commits and rolls back, and opens connections and sessions."""
    if module.path == "app/database.py":
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and node.attr in COMMITS:
            yield f"{module.at(node)}: .{node.attr}"
    for node, name in dotted_names(module):
        if name in CONNECTIONS:
            yield f"{module.at(node)}: {name}"


def transactions(module: Module) -> Iterator[str]:
    """Law 5: whoever enters, commits: views, commands and ticks."""
    if module.package not in {"web", "cli", "scheduler", "demo"} and module.path != "app/database.py":
        for node, name in dotted_names(module):
            if name == "app.database.transaction":
                yield f"{module.at(node)}: {name}"


def sql(module: Module) -> Iterator[str]:
    """SQL is not composed, but where the predicate *wanted* is put in, and there of constants only, never of values."""
    trusted = module.package in {"ledger", "models", "queries"}
    for node in ast.walk(module.tree):
        shape, holes = composition(node)
        if SQL.search(shape):
            for hole in holes:
                if not (trusted and is_constant(hole)) and not exempt("sql", module, ast.unparse(hole)):
                    yield f"{module.at(node)}: SQL composed with {ast.unparse(hole)}"
        elif runs_f_string(node) and not trusted:
            yield f"{module.at(node)}: an f-string is run"


def runs_f_string(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.JoinedStr):
        return ast.unparse(node.func).split(".")[-1] in RUNS_SQL
    return False


def composition(node: ast.AST) -> tuple[str, list[ast.expr]]:
    """The text of a composed string, with `hole` for what is put in; and what that is."""
    match node:
        case ast.JoinedStr(values):
            holes = [part.value for part in values if isinstance(part, ast.FormattedValue)]
            return "".join(str(getattr(part, "value", "")) if is_text(part) else "hole" for part in values), holes
        case ast.BinOp(ast.Constant(str(text)), ast.Mod(), values):
            return re.sub("%[sdr]", "hole", text), [values]
        case ast.BinOp(left, ast.Add(), right) if is_text(left) or is_text(right):
            sides = (left, right)
            text = "".join(str(getattr(side, "value", "")) if is_text(side) else "hole" for side in sides)
            return text, [side for side in sides if not is_text(side) and not is_constant(side)]
        case ast.Call(ast.Attribute(ast.Constant(str(text)), "format"), args, keywords):
            return re.sub("{[^}]*}", "hole", text), [*args, *(keyword.value for keyword in keywords)]
    return "", []


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_constant(node: ast.expr) -> bool:
    """A name in capitals, or such a one with literals put in."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return is_constant(node.func.value) and all(map(is_text, node.args)) and not node.keywords
    return ast.unparse(node).split(".")[-1].isupper()


def environment(module: Module) -> Iterator[str]:
    if module.path != "app/config.py":
        for node, name in dotted_names(module):
            if name in ENVIRONMENT and not exempt("environment", module, name):
                yield f"{module.at(node)}: {name}"


def sizes(module: Module) -> Iterator[str]:
    """Files, functions and views, each by its own limit; a crux has numbered steps in its docstring."""
    length = len(module.source.splitlines())
    if length > LONGEST_FILE and not exempt("sizes", module, f"{length} lines"):
        yield f"{module.path}: {length} lines"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            words = ast.get_docstring(node)
            body = node.body if words is None else node.body[1:]
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            limit = LONGEST_CRUX if re.search(r"\b1\. .*\b2\. ", words or "", re.DOTALL) else LONGEST_FUNCTION
            if module.package == "web" and any(map(is_route, node.decorator_list)):
                limit = LONGEST_VIEW
            if lines > limit:
                yield f"{module.at(node)}: {node.name} has {lines} lines, at most {limit}"


def is_route(decorator: ast.expr) -> bool:
    return bool(re.search(r"\.(get|post|put|patch|delete|route)\(", ast.unparse(decorator)))


def names(module: Module) -> Iterator[str]:
    """Names that say nothing: of modules, functions, classes, parameters, variables and fields, word by word."""
    path = Path(module.path)
    stem = path.parent.name if path.stem == "__init__" else path.stem
    for node, name in [(module.tree, stem), *defined(module.tree)]:
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")
        forms = {form for word in words for form in (word, word.removesuffix("s"), word.removesuffix("es"))}
        if forms & BANNED and not exempt("names", module, name):
            yield f"{module.at(node)}: {name}"


def defined(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=str(name)) | ast.AsyncFunctionDef(name=str(name)) | ast.ClassDef(name=str(name)):
                yield node, name
            case ast.Name(name, ast.Store()) | ast.Attribute(_, name, ast.Store()) | ast.arg(name):
                yield node, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.alias(asname=str(name)):
                yield node, name


def docstring(module: Module) -> Iterator[str]:
    if not ast.get_docstring(module.tree):
        yield f"{module.path}: no docstring"


def states(module: Module) -> Iterator[str]:
    """The states of a delivery are one enum: only domain, and the SQL of app/ledger and app/models, spell them."""
    if module.package == "domain":
        return
    defaults = [k.value for node in ast.walk(module.tree) if isinstance(node, ast.Call) for k in node.keywords
                if module.package == "models" and k.arg == "server_default"]  # fmt: skip
    for node, text in strings(module):
        if text in set(State) and node not in defaults and not exempt("states", module, text):
            yield f"{module.at(node)}: {text}"
        elif module.package not in {"ledger", "models"} and (found := QUOTED_STATE.search(text)):
            yield f"{module.at(node)}: {found[0]} in a longer text"


def words_of(path: str, source: str, law: re.Pattern[str]) -> Iterator[str]:
    for number, line in enumerate(source.splitlines(), 1):
        if found := law.search(line):
            yield f"{path}:{number}: {found[0]}"


def unescaped(module: Module) -> Iterator[str]:
    yield from words_of(module.path, module.source, UNESCAPED)


def unfinished(module: Module) -> Iterator[str]:
    yield from words_of(module.path, module.source, UNFINISHED)


LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (clock, commits, transactions, sql, environment, sizes, names, docstring, states, unescaped, unfinished)
}


@pytest.mark.parametrize("law", LAWS)
def test_the_application_keeps_the_law_of(law: str) -> None:
    faults = [fault for module in MODULES for fault in LAWS[law](module)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("law", ["docstring", "unfinished"])
def test_migrations_keep_the_law_of(law: str) -> None:
    files = modules("migrations")
    assert len(files) > 1
    faults = [fault for module in files for fault in LAWS[law](module)]
    assert not faults, "\n".join(faults)


def test_the_stories_in_the_browser_live_on_a_day_of_their_own() -> None:
    """From 23:00 UTC on Madrid is at tomorrow: a story that took the host's day would be told wrongly at night."""
    faults = [fault for module in modules("tests/e2e") for fault in clock(module)]
    assert not faults, "\n".join(faults)


def faults_of_template(path: str, source: str) -> Iterator[str]:
    if (length := len(source.splitlines())) > LONGEST_TEMPLATE:
        yield f"{path}: {length} lines"
    for law in (UNESCAPED, UNFINISHED, QUOTED_STATE):
        yield from words_of(path, source, law)


def test_templates_are_short_and_escape_everything_and_spell_no_state() -> None:
    files = [file for file in sorted((ROOT / "templates").rglob("*")) if file.is_file()]
    assert files
    faults = [fault for file in files for fault in faults_of_template(str(file.relative_to(ROOT)), file.read_text())]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("exemption", EXEMPT, ids=" ".join)
def test_no_exemption_outlives_its_reason(exemption: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    law, path, what = exemption
    monkeypatch.delitem(EXEMPT, exemption)
    (module,) = (module for module in MODULES if module.path == path)
    assert any(fault.endswith(f" {what}") for fault in LAWS[law](module))


LONG = "def f():\n" + "    x = 1\n" * 31
STEPS = 'def f():\n    """1. one 2. two"""\n'

BREACHES = [
    ("clock", "app/ledger/x.py", "import datetime as dt\nx = dt.datetime.now(dt.UTC)"),
    ("clock", "app/ledger/x.py", "from datetime import datetime as d\nx = d.utcnow()"),
    ("clock", "app/domain/x.py", "import datetime\nx = datetime.date.today()"),
    ("clock", "app/cli/x.py", "from time import time as t"),
    ("clock", "app/web/x.py", "import time\nx = time.perf_counter_ns()"),
    ("clock", "app/ledger/x.py", "X = 'update kind set at = clock_timestamp()'"),
    ("clock", "app/queries/x.py", "from sqlalchemy import func\nx = func.now()"),
    ("clock", "app/queries/x.py", "X = 'due_on < CURRENT_DATE'"),
    ("commits", "app/operations/x.py", "def f(act):\n    act.session.commit()"),
    ("commits", "app/scheduler/x.py", "def f(engine):\n    with engine.begin(): pass"),
    ("commits", "app/cli/x.py", "import psycopg\nx = psycopg.connect('')"),
    ("commits", "app/web/x.py", "from app.extensions import db\nx = db.session"),
    ("transactions", "app/operations/x.py", "from app.database import transaction as t"),
    ("transactions", "app/ledger/x.py", "from app import database\nx = database.transaction()"),
    ("sql", "app/queries/x.py", "x = f'select {y} from subject'"),
    ("sql", "app/queries/x.py", "x = f'select id from subject where title = {title!r}'"),
    ("sql", "app/queries/x.py", "x = 'delete from kind where id = %s' % kind"),
    ("sql", "app/operations/x.py", "x = 'update {} set name = 1'.format(table)"),
    ("sql", "app/operations/x.py", "x = 'select id from kind where name = ' + name"),
    ("sql", "app/operations/x.py", "x = text(f'{FIRST} {SECOND}')"),
    ("sql", "app/ledger/x.py", "x = f'select id from kind where name = {name}'"),
    ("sql", "app/models/x.py", "x = f'{WANTED} order by {column}'"),
    ("environment", "app/cli/x.py", "from os import environ"),
    ("environment", "app/logins.py", "import os as o\nx = o.getenv('HOME')"),
    ("sizes", "app/cli/x.py", "x = 1\n" * 401),
    ("sizes", "app/cli/x.py", LONG),
    ("sizes", "app/cli/x.py", STEPS + "    x = 1\n" * 61),
    ("sizes", "app/web/x.py", "@pages.get('/')\ndef f():\n" + "    x = 1\n" * 21),
    ("names", "app/imports/utils.py", ""),
    ("names", "app/tasks/__init__.py", ""),
    ("names", "app/cli/x.py", "def handle_row(): pass"),
    ("names", "app/cli/x.py", "class LoginManager: pass"),
    ("names", "app/cli/x.py", "for item in (): pass"),
    ("names", "app/cli/x.py", "def f(data): pass"),
    ("names", "app/cli/x.py", "with open('') as jobs: pass"),
    ("names", "app/cli/x.py", "class C:\n    processes: int"),
    ("names", "app/cli/x.py", "import json as data"),
    ("docstring", "app/cli/x.py", "# no words"),
    ("states", "app/queries/x.py", "x = y == 'in_doubt'"),
    ("states", "app/queries/x.py", "X = \"select id from delivery where state = 'pending'\""),
    ("states", "app/ledger/x.py", "x = 'held'"),
    ("states", "app/models/x.py", "x = mapped_column(default='pending')"),
    ("unescaped", "app/web/x.py", "from markupsafe import Markup"),
    ("unfinished", "app/web/x.py", "# TODO"),
]


@pytest.mark.parametrize(("law", "path", "source"), BREACHES)
def test_a_law_sees_its_breach(law: str, path: str, source: str) -> None:
    assert list(LAWS[law](Module(path, source)))


@pytest.mark.parametrize(
    ("law", "path", "source"),
    [
        ("clock", "app/web/x.py", "from app.domain.calendars import today\nx = today(now, zone)"),
        ("sql", "app/web/x.py", "x = f'Update {y}, or select another one and leave.'"),
        ("sql", "app/config.py", "x = f'{name} is required where ONUS_ENV=production: set it'"),
        ("sql", "app/ledger/x.py", "x = f'select id from ({WANTED}) w where {IN_SCOPE.format(\"w.id\")}'"),
        ("sizes", "app/cli/x.py", STEPS + "    x = 1\n" * 60),
        ("sizes", "app/cli/x.py", "def f():\n    '''" + "It.\n" * 40 + "'''\n" + "    x = 1\n" * 30),
        ("names", "app/cli/x.py", "from app.scheduler import process\nx = {}.items()\nmetadata = handing_over = 1"),
        ("states", "app/ledger/x.py", "X = \"update delivery set state = 'delivered'\""),
        ("states", "app/web/x.py", 'def f():\n    """A claim that was delivered."""\n    return State.delivered'),
    ],
)
def test_a_law_lets_pass_what_it_does_not_mean(law: str, path: str, source: str) -> None:
    assert list(LAWS[law](Module(path, source))) == []


@pytest.mark.parametrize(
    "source", ["{{ note|safe }}", "{{ x | safe }}", "{% autoescape false %}", '{% if s == "held" %}', "<p>\n" * 121]
)
def test_a_template_that_breaks_a_law_is_seen(source: str) -> None:
    assert len(list(faults_of_template("x.html", source))) == 1
