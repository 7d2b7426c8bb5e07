"""What the pages of the calendar share: the blueprint, and who sees them."""

from __future__ import annotations

from flask import Blueprint

from app.domain.acts import Role

pages = Blueprint("calendar", __name__)

EVERYBODY = tuple(Role)  # Inspectors, too: an address is their own way of reading, and changes nothing of the register.
