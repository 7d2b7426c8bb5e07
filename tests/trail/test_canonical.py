"""The bytes of an event: those of RFC 8785, the same for the same facts, whatever they hold."""

import datetime as dt
import json
import unicodedata

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from app.trail.canonical import EXACT, canonical, event_bytes

AT = dt.datetime(2027, 3, 1, 12, 0, 0, 50, tzinfo=dt.timezone(dt.timedelta(hours=1)))

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-EXACT, EXACT) | st.floats(-EXACT, EXACT)
    | st.text(st.characters(exclude_categories=["Cs"])).map(lambda text: unicodedata.normalize("NFC", text)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)  # fmt: skip


def test_an_event_is_sealed_in_these_very_bytes() -> None:
    detail = {"reason": "agreed", "to": "2027-04-01", "nested": {"b": 2, "a": [True, None, 1.5]}}
    sealed = event_bytes(
        org=7, id=12, at=AT, actor="member:3", type="date_moved", subject=5, claim=None, delivery=None, detail=detail
    )
    assert sealed == (
        b'{"actor":"member:3","at":"2027-03-01T11:00:00.000050Z","claim":null,"delivery":null,"detail":{"nested":'
        b'{"a":[true,null,1.5],"b":2},"reason":"agreed","to":"2027-04-01"},"id":"12","org":"7","subject":"5",'
        b'"type":"date_moved","v":1}'
    )


@pytest.mark.parametrize(
    ("value", "sealed"),
    [
        ({"é": 1, "a": 2, "Z": 3}, '{"Z":3,"a":2,"é":1}'),
        # Keys sort by UTF-16, where what lies beyond the first plane comes before U+FB33 (RFC 8785, 3.2.3).
        ({"\ufb33": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ufb33":1}'),
        ("n\u0303", '"\u00f1"'),  # NFC, so that the same name has the same bytes.
        ('\x00\x1f\b\t\n\f\r"\\/\x7f€', '"\\u0000\\u001f\\b\\t\\n\\f\\r\\"\\\\/\x7f€"'),
        (2**53 - 1, "9007199254740991"),
        (2**53, '"9007199254740992"'),
        (-(2**60), '"-1152921504606846976"'),
        ([1.0, -0.0, 1e-7, 0.1], "[1,0,1e-7,0.1]"),
        (1e21, '"1000000000000000000000"'),  # As the database, which keeps it as a whole number, would say it.
        ([float("inf"), float("nan")], '["inf","nan"]'),  # JSON has no word for them, and no event may stop a seal.
        ([True, 1, False, 0], "[true,1,false,0]"),
    ],
)
def test_what_is_odd_has_bytes_too(value: object, sealed: str) -> None:
    assert canonical(value) == sealed.encode()


@given(PLAIN)
def test_the_bytes_are_those_of_the_library(value: object) -> None:
    assert canonical(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@given(PLAIN)
def test_whoever_reads_the_bytes_gets_the_same_bytes_again(value: object) -> None:
    sealed = canonical({"value": value, "big": 2**70, "float": 2.0**53})
    assert canonical(json.loads(sealed)) == sealed


def test_an_instant_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="zone"):
        event_bytes(
            org=1, id=1, at=AT.replace(tzinfo=None), actor="", type="", subject=None, claim=None, delivery=None,
            detail={},
        )  # fmt: skip
