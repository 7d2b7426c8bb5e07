"""Which post is above which: its holders are told of what is nobody's. Loops are refused, so that a chain ends."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select

from app.domain.errors import Refused, quoted
from app.ledger.queue import changed
from app.models import Post
from app.trail.act import Act
from app.wording import later


def set_post_above(act: Act, post_id: int, above_id: int | None) -> bool:
    """Let this post be the one above, or none. Raises Refused where the post would be above itself in the end.

    All posts are locked in one order, so that two who set one above the other at once take turns.
    """
    query = select(Post).where(Post.org_id == act.org).order_by(Post.id).with_for_update()
    posts = {post.id: post for post in act.session.scalars(query.execution_options(populate_existing=True))}
    post = posts[post_id]
    if above_id is not None:
        check_ends(posts, post, posts[above_id])
    if (old := post.above_id) == above_id:
        return False
    post.above_id = above_id
    changed(act)
    act.record("post_above_set", post_id=post_id, old=old, new=above_id)
    return True


def check_ends(posts: dict[int, Post], post: Post, above: Post) -> None:
    """Raise Refused, with the whole chain in words, if it leads from the post above back to the post."""
    if above is post:
        raise Refused("%(post)s cannot be above itself: choose another post.", post=quoted(post.name))
    chain = [above]
    while chain[-1].above_id is not None:
        chain.append(posts[chain[-1].above_id])
        if chain[-1] is post:
            raise _circle([quoted(one.name) for one in chain])


def _circle(names: Sequence[str]) -> Refused:
    """Each of these posts is under the next."""
    *lower, last = names[1:]
    under: str | Refused = last
    for name in reversed(lower):
        under = Refused("%(post)s, which is under %(above)s", post=name, above=under)
    words = later("%(post)s is under %(above)s, so it cannot be above it: choose another post, or none.")
    return Refused(words, post=names[0], above=under)
