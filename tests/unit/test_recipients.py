"""Recipients and folding: each thing has one spelling, and what cannot be stored or sent is refused."""

import unicodedata

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.acts import Role
from app.domain.errors import Refused, quoted
from app.domain.folding import clean_text, fold_address, fold_name, fold_reference
from app.domain.recipients import Recipient, parse

lawfully = settings(deadline=None, database=None, max_examples=400)
DECOMPOSED, COMPOSED = "Mu\u0301n\u0303oz", "M\u00fa\u00f1oz"


@pytest.mark.parametrize(
    ("text", "route", "name", "canonical"),
    [
        ("owner", "owner", None, "owner"),
        ("holder", "holder", None, "holder"),
        ("  owner ", "owner", None, "owner"),
        ("post:Plant manager", "post", "Plant manager", "post:Plant manager"),
        ("post:  Plant  manager ", "post", "Plant manager", "post:Plant manager"),
        ("post:Shift: night", "post", "Shift: night", "post:Shift: night"),
        (f"post:{DECOMPOSED}", "post", COMPOSED, f"post:{COMPOSED}"),
        ("role:admin", "role", "admin", "role:admin"),
        ("role:officer", "role", "officer", "role:officer"),
        ("role: staff", "role", "staff", "role:staff"),
        ("role:inspector", "role", "inspector", "role:inspector"),
        ("member:Dana@Example.COM", "member", "dana@example.com", "member:dana@example.com"),
        ("member: ana@example.com ", "member", "ana@example.com", "member:ana@example.com"),
    ],
)
def test_recipients_are_read(text: str, route: str, name: str | None, canonical: str) -> None:
    assert parse(text) == Recipient(route, name)
    assert parse(text).text == canonical
    assert parse(canonical) == parse(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", ":", "owner:", "owner:x", "Owner", "holder:", "post", "post:", "post:  ", "role:", "member:"),
        *("ana@example.com", "group:x", "roles:admin", "owner,holder"),
    ],
)
def test_anything_else_is_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(Refused, match="owner, holder, post:NAME, role:ROLE or member:EMAIL"):
        parse(text)


@pytest.mark.parametrize("role", ["Admin", "boss", "officers", "admin officer"])
def test_an_unknown_role_is_refused_with_the_roles(role: str) -> None:
    with pytest.raises(Refused, match="admin, officer, staff, inspector"):
        parse(f"role:{role}")


def test_a_post_that_cannot_be_a_name_and_a_member_without_address_are_refused() -> None:
    with pytest.raises(Refused, match="The name of the post holds a character"):
        parse("post:Plant\x07manager")
    with pytest.raises(Refused, match="The name of the post has 201 characters"):
        parse("post:" + "x" * 201)
    with pytest.raises(Refused, match="not an e-mail address"):
        parse("member:Ana")


@lawfully
@given(
    st.one_of(
        st.sampled_from(["owner", "holder", *(f"role:{role}" for role in Role)]),
        st.text(min_size=1, max_size=20).map(lambda name: f"post:{name}"),
        st.emails().map(lambda email: f"member:{email}"),
    )
)
def test_the_canonical_text_reads_back_as_itself(text: str) -> None:
    try:
        canonical = parse(text).text
    except Refused:
        assume(False)
    assert parse(canonical).text == canonical


@pytest.mark.parametrize(
    ("typed", "folded"),
    [
        ("Dana@Example.COM", "dana@example.com"),
        ("\tana@example.com\r\n", "ana@example.com"),
        (f"{DECOMPOSED}@Example.com", f"{COMPOSED.lower()}@example.com"),
        ("o'brien+permits@sub.example.co.uk", "o'brien+permits@sub.example.co.uk"),
        ("ops@localhost", "ops@localhost"),
        ("J\u030cana@example.com", "\u01f0ana@example.com"),
        ("\u01f0ana@example.com", "\u01f0ana@example.com"),
        ("x" * 242 + "@example.com", "x" * 242 + "@example.com"),
    ],
)
def test_addresses_are_folded(typed: str, folded: str) -> None:
    assert fold_address(typed) == folded


