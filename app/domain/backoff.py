"""How long a refused message waits for its next try. Pure: whoever asks brings the chance with him."""

from datetime import timedelta

# After the first try, the second, … A mail server that greylists is content after a minute; one that is ill needs a
# day: twelve tries over more than 24 hours (RFC 5321 section 4.5.4.1 asks for days, not seconds).
WAITS = tuple(timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 20, 40, 80, 160, 240, 360, 600))
TRIES_AT_MOST = len(WAITS) + 1
JITTER_AT_MOST = 0.2  # Of the wait, added: what was refused together does not come back in one instant.


def wait_after(attempts: int, chance: float) -> timedelta:
    """The wait after so many tries; `chance` is from 0 to 1. Never shorter than the plan, so that the total holds."""
    return WAITS[min(attempts, len(WAITS)) - 1] * (1 + JITTER_AT_MOST * chance)
