"""The scripted mail server of `smtp_server.py` with one thing more: it notes each fault that it makes.

python -m tests.chaos.noting --log LOG --script SCRIPT
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from tests.chaos.smtp_server import Log, Script, serve


class Noting(Script):
    """A script that writes down whatever it does but what a good server does."""

    def __init__(self, path: Path, log: Log) -> None:
        super().__init__(path)
        self.log = log

    def deed(self, point: str, address: str = "") -> str:
        deed = super().deed(point, address)
        if deed != "ok":
            self.log.write("fault", session=0, point=point, deed=deed)
        return deed


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted mail server that notes its faults.")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--script", type=Path, required=True)
    given = parser.parse_args()
    log = Log(given.log)
    asyncio.run(serve(0, log, Noting(given.script, log)))


if __name__ == "__main__":
    main()
