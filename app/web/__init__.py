"""The pages. Thin views: parse, authorise, call one function, render."""

from __future__ import annotations

from flask import Flask

from app.web import front


def register(app: Flask) -> None:
    app.register_blueprint(front.pages)
