"""Devices of a Dask scheduler's workers. One task measures each device, and this process writes its folder."""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from perfmodel import cluster, store
from perfmodel.calibration.calibrate import Kernels, measure_device, probe_device
from perfmodel.errors import BrokenDeviceError, SchedulerError, UnknownNameError, listed
from perfmodel.io import replace_file
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.lock import pin_threads
from perfmodel.measuring.run import packed
from perfmodel.opencl import Device, find
from perfmodel.progress import Progress, Silent, task
from perfmodel.store.lines import opened

Files = Mapping[str, bytes]  # contents of a device's folder by the names of its files


def measured_devices(
    client: Any, selectors: Sequence[str], folders: Path, campaign: Campaign, progress: Progress | None = None,
    kernels: Kernels = None, tests: Kernels = None,
) -> Iterator[Path]:  # fmt: skip
    """Probe and measure devices of a scheduler's workers, at the same time. Yield the folder of each finished device.

    `selectors` are the resources of workers to measure, by default all. `client` is a ``distributed.Client``. If a
    device's folder below `folders` has measurements already, the missing ones are added. A task that does not finish
    leaves the folder unchanged. Raise SchedulerError, VersionError, UnknownNameError or BrokenDeviceError if the
    scheduler, the versions of a worker or its device cannot be used. Raise SchedulerError also if a worker died, even
    if Dask started its task again.
    """
    workers = _chosen(client, selectors)
    cluster.check_versions(client, sorted({address for addresses in workers.values() for address in addresses}))
    pickled = [None if given is None else [packed(kernel) for kernel in given] for given in (kernels, tests)]
    found = {selector: _submitted(client, selector, find, selector) for selector in workers}
    measured: dict[Any, tuple[str, Path, Files]] = {}
    for selector, future in found.items():
        device = _result(client, selector, future)
        folder = folders / device.slug
        store.prepare(folder, device.facts)
        files: Files = read_files(folder)
        future = _submitted(client, selector, measure_files, selector, files, campaign, *pickled)
        measured[future] = selector, folder, files
    with task(progress or Silent(), "measuring on workers", len(measured)):
        for future in cluster.dask().as_completed(measured, loop=client.loop):
            selector, folder, files = measured[future]
            add_to(folder, files, _result(client, selector, future))
            (progress or Silent()).advance(selector)
            yield folder


def _chosen(client: Any, selectors: Sequence[str]) -> dict[str, list[str]]:
    workers, address = cluster.devices_of(client), cluster.address_of(client)
    start = f"""start one on its machine: dask worker {address} --nthreads 1 --resources "NAME=1", as "pocl=1\""""
    if not workers:
        raise SchedulerError(f"no worker of the Dask scheduler at '{address}' has a device as its resource", start)
    for selector in selectors:
        if selector not in workers:
            problem = f"no worker of the Dask scheduler at '{address}' has the resource '{selector}'"
            raise UnknownNameError(problem, f"the workers have: {listed(workers)}; choose one of them, or {start}")
    return {selector: workers[selector] for selector in selectors or workers}


def _submitted(client: Any, selector: str, function: Any, *arguments: Any) -> Any:
    with cluster.asking(client):
        return client.submit(function, *arguments, resources={selector: 1}, pure=False)


def _result(client: Any, selector: str, future: Any) -> Any:
    with cluster.asking(client):
        error = future.exception()
    if error is None:
        return future.result()
    if type(error).__name__ == "KilledWorker":
        problem = f"the workers with the device '{selector}' died while they measured on it"
        raise SchedulerError(problem, "calibrate it on its own machine, where a kernel may end a process") from error
    if isinstance(error, BrokenDeviceError | UnknownNameError):
        raise type(error)(f"a worker with the resource '{selector}': {error.problem}", error.advice) from error
    raise error


def measure_files(
    selector: str, files: Files, campaign: Campaign, kernels: list[bytes] | None, tests: list[bytes] | None
) -> dict[str, bytes]:
    """Probe and measure this worker's device in a temporary folder with the given files. Return the new files."""
    pin_threads()
    device: Device = find(selector)
    measured, tested = (None if given is None else [pickle.loads(each) for each in given] for given in (kernels, tests))
    with TemporaryDirectory(prefix="perfmodel-") as name:
        folder = Path(name)
        for file, content in files.items():
            replace_file(folder / file, content, durable=False)
        probe_device(device, folder, campaign)
        measure_device(device, folder, campaign, None, measured, tested)
        return read_files(folder)


def read_files(folder: Path) -> dict[str, bytes]:
    """Return by name the files of a device's folder that a campaign reads, without an incomplete last line."""
    names = (f"{part.removesuffix('.jsonl')}{end}" for part in _STORES for end in (".jsonl", ".plan.jsonl"))
    files = {name: (folder / name).read_bytes() for name in (*names, *_OTHERS) if (folder / name).is_file()}
    lines = {name: content[: content.rfind(b"\n") + 1] for name, content in files.items() if name.endswith(".jsonl")}
    return files | lines


_STORES = ("measurements.jsonl", store.TESTS_FILE, store.SAMPLES_FILE)
_OTHERS = ("probes.jsonl", "counts.jsonl", "counts.jsonl.xz", "device.json", "facts.yaml")


def add_to(folder: Path, before: Files, after: Files) -> None:
    """Append the lines that a task added to a folder's files."""
    for name, content in after.items():
        if name.endswith(".jsonl"):
            added = content[len(before.get(name, b"")) :]
            with opened(folder / name) as file:
                file.write(added)
