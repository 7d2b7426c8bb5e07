"""The pages under gunicorn, in this process: it holds the embedded database until its last worker has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

REQUESTS_END_WITHIN = 4  # Seconds that a request may take once a stop is asked for; `onus up` has 10 for everything.


class Pages(BaseApplication):
    """Each worker makes an application of its own, so that no connection is shared between processes."""

    def __init__(self, make: Callable[[], Flask], host: str, port: int, workers: int) -> None:
        self.make = make
        self.given = {
            "bind": f"{host}:{port}",
            "workers": workers,
            "worker_class": "gthread",
            "threads": 4,
            "graceful_timeout": REQUESTS_END_WITHIN,
            "loglevel": "warning",
            "control_socket_disable": True,
            "proc_name": "onus web",
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self.given.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        return self.make()
