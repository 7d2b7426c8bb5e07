"""A cache that keeps the signature of what it wraps, so that mypy still checks every call.

Must wrap only pure functions with hashable arguments.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def cached(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Remember the results of the last `maxsize` different calls; exceptions are not remembered."""

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        return cast("Callable[P, R]", lru_cache(maxsize=maxsize)(function))

    return wrap
