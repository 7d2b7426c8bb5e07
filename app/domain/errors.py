"""The refusals of the domain: input that cannot be accepted, in words that a person can act on.

Must not hold faults of the program; those stay ordinary exceptions.
"""

# Long enough to recognise what was typed, short enough for one line on a screen.
LONGEST_QUOTE = 60


class Refused(Exception):
    """Input that is refused. Its text is one clear sentence: what is wrong, and what to do."""


class UnusableZone(Refused):
    """A time zone that cannot be loaded. It stops its own site only, and nothing falls back to UTC."""


def quoted(text: object) -> str:
    """What was given, in quotes, with control characters escaped and cut to 60 characters, for a refusal."""
    shown = repr(text)
    return shown if len(shown) <= LONGEST_QUOTE else f"{shown[:LONGEST_QUOTE]}…"
