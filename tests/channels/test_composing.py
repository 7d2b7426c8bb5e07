"""What a mail says: subject, sentences, order, links and headers, in English and Spanish (SCREENS sections 1 to 3)."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from app.domain.delivery import Because
from app.domain.letters import NAMED_AT_MOST, Contact
from tests.channels.letters import ANA, SETTINGS, body, composed, letter, notice, parsed

HERE = "https://onus.acme.example/o/acme/inbox"
# Days left, wording; then for a subject and as a sentence, in English and in Spanish.
LEFT = """
 30 falls_due | 30 days | 30 days left: due on Sunday, 4 April 2027.
              | 30 días | Faltan 30 días: vence el domingo 4 de abril de 2027.
  1 falls_due | 1 day | 1 day left: due on Saturday, 6 March 2027.
              | 1 día | Falta 1 día: vence el sábado 6 de marzo de 2027.
  0 falls_due | Due today | Due today, Friday, 5 March 2027.
              | Vence hoy | Vence hoy, viernes 5 de marzo de 2027.
 -1 falls_due | 1 day overdue | 1 day overdue: it was due on Thursday, 4 March 2027.
              | Venció hace 1 día | Venció hace 1 día, el jueves 4 de marzo de 2027.
 -2 falls_due | 2 days overdue | 2 days overdue: it was due on Wednesday, 3 March 2027.
              | Venció hace 2 días | Venció hace 2 días, el miércoles 3 de marzo de 2027.
  2 expires   | 2 days | 2 days left: expires on Sunday, 7 March 2027.
              | 2 días | Faltan 2 días: caduca el domingo 7 de marzo de 2027.
  1 expires   | 1 day | 1 day left: expires on Saturday, 6 March 2027.
              | 1 día | Falta 1 día: caduca el sábado 6 de marzo de 2027.
  0 expires   | Expires today | Expires today, Friday, 5 March 2027.
              | Caduca hoy | Caduca hoy, viernes 5 de marzo de 2027.
 -1 expires   | Expired 1 day ago | Expired 1 day ago, on Thursday, 4 March 2027.
              | Caducó hace 1 día | Caducó hace 1 día, el jueves 4 de marzo de 2027.
 -2 expires   | Expired 2 days ago | Expired 2 days ago, on Wednesday, 3 March 2027.
              | Caducó hace 2 días | Caducó hace 2 días, el miércoles 3 de marzo de 2027.
