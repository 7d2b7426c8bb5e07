"""E-mail addresses as they may stand in an envelope and a header. What passes can break neither a line nor a list."""

from __future__ import annotations

import re

import idna

from app.domain.errors import Refused, quoted

LONGEST_LOCAL, LONGEST_DOMAIN, LONGEST = 64, 253, 254  # Octets: RFC 5321 section 4.5.3.1.
# A dot-atom of RFC 5322 section 3.2.3, with RFC 6531's characters outside ASCII. No quoted local parts.
LOCAL = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u00a1-\ud7ff\ue000-\U0010ffff-]+(\.[^\x00-\x20\"(),.:;<>@\[\\\]\x7f]+)*"
)
LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")


def envelope_form(address: str) -> str:
    """The address with its domain as the DNS knows it (IDNA 2008), so that only a local part can be outside ASCII.

    Raises Refused, in words that say which part is at fault.
    """
    local, at, domain = address.strip().rpartition("@")
    if not at or not is_local_part(local):
        raise Refused(f"{quoted(address)} is not an e-mail address that a message can be sent to: correct it.")
    try:
        known = domain if domain.isascii() else idna.encode(domain, uts46=True).decode()
    except UnicodeError:
        known = ""
    if not known or len(known) > LONGEST_DOMAIN or not all(map(LABEL.fullmatch, known.split("."))):
        raise Refused(f"The domain of {quoted(address)} cannot exist: correct it.")
    found = f"{local}@{known}"
    if len(found.encode()) > LONGEST:
        raise Refused(f"The address {quoted(address)} is longer than {LONGEST} octets: correct it.")
    return found


def is_local_part(local: str) -> bool:
    return LOCAL.fullmatch(local) is not None and local.isprintable() and len(local.encode()) <= LONGEST_LOCAL
