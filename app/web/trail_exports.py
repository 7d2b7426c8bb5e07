"""Evidence → Exports: a report of the trail for an inspector is asked for here, and taken when it is made.

The scheduler makes it, narrowed to what whoever asks may see. Asking is a POST; the page says how far it is.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask import Response, abort, request, url_for
from flask.typing import ResponseReturnValue

from app.domain.acts import ReportFormat, Role
from app.domain.errors import Refused
from app.exports.report.formats import MEDIA_TYPES, suffix_of
from app.operations import export_runs
from app.operations.export_runs import SILENT_AFTER, Limits
from app.queries.alerts import rules_by_name
from app.queries.entry import read_entry
from app.queries.export_runs import ExportLine, read_export_file, read_exports
from app.queries.import_work import is_anybody_there
from app.queries.report.scope import Asked
from app.queries.sight import Sight
from app.web import past
from app.web.access import READERS, Visit, for_roles
from app.web.evidence_filters import BACKWARDS, NOT_A_DATE, read_day
from app.web.hypermedia import go_to, page_or_fragment
from app.web.listing import named
from app.web.papers import SANDBOX, saved_as
from app.web.typed_form import Form, sent, was_done
from app.wording import by_own_name, current, gettext, later, ngettext
from app.words import day

pages = past.pages

FIELDS = ("from", "until", "site", "rule", "subject", "format", "language")
FORMATS = (
    (ReportFormat.pdf, later("PDF, to read and to print")),
    (ReportFormat.xlsx, later("Excel workbook (XLSX), a sheet for each section")),
    (ReportFormat.csv, later("CSV, for programs")),
    (ReportFormat.bundle, later("Bundle (ZIP) with PDF and CSV, which can be verified without Onus")),
)


@pages.get("/o/<slug>/evidence/exports")
@for_roles(*READERS)
def exports(visit: Visit) -> ResponseReturnValue:
    """The form, narrowed to one entry where the address names it, and what was asked for before."""
    asked = request.args.get("subject", "")
    return exports_page(
        visit, Form({"subject": asked, "format": ReportFormat.pdf.value, "language": current().language})
    )


@pages.post("/o/<slug>/evidence/exports")
@for_roles(*READERS)
def ask(visit: Visit) -> ResponseReturnValue:
    form, sight = sent(*FIELDS), visit.sight
    asked, format, language = asked_for(visit, sight, form), known_format(form), known_language(form)
    limits = Limits(sorted(sight.sites) if sight.is_limited else None, sorted(sight.kinds) if sight.kinds else None)

    def deed() -> None:
        export_runs.ask(visit.act, format, language, asked.as_json(), limits)

    if was_done(visit.act, form, deed):
        return go_to(url_for("evidence.exports", slug=visit.place.slug))
    return exports_page(visit, form)


@pages.get("/o/<slug>/evidence/exports/files/<int:export_id>")
@for_roles(*READERS)
def export_file(visit: Visit, export_id: int) -> ResponseReturnValue:
    """The file; 404 where there is none that the visitor may see."""
    found = read_export_file(visit.act.session, visit.sight, export_id) or abort(404)
    format = ReportFormat(found.format)
    response = Response(found.content)
    response.headers["Content-Type"] = MEDIA_TYPES[format]
    name = f"{visit.place.slug}-evidence-{found.asked_on.isoformat()}-{export_id}.{suffix_of(format)}"
    response.headers["Content-Disposition"] = saved_as(name)
    response.headers["Content-Security-Policy"] = SANDBOX
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def exports_page(visit: Visit, form: Form) -> ResponseReturnValue:
    sight, session = visit.sight, visit.act.session
    lines = read_exports(session, sight)
    waits = any(not line.is_over for line in lines)
    entry = entry_of(visit, sight, form.values.get("subject", ""))
    shown: dict[str, Any] = {
        "form": form, "lines": lines, "about": {line.id: about(line) for line in lines}, "entry": entry,
        "formats": [(format, gettext(words)) for format, words in FORMATS], "languages": by_own_name(),
        "named_sites": named(sight.sites.values()), "rules": rules_by_name(session, visit.act.org),
        # What an inspector is shown is in the trail, each time: their page does not ask again by itself.
        "looks_again": waits and visit.person.role != Role.inspector,
        "faults": {line.id: gettext(line.fault) for line in lines if line.fault},
        "progress": {line.id: progress_of(visit, line) for line in lines if not line.is_over},
    }  # fmt: skip
    return page_or_fragment(
        "evidence/exports.html", "evidence/fragments/_exports.html", form.status, visit=visit, **shown
    )


def progress_of(visit: Visit, line: ExportLine) -> str:
    """How far it is, in words."""
    is_held = line.beat_at is not None and visit.act.now - line.beat_at < SILENT_AFTER
    if is_held:
        if not line.rows:
            return gettext("Being made")
        rows = f"{line.rows:,}"
        return ngettext("Being made: %(rows)s row read", "Being made: %(rows)s rows read", line.rows, rows=rows)
    if not is_anybody_there(visit.act.session, visit.act.now):
        return gettext("No scheduler is running, so nobody makes it: tell whoever runs Onus.")
    return gettext("Waiting for its turn") if line.beat_at is None else gettext("Begun again within a minute")


def about(line: ExportLine) -> str:
    """What it was narrowed to: site, rule or entry, and days."""
    asked = line.asked
    chosen = (
        (later("Site %(name)s"), asked.site_id),
        (later("Rule %(name)s"), asked.rule_id),
        (later("Entry %(name)s"), asked.subject_id),
    )
    narrowed = zip((words for words, of in chosen if of is not None), line.narrowed, strict=True)
    names = "; ".join(gettext(words, name=name) for words, (_, name) in narrowed) or gettext("Everything")
    first = [gettext("from %(day)s", day=day(asked.from_on))] if asked.from_on else []
    last = [gettext("until %(day)s", day=day(asked.to_on))] if asked.to_on else []
    return ", ".join([names, *first, *last])


def asked_for(visit: Visit, sight: Sight, form: Form) -> Asked:
    """What the form asks for; what cannot be read is said beside its field, and what is foreign answers 404."""
    first, last = form.check("from", day_in, form.values["from"]), form.check("until", day_in, form.values["until"])
    if first and last and last < first:
        form.faults["until"] = gettext(BACKWARDS)
    entry = entry_of(visit, sight, form.values["subject"])
    site_id, rule_id = number_in(form.values["site"]), number_in(form.values["rule"])
    rules = dict(rules_by_name(visit.act.session, visit.act.org))
    if (site_id is not None and site_id not in sight.sites) or (rule_id is not None and rule_id not in rules):
        abort(404)
    return Asked(first, last, site_id, rule_id, entry.id if entry else None)


def day_in(text: str) -> dt.date | None:
    try:
        return read_day(text.strip()) if text.strip() else None
    except ValueError:
        raise Refused(NOT_A_DATE) from None


def number_in(text: str) -> int | None:
    """The number of a choice; anything else was never offered."""
    if not text:
        return None
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else abort(404)


def entry_of(visit: Visit, sight: Sight, text: str) -> Any:
    """The entry whose story is asked for, if any; 404 for one that the visitor does not see."""
    subject_id = number_in(text)
    return None if subject_id is None else read_entry(visit.act.session, sight, subject_id) or abort(404)


def known_language(form: Form) -> str:
    """The one that was chosen; without a choice, that of the page."""
    return next((code for code, _name in by_own_name() if code == form.values["language"]), current().language)


def known_format(form: Form) -> ReportFormat:
    offered = {format.value: format for format, _ in FORMATS}
    if form.values["format"] not in offered:
        form.faults["format"] = gettext("Choose one of the formats.")
    return offered.get(form.values["format"], ReportFormat.pdf)
