"""A Dask scheduler and its workers: whether it answers, and whether their versions are ours."""

from __future__ import annotations

import asyncio
import logging
import platform
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from typing import Any

from perfmodel.errors import MissingExtraError, SchedulerError, WorkerVersionError

#: A scheduler that does not answer so long is taken for gone [s].
ANSWERS_S = 5.0
#: Must be the same on workers, so that they generate and count the same, and understand what they are asked.
SAME = ("perfmodel", "loopy", "islpy", "pyopencl")


def connected(address: str, timeout_s: float = ANSWERS_S) -> Any:
    """Connect to a scheduler.

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
    distributed = dask()
    told = logging.getLogger("distributed")
    before = told.level
    told.setLevel(logging.CRITICAL)  # it repeats each attempt; the error below says it once
    try:
        with ThreadPoolExecutor(1) as thread:  # this one may run a loop of events already, as a notebook's does
            thread.submit(asyncio.run, _answered(address, timeout_s)).result()
        return distributed.Client(address, timeout=timeout_s, set_as_default=False)
    except asyncio.TimeoutError as error:
        raise SchedulerError(address, f"nothing in {timeout_s:g} s") from error
    except (OSError, ValueError) as error:
        raise SchedulerError(address, str(error)) from error
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
    return str(client.scheduler.address)


def check_versions(client: Any, workers: list[str]) -> None:
    """Refuse workers whose versions are not those of this process.

    They are asked by functions of Python's own library, which also a worker without perfmodel has.

    Raises
    ------
    WorkerVersionError
        Names the first such worker, and all that differs on it.
    """
    ours = {"Python": ".".join(platform.python_version_tuple()[:2])}
    theirs: dict[str, dict[str, str]] = {address: {} for address in workers}
    for address, found in client.run(platform.python_version, workers=workers).items():
        theirs[address]["Python"] = ".".join(found.split(".")[:2])
    for name in SAME:
        ours[name] = metadata.version(name)
        for address, found in client.run(metadata.version, name, workers=workers, on_error="return").items():
            theirs[address][name] = found if isinstance(found, str) else "not installed"
    for address, found in theirs.items():
        wrong = tuple(f"{name} {found.get(name)} (here {own})" for name, own in ours.items() if found.get(name) != own)
        if wrong:
            raise WorkerVersionError(address, wrong)