"""
ROWS = [[cell.strip() for cell in line.split("|")] for line in LEFT.strip().splitlines()]
TAGS = {"html", "head", "meta", "title", "body", "div", "h1", "h2", "p", "strong", "br", "a"}
NEVER = re.compile(
    r"claim|crossing|threshold|lease|hand-over|tick\b|standing|watermark|horizon|reclamaci|umbral|sujeto|\bsitio\b|\btú\b|\btu\b",
    re.IGNORECASE,
)


class Tags(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def texts(*notices: object, **facts: object) -> tuple[str, str, str]:
    message = composed(*notices, **facts)  # type: ignore[arg-type]
    found = parsed(message.wire)
    assert (body(found, "plain"), body(found, "html")) == (message.text, message.html)
    return message.subject, message.text, message.html


@pytest.mark.parametrize(("english", "spanish"), list(zip(ROWS[::2], ROWS[1::2], strict=True)))
def test_h41_days_left_are_said_in_whole_sentences(english: list[str], spanish: list[str]) -> None:
    days, wording = english[0].split()
    for locale, (_, short, sentence) in (("en", english), ("es", spanish)):
        subject, text, html = texts(notice(int(days), wording=wording), locale=locale)
        assert subject.startswith(f"[Acme · Vitoria] {short}: Discharge sample, point V-2 (")
        assert sentence in text.splitlines()
        assert f">{sentence}<" in html


def test_the_subject_is_that_of_the_screens() -> None:
    assert composed().subject == "[Acme · Vitoria] 7 days: Discharge sample, point V-2 (Friday, 12 March)"
    spanish = composed(notice(title="muestra de vertido, punto V-2"), organisation="Quimeralia", locale="es")
    assert spanish.subject == "[Quimeralia · Vitoria] 7 días: muestra de vertido, punto V-2 (viernes 12 de marzo)"


FOLLOW_UPS = """
en | ENT-30571 | Ask the authority again | Thursday, 18 March | 20 February 2027, receipt ENT-30571, and not answered
en |           | Ask the authority again | Thursday, 18 March | 20 February 2027, and not answered yet.
es |           | Vuelva a preguntar a la autoridad | jueves 18 de marzo | 20 de febrero de 2027 y todavía sin respuesta.
"""


@pytest.mark.parametrize("line", FOLLOW_UPS.strip().splitlines())
def test_a_follow_up_speaks_of_the_filing_and_not_of_the_due_date(line: str) -> None:
    locale, receipt, asks, day, filed = (cell.strip() for cell in line.split("|"))
    facts = {"threshold": "@2027-03-18", "filed_on": dt.date(2027, 2, 20), "wording": "expires"}
    subject, text, _ = texts(notice(-12, receipt=receipt or None, **facts), locale=locale)
    assert subject == f"[Acme · Vitoria] {asks}: Discharge sample, point V-2 ({day})"
    assert filed in text
    assert ("Ask the authority how far it is" if locale == "en" else "Pregunte a la autoridad cómo va") in text
    assert not re.search("Expired|Caducó|reception", text)


def test_what_needs_proof_says_so() -> None:
    _, text, _ = texts(notice(proof_needed=True))
    said = "before 14:00.\nTo close it as done, proof is needed: the number or the file of a paper.\n"
    assert said in text
    _, text, _ = texts(notice(proof_needed=True, what_to_do=""), locale="es")
    assert "Qué hay que hacer: Para cerrarlo como hecho hace falta un justificante" in text


def test_a_date_in_another_year_says_the_year() -> None:
    assert composed(notice(400)).subject.endswith("(Saturday, 8 April 2028)")
    assert composed(notice(400), locale="es").subject.endswith("(sábado 8 de abril de 2028)")


def test_a_date_is_never_written_in_numbers() -> None:
    for locale in ("en", "es"):
        for text in texts(notice(29, first_due_on=dt.date(2027, 4, 1)), locale=locale):
            assert not re.search(r"\d{1,2}/\d{1,2}|2027-\d", text)


def test_several_alerts_are_one_list_and_the_subject_names_the_first() -> None:
    many = [notice(days, claim_id=50 + days, title=f"Entry {days}") for days in (-2, 0, 30)]
    subject, text, html = texts(*many)
    assert subject == "[Acme · Vitoria] 2 days overdue: Entry -2 (Wednesday, 3 March) and 2 more"
    assert text.startswith("3 alerts for you, the most urgent first\n\n1. Entry -2\n")
    assert re.findall(r"^\d\. .*", text, re.MULTILINE) == ["1. Entry -2", "2. Entry 0", "3. Entry 30"]
    assert [text.count(f"{HERE}/{claim}\n") for claim in (48, 50, 80)] == [1, 1, 1]
    assert re.findall(r"<h2[^>]*>(.*)</h2>", html) == ["Entry -2", "Entry 0", "Entry 30"]
    spanish = texts(*many, locale="es")
    assert spanish[0].endswith("Venció hace 2 días: Entry -2 (miércoles 3 de marzo) y 2 más")
    assert spanish[1].startswith("3 avisos para usted, primero los más urgentes\n")


def test_one_alert_is_not_counted() -> None:
    subject, text, html = texts()
    assert "more" not in subject
    assert text.startswith("Discharge sample, point V-2\n7 days left")
    assert re.findall(r"<h1[^>]*>(.*)</h1>", html) == ["Discharge sample, point V-2"]


@pytest.mark.parametrize(("number", "rest"), [(50, None), (51, "1 more alert is not"), (60, "10 more alerts are")])
def test_the_most_urgent_are_named_and_the_rest_is_counted_and_linked(number: int, rest: str | None) -> None:
    subject, text, html = texts(
        *[notice(day, claim_id=100 + day, title=f"Entry {day}.") for day in range(1, number + 1)]
    )
    assert subject.endswith(f"and {number - 1} more")
    assert f"{number} alerts for you" in text
    named = [day for day in range(1, number + 1) if f" Entry {day}.\n" in text]
    assert named == list(range(1, NAMED_AT_MOST + 1))
    assert html.count("Entry ") == NAMED_AT_MOST + 1  # Once more in the title of the page.
    assert (f"\n{HERE}\n" in text, f'href="{HERE}"' in html) == (rest is not None, rest is not None)
    assert rest is None or rest in text


def test_everything_that_a_reader_needs_is_said() -> None:
    told = notice(
        first_due_on=dt.date(2027, 2, 1), whole="0417 Discharge permit", others=("Carla Inventada", "Fay Notreal")
    )
    for text in texts(told)[1:]:
        for sentence in (
            "7 days left: due on Friday, 12 March 2027.",
            "The date was moved: at first it was 1 February 2027.",
            "Take 2 litres in the blue bottle to reception before 14:00.",
            "you are responsible for it.",
            "Also told: Carla Inventada, Fay Notreal.",
            "Vitoria (time zone Europe/Madrid)",
            "0417 Discharge permit › VIT-4.2 Discharge sample, point V-2",
            "Sample VIT-4.2",
            "Ana Ficticia (ana@acme.example)",
            f"{HERE}/41",
            "Nothing is answered until you answer there.",
            "A reply goes to Ana Ficticia.",
        ):
            assert sentence in text


def test_the_same_is_said_in_spanish_with_usted() -> None:
    told = notice(first_due_on=dt.date(2027, 2, 1), whole="Permiso de vertido", kind="Muestra", others=("Carla",))
    for text in texts(told, locale="es-MX")[1:]:
        for sentence in (
            "Faltan 7 días: vence el viernes 12 de marzo de 2027.",
            "La fecha se ha cambiado: al principio era el 1 de febrero de 2027.",
            "Qué hay que hacer:",
            "Por qué usted:",
            "es responsable de este vencimiento.",
            "También se ha avisado a: Carla.",
            "Permiso de vertido › VIT-4.2 Discharge sample, point V-2",
            "Hecho",
            "Me encargo, hasta…",
            "No es mío",
            "Ayuda",
            "A quién preguntar:",
        ):
            assert sentence in text


@pytest.mark.parametrize("because", [*Because, "a route of tomorrow"])
def test_why_you_is_a_sentence_for_every_route(because: str) -> None:
    found = {texts(notice(because=because), locale=locale)[1].split(": ")[5] for locale in ("en", "es")}
    assert len(found) == 2
    assert "_" not in "".join(found)


@pytest.mark.parametrize(("locale", "sentence"), [("en", "you stand in for Gil."), ("es", "sustituye a Gil.")])
def test_whoever_stands_in_is_told_for_whom(locale: str, sentence: str) -> None:
    assert sentence in texts(notice(because="cover", covers="Gil"), locale=locale)[1]


@pytest.mark.parametrize(
    ("locale", "sentence"),
    [
        ("en", "Gil said that it is not theirs, and nobody has acted since; you hold the post above."),
        ("es", "Gil dijo que no le corresponde y nadie se ha ocupado desde entonces; usted ocupa el puesto superior."),
    ],
)
def test_the_post_above_is_told_who_said_that_it_is_not_theirs(locale: str, sentence: str) -> None:
    assert sentence in " ".join(texts(notice(because="above", disowned_by="Gil"), locale=locale)[1].split())


@pytest.mark.parametrize(
    ("locale", "sentence"),
    [
        ("en", "nobody holds a post above, and you are an administrator."),
        ("es", "nadie ocupa un puesto superior y usted administra la organización."),
    ],
)
def test_an_administrator_is_told_in_place_of_the_post_above(locale: str, sentence: str) -> None:
    said = " ".join(texts(notice(because="nobody_above", disowned_by="Gil"), locale=locale)[1].split())
    assert sentence in said
    assert "Gil" in said


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        ((), "Nobody else was told."),
        (("Ana", "Bo"), "Also told: Ana, Bo."),
        (tuple("abcdefghijk"), "Also told: a, b, c, d, e, f, g, h, i, j and 1 more person."),
        (tuple("abcdefghijklm"), "Also told: a, b, c, d, e, f, g, h, i, j and 3 more people."),
    ],
)
def test_who_else_was_told_is_named_or_counted(others: tuple[str, ...], sentence: str) -> None:
    assert sentence in texts(notice(others=others))[1]


def test_a_message_that_may_have_come_before_says_so_first() -> None:
    _, text, html = texts(may_repeat=True)
    assert text.startswith("You may have received this message already.")
    assert html.index("You may have received") < html.index("Discharge sample, point V-2</h1>")
    assert texts(may_repeat=True, locale="es")[1].startswith("Es posible que ya haya recibido este mensaje.")
    assert "already" not in texts()[1]


def test_no_word_of_the_code_stands_in_a_mail() -> None:
    told = notice(-3, first_due_on=dt.date(2027, 1, 1), whole="Whole", others=("Ana",))
    for locale in ("en", "es"):
        for text in texts(told, may_repeat=True, locale=locale):
            assert NEVER.findall(re.sub(r"https?://\S+", "", text)) == []


@pytest.mark.parametrize("locale", ["en", "es", "es_ES.UTF-8", "pt", "", "../es", "tlh"])
def test_an_unknown_language_is_english(locale: str) -> None:
    _, text, html = texts(locale=locale)
    spanish = locale.startswith("es")
    assert ("Faltan 7 días" in text) is spanish
    assert f'<html lang="{"es" if spanish else "en"}">' in html


def test_every_link_opens_a_page_of_onus_and_nothing_is_loaded() -> None:
    """No image, no style sheet, no script, no form: a link changes nothing by being opened (H40 c)."""
    many = [notice(day, claim_id=day, what_to_do='See <a href="https://evil.example">here</a>') for day in range(1, 61)]
    tags = Tags(texts(*many, may_repeat=True)[2]).found
    links = [attributes["href"] for tag, attributes in tags if tag == "a"]
    assert set(links) == {HERE, *(f"{HERE}/{day}" for day in range(1, NAMED_AT_MOST + 1))}
    assert links.count(f"{HERE}/1") == 1
    few = Tags(texts(*many[:5])[2]).found
    assert [attributes["href"] for tag, attributes in few if tag == "a"].count(f"{HERE}/1") == 4
    assert {tag for tag, _ in tags} <= TAGS
    names = {name for _, attributes in tags for name in attributes}
    assert names <= {"lang", "charset", "name", "content", "style", "href"}
    assert not re.search(r"url\(|@import|https?://(?!onus\.acme\.example/)", str(tags))


def test_headers_say_who_writes_and_that_a_machine_does() -> None:
    found = parsed(composed().wire)
    assert str(found["From"]) == '"Acme (Onus)" <onus@onus.acme.example>'
    assert str(found["To"]) == "Bruno Supuesto <bruno@acme.example>"
    assert str(found["Reply-To"]) == "Ana Ficticia <ana@acme.example>"
    assert (found["Auto-Submitted"], found["X-Auto-Response-Suppress"]) == ("auto-generated", "All")
    assert found["Message-ID"] == "<5.41@onus.acme.example>"
    assert found["Date"].datetime == letter().sent_at


@pytest.mark.parametrize(
    ("contacts", "reply_to"),
    [
        ((), None),
        ((Contact("Ana", None),), None),
        ((Contact("Bruno himself", "BRUNO@acme.example"),), None),
        ((Contact("Odd", "no address"), ANA), "ana@acme.example"),
        ((Contact("Utf", "ñ@acme.example"), ANA), "ana@acme.example"),
    ],
)
def test_a_reply_reaches_a_person_or_is_said_to_reach_nobody(
    contacts: tuple[Contact, ...], reply_to: str | None
) -> None:
    message = composed(contacts=contacts)
    found = parsed(message.wire)["Reply-To"]
    assert (found.addresses[0].addr_spec if found else None) == reply_to
    assert ("Nobody reads replies to it." in message.text) is (reply_to is None)
    assert ("Whom to ask" in message.text) is bool(contacts)


def test_a_very_long_title_is_whole_in_the_body_and_cut_in_the_subject() -> None:
    title = "Ñandú " * 200
    subject, text, _ = texts(notice(title=title))
    assert title.strip() in text
    assert "…" in subject
    assert subject.endswith("(Friday, 12 March)")
    assert len(subject) < 260


def test_the_sender_has_the_name_of_the_setting() -> None:
    from_setting = replace(SETTINGS, mail_from="Compliance desk <onus@mail.acme.example>")
    assert from_setting.mail_sender() == ("Compliance desk", "onus@mail.acme.example")


def test_a_part_stands_after_its_whole_and_stays_readable_in_a_subject() -> None:
    def subject(**facts: object) -> str:
        return str(parsed(composed(notice(**facts)).wire)["subject"])  # type: ignore[arg-type]

    part = {"reference": "4.2", "title": "Quarterly sample"}
    assert subject(**part, whole="0417 Discharge permit") == (
        "[Acme · Vitoria] 7 days: 0417 Discharge permit › 4.2 Quarterly sample (Friday, 12 March)"
    )
    assert ": 0417 Discharge permit › 4.2 (" in subject(reference="4.2", title="4.2", whole="0417 Discharge permit")
    long = subject(**part, whole="0417 " + "very long " * 20)
    assert "… › 4.2 Quarterly sample (Friday" in long
    assert len(long.partition("7 days: ")[2].partition(" (")[0]) <= 120