@pytest.mark.parametrize(
    "typed",
    [
        *("", " ", "ana", "@", "@example.com", "ana@", "a@b@c", "ana example@example.com", "ana@exam ple.com"),
        *("ana@example.com\nBcc: x", "ana\x00@example.com", "ana\u200b@example.com", "ana\u00a0x@example.com"),
        *("ana@example.com\x7fx", "\ud800@example.com", "<ana@example.com>", "ana@example.com;", "a,ana@example.com"),
        *("mailto:ana@example.com", "\u202eana@example.com"),
    ],
)
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(Refused, match="is not an e-mail address"):
        fold_address(typed)


def test_an_address_of_more_than_254_characters_is_refused() -> None:
    with pytest.raises(Refused, match="longer than 254"):
        fold_address("x" * 243 + "@example.com")


@pytest.mark.parametrize(
    ("typed", "folded"),
    [
        (" P-1 ", "p-1"),
        ("\u00a0P-1\u3000", "p-1"),
        ("P  1", "p  1"),
        ("007", "007"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        (DECOMPOSED, COMPOSED.lower()),
        ("ΣΑΣ", "σασ"),
        ("J\u030c", "\u01f0"),  # There is a small j with caron as one character, and no capital one.
        ("\u01f0", "\u01f0"),
    ],
)
def test_references_are_folded(typed: str, folded: str) -> None:
    assert fold_reference(typed) == folded


@pytest.mark.parametrize(
    ("typed", "folded"),
    [("  Plant \t\n manager ", "Plant manager"), (DECOMPOSED, COMPOSED), ("a\u00a0b", "a b"), (" ", ""), ("A", "A")],
)
def test_names_are_folded(typed: str, folded: str) -> None:
    assert fold_name(typed) == folded


@lawfully
@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold_reference(fold_reference(text)) == fold_reference(text)
    assert fold_name(fold_name(text)) == fold_name(text)
    assert unicodedata.is_normalized("NFC", fold_reference(text))


@lawfully
@given(st.text(min_size=1, max_size=20))
def test_folding_an_address_twice_is_folding_once(local: str) -> None:
    try:
        folded = fold_address(f"{local}@Example.com")
    except Refused:
        assume(False)
    assert fold_address(folded) == folded


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("  as told  ", "as told"),
        ("one\ntwo\tthree", "one\ntwo\tthree"),
        ("one\r\ntwo\rthree\r\n", "one\ntwo\nthree"),
        (DECOMPOSED, COMPOSED),
        ("\u200eעברית", "\u200eעברית"),
        ("x" * 20, "x" * 20),
        ("n\u0303" * 20, "\u00f1" * 20),
        (" " + "x" * 20 + " ", "x" * 20),
        ("", ""),
    ],
)
def test_texts_are_cleaned(typed: str, kept: str) -> None:
    assert clean_text(typed, "The note", 20) == kept


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("a\x00b", "U\\+0000"),
        ("a\x07b", "U\\+0007"),
        ("a\x1bb", "U\\+001B"),
        ("a\x7fb", "U\\+007F"),
        ("a\x85b", "U\\+0085"),
    ],
)
def test_control_characters_are_refused_with_the_field_and_the_character(typed: str, code: str) -> None:
    with pytest.raises(Refused, match=f"^The note holds a character that cannot be kept \\({code}\\)"):
        clean_text(typed, "The note", 20)


def test_a_lone_surrogate_which_no_database_stores_is_refused() -> None:
    with pytest.raises(Refused, match="U\\+D800"):
        clean_text("a\ud800b", "The note", 20)


def test_a_text_too_long_is_refused_with_both_lengths() -> None:
    with pytest.raises(Refused, match="The note has 21 characters: shorten it to at most 20"):
        clean_text("x" * 21, "The note", 20)


def test_a_refusal_quotes_at_most_a_line_and_no_control_character() -> None:
    assert quoted("a\nb\x07") == "'a\\nb\\x07'"
    assert len(quoted("x" * 5000)) == 61
