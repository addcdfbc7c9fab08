"""A Dask cluster on this machine whose one worker has the device of the tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from distributed import LocalCluster
from distributed.diagnostics.plugin import WorkerPlugin

from perfmodel.cluster import connected
from perfmodel.measuring.remote.workers import resource
from tests.machine import device


class QuietMachine(WorkerPlugin):  # type: ignore[misc]
    """No load in a worker's process: what others do on this machine changes no test."""

    def setup(self, worker: Any) -> None:
        from perfmodel.measuring import load

        load.reading = lambda: None


@contextmanager
def cluster(workers: int = 1, resources: dict[str, int] | None = None, **options: Any) -> Iterator[Any]:
    """Give a client of a cluster whose workers are started again when they die; Dask's options may be given."""
    given = {resource(device().slug): 1} if resources is None else resources
    with (
        TemporaryDirectory() as folder,  # for locks: a campaign beside this test is not waited for
        LocalCluster(
            n_workers=workers, threads_per_worker=1, resources=given, memory_limit=0, silence_logs=100,
            env={"TMPDIR": folder}, **{"dashboard_address": "127.0.0.1:0", "host": "127.0.0.1", **options},
        ) as found,
        connected(found.scheduler_address, security=options.get("security")) as client,
    ):  # fmt: skip
        client.register_plugin(QuietMachine())
        yield client


def process_of_worker(client: Any) -> int:
    """Return the id of the one worker's process."""
    (process,) = client.run(os.getpid).values()
    return int(process)
