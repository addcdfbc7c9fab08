"""A Dask scheduler and its workers: whether it answers, and whether their versions are ours."""

from __future__ import annotations

import asyncio
import logging
import platform
import ssl
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from perfmodel.errors import MissingExtraError, SchedulerError, TlsError, WorkerVersionError

#: A scheduler that does not answer so long is taken for gone [s].
ANSWERS_S = 5.0
#: The same for one that has answered before, and may have much to do [s].
LOST_S = 30.0
#: Must be the same on workers, so that they generate and count the same, and understand what they are asked.
SAME = ("perfmodel", "loopy", "islpy", "pyopencl")


def connected(address: str, timeout_s: float | None = None, security: Any = None) -> Any:
    """Connect to a scheduler; by default it must answer in :data:`ANSWERS_S`.

    Parameters
    ----------
    address : str
        As ``tcp://host:8786``, or ``tls://host:8786``.
    timeout_s : float, optional
        How long to wait for an answer [s].
    security : distributed.Security, optional
        Certificates (:func:`secured`); those of Dask's configuration by default.

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
    TlsError
        It answers by TLS only, and not with these certificates.
    """
    distributed, timeout_s = dask(), ANSWERS_S if timeout_s is None else timeout_s
    security = security or secured(address)
    told = logging.getLogger("distributed")
    before = told.level
    told.setLevel(logging.CRITICAL)  # it repeats each attempt; the error below says it once
    try:
        with ThreadPoolExecutor(1) as thread:  # this one may run a loop of events already, as a notebook's does
            thread.submit(asyncio.run, _answered(address, timeout_s, security)).result()
        return distributed.Client(address, timeout=timeout_s, set_as_default=False, security=security)
    except asyncio.TimeoutError as error:
        raise SchedulerError(address, f"nothing in {timeout_s:g} s") from error
    except Exception as error:  # an address may be wrong in many ways, and a library for its protocol missing
        if address.startswith("tls://") and (refused := _refused_by_tls(error)):
            raise TlsError(address, refused) from error
        raise SchedulerError(address, " ".join(f"{error}".split()) or type(error).__name__) from error
    finally:
        told.setLevel(before)


async def _answered(address: str, timeout_s: float, security: Any) -> None:
    """Wait for a scheduler's answer, for which a client would wait for ever once it is connected."""
    arguments = security.get_connection_args("client")
    async with dask().rpc(address, timeout=timeout_s, connection_args=arguments) as scheduler:
        await asyncio.wait_for(scheduler.identity(), timeout_s)


def secured(address: str, **files: Path | None) -> Any:
    """Return the certificates for a scheduler, in a way that shows whether they can be used.

    Parameters
    ----------
    address : str
        Of the scheduler; certificates are needed for ``tls://``.
    **files : Path, optional
        ``tls_ca_file``, ``tls_worker_cert`` and ``tls_worker_key``; without one, Dask's configuration names it.  Where
        any is given the worker's are shown to the scheduler, else a client's.

    Returns
    -------
    distributed.Security
        Of a worker and of a client alike.

    Raises
    ------
    MissingExtraError
        Dask is not installed.
    TlsError
        ``tls://`` without a file, or with one that is missing or of no use.
    """
    given = {name: str(file) for name, file in files.items() if file is not None}
    security = dask().Security(**given)
    if files:
        security.tls_client_cert, security.tls_client_key = security.tls_worker_cert, security.tls_worker_key
    if not address.startswith("tls://"):
        return security
    authority, cert, key = security.tls_ca_file, security.tls_client_cert, security.tls_client_key
    if not (authority and cert):
        raise TlsError(address, f"no {'certificate' if authority else 'certificate authority'} is given")
    for file in (authority, cert, key):
        if file and "\n" not in file and not Path(file).is_file():  # Dask takes the text of a file too
            raise TlsError(address, f"there is no file '{file}'")
    try:
        security.get_connection_args("client")
    except (OSError, ValueError) as error:
        shown = " and ".join(f"'{file}'" for file in (cert, key) if file and "\n" not in file)
        problem = f"{shown or 'what is given'} cannot be used with the certificates of authorities ({error})"
        raise TlsError(address, problem) from error
    return security


def _refused_by_tls(error: BaseException) -> str:
    """Return what TLS found wrong, if that is behind an error; else an empty text.

    Under TLS 1.3 a client learns only after its side of the handshake that its certificate is refused.  Which error
    that is depends on what it does meanwhile: TLS's own, one that a closed stream holds, or a connection that is reset.
    """
    cause: BaseException | None = error
    while cause is not None:
        real = getattr(cause, "real_error", None) or cause
        if isinstance(real, ssl.SSLError | ConnectionResetError | BrokenPipeError):
            return f"the certificates of one side were refused ({' '.join(str(real).split())})"
        cause = cause.__cause__ or cause.__context__
    return ""


def reached_from(client: Any) -> tuple[str, str]:
    """Return by which protocol, and from which address of this machine, a client reaches its scheduler.

    Returns
    -------
    tuple of str
        As ``("tcp", "127.0.0.1")``.
    """
    from distributed.comm.addressing import get_address_host

    local = client.scheduler_comm.comm.local_address
    return local.partition("://")[0], get_address_host(local)


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
