"""The only reader of a clock. Every `now` below an entry point is an argument that came from here.

Entry points take it afresh from the database for each transaction, so that hosts cannot disagree (law 1). The
bundled time zone data wins over the system's, which is often older than the law (H10).
"""

from __future__ import annotations

import datetime as dt
import time
import zoneinfo
from importlib import resources

from sqlalchemy import TIMESTAMP, func, select
from sqlalchemy.orm import Session

from app.config import Settings

zoneinfo.reset_tzpath(to=())

APART_AT_MOST = dt.timedelta(hours=1)  # Hosts that keep time differ by milliseconds; more than this and nobody knows.
TZDATA_AT_LEAST = "2026b"  # British Columbia stays at -07:00 from November 2026; older data is wrong from that day.

ASKED = select(func.clock_timestamp(type_=TIMESTAMP(timezone=True)))


class ClockFault(Exception):
    """The clocks contradict each other: nothing may be decided by them until a person has looked."""


def now(session: Session, settings: Settings) -> dt.datetime:
    """The instant of this transaction, aware, in UTC: the database's clock at this moment, or ONUS_CLOCK."""
    return settings.clock or read_by(session.execute(ASKED).scalar_one())


def read_by(instant: dt.datetime) -> dt.datetime:
    """The same of what ASKED was answered, for whoever asks it together with something else."""
    return instant.astimezone(dt.UTC)


def host_now() -> dt.datetime:
    """The host's own clock; it decides nothing, it is only compared and logged."""
    return dt.datetime.now(dt.UTC)


def refuse_a_jump(instant: dt.datetime, high_water: dt.datetime | None, settings: Settings) -> None:
    """Raise ClockFault if database and host disagree, or if the database's clock has gone back behind its own past.

    A long gap forward is downtime and is caught up, so the high-water mark is compared backwards only.
    """
    if settings.clock is not None:
        return
    apart = abs(instant - host_now())
    if apart > APART_AT_MOST:
        raise ClockFault(
            f"the clocks of the database and of this host are {apart} apart: nothing is claimed until one is set right"
        )
    if high_water is not None and high_water - instant > APART_AT_MOST:
        raise ClockFault(
            f"the database says {instant:%Y-%m-%dT%H:%M:%SZ}, but it has already scanned at "
            f"{high_water:%Y-%m-%dT%H:%M:%SZ}: nothing is claimed until its clock is set right"
        )


def monotonic() -> float:
    """Seconds that only run forward, for waiting and measuring."""
    return time.monotonic()


def tzdata_version() -> str:
    """The release of the time zone data in use, such as `2026f`."""
    return (
        resources.files("tzdata")
        .joinpath("zoneinfo", "tzdata.zi")
        .read_text()
        .split("\n", 1)[0]
        .removeprefix("# version ")
        .strip()
    )
