"""The signed session cookie. Its key is made or read at the first request, so that commands need none."""

from __future__ import annotations

from flask import Flask, Request
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface

from app.config import Settings


class Cookies(SecureCookieSessionInterface):
    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        if app.secret_key is None:
            app.secret_key = self.settings.session_key()
        return super().open_session(app, request)
