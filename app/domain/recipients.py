"""Recipients of a rule: the routes by which it finds whom to tell, as text.

Must not look anybody up: whether the post or the member exists is for `app/operations` to say.
"""

from dataclasses import dataclass

from app.domain.acts import Role
from app.domain.errors import Phrase, Refused, quoted
from app.domain.folding import clean_text, fold_address, fold_name

OWNER, HOLDER, POST, ROLE, MEMBER = "owner", "holder", "post", "role", "member"
FORMS = Phrase("owner, holder, post:NAME, role:ROLE or member:EMAIL")
LONGEST_POST = 200  # Characters of the name of a post: a line on a screen.


@dataclass(frozen=True)
class Recipient:
    """One route: `owner` and `holder` alone, `post`, `role` and `member` with a name."""

    route: str
    name: str | None

    @property
    def text(self) -> str:
        """The canonical text: two spellings of one recipient give the same."""
        return self.route if self.name is None else f"{self.route}:{self.name}"


def parse(text: str) -> Recipient:
    """Read a recipient: ends are trimmed, an address is folded. Raises Refused with the right form."""
    route, colon, name = (part.strip() for part in text.partition(":"))
    if route in {OWNER, HOLDER} and not colon:
        return Recipient(route, None)
    if route not in {POST, ROLE, MEMBER} or not name:
        raise Refused("%(text)s is not a recipient: write %(forms)s.", text=quoted(text), forms=FORMS)
    if route == MEMBER:
        return Recipient(route, fold_address(name))
    if route == POST:
        return Recipient(route, fold_name(clean_text(name, "The name of the post", LONGEST_POST)))
    if name not in set(Role):
        raise Refused("%(text)s is not a role: write one of %(codes)s.", text=quoted(name), codes=", ".join(Role))
    return Recipient(route, name)
