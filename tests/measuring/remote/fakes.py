"""A scheduler and workers by hand: they answer at once, in this process."""

from __future__ import annotations

import pickle
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from types import SimpleNamespace
from typing import Any

from perfmodel.errors import DeviceBusyError
from perfmodel.facts import DeviceFacts
from perfmodel.measuring.remote.workers import carry_out, describe, holder, resource

FACTS = DeviceFacts("H200", "NVIDIA CUDA", "570", ())
SLUG = FACTS.slug
ADDRESS = "tcp://scheduler:8786"


@dataclass
class Worker:
    """A worker: its devices, versions, and what comes of each task.

    That is batches of reports, and at the end True where the task returns, False where the worker dies, or an error.
    """

    slugs: tuple[str, ...] = (SLUG,)
    courses: list[tuple[list[tuple[str, tuple[Any, ...]]], bool | Exception]] = field(default_factory=list)
    versions: dict[str, str | None] = field(default_factory=dict)
    facts: DeviceFacts = FACTS
    lock: str = "a lock"
    described: Exception | None = None
    busy: list[DeviceBusyError] = field(default_factory=list)  # who has the device, while the task has not begun


class Queue:
    """Holds a batch for the caller until the task ends."""

    name = "a queue"

    def __init__(self, client: FakeClient) -> None:
        self.client = client
        client.queue = self
        self.batches: list[bytes] = []

    def get(self, batch: bool) -> list[bytes]:
        assert batch
        found, self.batches = self.batches, []
        return found

    def close(self) -> None:
        pass


class Future:
    """A task that ends at the first look, unless another campaign has the device."""

    def __init__(self, client: FakeClient, name: str) -> None:
        self.client, self.name, self.status = client, name, "pending"
        self.error: Exception | None = None

    def result(self, timeout: float) -> None:
        worker = self.client.workers.get(self.name)
        if worker is None or worker.busy:
            raise TimeoutError
        reports, end = worker.courses.pop(0) if worker.courses else ([], True)
        self.client.queue.batches.append(pickle.dumps(({}, reports)))
        if end is False:
            del self.client.workers[self.name]
            raise TimeoutError
        self.status = "finished" if end is True else "error"
        if end is not True:
            self.error = end
            raise end

    def exception(self) -> Exception | None:
        return self.error

    def done(self) -> bool:
        return self.status != "pending"

    def cancel(self) -> None:
        pass


class FakeClient:
    """Stands in for ``distributed.Client``."""

    def __init__(self, **workers: Worker) -> None:
        self.workers = workers
        self.asked: list[str] = []  # workers, one for each task
        self.queue: Any = None
        self.scheduler = SimpleNamespace(address=ADDRESS, identity=self._identity)

    def sync(self, function: Callable[..., Any], callback_timeout: float, **options: Any) -> Any:
        assert callback_timeout > 0
        return function(**options)

    def _identity(self, n_workers: int) -> dict[str, Any]:
        assert -1 == n_workers
        have = {name: {"resources": {resource(s): 1.0 for s in one.slugs}} for name, one in self.workers.items()}
        return {"workers": {**have, "plain": {"resources": {}}}}

    def submit(
        self, function: Callable[..., Any], *arguments: Any, workers: list[str], resources: dict[str, int],
        pure: bool, allow_other_workers: bool,
    ) -> Any:  # fmt: skip
        assert (False, False) == (pure, allow_other_workers)
        (name,) = workers
        assert set(resources) <= {resource(slug) for slug in self.workers[name].slugs}
        assert function is carry_out
        self.asked.append(name)
        return Future(self, name)

    def run(self, function: Any, *arguments: str, workers: list[str], **options: str) -> dict[str, Any]:
        if function is holder:
            return {name: self.workers[name].busy.pop(0) for name in workers}
        assert function is describe
        return {name: self._described(name) for name in workers}

    def get_versions(self, packages: tuple[str, ...]) -> dict[str, Any]:
        """As of Dask: a worker that is lost is left out."""
        ours = {"python": f"{platform.python_version()}.final.0", **{name: metadata.version(name) for name in packages}}
        workers = {name: {"packages": ours | one.versions} for name, one in self.workers.items() if not one.described}
        return {"client": {"packages": ours}, "workers": workers}

    def _described(self, name: str) -> Any:
        worker = self.workers.get(name)
        return OSError("lost") if worker is None else worker.described or (0, worker.facts, worker.lock)
