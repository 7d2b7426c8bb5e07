"""A scripted mail server for tests, in a process of its own: it takes mail on loopback, and breaks as it is told.

    python -m tests.chaos.smtp_server --log LOG [--script SCRIPT] [--port 0]

It prints its port. What it has taken is what its log says: each line is written and fsynced *before* the answer goes
out, so a message is in the log exactly if the server has accepted it, whatever happens to either side afterwards.

From Python:

    with running(folder) as server:                      # starts the process, stops it at the end
        server.play({"DOT": ["drop after"]})             # the script; may change at any time
        ... f"smtp://127.0.0.1:{server.port}" ...
        server.events("message")                         # what it has accepted; all events without a name
        server.until("close"); server.forget()           # wait for an event; tell no more of what has been

THE SCRIPT is one JSON object, read again whenever the file changes (replace it by a rename, as `play` does); every
list starts afresh then. Keys, all optional:

    "GREETING" "EHLO" "HELO" "STARTTLS" "AUTH" "NOOP" "RSET" "QUIT" "MAIL" "RCPT" "DATA" "BODY" "DOT"
                    a list of deeds, one for each time that point is reached; the last one repeats; [] or absent: "ok"
    "to"            {address: {"RCPT": […], "DATA": […], "BODY": […], "DOT": […]}} for one recipient, before the above
    "chance"        {point: {deed: probability}}: drawn where the lists say "ok"; "seed" makes the draws repeatable
    "offers"        the keywords of EHLO; default ["8BITMIME", "ENHANCEDSTATUSCODES"]
    "offers_tls"    more of them, under TLS only
    "cert", "key"   files for TLS: STARTTLS is offered, until it is on
    "implicit"      true: TLS from the first byte
    "session_limit" messages in one session, then 451 to MAIL
    "idle"          seconds of silence after which it closes; default 60

A DEED:

    "ok"            what a good server does
    "CODE text"     that answer: refuse with "451 4.7.1 later" or "550 5.1.1 unknown". After 421 it closes. Lines
                    parted by newlines go out as they are. 2yz at DOT accepts; anything else does not
    "drop"          close without an answer. At DOT: without accepting. At BODY: in the middle of the body
    "stall"         say nothing any more until the client closes. At BODY: stop reading, too
    "garbage"       an answer that is none; "long": a line of 70 000 octets; "endless": lines without an end
    "slow S"        wait S seconds, then "ok"; "trickle S": one octet of the answer every S seconds
    "… after"       only at DOT: accept first, then do that: "drop after", "stall after", "garbage after", "451 x after"
                    (DATA knows "drop after": once it has answered 354)

EVENTS: connect, tls, auth (tls, mechanism), mail (sender, options), rcpt (address, deed), data, message (accepted),
unfinished (a body whose dot never came, with its octets), refused (a whole message that was not accepted), close.
Each has `session`. message has: sender, rcpts, options, tls, message_id, longest_line, bare_line_ends, is_ascii,
sha256, raw (every octet is there: `raw.encode("utf-8", "surrogateescape")`), at (seconds since the start).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import random
import re
import ssl
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
OFFERS = ["8BITMIME", "ENHANCEDSTATUSCODES"]
GOOD = {
    "GREETING": "220 scripted.example ESMTP", "HELO": "250 scripted.example", "STARTTLS": "220 2.0.0 go ahead",
    "AUTH": "235 2.7.0 signed in", "NOOP": "250 2.0.0 ok", "RSET": "250 2.0.0 ok", "QUIT": "221 2.0.0 bye",
    "MAIL": "250 2.1.0 ok", "RCPT": "250 2.1.5 ok", "DATA": "354 go ahead", "DOT": "250 2.0.0 queued as {number}",
}  # fmt: skip


class Closed(Exception):
    """This connection is over."""


class Script:
    """The deeds, as the file says now. Reads it again when it has changed."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.version = path, None
        self.rules: dict[str, Any] = {}
        self.used: dict[tuple[str, str], int] = {}
        self.chance = random.Random()

    def refresh(self) -> dict[str, Any]:
        if self.path is not None:
            with contextlib.suppress(FileNotFoundError):
                found = self.path.stat()
                version = (found.st_ino, found.st_mtime_ns, found.st_size)
                if version != self.version:
                    self.rules, self.version, self.used = json.loads(self.path.read_text()), version, {}
                    self.chance = random.Random(self.rules.get("seed"))
        return self.rules

    def deed(self, point: str, address: str = "") -> str:
        rules = self.refresh()
        for whose, lists in ((address, rules.get("to", {}).get(address, {})), ("", rules)):
            deeds = lists.get(point)
            if deeds:
                number = self.used[whose, point] = self.used.get((whose, point), 0) + 1
                if (found := deeds[min(number, len(deeds)) - 1]) != "ok":
                    return str(found)
        draw = self.chance.random()
        for deed, probability in rules.get("chance", {}).get(point, {}).items():
            draw -= probability
            if draw < 0:
                return str(deed)
        return "ok"


