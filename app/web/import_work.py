"""What a person sees of the work on a large file: the scheduler does it, and the request only says how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.domain.acts import ImportWish
from app.imports.findings import Findings
from app.operations.wishes import SILENT_AFTER
from app.queries.import_work import Work, is_anybody_there, read_work
from app.web.access import Visit
from app.wording import gettext, later

READING = later("Reading the file …")
WAITING = later("Waiting for its turn …")
SILENT = later("Whoever worked on it was stopped. It is begun again within a minute.")
NOTHING_RUNS = later(
    "No scheduler is running, so nobody works on this file. It begins by itself as soon as one is started: "
    "tell whoever runs Onus."
)


@dataclass(frozen=True)
class Progress:
    """How far the work on a file is. Without `total` nobody can say how much is left of this step."""

    is_applying: bool
    words: str
    done: int = 0
    total: int = 0
    is_stuck: bool = False


def progress_of(visit: Visit, work: Work | None) -> Progress | None:
    """What to say while it is not over."""
    if work is None or work.is_over:
        return None
    now = visit.act.now
    if not work.is_held(now, SILENT_AFTER):
        if not is_anybody_there(visit.act.session, now):
            return Progress(work.is_applying, gettext(NOTHING_RUNS), is_stuck=True)
        return Progress(work.is_applying, gettext(WAITING if work.beat_at is None else SILENT))
    if work.is_judged:
        return Progress(work.is_applying, after_judging(work))
    if not work.total:
        return Progress(work.is_applying, gettext(READING), work.done, work.total)
    done, total = f"{work.done:,}", f"{work.total:,}"
    words = gettext("%(done)s of %(total)s lines judged", done=done, total=total)
    return Progress(work.is_applying, words, work.done, work.total)


def after_judging(work: Work) -> str:
    total = f"{work.total:,}"
    if work.is_applying:
        return gettext("All %(total)s lines judged; being written …", total=total)
    return gettext("All %(total)s lines judged; the result is put together …", total=total)


def work_of(visit: Visit, upload_id: int) -> Work | None:
    return read_work(visit.act.session, visit.act.org, upload_id)


def is_at_work(visit: Visit, work: Work | None) -> bool:
    """Whether somebody brings the file in at this moment: then nothing else can be wished."""
    return work is not None and work.is_applying and work.is_held(visit.act.now, SILENT_AFTER)


def findings_of(work: Work | None) -> Findings | None:
    """What the last check has found, unless another one is asked for."""
    return Findings.of_json(work.found) if work is not None and work.is_over and work.found else None


def is_awaited(work: Work | None, is_same: Callable[[], bool]) -> bool:
    """Whether just this check is on its way already: asked for again, it is not begun again."""
    return work is not None and not work.is_over and work.wish == ImportWish.check and is_same()
