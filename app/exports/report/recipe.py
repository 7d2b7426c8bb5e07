"""The page in the bundle for whoever has nothing but the bundle: what it is, how to verify it, what that proves."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from app.exports.report.said import utc
from app.trail.notes import Signer

if TYPE_CHECKING:
    from app.exports.report.bundle import Gathered
    from app.exports.report.report import Report

PAGE = """\
EVIDENCE BUNDLE OF ONUS
=======================

{organisation}, export {export}, made {made_at} by: {by}
Log     {origin}
Events  {events} of {size} are in this bundle{part}
Root    {root}
Key     {key}
        (Compare it with the key that the organisation gave you. One that you know from here alone proves nothing.)

What is in it
-------------
report.pdf          for reading: the register, the alerts, who was told how and when, who answered, what was done
report.csv, .jsonl  the same rows under the same numbers, for a spreadsheet and for programs
events.jsonl        the events as they were sealed, one a line, with their place in the log{proof}; of one that was
                    removed by a policy of retention the hash of its leaf, and an event says which and why
checkpoints.txt     signed: how many events the log had, and the one hash that stands for them (C2SP tlog-checkpoint)
consistency.jsonl   why the log of an earlier checkpoint is the beginning of this one (only where it is not all here)
personal.jsonl      personal values, each with the salt under which it was sealed; what was erased is not there
keys.txt            public keys that have sealed here
manifest.json       the SHA-256 of each file; manifest.note is the signature of it

How to verify it with Onus
--------------------------
    onus verify BUNDLE.zip --key KEY [--checkpoint FILE]

How to verify it without Onus
-----------------------------
Get onus_verify.py from somebody whom you trust, not with this bundle (`onus verifier -o onus_verify.py` writes it). It
is one file of 430 lines, and needs Python 3.11 and `pip install cryptography`:

    python onus_verify.py BUNDLE.zip --key KEY [--checkpoint FILE]

FILE is a checkpoint that you kept, or a whole earlier bundle: keep this one for the next time.
It says in one sentence what it found, and ends with 0: good, 1: altered, 2: incomplete, 3: unreadable.

How to verify it by hand
------------------------
1. SHA-256 of each file = manifest.json. SHA-256 of manifest.json, in base64, = the third line of manifest.note.
2. Each note is text, an empty line, and `— name base64`: four bytes that name the key, then an Ed25519 signature of the
   text with its last line break. The public key is the last 32 bytes of the base64 behind the last + of KEY.
3. The bytes of an event are its JSON in the form of RFC 8785, as they stand. The tree over them is that of RFC 6962
   (SHA-256; 0x00 before a leaf, 0x01 before two neighbours). Its root = the last checkpoint.
4. A value in personal.jsonl: SHA-256 of its salt and its UTF-8 = what the event has under that name.

What it proves, and what it cannot
----------------------------------
It proves that the events are those that were sealed, in that order, that none was changed, added or taken out since the
first checkpoint that you or somebody else has kept, and that the report agrees with them about what was raised.
It cannot prove that an event was recorded at all, or is true; that nothing happened to it between the act and the next
seal (some seconds) or before the first checkpoint that anybody kept outside; that the clock was right; that a message
was read (only that a mail server took it); or who sat at the keyboard.
"""


def recipe_of(report: Report, gathered: Gathered, signer: Signer) -> str:
    return PAGE.format(
        organisation=report.origin.organisation,
        export=report.origin.export_id,
        made_at=utc(report.scope.sight.now),
        by=report.origin.by,
        origin=gathered.origin,
        events=gathered.events,
        size=gathered.size,
        part="" if gathered.is_whole else ", those that the report is about, each with its proof",
        root=base64.b64encode(gathered.root).decode(),
        key=signer.key.text,
        proof="" if gathered.is_whole else " and the proof of it",
    )
