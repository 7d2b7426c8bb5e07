"""The codes and limits of a test mail, which is of no claim: what becomes of it, and how long it may wait."""

import datetime as dt
from enum import StrEnum

WAITS_AT_MOST = dt.timedelta(hours=1)  # Whoever asked has stopped looking by then, and would wonder at a late one.
CHECKPOINT_WAITS_AT_MOST = dt.timedelta(hours=20)  # Nobody looks for it, and the next one comes the day after.
ONE_EVERY = dt.timedelta(minutes=1)  # For each member: enough to try again, too little to annoy a mail server.


class TrialEnd(StrEnum):
    """What became of a test mail. None is ever sent a second time."""

    taken = "taken"  # The mail server has taken it.
    filed = "filed"  # Written to a file of this host, so that it reached nobody.
    put_off = "put_off"  # Refused for now, so nothing was taken.
    refused = "refused"  # Refused for good.
    broken = "broken"  # The mail server could not be used in the middle of it, and has taken nothing.
    no_answer = "no_answer"  # Handed over, and no answer came: it may have been sent.
    too_late = "too_late"  # It waited for too long, so it was not sent.
