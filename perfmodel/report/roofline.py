"""The roofline of a device with kernels on it: Kim et al. (2012), figure 4.8 and Eq. 4.31.

Each kernel has a point at its operations a byte: filled where it was measured, open where the lowest roof
over it is. What it moves through local memory has a roof of its own, which is no line over that axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfmodel.compare.comparison import in_words, volume
from perfmodel.models.roofline import FAMILY, quantities
from perfmodel.quantities.case import Case
from perfmodel.report.tables import columns_text, percent

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts
    from perfmodel.store import Measurements

SCHEMA = "perfmodel.roofline/1"
PEAKS = ("peak_flops_float32", "peak_flops_float64")
BANDWIDTHS = ("memory_bandwidth_bytes_per_s", "cache_bandwidth_bytes_per_s")
LOCAL = "local_bandwidth_bytes_per_s"


@dataclass(frozen=True)
class KernelPoint:
    """A measured kernel at one size.

    Parameters
    ----------
    kernel, form, sizes
        Name, variant and sizes in words.
    operations, bytes
        Floating-point operations, and what must be moved in global memory [B].
    seconds
        Measured median [s].
    bound_s
        The least time that the roofs allow [s]; NaN where one of them is not known.
    bound
        Which roof is the lowest: ``compute``, ``memory`` or ``local``.
    """

    kernel: str
    form: str
    sizes: str
    operations: float
    bytes: float
    seconds: float
    bound_s: float
    bound: str

    @property
    def intensity(self) -> float:
        """Operations a byte; infinite where nothing is moved."""
        return self.operations / self.bytes if self.bytes else math.inf

    @property
    def rate(self) -> float:
        """Operations a second, as measured."""
        return self.operations / self.seconds

    @property
    def attainable(self) -> float:
        """Operations a second below the lowest roof (Eq. 4.31); NaN where a roof is not known."""
        return self.operations / self.bound_s if self.bound_s else math.inf

    @property
    def share(self) -> float:
        """Measured rate over attainable rate: the least time over the measured one."""
        return self.bound_s / self.seconds

    @property
    def drawable(self) -> bool:
        """Whether it has a place on logarithmic axes."""
        return self.operations > 0 and self.bytes > 0


def roof_values(facts: DeviceFacts) -> Mapping[str, float]:
    """Return the roofs that are known of a device, by the fact's key."""
    return {key: float(facts.value(key)) for key in (*PEAKS, *BANDWIDTHS, LOCAL) if key in facts}


def roofline_points(measurements: Measurements) -> tuple[KernelPoint, ...]:
    """Return every measured case as a point below the roofs of the measurements' facts.

    Raises
    ------
    MissingFactError
        If the size of a transfer is not known.
    """
    facts = measurements.facts
    known = roof_values(facts) if facts is not None else {}
    found = []
    for row in sorted(measurements, key=lambda row: (row.kernel, in_words(row.variant), *volume(row.parameters))):
        case = Case(measurements.counts[row.counts_hash], row.parameters, facts, FAMILY.name)
        amounts = {name: float(value) for name, value in quantities(case).items()}
        operations = amounts["flops_float32"] + amounts["flops_float64"]
        times = {
            "compute": _time(amounts["flops_float32"], known.get(PEAKS[0]))
            + _time(amounts["flops_float64"], known.get(PEAKS[1])),
            "memory": _time(amounts["global_bytes"], known.get(BANDWIDTHS[0])),
            "local": _time(amounts["local_bytes"], known.get(LOCAL)),
        }
        bound = max(times, key=lambda name: (math.isnan(times[name]), times[name]))
        found.append(
            KernelPoint(row.kernel, in_words(row.variant), in_words(row.parameters), operations,
                        amounts["global_bytes"], row.median, times[bound], bound)
        )  # fmt: skip
    return tuple(found)


def largest(points: Iterable[KernelPoint]) -> tuple[KernelPoint, ...]:
    """Return of each kernel's variant the last point: that of its largest sizes, if they are in order."""
    return tuple({(point.kernel, point.form): point for point in points}.values())


def roofline_table(points: Iterable[KernelPoint], facts: DeviceFacts) -> str:
    """Return the roofs with their sources, and each point in a row, as plain text."""
    roofs = [(key, f"{value:.3g}", facts.fact(key).unit, facts.fact(key).source)
             for key, value in roof_values(facts).items()]  # fmt: skip
    rows = [("kernel", "variant", "sizes", "op/B", "Gop/s", "attainable", "share", "bound by")]
    rows += [
        (point.kernel, point.form, point.sizes, f"{point.intensity:.3g}", f"{point.rate / 1e9:.3g}",
         f"{point.attainable / 1e9:.3g}", percent(point.share), point.bound)
        for point in points
    ]  # fmt: skip
    lines = [columns_text([(key, value, unit) for key, value, unit, _ in roofs])] if roofs else ["no roofs are known"]
    lines += [f"{key}: {source}" for key, _, _, source in roofs]
    return "\n".join([*lines, "", columns_text(rows, left=3)])


def roofline_document(points: Iterable[KernelPoint], facts: DeviceFacts) -> dict[str, Any]:
    """Return the same as one document for programs; what is not known or not finite becomes null."""
    return {
        "schema": SCHEMA,
        "device": facts.name,
        "roofs": {
            key: {"value": value, "unit": facts.fact(key).unit, "source": facts.fact(key).source}
            for key, value in roof_values(facts).items()
        },
        "kernels": [
            {
                "kernel": point.kernel, "variant": point.form, "sizes": point.sizes, "seconds": point.seconds,
                "operations": point.operations, "bytes": point.bytes, "bound": point.bound,
                "operations_per_byte": _finite(point.intensity), "attainable": _finite(point.attainable),
                "share": _finite(point.share),
            }
            for point in points
        ],
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _time(amount: float, rate: float | None) -> float:
    if not amount:
        return 0.0
    return amount / rate if rate else math.nan
