"""Every page that can be reached, as each role finds it: its parts, its words, and that stored text is only text.

The pages are found by following links, so that no link may lead to a refusal; every page that the url_map knows must
be among them. Each form is also sent empty, so that the pages that refuse it are judged, too (H41).
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from urllib.parse import urljoin, urlsplit

import pytest
from flask import Flask

from app.queries.queues import Queue
from app.web.entry import DEADLINE_DEEDS, ENTRY_DEEDS
from tests.factories import Acme
from tests.web.conftest import ADMIN, Browser
from tests.web.furnished import HOSTILE, NO_SUCH, ROLES, Furnished, SignIn, address, furnish, routes, undone
from tests.web.markup import Element, read
from tests.web.test_matrix import MATRIX

STARTS = {"admin": "/o/acme/", "officer": "/o/acme/", "staff": "/o/acme/inbox", "inspector": "/o/acme/evidence"}
MOST = 2  # Pages of one kind; the second differs from the first in its rows only. Entries are all of them judged.
NEVER = ("claim", "claims", "claimed", "crossing", "crossed", "threshold", "thresholds", "lease", "leased", "hand-over",
         "tick", "ticks", "standing", "watermark", "horizon", "poison", "born old")  # fmt: skip
PHOTO = re.compile(r"/o/acme/register/\d+/files/\d+")  # Of an answer: the only pictures that pages show.
CONTROLS = ("input", "select", "textarea")


Pages = dict[str, str]


def crawl(person: Browser, start: str, most: int = 1) -> Pages:
    """The markup of the pages that links lead to: so many of each kind; with MOST of them every entry, too."""
    waiting, pages, seen = [start], Pages(), Counter[str]()
    while waiting:
        where = waiting.pop(0)
        kind = re.sub(r"\d+", "N", where)
        if where in pages or (seen[kind] >= most and (most, kind) != (MOST, "/o/acme/register/N")):
            continue
        seen[kind] += 1
        response = person.get(where)
        assert response.status_code == 200, where
        if not response.mimetype.startswith("text/"):
            pages[where] = ""  # A picture or a workbook, which no page is.
            continue
        pages[where] = response.text
        waiting += links_of(read(response.text), where)
    return pages


def links_of(page: Element, where: str) -> Iterator[str]:
    for one in page.walk():
        named = one.get("href") if one.tag == "a" else one.get("hx-get")
        if named and not named.startswith("#"):
            found = urlsplit(urljoin(where, named))
            assert not found.netloc, named
            if found.path != "/":
                yield found.path + (f"?{found.query}" if found.query else "")


def is_page(markup: str) -> bool:
    return markup.lstrip().lower().startswith("<!doctype html>")


def faults_of(markup: str) -> list[str]:
    """What is wrong with the page, by all checks."""
    page = read(markup)
    return [fault for check in CHECKS for fault in check(page)]


def check_frame(page: Element) -> Iterator[str]:
    titles = [one for one in page.all("title") if one.tag == "title"]
    title = "".join(child for one in titles for child in one.children if isinstance(child, str))
    if not re.fullmatch(r"\S.* · Onus", title, re.DOTALL):
        yield f"title {title!r}"
    if [one.get("lang") for one in page.all("html")] not in (["en"], ["es"]):  # The story of an entry is in both.
        yield "no language"
    if len(page.all("h1")) != 1 or not page.all("h1")[0].text:
        yield "not one h1"
    if len(page.all("main")) != 1:
        yield "not one main"
    levels = [int(one.tag[1]) for one in page.all("h1", "h2", "h3", "h4")]
    if any(after > before + 1 for before, after in itertools.pairwise(levels)):
        yield f"a heading too deep: {levels}"


def check_ids(page: Element) -> Iterator[str]:
    ids = Counter(one.get("id") for one in page.walk() if "id" in one.attributes)
    yield from (f"id {name!r} {count} times" for name, count in ids.items() if count > 1 or not name or " " in name)
    for one in page.walk():
        for attribute in ("for", "aria-describedby", "aria-labelledby", "aria-controls", "list", "form"):
            named = one.get(attribute).split()
            if attribute in one.attributes and not (named and set(named) <= ids.keys()):
                yield f"<{one.tag} {attribute}={one.get(attribute)!r}> points at nothing"
        if one.get("href").startswith("#") and one.get("href")[1:] not in ids:
            yield f"a link to {one.get('href')} on the page"


def check_labels(page: Element) -> Iterator[str]:
    labelled = {one.get("for") for one in page.all("label") if one.text}
    wrapped = {id(inner) for one in page.all("label") if one.text for inner in one.all(*CONTROLS)}
    for one in page.all(*CONTROLS):
        named = one.get("id") in labelled or id(one) in wrapped or one.get("aria-label")
        if one.get("type") != "hidden" and not named:
            yield f"<{one.tag} name={one.get('name')!r}> has no label"
        if one.get("aria-invalid") == "true" and not one.get("aria-describedby"):
            yield f"<{one.tag} name={one.get('name')!r}> is wrong, and does not say why"
    for one in page.all("a", "button", "summary", "legend"):
        if not one.text and not one.get("aria-label") and not any(picture.get("alt") for picture in one.all("img")):
            yield f"<{one.tag}> without words"
    for one in page.all("fieldset"):
        if not one.elements or one.elements[0].tag != "legend":
            yield "a fieldset without legend"


def check_tables(page: Element) -> Iterator[str]:
    for table in page.all("table"):
        captions = [one for one in table.elements if one.tag == "caption"]
        if len(captions) != 1 or not captions[0].text:
            yield "a table without caption"
        if any(one.get("scope") not in ("col", "row") for one in table.all("th")):
            yield "a th without scope"
        heads = [row for head in table.all("thead") for row in head.all("tr")]
        width = len(heads[0].elements) if heads else 0
        for row in (row for body in table.all("tbody") for row in body.all("tr")):
            cells = sum(int(cell.get("colspan") or 1) for cell in row.elements)
            if cells != width:
                yield f"a row of {cells} cells under {width} heads"


def seen_words(page: Element) -> str:
    """What is read: the text, and what stands in attributes that are read out or shown. Stored text is left out."""
    names = ("aria-label", "data-label", "placeholder", "title", "alt")
    shown = [one.attributes[name] for one in page.walk() for name in names if name in one.attributes]
    titles = [child for one in page.all("title") for child in one.children if isinstance(child, str)]
    return " ".join([page.text, *shown, *titles]).replace(HOSTILE, "")


def check_words(page: Element) -> Iterator[str]:
    words = seen_words(page)
    for never in NEVER:
        if re.search(rf"(?<![\w-]){never}(?![\w-])", words, re.IGNORECASE):
            yield f"the word {never!r}"
    yield from (f"the date {found}" for found in re.findall(r"\b\d{1,2}/\d{1,2}/\d{2,4}\b", words))
    yield from (f"the date {found}" for found in re.findall(r"(?<!such as )\b\d{4}-\d\d-\d\d\b", words))
    yield from (f"the command {found}" for found in re.findall(r"write one of|`onus|(?<![\w-])--\w+", words))
    yield from (f"the code {found}" for found in re.findall(r"(?<![\w@.])[a-z]+_[a-z_]+(?![\w@])", words))
    yield from (f"raw {found}" for found in re.findall(r"Undefined|<[A-Z]\w+\.|datetime\.|\{\{(?!7)|\{%", words))
    yield from (f"a count {found}" for found in re.findall(r"\b1 (?:days|entries|alerts|messages|checks)\b", words))


def check_nothing_runs(page: Element) -> Iterator[str]:
    for one in page.walk():
        foreign = one.tag == "img" and not PHOTO.fullmatch(one.get("src"))
        if foreign or one.tag in ("iframe", "object", "style", "base") or (one.tag == "script" and one.children):
            yield f"<{one.tag}>"
        if one.tag == "script" and not one.get("src").startswith("/assets/"):
            yield "a script of another place"
        for name, value in one.attributes.items():
            if name.startswith(("on", "hx-on")) or name == "style":
                yield f"the attribute {name}"
            if name in ("hx-get", "hx-post", "action", "href") and not re.match(r"/(?!/)|#", value):
                yield f"{name}={value}"
            if name in ("hx-get", "hx-post") and value == "/x":
                yield "a request from stored text"
    for form in page.all("form"):
        tokens = [one for one in form.all("input") if one.get("name") == "csrf_token" and one.get("value")]
        if (form.get("method") == "post") != (len(tokens) == 1) or not form.get("action"):
            yield f"the form to {form.get('action')!r}"


CHECKS: tuple[Callable[[Element], Iterator[str]], ...] = (
    check_frame, check_ids, check_labels, check_tables, check_words, check_nothing_runs,
)  # fmt: skip


def check_pages(pages: Pages, role: str | None = None) -> None:
    found = {where: faults_of(markup) for where, markup in pages.items() if is_page(markup)}
    assert {where: faults for where, faults in found.items() if faults} == {}
    for where in found if role else ():
        page = read(pages[where])
        assert len(page.all("header")) == 1, where
        assert {bool(one.get("aria-label")) for one in page.all("nav")} == {True}, where


def check_titles(pages: Pages) -> None:
    """Each page is told from the others by its title, whatever rows it shows."""
    titles: dict[str, set[str]] = {}
    for where, markup in pages.items():
        if is_page(markup):
            title = read(markup).all("title")[0].children[0]
            titles.setdefault(str(title), set()).add(urlsplit(where).path)
    assert {title: wheres for title, wheres in titles.items() if len(wheres) > 1} == {}


@pytest.mark.parametrize("role", ["officer", "staff", "inspector"])
def test_every_page_of_a_role(browser: SignIn, own: Furnished, role: str) -> None:
    pages = crawl(browser(ROLES[role]), STARTS[role])
    check_pages(pages, role)
    check_titles(pages)


def test_every_page_there_is(app: Flask, browser: SignIn, own: Furnished) -> None:
    adela = browser(ADMIN)
    pages = crawl(adela, STARTS["admin"], MOST)
    check_pages(pages, "admin")
    check_titles(pages)
    reached = Counter[str]()
    for where in pages:
        rule, _ = app.url_map.bind("localhost").match(urlsplit(where).path, method="GET", return_rule=True)
        reached[f"GET {rule.rule}"] += 1
    assert {name for name in MATRIX if name.startswith("GET ")} - reached.keys() == set()
    acts = {where.rpartition("/")[2] for where in pages if re.search(r"/register/\d+/", where)}
    assert set(ENTRY_DEEDS) | set(DEADLINE_DEEDS) <= acts
    assert {f"/o/acme/today/{queue}" for queue in Queue} - pages.keys() <= {"/o/acme/today/late", "/o/acme/today/month"}


def test_every_list_that_ends(browser: SignIn, own: Furnished) -> None:
    """What is said where a list has no rows, and where no filter finds anything."""
    dana, adela = browser(ROLES["inspector"]), browser(ADMIN)
    asked = {f"/o/acme/settings/{name}?after={NO_SUCH}": adela for name in ("sites", "kinds", "people", "posts")}
    asked |= {f"/o/acme/rules?after={NO_SUCH}": adela, "/o/acme/register?q=nothing+like+it": dana}
    asked |= {"/o/acme/evidence/alerts?reference=none": dana, "/o/acme/evidence/alerts?from=x&until=2027-01-01": dana}
    asked |= {"/o/acme/evidence/off-the-watch?from=2020-01-01&until=2020-01-02": dana}
    asked |= {f"/o/acme/evidence/past?{name}": dana for name in ("on=2020-01-01", "q=nothing+like+it", "on=x")}
    check_pages({where: person.get(where).text for where, person in asked.items()}, "admin")


def test_every_form_that_is_refused_is_a_page_that_says_so(app: Flask, browser: SignIn, own: Furnished) -> None:
    adela, pages = browser(ADMIN), Pages()
    for name, rule in routes(app).items():
        if MATRIX.get(name, ((), 0))[1] == 422:
            with undone():
                response = adela.post(address(rule, "acme", own.ids))
                assert response.status_code == 422, name
                pages[name] = response.text
    assert len(pages) > 15
    check_pages(pages, "admin")
    for name, markup in pages.items():
        page = read(markup)
        wrong = [one for one in page.walk() if one.get("role") == "alert" and one.text]
        assert wrong or [one for one in page.walk() if one.get("class") == "fault" and one.text], name


def test_pages_outside_of_an_organisation(app: Flask, browser: SignIn, own: Furnished) -> None:
    stranger, dana, pages = Browser(app.test_client()), browser(ROLES["inspector"]), Pages()
    for where in ("/login", "/status", "/nowhere"):
        pages[where] = stranger.get(where).text
    stranger.get("/login")
    pages["refused"] = stranger.post("/login", email="nobody@acme.example", password="wrong").text
    for where in ("/o/acme/nowhere", "/o/acme/settings", "/logout"):
        pages[where] = dana.get(where).text
    check_pages(pages)
    del pages["/o/acme/nowhere"]
    check_titles(pages)


def test_stored_text_is_only_text(browser: SignIn, staffed: Acme) -> None:
    """Whatever a person typed stands on the pages as it was typed, in every field that a page shows."""
    typed: set[str] = set()

    def hostile(plain: str) -> str:
        typed.add(f"{plain} {HOSTILE}")
        return f"{plain} {HOSTILE}"

    furnish(staffed, "acme", "Bruno", hostile)
    pages = crawl(browser(ADMIN), "/o/acme/", MOST) | crawl(browser(ROLES["staff"]), "/o/acme/inbox")
    check_pages(pages)
    read_out = " ".join(read(markup).text for markup in pages.values() if is_page(markup))
    assert len(typed) > 20
    assert {text for text in typed if text not in read_out} == set()
    files = [where for where in pages if where.endswith(".csv")]  # Sent as a file, and never as a page.
    pictures = {where: re.findall(r'<img src="?([^" ]*)', markup) for where, markup in pages.items()}
    assert not [
        where for where, found in pictures.items() if where not in files and not all(map(PHOTO.fullmatch, found))
    ]


BAD = """<!doctype html><html><head><title>Onus</title><style>x</style></head><body>
<h1>a</h1><h1>b</h1><h3 id="x" style="y">c</h3><p id="x">The threshold was crossed
 on 03/04/2027, not_required 1 days; add --due-on</p>
<img src="x" onerror="alert(1)"><form method="post"><input name="q"><label for="none">L</label></form>
<table><thead><tr><th>A</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>
<a href="//evil.example"></a><fieldset></fieldset><b hx-get="/x">{{ x }} 2027-04-03</b></body></html>"""


def test_each_check_can_fail() -> None:
    counts = [len(list(check(read(BAD)))) for check in CHECKS]
    assert counts == [5, 2, 3, 3, 8, 7]
