"""The register as a member reads it whose language is Spanish: every page, what it offers, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pytest
from sqlalchemy import update

from app.models import Member
from app.web.batch_deeds import BATCH_DEEDS
from app.web.entry import DEADLINE_DEEDS, ENTRY_DEEDS
from tests.people import OFFICER
from tests.web.conftest import Browser
from tests.web.furnished import Furnished
from tests.web.markup import read
from tests.web.spanish import english_in

pytestmark = pytest.mark.furnished

SignIn = Callable[[str], Browser]
# What people typed, in English; and what other modules say: the history, and the tags with why nobody is told.
TYPED = re.compile(
    r"the database was restored|Take the sample\.|In the blue folder\.|See the folder|Ida of the office|NOBODY"
)
HISTORY = re.compile(
    r'<ol class="history">.*?</ol>|<span class="tag[^"]*">.*?</span>|<div class="banner late">.*?</div>', re.DOTALL
)
TELLING = {
    "/o/acme/register": ("Control de vencimientos", "Varias a la vez:", "Todos los centros", "Días que faltan"),
    "/o/acme/register/new": ("Dar de alta una ficha", "Nunca: ni aunque lo haga su tipo.", "(puesto: quien lo ocupe)"),
    "/o/acme/register?q=nada": ("Ninguna: no hay fichas así entre las que usted puede ver.",),
}
ACT = re.compile(r'href="(/o/acme/register/\d+/(?:deadlines/\d+/)?([a-z-]+))"')


@pytest.fixture
def ana(own: Furnished, browser: SignIn) -> Browser:
    with own.acme.acting() as act:
        mine = (Member.org_id == act.org, Member.id == own.acme.members["Ana"])
        act.session.execute(update(Member).where(*mine).values(locale="es"))
    return browser(OFFICER)


def check(pages: dict[str, str]) -> None:
    english = {where: english_in(TYPED.sub("", HISTORY.sub("", page))) for where, page in pages.items()}
    assert {where: found for where, found in english.items() if found} == {}


def seen(ana: Browser, wheres: Iterable[str]) -> dict[str, str]:
    return {where: ana.get(where).text for where in wheres}


def test_every_page_is_spanish(ana: Browser, own: Furnished) -> None:
    pages = seen(ana, TELLING)
    for where, words in TELLING.items():
        assert [one for one in words if one not in read(pages[where]).text] == [], where
    entries = seen(ana, sorted(set(re.findall(r'href="(/o/acme/register/\d+)"', pages["/o/acme/register"]))))
    acts = {name: where for page in entries.values() for where, name in ACT.findall(page)}
    deeds = ENTRY_DEEDS.keys() | DEADLINE_DEEDS.keys()
    assert deeds <= acts.keys()
    check(pages | entries | seen(ana, (acts[name] for name in deeds)))
    of_p1 = read(entries[f"/o/acme/register/{own.ids['subject_id']}"]).text
    for words in ("Qué es", "Vencimientos", "Documentos, primero el último", "Sustituido por C-2", "Vigilada por"):
        assert words in of_p1


def test_what_is_refused_is_said_in_spanish(ana: Browser, own: Furnished) -> None:
    page = ana.get(f"/o/acme/register/{own.ids['subject_id']}").text
    refused = {where: ana.post(where) for where, _ in ACT.findall(page)}
    wrong = {where: answer.text for where, answer in refused.items() if answer.status_code == 422}
    assert len(wrong) > 8
    check(wrong)
    added = {"reference": "P-1", "title": "Caldera", "kind": own.ids["kind_id"], "site": own.ids["site_id"]}
    empty = dict.fromkeys(
        ("new_kind", "responsible", "holder", "due_on", "part_of", "due_from", "recurrence", "recurrence_basis"), ""
    )
    more = dict.fromkeys(("legal_basis", "notes"), "")
    assert "Madrid ya tiene una ficha" in ana.post("/o/acme/register/new", **added, **empty, **more).text
    never = ana.post("/o/acme/register/new", **added | {"reference": "C-9"}, **empty | {"recurrence": "Nunca"}, **more)
    assert never.status_code == 303


def test_many_at_once_in_spanish(ana: Browser, own: Furnished) -> None:
    where = "/o/acme/register/batch"
    ids = ",".join(str(own.ids[name]) for name in ("subject_id", "alone_id"))
    chosen = {"scope": "ids", "ids": ids}
    ana.get("/o/acme/register")
    pages = {where: ana.post(where, **chosen).text, "none": ana.post(where, scope="ids", ids="").text}
    for name in BATCH_DEEDS:
        pages[name] = ana.post(f"{where}/{name}", **chosen).text
        pages[f"{name}, empty"] = ana.post(f"{where}/{name}", see="yes", **chosen).text
    pause = {"until": "2028-01-03", "reason": "waiting", "note": ""}
    looked = ana.post(f"{where}/pause", see="yes", **chosen, **pause).text
    assert "2 fichas cambiarían y 0 fichas quedarían como están." in read(looked).text
    marks = dict(re.findall(r'name="(mark|looked)" value="([^"]*)"', looked))
    done = ana.post(f"{where}/pause/apply", **chosen, **pause, **marks)
    pages |= {"looked": looked, "stale": ana.post(f"{where}/pause/apply", **chosen, **pause, **marks).text}
    pages |= {"done": ana.get(done.headers["Location"]).text}
    pages |= {"some left": ana.get(f"/o/acme/register/batches/{own.ids['batch_id']}").text}
    assert "Hecho: 2 fichas." in read(pages["done"]).text
    assert "1 ficha sin cambiar: archivada" in read(pages["some left"]).text
    check(pages)
