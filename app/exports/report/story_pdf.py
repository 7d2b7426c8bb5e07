"""The story of one entry as a PDF of at most two pages: what does not fit is counted, the oldest of it first."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from app.exports.report.pdf import MADE, MISSING, broken_up, footer_of, typeset
from app.exports.report.report import Report
from app.exports.report.said import local, utc
from app.exports.report.story import LEGEND, Story
from app.version import VERSION
from app.wording import current
from app.wording import gettext as _

TEMPLATE = Path(__file__).with_name("story.typ")
PAGES = 2
# Alerts and changes that are tried, the most first. Two alerts always fit: their texts are cut at a length.
SIZES = ((24, 18), (16, 14), (12, 10), (8, 8), (5, 6), (3, 4), (2, 3))


def write_story(file: IO[bytes], report: Report, story: Story) -> None:
    """Raises Refused where it cannot be set."""
    with tempfile.TemporaryDirectory(prefix="onus-story-") as named:
        for alerts, deeds in SIZES:
            pages = typeset(Path(named), TEMPLATE, printed(report, story.cut(alerts, deeds)), report.scope.sight.now)
            if pages <= PAGES:
                break
        with (Path(named) / MADE).open("rb") as made:
            shutil.copyfileobj(made, file)


def printed(report: Report, story: Story) -> Mapping[str, Any]:
    """Everything that is printed, as texts, the headings included."""
    shown: dict[str, Any] = broken_up(asdict(story))
    origin, now, zone = report.origin, report.scope.sight.now, report.scope.zone
    shown |= {
        "left_out": story.left_out,
        "deeds_left_out": story.deeds_left_out,
        "language": current().language,
        "organisation": origin.organisation,
        "legend": {name: _(text) for name, text in LEGEND.items()},
        "made": [
            _("Made at %(local)s = %(utc)s with Onus %(version)s, by: %(by)s.", by=origin.by, local=local(now, zone) or utc(now), utc=utc(now), version=VERSION),
            *([_("Last seal of the trail: %(size)d events, root %(root)s.", size=origin.seal.size, root=origin.seal.root)] if origin.seal else []),
        ],
        "footer": footer_of(origin),
        "missing": _(MISSING),
    }  # fmt: skip
    return shown
