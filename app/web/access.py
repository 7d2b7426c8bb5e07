"""Who may see a page: every route is marked public, signed-in, or with its roles; an unmarked one stops the start.

A view of an organisation gets a Visit with an open transaction, its only one. Whoever is no member of the organisation
gets the same 404 as for one that does not exist; a member without the role gets 403, and the trail says so (H38).
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, cast

from flask import Flask, abort, request
from flask.typing import ResponseReturnValue
from flask_login import UserMixin, current_user, login_required

from app import clock
from app.config import settings
from app.database import WEB, act_for, transaction
from app.domain.acts import Role
from app.extensions import login
from app.queries.frame import Frame, read_frame
from app.queries.refusals import ACCESS, SIGN_IN, is_noted
from app.queries.sight import Sight
from app.queries.visitors import Person, Place, find_person, find_visitor, places
from app.trail.act import STRANGER, Act, member_actor
from app.wording import speak

P = ParamSpec("P")
View = Callable[..., ResponseReturnValue]

MANAGERS = (Role.admin, Role.officer)
READERS = (Role.admin, Role.officer, Role.inspector)
ANSWERING = frozenset({"inbox"})  # The blueprints that are open to a remembered phone.
MOST_OF_ADDRESS = 500  # Characters: more than any page needs, and no way to fill the trail.


class Principal(UserMixin):  # type: ignore[misc]  # Flask-Login carries no types.
    """The account that is signed in, and nothing that could be stale: roles are looked up in each organisation."""

    def __init__(self, account_id: int, name: str, only_answers: bool = False, place: Place | None = None) -> None:
        self.id = account_id
        self.name = name
        self.place = place  # The organisation of the address, whoever belongs to it.
        self.only_answers = only_answers  # By a remembered phone: it may read and answer alerts, and nothing else.


@dataclass(frozen=True)
class Visit:
    """One request of one member to one organisation."""

    act: Act
    place: Place
    person: Person
    frame: Frame
    only_answers: bool = False

    @property
    def today(self) -> dt.date:
        """The date by which people come and go here."""
        return self.place.day(self.act.now)

    @property
    def sight(self) -> Sight:
        """The sites that the visitor sees, each with its day."""
        return self.frame.sight

    @property
    def is_manager(self) -> bool:
        return self.person.role in MANAGERS

    @property
    def is_admin(self) -> bool:
        return self.person.role == Role.admin


@login.user_loader  # type: ignore[untyped-decorator]  # The same.
def load_principal(account_id: str) -> Principal | None:
    if not account_id.isdecimal():
        return None
    with transaction() as session:
        found, place = find_visitor(session, int(account_id), slug_of_address())
    if found is None:
        return None
    speak(found.locale)
    return Principal(found.account_id, found.name, place=place)


def slug_of_address() -> str | None:
    return (request.view_args or {}).get("slug")


def public(view: View) -> View:
    """Anybody may see it, signed in or not."""
    view.access = "public"  # type: ignore[attr-defined]
    return view


def signed_in(view: View) -> View:
    """Whoever is signed in may see it; it shows nothing of an organisation by itself."""
    guarded = cast(View, login_required(view))
    guarded.access = "signed in"  # type: ignore[attr-defined]
    return guarded


def signed_in_in_full(view: View) -> View:
    """The same, but a remembered phone is asked for the password."""

    @functools.wraps(view)
    def guarded(**values: Any) -> ResponseReturnValue:
        return cast(ResponseReturnValue, login.unauthorized()) if current_user.only_answers else view(**values)

    return signed_in(guarded)


def for_roles(*roles: Role, ahead: Callable[[], object] | None = None) -> Callable[[View], View]:
    """Only members with one of these roles; the view gets a Visit in place of `slug`.

    What takes long and needs no database is done `ahead`, for whoever may enter, before the transaction is opened:
    the view gets that, too.
    """

    def mark(view: View) -> View:
        @functools.wraps(view)
        def entered(slug: str, **values: Any) -> ResponseReturnValue:
            if current_user.only_answers and request.blueprint not in ANSWERING:
                return cast(ResponseReturnValue, login.unauthorized())
            place = current_user.place or abort(404)
            if ahead is not None:
                values["ahead"] = ahead() if may_enter(place, roles) else None
            with transaction(place.org, WEB) as session:
                visit = enter(session, place)
                if visit is not None and visit.person.role in roles:
                    answer = view(visit, **values)
                    note_look(visit)
                    return answer
                if visit is not None:
                    note_refusal(visit.act, ACCESS, {"route": request.endpoint, "method": request.method})
            return abort(404 if visit is None else 403)

        guarded = cast(View, login_required(entered))
        guarded.access = roles  # type: ignore[attr-defined]
        return guarded

    return mark


def note_look(visit: Visit) -> None:
    """What an inspector was shown is in the trail, with the address behind the organisation's."""
    if visit.person.role == Role.inspector and request.method == "GET":
        address = request.full_path.removeprefix(f"/o/{visit.place.slug}/").rstrip("?")
        visit.act.record("looked", address=address[:MOST_OF_ADDRESS])


def note_refusal(act: Act, type: str, what: Mapping[str, Any]) -> None:
    """What was refused is in the trail, the same once a minute: who tries all addresses does not fill it."""
    if not is_noted(act.session, act.org, act.now, act.actor, type, what):
        act.record(type, **what, path=request.path[:MOST_OF_ADDRESS])


def may_enter(place: Place, roles: Collection[Role]) -> bool:
    with transaction(place.org, WEB) as session:
        visit = enter(session, place)
        return visit is not None and visit.person.role in roles


def enter(session: Any, place: Place) -> Visit | None:
    """The visit of the person to the organisation that the transaction acts for, if they are a present member of it."""
    frame = read_frame(session, place, current_user.id, settings())
    if frame.person is None:
        return None
    speak(frame.person.locale)
    act = Act(session, place.org, frame.now, member_actor(frame.person.member_id))
    return Visit(act, place, frame.person, frame, current_user.only_answers)


def record_everywhere(account_id: int, type: str, **detail: Any) -> None:
    """An event of the login, in the trail of each organisation that has the person as a present member."""
    in_each_trail(account_id, lambda act, member: act.by(member_actor(member)).record(type, **detail))


def refused_everywhere(account_id: int) -> None:
    """Somebody has tried to sign in as this person. For an account that does not exist it looks in vain, as long."""
    in_each_trail(account_id, lambda act, member: note_refusal(act, SIGN_IN, {"member_id": member}))


def in_each_trail(account_id: int, note: Callable[[Act, int], None]) -> None:
    with transaction() as session:
        everywhere = places(session)
    for place in everywhere:
        with transaction() as session:
            now = clock.now(session, settings())
            act_for(session, place.org)
            person = find_person(session, place.org, account_id, place.day(now))
            if person:
                note(Act(session, place.org, now, STRANGER), person.member_id)


def refuse_unmarked_routes(app: Flask) -> None:
    """A route that names nobody does not start."""
    unmarked = [name for name, view in app.view_functions.items() if not hasattr(view, "access")]
    if unmarked:
        raise RuntimeError(f"these routes do not say who may see them: {', '.join(sorted(unmarked))}")
