"""A Dask cluster on this machine whose one worker has the device of the tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from perfmodel.cluster import connected
from perfmodel.measuring.remote.workers import resource
from tests.machine import device


@contextmanager
def cluster(workers: int = 1, resources: dict[str, int] | None = None, **options: Any) -> Iterator[Any]:
    """Give a client of a cluster whose workers are started again when they die; Dask's options may be given."""
    from distributed import LocalCluster

    given = {resource(device().slug): 1} if resources is None else resources
    with (
        TemporaryDirectory() as folder,  # for locks: a campaign beside this test is not waited for
        LocalCluster(
            n_workers=workers, threads_per_worker=1, resources=given, memory_limit=0, silence_logs=100,
            env={"TMPDIR": folder}, **{"dashboard_address": "127.0.0.1:0", "host": "127.0.0.1", **options},
        ) as found,
        connected(found.scheduler_address, security=options.get("security")) as client,
    ):  # fmt: skip
        yield client


def process_of_worker(client: Any) -> int:
    """Return the id of the one worker's process."""
    (process,) = client.run(os.getpid).values()
    return int(process)
