"""One cluster, one zygote and one mail server for each process that runs these tests; a database for each test."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

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


NewScene = Callable[[], contextlib.AbstractContextManager[Scene]]


@pytest.fixture
def new_scene(cluster: Cluster, nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> NewScene:
    """Makes a database and a mail server of their own; no worker outlives them."""

    @contextlib.contextmanager
    def made() -> Iterator[Scene]:
        folder = tmp_path_factory.mktemp("mail")
        with (
            mail_server(folder) as mail,
            contextlib.closing(Scene(cluster, mail, nursery, f"chaos_{folder.name}")) as one,
        ):
            try:
                yield one
            finally:
                nursery.end()

    return made


@pytest.fixture
def scene(new_scene: NewScene) -> Iterator[Scene]:
    with new_scene() as made:
        yield made
