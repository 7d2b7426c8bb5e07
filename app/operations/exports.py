"""What leaves in a file is on record: who took it, what was asked for, and how much there was."""

from __future__ import annotations

from collections.abc import Mapping

from app.trail.act import Act


def note_register(act: Act, format: str, scope: str, asked: Mapping[str, str], count: int) -> None:
    """The register was exported. `asked` are the filters as an address has them."""
    act.record("register_exported", format=format, scope=scope, filters=dict(asked), entries=count)
