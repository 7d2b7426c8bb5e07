"""The words of `app/words.py`, and of answers, for templates."""

from __future__ import annotations

from flask import Flask

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
    filters = {"day": day, "weekday": weekday, "moment": moment, "word": word, "before": before, "days_left": days_left}
    app.jinja_env.filters.update(
        filters,
        local_day=local_day,
        every=every,
        lasting=lasting,
        noted=noted,
        unended=unended,
        month_name=month_name,
        answered=answered,
    )
