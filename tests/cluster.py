"""A Dask cluster on this machine whose workers have resources."""

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from distributed import LocalCluster

from perfmodel.cluster import connected


@contextmanager
def cluster(workers: int = 1, resources: dict[str, int] | None = None) -> Iterator[Any]:
    """Provide a client of a cluster that replaces workers which die."""
    with (
        TemporaryDirectory() as folder,  # for locks: a campaign on this machine does not delay the test
        LocalCluster(
            n_workers=workers, threads_per_worker=1, resources=resources or {}, memory_limit=0, silence_logs=100,
            env={"TMPDIR": folder}, dashboard_address="127.0.0.1:0", host="127.0.0.1",
        ) as made,
        connected(made.scheduler_address) as client,
    ):  # fmt: skip
        yield client
