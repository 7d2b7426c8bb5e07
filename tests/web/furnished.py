"""An organisation with something on every page, a second one like it, and what the sweeps over all routes share."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flask import Flask
from sqlalchemy import text
from werkzeug.routing import Rule

from app.database import SCHEDULER, transaction
from app.domain.acts import Answer, Contents, ReportFormat
from app.domain.batches import BatchAct
from app.domain.days_off import DayOff
from app.domain.delivery import Fate, Outcome, State
from app.extensions import db
from app.imports import people_choices
from app.imports.choices import Choices, bring
from app.imports.look import look_at
from app.imports.people_headers import PEOPLE
from app.ledger import answers, holds
from app.ledger.align import deliver
from app.ledger.scan import scan
from app.models import Attachment, Delivery, DeliveryAttempt, MailMessage, NotificationLedger, SchedulerProcess
from app.operations import (
    absences,
    answer_checks,
    attachments,
    batch_acts,
    days_off,
    departures,
    documents,
    export_runs,
    feeds,
    filings,
    obligations,
    people,
    register,
    rules,
    uploads,
)
from app.operations.batch_plan import Order
from app.operations.export_runs import Limits, Made
from app.operations.kinds import KindText, change_kind
from app.operations.members import change_member
from app.operations.places import change_organisation
from app.trail.act import Act, member_actor
from tests import factories
from tests.factories import NOW, Acme
from tests.people import ADMIN, HASH, INSPECTOR, OFFICER, OUTSIDER, STAFF

if TYPE_CHECKING:
    from tests.web.conftest import Browser

SignIn = Callable[[str], "Browser"]
ROLES = {"admin": ADMIN, "officer": OFFICER, "staff": STAFF, "inspector": INSPECTOR}
TODAY = NOW.date()
BEFORE = NOW - dt.timedelta(days=10)
PNG = b"\x89PNG\r\n\x1a\n"
NO_SUCH = 987_654_321  # An id that nobody has.
NO_NUMBER_OF_OURS = 10**25  # One that no column could hold.
HOSTILE = '<img src=x onerror=alert(1)>"><script>alert(\'x\')</script>{{7*7}} hx-get="/x" hx-trigger="load"'


@dataclass
class Furnished:
    """The organisation, and the ids of its rows by the names that the routes give their arguments."""

    acme: Acme
    slug: str
    ids: dict[str, int] = field(default_factory=dict)


def days(count: int) -> dt.date:
    return TODAY + dt.timedelta(days=count)


def furnish(acme: Acme, slug: str, owner: str, worded: Callable[[str], str] = lambda plain: plain) -> Furnished:
    """Fill it: what was told ten days ago and answered since, each state of an entry, of a message and of a rule.

    `owner` is the member who is responsible; `worded` turns each text that a person typed into the one to store.
    """
    place = Furnished(acme, slug, {"member_id": acme.members[owner]})
    with acme.acting(BEFORE) as act:
        change_organisation(act, worded(slug.capitalize()), 24)
        change_member(act, acme.members[owner], worded(owner), "staff", None)
        add_places(act, place, worded)
        add_entries(act, place, acme.members[owner], worded)
        add_rules(act, place, worded)
    for deed in (scan, deliver):
        with acme.watching(BEFORE) as act:
            deed(act)
    with acme.acting() as act:
        bring_some(act, place, worded)
        bring_people(act, place, worded)
    with acme.acting() as act:
        add_papers(act, place, worded)
        go_away(act, place, worded)
    with acme.watching() as act:
        place.ids["delivery_id"] = spoil_messages(act, worded)
        hold_some(act, worded)
        beat = {"heartbeat_at": NOW, "scanned_at": NOW, "delivered_at": NOW}
        act.session.add(SchedulerProcess(id=uuid.uuid4(), host="h", pid=1, version="1", started_at=BEFORE, **beat))
    with acme.acting() as act:
        place.ids["claim_id"] = claim_of(act, "P-1")
        place.ids["answer_id"] = answer(act, acme.members[owner], place.ids["post_id"], worded)
        feeds.make_feed(act, acme.members[owner], place.ids["yard_id"])
        end_some(act, acme.members[owner], worded)
        change_many(act, place, worded)
        export_some(act, place)
    return place


def add_places(act: Act, place: Furnished, worded: Callable[[str], str]) -> None:
    place.ids["site_id"] = factories.site(act)
    yard = place.ids["yard_id"] = people.add_site(act, worded("Yard"), "Atlantic/Canary", "ES", "CN")
    people.archive_site(act, people.add_site(act, worded("Old yard"), "Europe/Lisbon"))
    shut = DayOff(days(40), days(44))
    place.ids["day_off_id"] = days_off.add_day_off(act, worded("Shutdown"), shut, yard)
    place.ids["kind_id"] = factories.kind(act, worded("permit"))
    change_kind(act, place.ids["kind_id"], KindText(worded("permit"), "expires", worded("Take the sample.")))
    place.ids["post_id"] = people.add_post(act, worded("plant manager"))
    for site_id in (place.ids["site_id"], yard):
        people.assign_post(act, place.ids["post_id"], place.ids["member_id"], site_id, TODAY, days(90))
    place.ids["other_post_id"] = people.add_post(act, worded("empty chair"))


def add_entries(act: Act, place: Furnished, owner: int, worded: Callable[[str], str]) -> None:
    """P-1 is told to everybody and not answered; the others are each in a state of their own."""
    texts = {"legal_basis": worded("Law 3"), "notes": worded("In the blue folder."), "recurrence": "1y"}
    given = {"kind": worded("permit"), "owner_member_id": owner, "recurrence_basis": "done", **texts}
    given["extra"] = {worded("Fee"): worded("12")}

    def add(reference: str, due_in: int | None = 5, **more: object) -> int:
        due_on = None if due_in is None else days(due_in)
        made = factories.subject(act, reference, due_on, title=worded(f"Boiler {reference}"), **given | more)
        return made.id

    whole = add("P-1")
    place.ids["subject_id"] = whole
    place.ids["obligation_id"] = obligations.open_obligation(act, register.get_subject(act, whole), days(5)).id
    add(worded("P-1.1"), part_of_id=whole, holder_id=owner)
    add("DRAFT", status="draft")
    add("RESTING", status="out_of_service")
    add("GONE", status="archived")
    add("PAUSED", snoozed_until=days(4))
    add("NOBODY", 20, owner_member_id=None)
    place.ids["alone_id"] = add("DATELESS", None)  # Neither a part nor a whole.
    for reference, due_in in (("LATE", -3), ("LOST", 6), ("BACK", 7), ("DONE", 8), ("FILED", 9), ("MOVED", 40)):
        add(reference, due_in)
    add("POST", owner_member_id=None, owner_post_id=place.ids["post_id"])


def add_rules(act: Act, place: Furnished, worded: Callable[[str], str]) -> None:
    to = ("owner", "role:admin", "role:officer", f"post:{worded('plant manager')}")
    rule = factories.rule(act, worded("Permits"), ("90d", "30d", "7d"), to, ("in_app", "email"))
    place.ids["rule_id"] = rule.id
    rules.switch(act, factories.rule(act, worded("Off"), kinds=[worded("permit")], sites=["Madrid"]).name, False)


def add_papers(act: Act, place: Furnished, worded: Callable[[str], str]) -> None:
    """P-1 has a current paper with a file, one that it replaced, and one that was entered in error."""
    subject = register.get_subject(act, place.ids["subject_id"])
    file = attachments.SentFile("permit.txt", b"Permit C-2")
    old = documents.add_paper(act, subject, documents.Paper(worded("C-1"), worded("Water authority"), days(-400)))
    more = documents.Paper(worded("C-2"), valid_from=days(-9), valid_until=days(90), note=worded("In red."), file=file)
    new = documents.add_paper(act, subject, more, old, place.ids["member_id"])
    documents.withdraw(act, subject, documents.add_paper(act, subject, documents.Paper(worded("C-3"))), worded("Typo"))
    place.ids["attachment_id"] = act.session.query(Attachment.id).filter_by(org_id=act.org, document_id=new).one()[0]


def go_away(act: Act, place: Furnished, worded: Callable[[str], str]) -> None:
    """An absence that is over, one that is to come, and somebody who leaves; the owner stands in for them."""
    owner, note = place.ids["member_id"], worded("At the sea.")
    ida = people.add_member(act, f"ida@{place.slug}.example", "staff", name=worded("Ida of the office"))
    absences.enter_absence(act, owner, days(20), days(30), ida, note)
    absences.enter_absence(act, ida, days(-1), days(9), owner, note)
    departures.leave(act, ida, days(90), to_member_id=owner)


def bring_some(act: Act, place: Furnished, worded: Callable[[str], str]) -> None:
    """An import with a draft that nobody has released and lines that were not accepted; and a file that waits."""
    titled = worded("Ladder").replace('"', '""')
    records = (f'IMP-1,5 March 2027,"{titled}",Madrid,7', "IMP-2,sometime,Lift,Madrid,", "IMP-3,soon,Crane,Nowhere,")
    content = "\n".join(("Reference,Due,Title,Site,Locker", *records)).encode()
    look = look_at(content)

    def keep(name: str) -> int:
        kept = (worded(name), content, look.as_json(), look.header_key)
        return uploads.keep_upload(act, place.ids["member_id"], *kept)

    done = uploads.find_upload(act, keep("last year.csv"))
    choices = Choices(look.understood())
    found = bring(act, content, done.file_name, look, choices, dry_run=False)
    uploads.say(act, done, choices.as_json())
    uploads.settle_upload(act, done, found.imported.import_run_id, found.left_over.as_json())
    place.ids["import_run_id"] = int(found.imported.import_run_id or 0)
    place.ids["upload_id"] = keep("this year.csv")


def bring_people(act: Act, place: Furnished, worded: Callable[[str], str]) -> None:
    """Somebody who came from a file, with lines that were not accepted; and a file of people that waits."""
    named = worded("Ida").replace('"', '""')
    content = f'Name,Number,E-mail,Site,Post\n"{named}",I-1,,Madrid,\n"{named}",,,Nowhere,\nIvo,,nobody@,,\n'.encode()
    look = look_at(content, vocabulary=PEOPLE)

    def keep(name: str) -> int:
        kept = (worded(name), content, look.as_json(), look.header_key)
        return uploads.keep_upload(act, place.ids["member_id"], *kept, Contents.people)

    done = uploads.find_upload(act, keep("people of last year.csv"), Contents.people)
    choices = people_choices.Choices.first(look, {})
    found = people_choices.bring(act, content, done.file_name, look, choices, dry_run=False)
    uploads.settle_upload(act, done, found.imported.import_run_id, found.left_over.as_json())
    place.ids["people_import_id"] = int(found.imported.import_run_id or 0)
    place.ids["people_file_id"] = keep("people of this year.csv")


def claim_of(act: Act, reference: str) -> int:
    query = act.session.query(NotificationLedger.id).filter_by(org_id=act.org, reference=reference, standing="open")
    return int(query.order_by(NotificationLedger.id).first()[0])  # type: ignore[index]


def spoil_messages(act: Act, worded: Callable[[str], str]) -> int:
    """One message of each end that needs a person, with its words and its tries; the delivery of the one in doubt."""
    ids = {}
    for reference, state, reason in (
        ("LOST", State.in_doubt, Fate.no_answer),
        ("BACK", State.bounced, None),
        ("LATE", State.failed, Fate.refused),
    ):
        row = act.session.query(Delivery).filter_by(org_id=act.org, claim_id=claim_of(act, reference), channel="email")
        delivery = row.order_by(Delivery.id).first()
        assert delivery is not None
        ids[reference] = hand_over(act, delivery, worded)
        delivery.state, delivery.reason, delivery.last_reply = state, reason, worded("550 no such mailbox")
    add_try(act, ids["LOST"], "dot", Outcome.in_doubt, worded("no answer to the whole message"))
    add_try(act, ids["BACK"], "dot", Outcome.delivered, worded("250 queued"))
    add_try(act, ids["BACK"], "bounce", "bounced", worded("550 no such mailbox"))
    add_try(act, ids["LATE"], "rcpt", Outcome.failed, worded("550 no such mailbox"))
    return ids["LOST"]


def hand_over(act: Act, delivery: Delivery, worded: Callable[[str], str]) -> int:
    """As the sender leaves it right before the final dot; its id."""
    token = uuid.uuid4()
    number, address = f"<{token.hex}@acme.example>", worded("b@acme.example")
    delivery.lease_token, delivery.message_id, delivery.sent_to, delivery.attempts = token, number, address, 1
    delivery.handed_over_at = BEFORE
    words = {"subject": worded("7 days: Boiler"), "body": worded("Look at the boiler.")}
    to = {"recipient_id": delivery.recipient_id, "sent_to": address, "message_id": number}
    act.session.add(MailMessage(org_id=act.org, token=token, sha256="0" * 64, handed_over_at=BEFORE, **words, **to))
    act.session.flush()
    return delivery.id


def add_try(act: Act, delivery_id: int, verb: str, outcome: str, reply: str) -> None:
    facts = {"verb": verb, "outcome": str(outcome), "reply": reply}
    act.session.add(DeliveryAttempt(org_id=act.org, delivery_id=delivery_id, at=BEFORE, **facts))


def hold_some(act: Act, worded: Callable[[str], str]) -> None:
    """As after a restore: what has not left is held, for a cause."""
    holds.hold(act, worded("the database was restored"))


def answer(act: Act, member_id: int, post_id: int, worded: Callable[[str], str]) -> int:
    """One of each that waits for an officer, with a file or whose it is, and one that was sent back; what is done."""
    ids = {}
    for reference, said in (
        ("DONE", Answer.done), ("MOVED", Answer.help), ("BACK", Answer.not_mine), (worded("P-1.1"), Answer.done),
    ):  # fmt: skip
        whose = post_id if said is Answer.not_mine else None
        given = {"claim_id": claim_of(act, reference), "member_id": member_id, "note": worded("See the folder.")}
        ids[reference] = answers.acknowledge_once(act, answer=said, whose_post_id=whose, **given) or 0
    attachments.keep(act, attachments.SentFile("drain.png", PNG), member_id, acknowledgement_id=ids["DONE"])
    answer_checks.send_back(act, ids[worded("P-1.1")], worded("It cannot be read."), member_id)
    return ids["DONE"]


def end_some(act: Act, member_id: int, worded: Callable[[str], str]) -> None:
    """A deadline that was moved, one that is filed, one that was done; an entry archived, one back, a pause."""
    note = worded("As agreed.")
    subjects = {name: register.find_subject(act, name) for name in ("FILED", "MOVED", "LATE", "PAUSED", "GONE")}
    filed, moved = (obligations.find_obligation(act, subjects[name]) for name in ("FILED", "MOVED"))
    filings.file(act, filed.id, TODAY, worded("ENT-1"), "unclear", days(2))
    obligations.move(act, moved.id, days(60), "law_change", note)
    more = obligations.add_obligation(act, subjects["LATE"], days(-40))
    obligations.close(act, more.id, "not_required", reason="replaced", note=note, member_id=member_id)
    register.snooze(act, subjects["PAUSED"], days(10), "waiting", note)
    register.restore(act, subjects["GONE"], note)
    register.archive(act, subjects["GONE"], "replaced", note)


def change_many(act: Act, place: Furnished, worded: Callable[[str], str]) -> None:
    """A batch that moved one date and left an entry that is archived."""
    ids = [register.find_subject(act, name).id for name in ("GONE", "MOVED")]
    said = {"by": "1d", "note": worded("As announced."), "by_act": worded("Royal Decree 12/2027")}
    order = Order(BatchAct.move, "law_change", **said)  # type: ignore[arg-type]
    place.ids["batch_id"] = batch_acts.apply(act, order, ids, batch_acts.foresee(act, order, ids).plan.mark)


def export_some(act: Act, place: Furnished) -> None:
    """An export that can be taken, one that came to nothing, and one that waits."""
    of_person = act.by(member_actor(place.ids["member_id"]))
    made, failed, _ = (export_runs.ask(of_person, ReportFormat.pdf, "en", {}, Limits()) for _ in range(3))
    order = export_runs.read(act, made)
    assert order is not None
    export_runs.settle(of_person, order, Made({"alerts": 1}, 4, "0" * 64, b"%PDF"))
    export_runs.fail(act, failed, export_runs.TOO_LARGE)
    place.ids["export_id"] = made


def other() -> Furnished:
    """The organisation "other", where Omar is the officer, furnished in the same way."""
    acme = factories.acme(slug="other")
    with acme.acting() as act:
        for address, role in ((OUTSIDER, "officer"), ("ola@other.example", "staff"), ("oda@other.example", "admin")):
            name = address.partition("@")[0].capitalize()
            acme.members[name] = people.add_member(act, address, role, name=name, password_hash=HASH)
    return furnish(acme, "other", "Ola")


def routes(app: Flask) -> dict[str, Rule]:
    """Every route of the application, by "METHOD address"; HEAD goes with GET, and Flask itself answers OPTIONS."""
    return {
        f"{method} {rule.rule}": rule
        for rule in app.url_map.iter_rules()
        for method in sorted(rule.methods or ())
        if method not in ("HEAD", "OPTIONS")
    }


# What fills the arguments that are no ids.
WORDS = {"queue": "overdue", "stamp": "0" * 12, "name": "app.css", "token": "1." + "x" * 43}
DEEDS = {
    "/o/<slug>/register/<int:subject_id>/<deed>": "pause",
    "/o/<slug>/register/batch/<deed>": "move",
    "/o/<slug>/register/batch/<deed>/apply": "move",
}


def address(rule: Rule, slug: str, ids: dict[str, int]) -> str:
    """The address of a route with these ids."""
    words = {"deed": DEEDS.get(rule.rule, "close"), **WORDS}
    filled = rule.rule
    for name in rule.arguments:
        value = slug if name == "slug" else ids.get(name, words.get(name))
        assert value is not None, f"{rule.rule}: the tests do not know what to fill in for {name}"
        filled = re.sub(rf"<(?:\w+:)?{name}>", str(value), filled)
    return filled


def plain(page: str) -> str:
    """The page without the token, which differs by second and session."""
    return re.sub(r"(X-CSRFToken&?#?\w*;?\"?: ?\"|name=\"csrf_token\" value=\")[^\"]+", r"\1", page)


@contextlib.contextmanager
def undone() -> Iterator[None]:
    """Whatever happens inside leaves nothing behind, so that each route of a sweep finds the same rows."""
    savepoint = db.session().get_bind().begin_nested()  # type: ignore[union-attr]
    try:
        yield
    finally:
        db.session.remove()
        savepoint.rollback()


def contents(*places: Furnished) -> dict[str, str]:
    """Every row that there is, by organisation and table; what is noted of a visit is left out here."""
    found = {}
    for place in places:
        with transaction(place.acme.org, SCHEDULER) as session:
            names = session.scalars(text("select tablename from pg_tables where schemaname = 'public'")).all()
        with transaction(place.acme.org) as session:
            for name in names:
                rows = session.scalars(text(f"select t::text from {name} t {EXCEPT.get(name, '')} order by 1")).all()
                found[f"{place.slug}.{name}"] = "\n".join(map(str, rows))
    return found


NOTED = "('access_refused', 'signed_in', 'looked')"
EXCEPT = {
    "audit_event": f"where type not in {NOTED}",
    "audit_unsealed": f"where event_id not in (select id from audit_event where type in {NOTED})",
}


def refusals(place: Furnished) -> int:
    """How many refused accesses the trail of the organisation names."""
    with transaction(place.acme.org) as session:
        return int(session.scalar(text("select count(*) from audit_event where type = 'access_refused'")) or 0)
