"""*Print its story*: whoever does not know Onus reads on two pages how it was known; what is left out is counted."""

from __future__ import annotations

import datetime as dt
import io

from pypdf import PdfReader

from app.domain.acts import Answer
from app.exports.report.cover import Origin
from app.exports.report.report import Report
from app.exports.report.story import Chapter, Deed, Line, Story, read_story
from app.exports.report.story_pdf import write_story
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.operations import answer_checks, answers, obligations
from app.queries.report.scope import Asked, Scope
from app.queries.sight import read_sight
from app.trail.act import Act, member_actor
from tests import factories
from tests.factories import NOW, Acme
from tests.operations.story import march

DAY = dt.timedelta(days=1)


def scope_of(act: Act, subject_id: int) -> Scope:
    return Scope(read_sight(act.session, act.org, 0, act.now), "Europe/Madrid", Asked(subject_id=subject_id))


def test_it_says_raised_when_told_how_answered_by_whom_done_when(acme: Acme) -> None:
    with acme.acting() as act:
        ana = factories.member(act, name="Ana")
        bruno = factories.member(act, "bruno@acme.example", "staff", name="Bruno")
        boiler = factories.subject(act, "P-1", title="Boiler permit", owner_member_id=bruno)
        deadline = factories.obligation(act, boiler, march(9))
        other = factories.subject(act, "P-2", march(9), owner_member_id=ana)
        factories.rule(act, "Permits", ("90d", "60d", "30d", "0d"), to=("owner",))
    with acme.watching(NOW) as act:
        scan(act, trigger="command", full=True)
        deliver(act)
    with acme.acting(NOW + DAY, actor=member_actor(bruno)) as act:
        of_boiler = "select max(id) from notification_ledger where org_id = :org and reference = 'P-1'"
        claim = act.run(f"{of_boiler} and standing = 'open'").scalar_one()
        answers.acknowledge_claim(act, bruno, claim, Answer.done, done_on=march(2), note="New burner")
    with acme.acting(NOW + 2 * DAY, actor=member_actor(ana)) as act:
        obligations.move(act, deadline.id, march(12), "agreed", "by phone")
        answer_checks.accept(act, act.run("select max(id) from acknowledgement where org_id = :org").scalar_one(), ana)
    with acme.acting(NOW + 3 * DAY) as act:
        story = read_story(act.session, scope_of(act, boiler.id))
        assert read_story(act.session, scope_of(act, 10**9)) is None
        alone = read_story(act.session, scope_of(act, other.id))
    assert story is not None
    assert alone is not None
    assert story.summary == [
        "3 alerts were raised about this entry.", "People were told on 1 March 2027, 12:00:00 +01:00.",
        "The last answer is that of Bruno on 2 March 2027, 12:00:00 +01:00: Done.",
        ("Its last deadline was 12 March 2027. Done on 2 March 2027; Ana closed it on 3 March 2027, 12:00:00 +01:00. "
        "Note: New burner."),
    ]  # fmt: skip
    [chapter] = story.chapters
    assert chapter.heading == "Was to expire on Friday, 12 March 2027"
    assert chapter.became[0] == "At first it was 9 March 2027; the date was moved."
    [told, folded] = chapter.lines
    assert told == Line(
        "1", 1,
        ["30 days before", "For the due date 9 March 2027, as it was then.",
         "Raised on 1 March 2027, 12:00:00 +01:00 by the rule Permits.", "22 days late: it was the first check."],
        [(f"Bruno (no. {bruno}), responsible for it: in the app on 1 March 2027, 12:00:00 +01:00, "
         "opened there on 2 March 2027, 12:00:00 +01:00.")],
        [(f"Bruno (no. {bruno}) on 2 March 2027, 12:00:00 +01:00: Done, on 2 March 2027. “New burner” "
         "Accepted by Ana on 3 March 2027, 12:00:00 +01:00.")],
    )  # fmt: skip
    assert (folded.rows, folded.count, folded.told) == ("2–3", 2, ["Not sent: a later alert covers it."])
    assert [(deed.by, deed.what) for deed in story.deeds] == [
        (f"Ana (no. {ana})",
         ("Moved the date from 9 March 2027 to 12 March 2027 (Agreed with the authority); “by phone”. "
         "Closed the deadline of 12 March 2027: Done on 2 March 2027; “New burner”."))
    ]  # fmt: skip
    assert story.left_out == ""
    assert alone.summary[2:] == ["Nobody has answered.", "Its next deadline is 9 March 2027. It is open: 5 days left."]
    assert alone.chapters[0].lines[0].answered == ["No answer."]


def test_what_does_not_fit_on_two_pages_is_counted(acme: Acme) -> None:
    long = "The mail server of example.org took it, and nobody can know whether it was read. " * 4
    lines = [Line(str(n), 1, [f"Alert-{n}-of", long], [long, long], [long]) for n in range(1, 31)]
    chapters = [
        Chapter("Was due long ago", ["Done."], False, lines[:5]),
        Chapter("Was due on Monday", ["Done."], False, lines[5:]),
        Chapter("Due on Tuesday", ["It is open."], True, []),
    ]
    story = Story("P-1: *not bold*", [("Kind", "permit")], ["Known."], chapters, 7, [Deed("then", "Ana", long)] * 30, 0)
    with acme.acting() as act:
        report = Report(Origin(1, "Acme", "Ana", [], [], None), scope_of(act, 1), (), story)
    file = io.BytesIO()
    write_story(file, report, story)
    read = PdfReader(file)
    flat = " ".join(" ".join(page.extract_text() for page in read.pages).split())
    shown = [n for n in range(1, 31) if f"Alert-{n}-of" in flat]
    assert len(read.pages) == 2
    assert shown == list(range(shown[0], 31)), "the last ones"
    assert f"And {7 + shown[0] - 1} earlier alerts, all in the full report" in flat
    assert "earlier changes, all in the full report" in flat
    assert "Was due long ago" not in flat
    assert "Due on Tuesday" in flat
    assert "*not bold*" in flat
    assert b"pdfuaid:part>1<" in read.trailer["/Root"]["/Metadata"].get_data()  # type: ignore[index, union-attr]
