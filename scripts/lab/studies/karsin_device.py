"""A device at hand as Karsin (2018) describes a platform: latency and bandwidth of each operation of a core."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from scripts.lab.studies.karsin import SPT, WORD, Gpu

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts
    from scripts.lab.studies.study import StudyData

#: Of each operation its latency and its rate among facts, and the operations in one unit of the rate.
KEYS: Mapping[str, tuple[str, str, float]] = MappingProxyType({
    "g": ("memory_latency_s", "memory_bandwidth_bytes_per_s", 1 / WORD),
    "s": ("local_latency_s", "local_bandwidth_bytes_per_s", 1 / WORD),
    "r": ("register_latency_s", "peak_flops_float32", 1 / 2),
    "y": ("barrier_latency_s", "barriers_per_s", 1.0),
})  # fmt: skip


def core_of(facts: DeviceFacts, weights: Mapping[str, float] = MappingProxyType({})) -> Gpu:
    """Return a device's parameters in the units of Table 4.2: cycles, and operations per cycle and core.

    A core is a lane. A number is a fact of the device, or where no fact gives it a fitted weight. Where the clock is
    not known, a cycle is a second; registers are without limit where their number is unknown. Raises FactsError if
    neither a fact nor a weight gives a number.

    Facts include the measured ones (:mod:`perfmodel.fitting.throughput`); weights are those of the family
    ``synchronous_parallel_throughput``, in SI units for the whole device.
    """
    units, clock = float(facts.value("compute_units")), float(_known(facts, "clock_hz", 1.0))
    cores = units * float(_known(facts, "lanes_per_unit", _known(facts, "subgroup_size", 1)))
    latency, bandwidth = {}, {}
    for key, (late, rate, operations) in KEYS.items():
        weight = f"w_{late.removesuffix('_latency_s')}"
        latency[key] = clock * _number(facts, late, weights.get(f"{weight}_latency"))
        bandwidth[key] = operations * _number(facts, rate, weights.get(f"{weight}_rate")) / (cores * clock)
    return Gpu(
        cores,
        units * float(facts.value("local_memory_bytes")) / WORD,
        units * float(_known(facts, "registers_per_unit", math.inf)),
        clock,
        latency,
        bandwidth,
        clock * _number(facts, "launch_s", weights.get("w_launch")),
    )


def core_at_hand(data: StudyData) -> tuple[Gpu, bool]:
    """Return the core of a study's device, and whether it is oversubscribed.

    The numbers are the device's facts, those that its measurement kernels give, and for what is still missing the
    weights of the family ``synchronous_parallel_throughput``. Raises what :func:`core_of` raises.
    """
    weights = data.model(SPT).weights if SPT in data.families else {}
    return core_of(data.facts, weights), oversubscribed(data.facts)


def oversubscribed(facts: DeviceFacts) -> bool:
    """Return whether the work-items of a core hide each other's latency (M_o of 4.7); on a CPU they take turns.

    The fact ``oversubscription`` has that if it was measured (:mod:`perfmodel.fitting.throughput`).
    """
    return bool(_known(facts, "oversubscription", _known(facts, "device_type", "gpu") != "cpu"))


def _known(facts: DeviceFacts, key: str, default: Any) -> Any:
    return facts.value(key) if key in facts else default


def _number(facts: DeviceFacts, key: str, weight: float | None) -> float:
    return float(facts.value(key)) if weight is None or key in facts else weight
