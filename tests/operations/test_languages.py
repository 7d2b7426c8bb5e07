"""In which language a person reads: what is kept, what the trail says, and whose it is to say."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from app.domain.errors import Refused
from app.models import Account, Member, Organisation
from app.operations import accounts, languages, people
from app.trail.act import Act
from tests import factories
from tests.factories import Acme
from tests.operations.story import Since
from tests.operations.test_commands import Onus, onus  # noqa: F401  (fixture)
from tests.people import OFFICER, STAFF


def kept(act: Act, email: str) -> object:
    """Of the member, and of the login."""
    query = select(Member.locale, Account.locale).join(Account, Account.id == Member.account_id)
    return act.session.execute(query.where(Member.org_id == act.org, Member.email == email)).one()


def test_a_language_is_kept_once_and_the_trail_says_so(act: Act, since: Since) -> None:
    member_id = factories.member(act, STAFF)
    assert kept(act, STAFF) == ("en", "en")
    since.read()
    assert languages.set_language(act, member_id, " ES ")
    assert since.event() == ("language_changed", {"member_id": member_id, "old": "en", "new": "es"})
    assert not languages.set_language(act, member_id, "es")
    assert kept(act, STAFF) == ("es", "es")
    assert languages.set_language(act, member_id, "en", everywhere=False)
    assert kept(act, STAFF) == ("en", "es")
    assert since.both() == (["language_changed"], [])
    with pytest.raises(Refused, match="does not speak 'pt': choose one of en, es"):
        languages.set_language(act, member_id, "pt")


def test_new_people_read_as_the_organisation_does_unless_somebody_says_otherwise(act: Act) -> None:
    act.session.execute(update(Organisation).where(Organisation.id == act.org).values(locale="es"))
    factories.member(act, STAFF)
    people.add_member(act, OFFICER, "officer", language="en")
    assert [kept(act, email) for email in (STAFF, OFFICER)] == [("es", "es"), ("en", "en")]
    without = Member(org_id=act.org, name="Hugo", email="hugo@acme.example", role="staff", locale="es")
    act.session.add(without)
    act.session.flush()
    accounts.let_in(act, without.id, None)
    assert kept(act, "hugo@acme.example") == ("es", "es")


def test_languages_by_command(onus: Onus, acme: Acme) -> None:  # noqa: F811
    assert onus.changed("org", "add", "otra", "--name", "Otra", "--timezone", "Europe/Madrid", "--lang", "es")
    assert onus.changed("member", "add", STAFF, "--role", "staff", "--org", "otra")
    assert onus.changed("member", "add", STAFF, "--role", "staff", "--org", "acme", "--lang", "en")
    assert onus.changed("member", "language", STAFF, "es", "--org", "acme")
    assert not onus.changed("member", "language", STAFF, "es", "--org", "acme")
    with acme.acting() as act:
        assert kept(act, STAFF) == ("es", "es")
    for wrong in (("member", "language", STAFF, "pt", "--org", "acme"),
                  ("org", "add", "third", "--name", "T", "--timezone", "Europe/Madrid", "--lang", "xx")):  # fmt: skip
        refused = onus.run(*wrong)
        assert refused.exit_code == 2
        assert "does not speak" in refused.stderr
