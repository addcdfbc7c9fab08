"""``perfmodel worker``: offer a device of this machine to campaigns that run elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from perfmodel.cli.options import DeviceName
from perfmodel.cli.output import print_document
from perfmodel.errors import OptionError

Address = Annotated[str, typer.Argument(metavar="ADDRESS", help="Of a Dask scheduler, such as tcp://host:8786.")]
Listen = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="IP address of this machine to listen on, 0.0.0.0 or :: for all of them. "
        "By default only the one that reaches the scheduler: 127.0.0.1 for tcp://127.0.0.1:8786.",
    ),
]
Authority = Annotated[Path | None, typer.Option(metavar="FILE", help="Certificates of authorities, for tls:// (PEM).")]
Certificate = Annotated[Path | None, typer.Option(metavar="FILE", help="This worker's certificate, for tls:// (PEM).")]
Key = Annotated[Path | None, typer.Option(metavar="FILE", help="The certificate's private key, for tls:// (PEM).")]

SCHEMA = "perfmodel.worker/1"
WORKER_CLASS = "perfmodel.measuring.remote.device_worker.DeviceWorker"

#: Dask's sampling of a worker's stack would disturb what is timed.
_SETTINGS = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}


def command(
    address: Address, device: DeviceName = None, listen: Listen = None, tls_ca_file: Authority = None,
    tls_cert: Certificate = None, tls_key: Key = None, json: bool = False,
) -> None:  # fmt: skip
    """Offer a device to 'perfmodel calibrate --scheduler ADDRESS': become a Dask worker that has it.

    It has one thread, and is started again by Dask where a kernel ends its process. Stop it with Ctrl-C.
    Whoever can connect to it can run programs as you, unless the scheduler's address is tls://.
    """
    from perfmodel.cluster import connected, reached_from, secured
    from perfmodel.measuring import pin_threads
    from perfmodel.measuring.remote.devices import OWN_DEVICE
    from perfmodel.opencl import find

    files = {"--tls-ca-file": tls_ca_file, "--tls-cert": tls_cert, "--tls-key": tls_key}
    _check(address, listen, files)
    security = secured(address, tls_ca_file=tls_ca_file, tls_worker_cert=tls_cert, tls_worker_key=tls_key)
    with connected(address, security=security) as client:
        protocol, host = reached_from(client)
    if protocol not in ("tcp", "tls"):
        raise OptionError(f"'{address}' is an address of {protocol}", "give the scheduler's one of tcp:// or tls://")
    host = listen or host
    pin_threads()
    target = find(device)
    arguments = worker_arguments(address, target.slug, host, files)
    command = [sys.executable, "-m", "distributed.cli.dask_worker", *arguments]
    if json:
        print_document({
            "schema": SCHEMA, "device": target.name, "platform": target.platform, "slug": target.slug,
            "index": target.index, "listen": host, "encrypted": protocol == "tls", "command": command,
        })  # fmt: skip
    else:
        typer.echo(f"offering {target.name} ({target.platform}): dask worker {' '.join(arguments)}", err=True)
        typer.echo(_heard(host, protocol), err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, command, {**_SETTINGS, **os.environ, OWN_DEVICE: str(target.index)})


def worker_arguments(address: str, slug: str, host: str, files: Mapping[str, Path | None]) -> list[str]:
    """Return the arguments of ``dask worker`` for a device.

    Parameters
    ----------
    address, slug : str
        The scheduler's address, and the device.
    host : str
        IP address to listen on.
    files : mapping
        The files for TLS, by their options.

    Examples
    --------
    >>> arguments = worker_arguments("tcp://host:8786", "nvidia-h200", "192.168.1.5", {})
    >>> " ".join(arguments[:3])
    'tcp://host:8786 --host 192.168.1.5'
    >>> " ".join(arguments[5:])
    '--nworkers 1 --nthreads 1 --memory-limit 0 --no-dashboard --resources perfmodel:nvidia-h200=1'
    """
    from perfmodel.measuring.remote.devices import resource

    # Without a limit of memory: Dask would end a worker whose buffers fill most of it, and condemn a configuration.
    return [
        address, "--host", f"[{host}]" if ":" in host else host, "--worker-class", WORKER_CLASS,
        "--nworkers", "1", "--nthreads", "1", "--memory-limit", "0", "--no-dashboard",
        *(text for option, file in files.items() if file is not None for text in (option, str(file))),
        "--resources", f"{resource(slug)}=1",
    ]  # fmt: skip


def _check(address: str, listen: str | None, files: Mapping[str, Path | None]) -> None:
    """Refuse options that cannot be meant.

    Raises
    ------
    OptionError
        Files for TLS with an address without it, or an address to listen on that is none of this machine.
    """
    given = [option for option, file in files.items() if file is not None]
    if given and not address.startswith("tls://"):
        told = f"{' and '.join(given)} {'was' if len(given) == 1 else 'were'} given with the address '{address}'"
        raise OptionError(told, "give the scheduler's address with tls:// before it, as tls://host:8786")
    if listen is None:
        return
    import asyncio
    from ipaddress import ip_address

    async def listened() -> None:
        (await asyncio.start_server(lambda *_: None, listen, 0)).close()

    try:
        ip_address(listen)
        asyncio.run(listened())
    except (OSError, ValueError) as error:
        advice = "give one, as 192.168.1.5, or leave it out to listen on the one that reaches the scheduler"
        raise OptionError(f"--listen '{listen}' is no IP address of this machine ({error})", advice) from error


def _heard(host: str, protocol: str) -> str:
    """Say in one line who can connect to a worker that listens on an address."""
    from ipaddress import ip_address

    where = "all addresses of this machine" if ip_address(host).is_unspecified else host
    if protocol == "tls":
        return f"listening on {where} by TLS: who has a certificate of the same authority can run programs as you"
    return (
        f"listening on {where}, neither encrypted nor authenticated: who can connect there can run programs as you; "
        "TLS prevents that (--tls-ca-file, --tls-cert, --tls-key)"
    )
