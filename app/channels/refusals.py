"""Whom a refusal is about: this recipient or message, or us, whoever the message is for.

What is about us is the transport's, so that a wrong setting does not burn one alert after the other. Servers say it by
code, by enhanced status code (RFC 3463, RFC 5248) or, for relaying, only in words; in doubt it is the recipient's.
"""

from __future__ import annotations

import re

from app.channels.line import Answer
from app.domain.delivery import Outcome

# The service closes (RFC 5321); sign-in is needed, too weak, failed, needs TLS (RFC 4954).
OURS = frozenset({421, 530, 534, 535, 538})
# The sender's address, by subject and detail: bad syntax or system, or from whom we may not send.
OF_SENDER = frozenset({(1, 7), (1, 8)})
OF_SECURITY = 7  # The subject of RFC 3463 section 3.8; at MAIL nobody else than we can be meant.
# Credentials and tenants: 5.7.8 and 5.7.9 of RFC 4954, 5.7.57 and 5.7.64 of Exchange Online.
OF_SIGN_IN = frozenset({(7, 8), (7, 9), (7, 57), (7, 64)})
# What servers say in words alone, at MAIL or RCPT: we may not relay, must sign in, or are not welcome ourselves.
ABOUT_US = re.compile(
    r"\brelay(ing)?( access)?( is)? (denied|refused|prohibited|disallowed|not (allowed|permitted|authori[sz]ed))\b"
    r"|\b(unable|denied|refused?|not (permitted|allowed|authori[sz]ed)) to relay\b"
    r"|\bdo(es)? not relay\b|\bno relaying\b"
    r"|\b(authentication|auth|sign-?in|login) (is )?(required|needed)\b|\bnot authenticated\b"
    r"|\bmust (first )?(authenticate|issue a starttls)\b|\bauthenticate first\b"
    r"|\bsender address rejected\b|\bclient host (\S+ )?(blocked|rejected)\b",
    re.IGNORECASE,
)


def outcome_of(verb: str, answer: Answer) -> Outcome:
    """What a 4yz or 5yz comes to. It is proof that nothing was taken, after the final dot, too."""
    if answer.code in OURS or answer.status in OF_SIGN_IN:
        return Outcome.transport
    if verb in ("mail", "rcpt") and ABOUT_US.search(answer.text):
        return Outcome.transport
    if answer.code // 100 == 4:
        return Outcome.retry
    if verb == "mail" and answer.status and (answer.status in OF_SENDER or answer.status[0] == OF_SECURITY):
        return Outcome.transport
    return Outcome.failed
