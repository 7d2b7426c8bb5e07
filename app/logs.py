"""Logs: JSON lines on stderr, constant messages with ids as fields; stdout belongs to the results of commands.

Never addresses, names, tokens or bodies.
"""

from __future__ import annotations

import logging
import sys

import structlog


def configure() -> None:
    """Send our own log, and what the libraries have to complain about, to stderr. Again changes nothing."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
