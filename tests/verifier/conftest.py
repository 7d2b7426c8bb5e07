"""A file in which a bundle is put, and the verdict on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.verifier import judge
from tests.verifier.bundles import VKEY

Judge = Callable[..., dict[str, Any]]


@pytest.fixture
def verdict_on(tmp_path: Path) -> Judge:
    """The verdict on the bytes of a bundle, with keys and with the texts (or bundles) that were kept."""

    def verdict_on(bundle: bytes, *kept: bytes | str, keys: tuple[str, ...] = (VKEY,)) -> dict[str, Any]:
        (tmp_path / "bundle.zip").write_bytes(bundle)
        paths = [tmp_path / f"kept-{number}" for number in range(len(kept))]
        for path, content in zip(paths, kept, strict=True):
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return judge(str(tmp_path / "bundle.zip"), keys, map(str, paths))

    return verdict_on
