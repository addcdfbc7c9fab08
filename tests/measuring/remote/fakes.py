"""A scheduler and workers by hand: they answer at once, in this process."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from types import SimpleNamespace
from typing import Any

from perfmodel.facts import DeviceFacts
from perfmodel.measuring.remote.bench import WorkerSide, describe, resource

#: Value and error, or None.
Answer = tuple[Any, Exception | None] | None

FACTS = DeviceFacts("H200", "NVIDIA CUDA", "570", ())
SLUG = FACTS.slug
ADDRESS = "tcp://scheduler:8786"


@dataclass
class Worker:
    """A worker: its devices, versions, and what comes of each task: a value with an error; None: it dies of it."""

    slugs: tuple[str, ...] = (SLUG,)
    answers: list[Answer | Exception] = field(default_factory=list)
    versions: dict[str, str | None] = field(default_factory=dict)
    facts: DeviceFacts = FACTS
    lock: str = "a lock"
    described: Exception | None = None
    opens: Exception | None = None  # what opening its device raises


class Future:
    """An exception as an answer is raised on the worker."""

    def __init__(self, answer: Answer | Exception) -> None:
        self.answer = answer
        self.status = "pending" if answer is None else "error" if isinstance(answer, Exception) else "finished"

    def result(self, timeout: float) -> Answer:
        if self.answer is None:
            raise TimeoutError
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def exception(self) -> Answer | Exception:
        return self.answer

    def done(self) -> bool:
        return self.answer is not None

    def cancel(self) -> None:
        pass

    def release(self) -> None:
        pass


@dataclass
class Bench:
    """The future of a bench on a worker."""

    worker: str
    error: Exception | None

    @property
    def status(self) -> str:
        return "error" if self.error else "finished"

    def exception(self) -> Exception | None:
        return self.error


class FakeClient:
    """Stands in for ``distributed.Client``."""

    def __init__(self, **workers: Worker) -> None:
        self.workers = workers
        self.asked: list[str] = []
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
        worker = self.workers[name]
        assert set(resources) <= {resource(slug) for slug in worker.slugs}
        if function is WorkerSide:
            return Bench(name, worker.opens)
        assert name == arguments[0].worker
        self.asked.append(name)
        answer = worker.answers.pop(0) if worker.answers else (f"by {name}", None)
        if answer is None:
            del self.workers[name]
        return Future(answer)

    def run(self, function: Any, *arguments: str, workers: list[str], **options: str) -> dict[str, Any]:
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
