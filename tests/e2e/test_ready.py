"""A test mail in a real browser: asked for by a click, sent by the scheduler's own tick, and seen to be taken."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from flask import Flask
from playwright.sync_api import expect

from app.channels.smtp import SmtpChannel
from app.config import mail_server, settings
from app.operations import people
from app.scheduler.mail_tick import mail_tick
from app.scheduler.sender import Sender
from tests import factories
from tests.channels.conftest import mail_process, server  # noqa: F401  (fixtures)
from tests.chaos.smtp_server import Running
from tests.e2e.conftest import Site, Tab, serving
from tests.e2e.test_story import Mouse, sign_in
from tests.factories import Acme
from tests.web.conftest import ADMIN, HASH


@pytest.fixture
def mailing(server: Running) -> str:  # noqa: F811
    return f"smtp://127.0.0.1:{server.port}?tls=none"


@pytest.fixture
def site(mailing: str, real_app: Flask, worker: str, tmp_path: Path) -> Iterator[Site]:
    """Pages that know of a mail server, to which they must not speak."""
    with serving(worker, tmp_path, ONUS_SMTP_URL=mailing) as url:
        yield Site(url, real_app)


@pytest.fixture
def acme(site: Site) -> Acme:
    made = factories.acme()
    with made.acting() as act:
        people.add_member(act, ADMIN, "admin", "Adela", HASH)
        factories.rule(act, to=("role:admin",), channels=("email", "in_app"))
    return made


@pytest.fixture
def send(mailing: str, acme: Acme) -> Iterator[Callable[[], None]]:
    channel = SmtpChannel(mail_server(mailing))
    yield lambda: mail_tick(Sender(settings(), channel, uuid.uuid4()), acme.org) and None
    channel.drop()


@pytest.mark.parametrize("script", [True, False])
def test_a_test_mail_is_asked_for_sent_and_seen_to_be_taken(
    acme: Acme,
    tab: Callable[..., Tab],
    send: Callable[[], None],
    server: Running,  # noqa: F811
    script: bool,
) -> None:
    one = tab(javascript=script, width=360)
    hand, page = Mouse(one.page), one.go("/")
    sign_in(hand, ADMIN)
    page.get_by_role("link", name="Is Madrid ready?").click()
    expect(page.get_by_role("row", name="Test mail")).to_contain_text("Not tested yet")
    hand.press("Send me a test mail")
    expect(page.get_by_text("It waits to be sent.")).to_be_visible()
    assert server.events("connect") == []
    send()
    if not script:
        hand.follow("Look again")
    expect(page.get_by_text("The mail server took it.")).to_be_visible()
    expect(page.locator("#test-mail")).to_contain_text("250 2.0.0 queued")
    assert len(server.events("message")) == 1
    if script:  # The checks have looked again by themselves.
        expect(page.get_by_role("row", name="Test mail")).to_contain_text("Fine")
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    else:
        one.go(page.url.removeprefix(one.url).replace("test-mail", "sites/ready"))
        expect(page.get_by_role("row", name="Madrid")).not_to_contain_text("Test mail")
