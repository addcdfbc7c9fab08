"""Opening a device to measure on it: one of this machine, which is locked meanwhile, or one of Dask workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from perfmodel.measuring.campaign import DEFAULT, Campaign
from perfmodel.measuring.lock import locked
from perfmodel.measuring.probes.prober import OwnProber, Prober
from perfmodel.measuring.record import AnyBench, Bench
from perfmodel.measuring.remote.bench import WorkersBench
from perfmodel.measuring.remote.devices import WorkersDevice
from perfmodel.opencl import Device
from perfmodel.progress import Progress


@contextmanager
def opened_bench(device: Device, campaign: Campaign, progress: Progress) -> Iterator[AnyBench]:
    """Give a bench for a campaign that is alone on the device.

    A worker keeps its device locked until the campaign leaves, or its client ends.

    Raises
    ------
    DeviceBusyError
        Another campaign on the device does not end within `campaign.wait_s`.
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


@contextmanager
def opened_prober(device: Device, progress: Progress, wait_s: float) -> Iterator[Prober]:
    """Give what probes the device, and is alone on it; raises as :func:`opened_bench` does."""
    if isinstance(device, WorkersDevice):
        prober = WorkersBench(device, replace(DEFAULT, wait_s=wait_s), progress)
        try:
            yield prober
        finally:
            prober.leave()
    else:
        with locked(device.facts, progress, wait_s):
            yield OwnProber(device)
