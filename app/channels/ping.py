"""The dead man's switch: a call to an address outside after each good scan, so that its silence is noticed there."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request

PING_WITHIN = 10.0  # Seconds: the watch does not wait for whoever watches it.


def ping(url: str) -> str | None:
    """Call the address once. None if it answered with success, else what went wrong; it never raises."""
    if not url.startswith(("http://", "https://")):
        return "ONUS_PING_URL is no address that begins with http:// or https://"
    try:
        with urllib.request.urlopen(url, timeout=PING_WITHIN) as response:  # noqa: S310 (the operator's own address)
            response.read(1)
    except urllib.error.HTTPError as refusal:
        return f"it answered {refusal.code}"
    except (OSError, ValueError, http.client.HTTPException) as fault:
        return type(fault).__name__
    return None
