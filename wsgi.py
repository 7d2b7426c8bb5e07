"""The entry point of a WSGI server: `gunicorn wsgi:app`."""

from app import create_app
from app.config import Settings

app = create_app(Settings.from_env())
