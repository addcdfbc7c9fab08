"""``perfmodel worker``: offer a device of this machine to campaigns that run elsewhere."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from perfmodel.cli.options import DeviceName, Json
from perfmodel.cli.output import print_document

Address = Annotated[str, typer.Argument(metavar="ADDRESS", help="Of a Dask scheduler, such as tcp://host:8786.")]

SCHEMA = "perfmodel.worker/1"

#: Dask's sampling of a worker's stack would disturb what is timed.
_SETTINGS = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}


def command(address: Address, device: DeviceName = None, json: Json = False) -> None:
    """Offer a device to 'perfmodel calibrate --scheduler ADDRESS': become a Dask worker that has it.

    It has one thread, and is started again by Dask where a kernel ends its process. Stop it with Ctrl-C.
    """
    from perfmodel.cluster import connected
    from perfmodel.measuring import pin_threads
    from perfmodel.measuring.workers.order import OWN_DEVICE
    from perfmodel.opencl import find

    connected(address).close()
    pin_threads()
    target = find(device)
    arguments = worker_arguments(address, target.slug)
    command = [sys.executable, "-m", "distributed.cli.dask_worker", *arguments]
    if json:
        print_document({"schema": SCHEMA, "device": target.name, "platform": target.platform, "slug": target.slug,
                        "index": target.index, "command": command})  # fmt: skip
    else:
        typer.echo(f"offering {target.name} ({target.platform}): dask worker {' '.join(arguments)}", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, command, {**_SETTINGS, **os.environ, OWN_DEVICE: str(target.index)})


def worker_arguments(address: str, slug: str) -> list[str]:
    """Return the arguments of ``dask worker`` for a device.

    Examples
    --------
    >>> " ".join(worker_arguments("tcp://host:8786", "nvidia-h200"))
    'tcp://host:8786 --nworkers 1 --nthreads 1 --memory-limit 0 --no-dashboard --resources perfmodel:nvidia-h200=1'
    """
    from perfmodel.measuring.workers.order import resource

    # Without a limit of memory: Dask would end a worker whose buffers fill most of it, and condemn a configuration.
    return [
        address, "--nworkers", "1", "--nthreads", "1", "--memory-limit", "0", "--no-dashboard",
        "--resources", f"{resource(slug)}=1",
    ]  # fmt: skip
