"""What web, scheduler and `onus scan` look at before they start: without it no promise of Onus would hold.

`onus doctor` looks at much more; this is the part that must never be passed over.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.queries.soundness import NotReady, fault_of_constraint, fault_of_login, refuse_unready


class Unsound(Exception):
    """This database must not be worked on; the message is one line that says why and what to do."""


def refuse_unsound(session: Session) -> None:
    """Raise Unsound unless tables and the ledger's constraint are there and row-level security binds the login.

    Must be the first statement of its transaction, since taking the role is what may fail.
    """
    try:
        refuse_unready(session)
    except NotReady as not_ready:
        raise Unsound(str(not_ready)) from None
    if fault := fault_of_login(session):
        raise Unsound(f"{fault}, so nothing keeps organisations apart: use the login that `onus db upgrade` makes")
    if fault := fault_of_constraint(session, "notification_once"):
        raise Unsound(f"{fault}, so an alert could go out twice: make it as the migrations do")
