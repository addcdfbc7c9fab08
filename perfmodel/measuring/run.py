"""One call of a campaign, from waiting for the device to the report of what the budget left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perfmodel import store as stored
from perfmodel.documents import require
from perfmodel.kernels import KernelClass
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.campaign import DEFAULT, Campaign, Configuration, Team, ordered
from perfmodel.measuring.lock import locked
from perfmodel.measuring.remote.bench import WorkersBench, WorkersDevice, workers_device
from perfmodel.measuring.session import Chooser, Session, measure_chosen, plan_configurations
from perfmodel.opencl import Device, find
from perfmodel.progress import Progress, Silent
from perfmodel.store import Measurements


def measure(
    kernel_classes: Iterable[KernelClass],
    device: Device | str | None,
    store: Path | str,
    progress: Progress | None = None,
    campaign: Campaign = DEFAULT,
    choose: Chooser | None = None,
    client: Any = None,
) -> Measurements:
    """Measure what the store does not hold yet.

    Each visit to a configuration gets one record, also if it fails. A campaign may be stopped at any instant: called
    again with the same arguments, it goes on and ends with the same set of records, since the chosen sizes are kept
    beside the store. While another campaign uses the device, it waits.

    Parameters
    ----------
    kernel_classes : iterable of KernelClass
        What to measure; the campaign may choose among them by tag.
    device : Device or str, optional
        The device to measure on. With a `client` its slug, or a part of it; None for the only one that workers have.
    store : path
        A folder, or a ``.jsonl`` file; see :mod:`perfmodel.store`.
    progress : Progress, optional
        Receives a report of each step.
    campaign : Campaign
        The settings: :data:`QUICK`, :data:`DEFAULT`, :data:`FULL` or your own.
    choose : Chooser, optional
        Chooses batch by batch which configurations are measured, as
        :func:`perfmodel.fitting.choice.chooser` does; by default all are.
    client : distributed.Client, optional
        Measure on the device of this Dask scheduler's workers (``perfmodel worker``); the store stays here.

    Returns
    -------
    Measurements
        All that the store now holds of these classes on this device.

    Raises
    ------
    OutputError
        The store cannot be written.
    ForeignDeviceError
        The store belongs to another device.
    StoreFormatError
        The store holds a line that is no record of a schema known here.
    BrokenDeviceError
        The device runs nothing, or nothing any more.
    DeviceBusyError
        Another campaign on the device does not end within `campaign.wait_s`.
    NoWorkerError, WorkerVersionError, SchedulerError
        With a client: no worker has the device, one has other versions, or the scheduler does not answer any more.
    """
    require(device is None or isinstance(device, str) or hasattr(device, "slug"), "measure: device", device,
            "one of pm.devices(), or an index, name or platform as text")  # fmt: skip
    require(isinstance(store, (str, Path)), "measure: store", store, "the path of a store")
    kernel_classes = tuple(kernel_classes) if isinstance(kernel_classes, Iterable) else (kernel_classes,)
    for kernel in kernel_classes:
        require(isinstance(kernel, KernelClass), "measure: kernel_classes", kernel, "kernel classes")
    device = _meant(device, client)
    kernels = campaign.chosen(kernel_classes)
    progress, path = progress or Silent(), Path(store)
    facts = device.facts
    stored.prepare(path, facts)
    stored.read(path)  # before waiting for the device, so that an unreadable store is reported at once
    with opened_bench(device, campaign, progress) as bench:
        session = Session.begun(bench, path, progress)
        configurations, unplanned = plan_configurations(session, kernels, session.fills_the_budget)
        if choose is None:
            _tell_what_changed(session, configurations)
        order = ordered(configurations, campaign)
        left_out = session.measure(order) if choose is None else measure_chosen(session, order, choose)
        _tell_what_is_left_out(session, left_out, unplanned)
    names = [kernel.name for kernel in kernels]
    return stored.read(path).of_device(device.name, facts.platform).of_kernels(*names)


@contextmanager
def opened_bench(device: Device, campaign: Campaign, progress: Progress) -> Iterator[Bench]:
    """Give a bench for a campaign that is alone on the device, or raise DeviceBusyError after `campaign.wait_s`.

    A device of this machine is locked meanwhile; a worker keeps its device locked until the campaign leaves, or its
    client ends.
    """
    if isinstance(device, WorkersDevice):
        bench = WorkersBench(device, campaign, progress)
        try:
            yield bench
        finally:
            bench.leave()
    else:
        with locked(device.facts, progress, campaign.wait_s):
            yield Bench(device, campaign)


def _meant(device: Device | str | None, client: Any) -> Device:
    """Return the device that is meant: the workers' where there is a client."""
    if client is not None and not isinstance(device, WorkersDevice):
        return workers_device(client, device if device is None or isinstance(device, str) else device.slug)
    if device is None or isinstance(device, str):
        return find(device)
    return device


def _tell_what_changed(session: Session, configurations: list[Configuration]) -> None:
    places = {row.place for row in session.rows.values()}
    changed = sum(c.key not in session.rows and c.key[:-2] in places for c in configurations)
    if changed:
        session.progress.tell(f"{changed} configurations are measured again: their code or the driver has changed")


def _tell_what_is_left_out(session: Session, left: list[Configuration], unplanned: list[Team]) -> None:
    variants = sum(map(len, unplanned))
    if left or variants:
        left_out = [c for c in left if c.key not in session.rows]
        names = {c.subject.kernel.name for c in left_out} | {t[0].kernel.name for t in unplanned}
        session.progress.tell(
            f"the budget of {session.bench.campaign.budget_s:g} s is used: {len(left_out)} configurations and all "
            f"sizes of {variants} variants are left out (of {', '.join(sorted(names)) or 'none'}), and "
            f"{len(left) - len(left_out)} others need more visits; run again to go on"
        )
