"""The signed return address: read back in any case, made by nobody else, and short enough for every server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from app.channels.addresses import envelope_form
from app.channels.returns import SIGNED, has_room, read_return, sign_return
from tests.channels.letters import SETTINGS, composed

MESSAGE = UUID("0f8fad5b-d9cb-469f-a165-70867728950e")
SIGNED_ADDRESS = sign_return(SETTINGS, 7, MESSAGE)


def test_the_form_is_that_of_the_contract() -> None:
    local, _, domain = SIGNED_ADDRESS.partition("@")
    base, _, token = local.partition("+")
    org, message, seal = token.split(".")
    assert (base, org, len(message), len(seal), domain) == ("onus", "7", 26, 16, "onus.acme.example")
    assert SIGNED_ADDRESS.lower() == SIGNED_ADDRESS
    assert len(local) <= 64
    assert envelope_form(SIGNED_ADDRESS) == SIGNED_ADDRESS


@pytest.mark.parametrize("written", [SIGNED_ADDRESS, SIGNED_ADDRESS.upper(), f" {SIGNED_ADDRESS.title()} "])
def test_it_is_read_back_in_any_case(written: str) -> None:
    assert read_return(SETTINGS, written) == (7, MESSAGE)


@pytest.mark.parametrize("org", [1, 999_999_999_999_999_9])
def test_every_message_of_every_organisation_is_read_back(org: int) -> None:
    for message in (uuid4(), UUID(int=0), UUID(int=2**128 - 1)):
        short = replace(SETTINGS, mail_from="a@acme.example")
        assert read_return(short, sign_return(short, org, message)) == (org, message)


def test_one_changed_letter_makes_it_nobodys() -> None:
    local, _, domain = SIGNED_ADDRESS.partition("@")
    start = local.index("+") + 1
    for place in range(start, len(local)):
        for letter in "a7" if local[place] != "." else "x":
            forged = f"{local[:place]}{letter}{local[place + 1 :]}@{domain}"
            assert read_return(SETTINGS, forged) == ((7, MESSAGE) if forged == SIGNED_ADDRESS else None)


def test_another_key_another_organisation_and_another_message_are_refused() -> None:
    assert read_return(replace(SETTINGS, secret_key="another key"), SIGNED_ADDRESS) is None
    assert read_return(SETTINGS, SIGNED_ADDRESS.replace("+7.", "+8.")) is None
    assert read_return(SETTINGS, SIGNED_ADDRESS.replace("+7.", "+07.")) is None
    other = sign_return(SETTINGS, 7, UUID(int=1)).split(".")[1]
    assert read_return(SETTINGS, SIGNED_ADDRESS.replace(SIGNED_ADDRESS.split(".")[1], other)) is None


def test_the_domain_may_change_on_the_way() -> None:
    """A forwarder may bring it back to another domain; the signature is what proves it."""
    assert read_return(SETTINGS, SIGNED_ADDRESS.replace("@onus.acme", "@mail.acme")) == (7, MESSAGE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "onus@acme.example",
        "onus+7@x",
        "+".join("a" * 9),
        f"{SIGNED_ADDRESS},",
        SIGNED_ADDRESS.replace("+7.", "+\N{ARABIC-INDIC DIGIT SEVEN}."),
    ],
)
def test_any_other_text_is_nobodys(text: str) -> None:
    assert read_return(SETTINGS, text) is None


def test_a_long_sender_is_not_signed_and_says_so() -> None:
    long = replace(SETTINGS, mail_from="Desk <compliance-notifications@acme.example>")
    assert sign_return(long, 7, MESSAGE) == "compliance-notifications@acme.example"
    assert (has_room(long, 7), has_room(SETTINGS, 7)) == (False, True)
    for length, org, room in ((18, 7, True), (19, 7, False), (13, 999_999, True), (14, 999_999, False)):
        some = replace(SETTINGS, mail_from=f"{'a' * length}@acme.example")
        assert has_room(some, org) is room
        assert len(sign_return(some, org, MESSAGE).partition("@")[0]) <= 64


def test_a_sender_with_a_plus_of_its_own_is_signed_behind_it() -> None:
    plus = replace(SETTINGS, mail_from="onus+mail@acme.example")
    assert read_return(plus, sign_return(plus, 7, MESSAGE)) == (7, MESSAGE)
    assert has_room(plus, 7)
    assert not has_room(replace(SETTINGS, mail_from=f"onus+{'a' * 30}@acme.example"), 7)


def test_the_key_comes_from_the_one_that_is_kept(tmp_path: Path) -> None:
    kept = replace(SETTINGS, secret_key=None, home=tmp_path)
    assert read_return(kept, sign_return(kept, 7, MESSAGE)) == (7, MESSAGE)
    assert kept.session_key() not in sign_return(kept, 7, MESSAGE)


def test_a_hostile_header_costs_no_more_than_its_length() -> None:
    assert SIGNED.search("+" * 30_000 + "a" * 30_000) is None


def test_a_message_goes_out_from_it() -> None:
    assert composed().return_address == sign_return(SETTINGS, 7, UUID(int=41))
