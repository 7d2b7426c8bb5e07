"""One cluster, one zygote and one mail server for each process that runs these tests; a database for each test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests.chaos.cluster import Cluster
from tests.chaos.mail import mail_server
from tests.chaos.scene import Scene
from tests.chaos.workers import Nursery


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with contextlib.closing(Cluster()) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with contextlib.closing(Nursery(tmp_path_factory.mktemp("workers"))) as nursery:
        yield nursery


@pytest.fixture
def scene(
    cluster: Cluster, nursery: Nursery, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Scene]:
    """A database and a mail server of the test's own; no worker outlives it."""
    folder = tmp_path_factory.mktemp("mail")
    with mail_server(folder) as mail, contextlib.closing(Scene(cluster, mail, nursery, f"chaos_{folder.name}")) as made:
        try:
            yield made
        finally:
            nursery.end()
