"""What is sealed: up to now, for whoever is about to show it to others. Sealing itself is `seal.py`.

A report may say only what a seal covers. So whoever writes one seals before, and waits for another who does.
"""

from __future__ import annotations

from app.trail.act import Act
from app.trail.notes import Signer
from app.trail.seal import seal

# The lock of `seal`, waited for: what another sealer has taken away is sealed when it lets go.
WAIT = "select pg_advisory_xact_lock(hashtextextended('onus seal', :org))"
SIZE = "select coalesce(max(size), 0) from audit_checkpoint where org_id = :org"


def seal_up(act: Act, signer: Signer) -> int:
    """Seal all that is there, whoever else seals; how many events the log has then."""
    act.run(WAIT)
    while seal(act, signer):
        pass
    return int(act.run(SIZE).scalar_one())
