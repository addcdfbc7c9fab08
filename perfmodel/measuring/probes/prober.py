"""What probes a device: an instrument of this process, or a worker that has one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Protocol

from perfmodel.facts.probe_run import Point
from perfmodel.measuring.probes.probe import Earlier, Instrument, Probe, ProbeSettings
from perfmodel.measuring.probes.visit import points_of
from perfmodel.measuring.timing import versions
from perfmodel.opencl import Device


class Prober(Protocol):
    """Probes a device."""

    device: Device

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of what times depend on, where the device is."""

    def probe(self, probe: Probe, settings: ProbeSettings, earlier: Earlier) -> tuple[tuple[Point, ...], str]:
        """Time the configurations of a probe, and say what went wrong."""


class OwnProber:
    """Probes a device of this machine, which is opened when it is first needed."""

    def __init__(self, device: Device) -> None:
        self.device = device

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of what times depend on."""
        return versions()

    @cached_property
    def _instrument(self) -> Instrument:
        return Instrument(self.device)

    def probe(self, probe: Probe, settings: ProbeSettings, earlier: Earlier) -> tuple[tuple[Point, ...], str]:
        """Time the configurations of a probe, and say what went wrong."""
        return points_of(self._instrument, probe, settings, earlier)
