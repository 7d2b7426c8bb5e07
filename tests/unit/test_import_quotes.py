"""Quotes that are opened by accident: no record is swallowed unnoticed; cells of several lines stay what they are."""

from __future__ import annotations

import pytest

from app.domain.errors import Refused
from app.imports.people import Options as PeopleOptions
from app.imports.people import read_people
from app.imports.register import Options, read_register

FOUR = "reference,due_on,remark,title\n"
THREE = "reference,notes,due_on\n"


@pytest.mark.parametrize(
    "text",
    [
        FOUR + 'A,2027-01-05,"open,Boiler\nB,2027-02-05,",Pump\nC,2027-03-05,q,Tank\n',
        FOUR + 'A,2027-01-05,"open,Boiler\nB,2027-02-05,b,Pump\nC,2027-03-05,",Tank\n',
        FOUR + 'A,2027-01-05,"open,Boiler\r\nB,,",Pump\r\n',
        FOUR + 'A,2027-01-05,"open,Boiler\nB,no expiry,",Pump\n',
        THREE + 'A,"open,2027-01-05\nB,b",2027-02-05\n',
        THREE + 'A,"open,2027-01-05\nB,,2027-02-05\nC,c",2027-03-05\n',
        THREE.replace(",", ";") + 'A;"open;2027-01-05\nB;b";2027-02-05\n',
    ],
)
def test_a_swallowed_record_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(Refused, match="at line 2 swallows line 3"):
        read_register(text.encode(), "register.csv", Options())


@pytest.mark.parametrize(
    "text",
    [
        FOUR + 'A,2027-01-05,"one,two\nthree, four, five\n\nsix",Pump\n',
        FOUR + 'A,2027-01-05,"Inspected, 2027-01-04, Ana, good\nagain",Pump\n',
        FOUR + 'A,2027-01-05,"line one\nline two; with, comma",Pump\n',
        FOUR + '"A\nB",2027-01-05,x,Pump\n',
        THREE + 'A,"Calle Mayor 3\nMadrid, Spain",2027-01-05\n',
        THREE + 'A,"Inspected, 2026-01-05\nPaid",2027-01-05\n',
    ],
)
def test_a_cell_of_several_lines_stays_one(text: str) -> None:
    assert len(read_register(text.encode(), "register.csv", Options()).table.records) == 1


def test_a_swallowed_person_is_refused() -> None:
    text = 'name,email,notes\nAna,ana@example.com,"open\nBo,bo@example.com,x\nCy,cy@example.com,"\n'
    with pytest.raises(Refused, match="at line 2 swallows line 3"):
        read_people(text.encode(), "people.csv", PeopleOptions())


def test_a_header_that_is_a_record_is_refused() -> None:
    for first in ("A,2027-01-05", "A,46477"):
        with pytest.raises(Refused, match="--header-row 0"):
            read_register(f"{first}\nB,2027-02-05\n".encode(), "a.csv", Options(maps=("reference=1", "due_on=2")))
    options = PeopleOptions(("name=1", "email=2"))
    with pytest.raises(Refused, match="--header-row 0"):
        read_people(b"Ana,ana@example.com\nBo,bo@example.com\n", "people.csv", options)