class Log:
    def __init__(self, path: Path) -> None:
        self.file = path.open("a", encoding="utf-8")
        self.began = time.monotonic()

    def write(self, event: str, **facts: Any) -> None:
        at = round(time.monotonic() - self.began, 4)
        self.file.write(json.dumps({"event": event, "at": at, **facts}) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())


@dataclass
class Conversation:
    """One connection."""

    script: Script
    log: Log
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    session: int
    tls: bool = False
    sender: str | None = None
    options: str = ""
    rcpts: list[str] = field(default_factory=list)
    taken: int = 0

    def note(self, event: str, **facts: Any) -> None:
        self.log.write(event, session=self.session, **facts)

    @property
    def address(self) -> str:
        return self.rcpts[0] if self.rcpts else ""

    async def hold(self) -> None:
        self.note("connect")
        try:
            if self.script.refresh().get("implicit"):
                await self.secure()
            await self.act("GREETING", self.script.deed("GREETING"))
            while True:
                await self.obey((await self.line()).decode("utf-8", "surrogateescape"))
        except (Closed, ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            self.note("close", taken=self.taken)
            self.writer.transport.abort()

    async def line(self) -> bytes:
        """One line without its end. Raises Closed at the end of the connection or of patience."""
        try:
            async with asyncio.timeout(self.script.refresh().get("idle", 60)):
                found = await self.reader.readuntil(b"\n")
        except TimeoutError:
            raise Closed from None
        return found.removesuffix(b"\n").removesuffix(b"\r")

    async def obey(self, command: str) -> None:
        verb = command.split(" ")[0].upper()
        if verb in ("MAIL", "RCPT", "DATA", "AUTH", "EHLO", "HELO", "STARTTLS"):
            await getattr(self, verb.lower())(command)
        elif verb in ("NOOP", "RSET", "QUIT"):
            if verb == "RSET":
                self.sender, self.rcpts = None, []
            await self.act(verb, self.script.deed(verb))
            if verb == "QUIT":
                raise Closed
        else:
            await self.say("502 5.5.2 not implemented")

    async def act(self, point: str, deed: str, good: str | None = None) -> bool:
        """Do it. True if what went out was a good answer."""
        if deed == "drop":
            raise Closed
        if deed == "stall":
            await self.stall()
        if deed.startswith("slow "):
            await asyncio.sleep(float(deed.split()[1]))
            deed = "ok"
        if deed == "endless":
            while True:
                await self.say("250-and more, " * 100)
        usual = good or GOOD[point].format(number=self.taken)
        said = {"ok": usual, "garbage": "¿qué?", "long": "250 " + "x" * 70_000}.get(deed, deed)
        if deed.startswith("trickle "):
            for octet in f"{usual}\r\n".encode():
                self.writer.write(bytes([octet]))
                await self.writer.drain()
                await asyncio.sleep(float(deed.split()[1]))
            return True
        await self.say(said)
        if said.startswith("421"):
            raise Closed
        return said[:1] in "23"

    async def say(self, lines: str) -> None:
        self.writer.write("".join(f"{line}\r\n" for line in lines.split("\n")).encode())
        await self.writer.drain()

    async def stall(self) -> None:
        """Read on without a word, so that the client's end is noticed."""
        while await self.reader.read(65_536):
            pass
        raise Closed

    async def ehlo(self, _command: str) -> None:
        rules = self.script.refresh()
        offers = ["scripted.example", *rules.get("offers", OFFERS)]
        if self.tls:
            offers += rules.get("offers_tls", [])
        elif "cert" in rules:
            offers.append("STARTTLS")
        shown = "\n".join(f"250-{offer}" for offer in offers[:-1]) + f"\n250 {offers[-1]}"
        await self.act("EHLO", self.script.deed("EHLO"), shown.strip())

    async def helo(self, _command: str) -> None:
        await self.act("HELO", self.script.deed("HELO"))

    async def starttls(self, _command: str) -> None:
        if await self.act("STARTTLS", self.script.deed("STARTTLS")) and "cert" in self.script.rules:
            await self.secure()

    async def secure(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.script.rules["cert"], self.script.rules["key"])
        await self.writer.start_tls(context)
        self.tls = True
        self.note("tls")

    async def auth(self, command: str) -> None:
        _, mechanism, *initial = command.split(" ")
        self.note("auth", tls=self.tls, mechanism=mechanism, initial=initial)
        if mechanism.upper() == "LOGIN":
            for asked in ("VXNlcm5hbWU6", "UGFzc3dvcmQ6"):
                await self.say(f"334 {asked}")
                self.note("auth", tls=self.tls, mechanism=mechanism, initial=[(await self.line()).decode()])
        await self.act("AUTH", self.script.deed("AUTH"))

    async def mail(self, command: str) -> None:
        found = re.match(r"MAIL FROM:<([^>]*)>(.*)", command, re.IGNORECASE)
        limit = self.script.refresh().get("session_limit")
        if found is None:
            await self.say("501 5.1.7 bad address")
        elif limit and self.taken >= limit:
            await self.say("451 4.7.1 mails per session limit")
        else:
            self.note("mail", sender=found[1], options=found[2].strip())
            self.rcpts, self.options = [], found[2].strip()
            self.sender = found[1] if await self.act("MAIL", self.script.deed("MAIL")) else None

    async def rcpt(self, command: str) -> None:
        found = re.match(r"RCPT TO:<([^>]*)>", command, re.IGNORECASE)
        if found is None or self.sender is None:
            await self.say("503 5.5.1 MAIL first" if found else "501 5.1.3 bad address")
            return
        deed = self.script.deed("RCPT", found[1].lower())
        self.note("rcpt", address=found[1], deed=deed)
        if await self.act("RCPT", deed):
            self.rcpts.append(found[1].lower())

    async def data(self, _command: str) -> None:
        if not self.rcpts:
            await self.say("503 5.5.1 no valid recipients")
            return
        self.note("data")
        deed = self.script.deed("DATA", self.address)
        if not await self.act("DATA", "ok" if deed == "drop after" else deed):
            return
        if deed == "drop after":
            raise Closed
        raw = await self.body()
        await self.dot(raw)
        self.sender, self.rcpts = None, []

    async def body(self) -> bytes:
        """The octets up to the dot. Whatever ends before it is noted, and taken by nobody."""
        lines: list[bytes] = []
        deed = self.script.deed("BODY", self.address)
        try:
            if deed in ("drop", "stall"):
                lines.append(await self.reader.read(1))
                if deed == "stall":
                    await asyncio.sleep(3600)
                raise Closed
            async with asyncio.timeout(self.script.refresh().get("idle", 60)):
                while (line := await self.reader.readuntil(b"\n")) not in (b".\r\n", b".\n"):
                    lines.append(line[1:] if line.startswith(b".") else line)
        except BaseException as fault:
            partial = getattr(fault, "partial", b"")
            self.note("unfinished", octets=len(b"".join(lines)) + len(partial), rcpts=self.rcpts)
            raise Closed from None
        return b"".join(lines)

    async def dot(self, raw: bytes) -> None:
        deed = self.script.deed("DOT", self.address)
        deed, after = (deed.removesuffix(" after"), True) if deed.endswith(" after") else (deed, False)
        if after or deed == "ok" or deed.startswith(("2", "slow ", "trickle ")):
            self.taken += 1
            self.note("message", **self.facts(raw))
        else:
            self.note("refused", rcpts=self.rcpts, deed=deed)
        await self.act("DOT", deed)

    def facts(self, raw: bytes) -> dict[str, Any]:
        found = re.search(rb"(?im)^message-id:\s*(\S+)", raw)
        return {
            "sender": self.sender,
            "rcpts": self.rcpts,
            "options": self.options,
            "tls": self.tls,
            "message_id": found[1].decode("ascii", "replace") if found else None,
            "longest_line": max(map(len, raw.split(b"\r\n"))),
            "bare_line_ends": len(re.findall(rb"\r(?!\n)|(?<!\r)\n", raw)),
            "is_ascii": raw.isascii(),
            "sha256": hashlib.sha256(raw).hexdigest(),
            "raw": raw.decode("utf-8", "surrogateescape"),
        }


async def serve(port: int, log: Log, script: Script) -> None:
    sessions = iter(range(1, sys.maxsize))

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await Conversation(script, log, reader, writer, next(sessions)).hold()

    server = await asyncio.start_server(connected, "127.0.0.1", port, limit=2**22)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    async with server:
        await server.serve_forever()


@dataclass
class Running:
    """A server that runs, from the test's side."""

    port: int
    log: Path
    script: Path
    forgotten: int = 0  # Sessions up to this one.

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    def play(self, script: dict[str, Any]) -> None:
        """From the next point on it does as this says. Of two at once the later one counts, and it is whole."""
        draft = self.script.with_name(f"{uuid.uuid4().hex}.draft")
        draft.write_text(json.dumps(script))
        draft.replace(self.script)

    def forget(self) -> None:
        """Nothing of the sessions so far is told any more."""
        self.forgotten = max((event["session"] for event in self.events()), default=self.forgotten)

    def events(self, *names: str) -> list[dict[str, Any]]:
        """What was logged, in order; only whole lines are there."""
        whole, _, _ = self.log.read_text().rpartition("\n")  # The last line may be half written.
        told = map(json.loads, whole.splitlines())
        return [event for event in told if event["session"] > self.forgotten and (not names or event["event"] in names)]

    def until(self, name: str, within: float = 5.0) -> dict[str, Any]:
        """The first such event, as soon as it is there: the server notices the end of a line in its own time."""
        deadline = time.monotonic() + within
        while not (found := self.events(name)):
            assert time.monotonic() < deadline, f"no {name} within {within} s"
            time.sleep(0.002)
        return found[0]


@contextlib.contextmanager
def running(folder: Path, script: dict[str, Any] | None = None, port: int = 0) -> Iterator[Running]:
    """A server of its own in `folder`, until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    server = Running(port, folder / "smtp.jsonl", folder / "script.json")
    server.log.touch()
    server.play(script or {})
    command = [sys.executable, "-m", "tests.chaos.smtp_server", "--port", str(port)]
    command += ["--log", str(server.log), "--script", str(server.script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as started:
        try:
            assert started.stdout is not None
            server.port = int(started.stdout.readline())
            yield server
        finally:
            started.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted mail server for tests.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--script", type=Path)
    given = parser.parse_args()
    asyncio.run(serve(given.port, Log(given.log), Script(given.script)))


if __name__ == "__main__":
    main()
