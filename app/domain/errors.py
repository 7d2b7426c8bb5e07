"""The refusals of the domain: input that cannot be accepted, in words that a person can act on.

Must not hold faults of the program; those stay ordinary exceptions.
"""

# Long enough to recognise what was typed, short enough for one line on a screen.
LONGEST_QUOTE = 60


class Phrase(str):
    """Words of ours in the place of a refusal, such as the name of a field: said in the reader's language, too."""


class Refused(Exception):
    """Input that is refused. Its text is one clear sentence: what is wrong, and what to do.

    The sentence is English and whole, with named places: `Refused("There is no entry %(reference)s.", reference=…)`.
    What is fixed and what was given stay apart, so that `wording.said` can say it in the reader's language. A place may
    be another refusal, or a phrase. Without places the sentence is taken as it is.
    """

    def __init__(self, sentence: str, /, **places: object) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.places = places

    def __str__(self) -> str:
        return self.sentence % self.places if self.places else self.sentence


class UnusableZone(Refused):
    """A time zone that cannot be loaded. It stops its own site only, and nothing falls back to UTC."""


def quoted(text: object) -> str:
    """What was given, in quotes, with control characters escaped and cut to 60 characters, for a refusal."""
    shown = repr(text)
    return shown if len(shown) <= LONGEST_QUOTE else f"{shown[:LONGEST_QUOTE]}…"
