"""The words of `app/words.py`, and of answers, for templates."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flask import Flask
from jinja2 import pass_context
from jinja2.runtime import Context

from app.web.answer_words import answered
from app.words import (
    before,
    day,
    days_left,
    every,
    lasting,
    local_day,
    moment,
    month_name,
    noted,
    unended,
    weekday,
    word,
)


def register(app: Flask) -> None:
    for words in (
        day, weekday, moment, month_name, word, before, days_left, local_day, every, lasting, noted, unended, answered,
    ):  # fmt: skip
        app.jinja_env.filters[words.__name__] = said_anew(words)


def said_anew(words: Callable[..., str]) -> Callable[..., str]:
    """As a filter that is asked each time. Of a constant, Jinja would keep the words of whoever came first."""

    @functools.wraps(words)
    def asked(_: Context, *given: Any, **named: Any) -> str:
        return words(*given, **named)

    return pass_context(asked)
