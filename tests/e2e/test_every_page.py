"""Every page in a browser: clean for axe in both themes and languages, no wider than a small phone, and light."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Response, expect
from sqlalchemy import update

from app.models import Account, Member
from tests import factories
from tests.e2e.conftest import Site, Tab
from tests.people import OFFICER, PASSWORD, STAFF
from tests.web.conftest import add_people
from tests.web.furnished import ROLES, Furnished, address, furnish, routes
from tests.web.test_matrix import MATRIX

OpenTab = Callable[..., Tab]
SMALL = 320  # CSS pixels: a small phone, and 1,280 at a zoom of 400 %.
FIRST_LOAD = 120_000  # Bytes that a page and all it needs may take the first time.
NO_PAGES = ("/files/", "left-over.csv", "/inbox/unread")  # What is given back, and a fragment.


@pytest.fixture
def own(site: Site) -> Furnished:
    """acme with something on every page, really committed."""
    acme = factories.acme()
    add_people(acme)
    return furnish(acme, "acme", "Bruno")


def sign_in(page: Page, url: str, email: str) -> None:
    page.goto(f"{url}/login")
    page.locator("[name=email]").fill(email)
    page.locator("[name=password]").fill(PASSWORD)
    page.locator("main button").click()
    page.wait_for_url("**/o/**")


def speak(own: Furnished, language: str) -> None:
    with own.acme.acting() as act:
        act.session.execute(update(Member).where(Member.org_id == act.org).values(locale=language))
        act.session.execute(update(Account).values(locale=language))


def wider(page: Page) -> int:
    """The pixels by which the page is wider than a small phone."""
    page.set_viewport_size({"width": SMALL, "height": 640})
    found = int(page.evaluate("document.scrollingElement.scrollWidth"))
    page.set_viewport_size({"width": 1280, "height": 900})
    return max(0, found - SMALL)


@pytest.mark.parametrize(("theme", "language", "which"), [("light", "en", 0), ("dark", "es", -1)])
def test_every_page_is_clean_for_axe_and_fits_a_small_phone(
    site: Site, tab: OpenTab, own: Furnished, theme: str, language: str, which: int
) -> None:
    """Each page of an organisation twice: light in English as the first of its roles, dark in Spanish as the last.

    Not seen: the other two pairs, the roles between, the pages outside an organisation, refused forms.
    """
    speak(own, language)
    axe, found, seen, tabs = Axe(), {}, 0, {role: tab().page for role in ROLES}
    for role, page in tabs.items():
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        sign_in(page, site.url, ROLES[role])
    for name, rule in routes(site.app).items():
        if not name.startswith("GET /o/") or name not in MATRIX or any(part in name for part in NO_PAGES):
            continue
        page = tabs[MATRIX[name][0][which]]
        answer = page.goto(site.url + address(rule, "acme", own.ids))
        assert answer is not None
        assert answer.status == 200, name
        assert page.locator("html").get_attribute("lang") in (language, None), name
        expect(page.locator(".htmx-request")).to_have_count(0)  # What waits is pale on purpose.
        result = axe.run(page)
        faults = [f"{one['id']}: {one['nodes'][0]['html'][:160]}" for one in result.response["violations"]]
        if over := wider(page):
            faults.append(f"{over} pixels too wide")
        seen += 1
        if faults:
            found[name] = faults
    assert seen > 60
    assert found == {}, "\n".join(f"{name}: {faults}" for name, faults in found.items())


@pytest.mark.parametrize(
    ("path", "email"),
    [("/login", ""), ("/o/acme/", OFFICER), ("/o/acme/register", OFFICER), ("/o/acme/inbox", STAFF),
     ("/o/acme/register/{subject_id}", OFFICER), ("/o/acme/evidence", OFFICER)],
)  # fmt: skip
def test_a_first_load_is_light(site: Site, tab: OpenTab, own: Furnished, path: str, email: str) -> None:
    """All that comes over the line, as the server sends it, with nothing kept from before."""
    page = tab().page
    if email:
        sign_in(page, site.url, email)
    fresh = page.context.new_page()
    came: list[Response] = []

    def note(one: Response) -> None:
        came.append(one)

    fresh.on("response", note)
    page.context.new_cdp_session(fresh).send("Network.setCacheDisabled", {"cacheDisabled": True})
    fresh.goto(site.url + path.format(**own.ids), wait_until="networkidle")
    sizes = {one.url: one.request.sizes()["responseBodySize"] for one in came}
    assert len(sizes) >= 4
    assert sum(sizes.values()) < FIRST_LOAD, sizes
