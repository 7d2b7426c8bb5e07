"""The front page says what runs, and `/healthz` says it to machines. Neither shows anything of an organisation."""

from __future__ import annotations

from flask import Blueprint

pages = Blueprint("front", __name__)
