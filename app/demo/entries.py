"""The register of the demo: what lapses where, whose it is, due how many days from today, entered how many days ago.

The entries that tell a story are written out; trainings and other quiet ones are made in numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One entry. `due` and `entered` are days from today; an owner with a capital M as `post:…` is a post."""

    reference: str
    title: str
    site: str
    kind: str
    owner: str | None
    due: int
    entered: int = -130
    part_of: str | None = None
    recurrence: str | None = None
    status: str = "watched"
    legal_basis: str = ""


TOLD_IN_THE_STORY = (
    Line("VIT-AV-0417", "Discharge permit, river Zadorra", "Vitoria", "Permit", "Ana", -12, legal_basis="RDPH art. 249"),
    Line("VIT-AV-0417/4.2", "Quarterly discharge sample, point V-2", "Vitoria", "Sample", "Bruno", 9, part_of="VIT-AV-0417", recurrence="3m"),
    Line("VIT-AV-0417/6.1", "Annual discharge report", "Vitoria", "Report", "Ana", 31, part_of="VIT-AV-0417", recurrence="1y"),
    Line("VIT-AV-0417/6.2", "Waste declaration", "Vitoria", "Report", "Ana", 31, part_of="VIT-AV-0417", recurrence="1y"),
    Line("VIT-PV-07", "Pressure vessel, compressor hall", "Vitoria", "Inspection", "Bruno", -1, recurrence="1y"),
    Line("VIT-LIFT-3", "Goods lift 3", "Vitoria", "Lifting gear", "Gil", 22),
    *(Line(f"VIT-LAD-{n}", f"Ladder check, hall {n}", "Vitoria", "Inspection", "Gil", 70 + 12 * n, recurrence="1y") for n in range(1, 5)),
    Line("VIT-RO-4", "Roller door, loading bay", "Vitoria", "Inspection", "Bruno", 19),
    Line("VIT-BT-2", "Ventilation of the battery room", "Vitoria", "Inspection", "Bruno", 20),
    Line("VIT-CON-4", "Lift maintenance contract", "Vitoria", "Contract", None, 40),
    Line("VIT-CON-9", "Waste carrier contract", "Vitoria", "Contract", "Ana", 2, entered=-3),
    Line("VIT-EL-5", "Low-voltage inspection, hall 5", "Vitoria", "Inspection", "Bruno", 24),
    Line("AVE-CR-02", "Bridge crane 2", "Aveiro tiles", "Lifting gear", "Carla", -9),
    Line("AVE-EX-11", "Fire extinguishers, press hall", "Aveiro tiles", "Inspection", "Carla", 5),
    Line("AVE-EM-1", "Emissions permit, kiln 1", "Aveiro tiles", "Permit", "Ana", 84),
    Line("TUC-INS-1", "Warehouse liability insurance", "Tucson warehouse", "Insurance", "Fay", 7),
    Line("TUC-FP-2", "Fire pump test", "Tucson warehouse", "Inspection", "Fay", 16, recurrence="3m"),
    Line("MTY-AIR-3", "Emissions measurement, oven 3", "Monterrey mouldings", "Inspection", "Emil", 30),
    Line("PAG-DG-2", "Dangerous goods licence", "Port Augusta yard", "Permit", "Emil", 0),
    Line("CRK-RAD-1", "Licence for the X-ray fluorescence source", "Cork laboratory", "Radiation source", "Ana", 52, entered=-20),
    *(Line(f"ARI-FG-{n}", f"F-gas leak check, unit {n}", "Arinaga depot", "Inspection", "Ana", 60, recurrence="6m") for n in range(1, 7)),
    *(Line(f"CRK-EQ-{n}", f"Calibration of balance {n}", "Cork laboratory", "Inspection", "Ana", 40 + n, entered=-1, status="draft") for n in range(1, 10)),
)  # fmt: skip

COURSES = ("Forklift", "First aid", "Working at height", "Manual handling", "Fire wardens")
OPERATORS = ("Abril", "Beto", "Celso", "Dora", "Elio", "Fina", "Gema", "Hugo", "Iria", "Joel")
QUIET = (
    ("VIT-IN", "Eyewash station", "Vitoria", "Inspection", "post:Maintenance"),
    ("AVE-IN", "Racking inspection, aisle", "Aveiro tiles", "Inspection", "post:Maintenance"),
    ("TUC-IN", "Dock leveller", "Tucson warehouse", "Inspection", "post:Maintenance"),
)


def trainings() -> Iterator[Line]:
    """Ten operators and five courses; most hold for months, some are due soon, three have lapsed."""
    for person, name in enumerate(OPERATORS):
        for course, title in enumerate(COURSES):
            number = person * len(COURSES) + course
            due = -4 - number if number % 17 == 3 else 6 + number if number % 8 == 0 else 90 + 11 * number
            yield Line(
                f"AVE-TR-{name}-{course + 1}", f"{title}: {name} Operario", "Aveiro tiles", "Training", None, due
            )


def quiet_ones() -> Iterator[Line]:
    for prefix, title, site, kind, owner in QUIET:
        for number in range(1, 7):
            yield Line(f"{prefix}-{number}", f"{title} {number}", site, kind, owner, 45 + 37 * number, recurrence="1y")


def lines() -> list[Line]:
    return [*TOLD_IN_THE_STORY, *trainings(), *quiet_ones()]
