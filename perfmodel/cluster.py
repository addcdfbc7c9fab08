"""A Dask scheduler and its workers: whether it answers, and whether their versions are ours."""

from __future__ import annotations

import asyncio
import logging
import platform
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from importlib import metadata
from typing import Any

from perfmodel.errors import MissingExtraError, SchedulerError, WorkerVersionError

#: A scheduler that does not answer so long is taken for gone [s].
ANSWERS_S = 5.0
#: The same for one that has answered before, and may have much to do [s].
LOST_S = 30.0
#: Must be the same on workers, so that they generate and count the same, and understand what they are asked.
SAME = ("perfmodel", "loopy", "islpy", "pyopencl")


def connected(address: str, timeout_s: float | None = None) -> Any:
    """Connect to a scheduler; by default it must answer in :data:`ANSWERS_S`.

    Returns
    -------
    distributed.Client
        Close it in the end; it is a context manager.

    Raises
    ------
    MissingExtraError
        Dask is not installed.
    SchedulerError
        The scheduler does not answer.
    """
    distributed, timeout_s = dask(), ANSWERS_S if timeout_s is None else timeout_s
    told = logging.getLogger("distributed")
    before = told.level
    told.setLevel(logging.CRITICAL)  # it repeats each attempt; the error below says it once
    try:
        with ThreadPoolExecutor(1) as thread:  # this one may run a loop of events already, as a notebook's does
            thread.submit(asyncio.run, _answered(address, timeout_s)).result()
        return distributed.Client(address, timeout=timeout_s, set_as_default=False)
    except asyncio.TimeoutError as error:
        raise SchedulerError(address, f"nothing in {timeout_s:g} s") from error
    except Exception as error:  # an address may be wrong in many ways, and a library for its protocol missing
        raise SchedulerError(address, " ".join(f"{error}".split()) or type(error).__name__) from error
    finally:
        told.setLevel(before)


async def _answered(address: str, timeout_s: float) -> None:
    """Wait for a scheduler's answer, for which a client would wait for ever once it is connected."""
    distributed = dask()
    security = distributed.Security().get_connection_args("client")
    async with distributed.rpc(address, timeout=timeout_s, connection_args=security) as scheduler:
        await asyncio.wait_for(scheduler.identity(), timeout_s)


def dask() -> Any:
    """Import Dask's scheduler of several processes.

    Raises
    ------
    MissingExtraError
        It is not installed.
    """
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("dask.distributed", "scale") from None
    return distributed


def address_of(client: Any) -> str:
    """Return the scheduler's address."""
    if client.scheduler is None:  # the client was closed, as after its scheduler was lost
        return str(client._start_arg)
    return str(client.scheduler.address)


@contextmanager
def asking(client: Any) -> Iterator[None]:
    """Turn what a lost scheduler raises in the block into an error that says so.

    Raises
    ------
    SchedulerError
        It does not answer any more.
    """
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        if problem := lost(client, error):
            raise problem from error
        raise


def lost(client: Any, error: BaseException) -> SchedulerError | None:
    """Return the error that says that the scheduler is lost, if this one of Dask's means that."""
    if client.scheduler is None:  # the client is closed, and finds that it has nobody to ask
        return SchedulerError(address_of(client), "the connection is lost")
    if isinstance(error, OSError | TimeoutError | asyncio.TimeoutError | CancelledError | asyncio.CancelledError):
        return SchedulerError(address_of(client), " ".join(str(error).split()) or "the connection is lost")
    return None


def workers_of(client: Any) -> dict[str, Any]:
    """Return what the scheduler says of each worker now, by its address.

    Raises
    ------
    SchedulerError
        It does not answer any more.
    """
    with asking(client):  # client.scheduler_info() returns what it knew, where the scheduler is lost
        found = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=LOST_S)
        return dict(found["workers"])


def check_versions(client: Any, workers: list[str]) -> None:
    """Refuse workers whose versions are not those of this process.

    They are asked by functions of Python's own library, which also a worker without perfmodel has.  One that is lost
    meanwhile is not judged.

    Raises
    ------
    WorkerVersionError
        Names the first such worker, and all that differs on it.
    SchedulerError
        The scheduler does not answer any more.
    """
    ours = {"Python": _minor(platform.python_version())} | {name: metadata.version(name) for name in SAME}
    theirs: dict[str, dict[str, str]] = {address: {} for address in workers}
    for name in ours:
        asked = (platform.python_version,) if name == "Python" else (metadata.version, name)
        with asking(client):
            answers = client.run(*asked, workers=list(theirs), on_error="return") if theirs else {}
        for address, answer in answers.items():
            if isinstance(answer, OSError | asyncio.TimeoutError):  # what Dask says of a worker that it cannot reach
                del theirs[address]
            else:
                theirs[address][name] = _said(answer) if name != "Python" else _minor(_said(answer))
    for address, found in theirs.items():
        wrong = tuple(f"{name} {found.get(name)} (here {own})" for name, own in ours.items() if found.get(name) != own)
        if wrong:
            raise WorkerVersionError(address, wrong)


def _said(answer: Any) -> str:
    """Put a worker's answer to the question for a version into words."""
    if isinstance(answer, metadata.PackageNotFoundError):
        return "not installed"
    return answer if isinstance(answer, str) else f"unknown: {answer!r}"


def _minor(version: str) -> str:
    """Return a version of Python without its last number."""
    return ".".join(version.split(".")[:2])
