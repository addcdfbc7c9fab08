"""A Dask scheduler: the connection to it, the devices of its workers, and whether their versions match this process."""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from perfmodel.errors import SchedulerError, VersionError, optional
from perfmodel.values import grouped

ANSWERS_S = 5.0  # a scheduler must answer within this time [s]
SAME = ("perfmodel", "loopy", "islpy", "pyopencl")
"""Packages whose versions must be equal on workers, so that these generate and count the same code."""


def dask() -> Any:
    """Import Dask's package for several processes, or raise MissingExtraError."""
    return optional("distributed", "scale")


def connected(address: str, timeout_s: float = ANSWERS_S) -> Any:
    """Return a ``distributed.Client``, which the caller closes. Certificates come from Dask's configuration."""
    client, log = dask().Client, logging.getLogger("distributed")
    before = log.level
    log.setLevel(logging.CRITICAL)  # Dask logs each attempt; the error below reports the failure once
    try:
        with ThreadPoolExecutor(1) as thread:  # the calling thread may already run an event loop, as in a notebook
            thread.submit(asyncio.run, _wait_for_answer(address, timeout_s)).result()
        return client(address, timeout=timeout_s, set_as_default=False)
    except asyncio.TimeoutError as error:
        raise no_answer(address, f"no answer in {timeout_s:g} s") from error
    except Exception as error:  # a wrong address or a missing library of its protocol raises errors of many types
        raise no_answer(address, " ".join(f"{error}".split()) or type(error).__name__) from error
    finally:
        log.setLevel(before)


async def _wait_for_answer(address: str, timeout_s: float) -> None:
    """Wait for a scheduler's answer for a limited time. A connected client would wait for ever."""
    arguments = dask().Security().get_connection_args("client")
    async with dask().rpc(address, timeout=timeout_s, connection_args=arguments) as scheduler:
        await asyncio.wait_for(scheduler.identity(), timeout_s)


def no_answer(address: str, problem: str) -> SchedulerError:
    """Return the error for a scheduler that does not answer."""
    problem = f"the Dask scheduler at '{address}' does not answer: {problem}"
    advice = "give the address that 'dask scheduler' prints, such as tcp://host:8786, and run this again"
    return SchedulerError(problem, advice)


def address_of(client: Any) -> str:
    """Return the scheduler's address, also after the client lost it."""
    return str(client._start_arg if client.scheduler is None else client.scheduler.address)


@contextmanager
def asking(client: Any) -> Iterator[None]:
    """Raise a SchedulerError if the scheduler is lost in the block."""
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        closed = client.scheduler is None
        if closed or isinstance(error, OSError | asyncio.TimeoutError | CancelledError | asyncio.CancelledError):
            problem = "" if closed else " ".join(str(error).split())
            raise no_answer(address_of(client), problem or "the connection is lost") from error
        raise


def devices_of(client: Any) -> dict[str, list[str]]:
    """Return the resources of all workers, each with its workers' addresses. Resources are names of devices."""
    with asking(client):
        workers = client.sync(client.scheduler.identity, n_workers=-1)["workers"]
    resources = ((address, *one) for address, worker in workers.items() for one in worker["resources"].items())
    return grouped(sorted((name, address) for address, name, number in resources if number >= 1))


def check_versions(client: Any, workers: Iterable[str]) -> None:
    """Raise a VersionError for the first worker with other versions than this process."""
    with asking(client):
        answers = client.get_versions(packages=SAME)
    here = _versions(answers["client"])
    for address in workers:
        there = _versions(answers["workers"][address]) if address in answers["workers"] else here
        if wrong := [f"{name} {there[name]} (here {version})" for name, version in here.items()
                     if there[name] != version]:  # fmt: skip
            problem = f"the worker {address} has other versions: {', '.join(wrong)}; its code and counts may differ"
            advice = "install the same versions there, or run this in an environment like the worker's"
            raise VersionError(problem, advice)


def _versions(answer: dict[str, Any]) -> dict[str, str]:
    packages = answer["packages"]
    python = ".".join(packages["python"].split(".")[:2])
    return {"Python": python} | {name: packages[name] or "not installed" for name in SAME}
