r"""The time of a device for one unit of work, from its facts alone. Weights of models are multiples of such a time.

A weight w of one device becomes :math:`w \, r'/r` on another, where r and r' are the times of the two devices for one
unit. For example, an instruction that takes 1.3 issue slots on one device takes 1.3 slots on the other too. Rates *of a
unit* are for quantities of the busiest compute unit. Such rates assume that all units are busy, with equal shares of
the bandwidth of caches and memory. The other rates are for quantities of the whole launch.

A device may lack a latency, a bandwidth of caches or the time of a launch. Both devices are then assumed to have the
same latencies and cache bandwidths in clock cycles, and the same time of a launch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from types import MappingProxyType

from perfmodel.facts.device_facts import DeviceFacts

SECTOR = 32  # smallest number of bytes that the second-level cache moves


@dataclass(frozen=True)
class Rate:
    """A time [s] that follows from facts."""

    label: str  #: what takes this time
    formula: Callable[..., float]  #: from facts to the time; its arguments have the keys of the facts
    otherwise: str = ""  #: the rate that is used where a device lacks a fact; "" if there is none

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the facts that the rate needs."""
        return tuple(signature(self.formula).parameters)

    def lacking(self, facts: DeviceFacts) -> tuple[str, ...]:
        """Return the keys of needed facts that a device lacks, or that are zero."""
        return tuple(key for key in self.keys if key not in facts or not facts.value(key))

    def seconds(self, facts: DeviceFacts) -> float:
        """Return the time [s] on a device. Raise a FactsError if the device lacks a fact."""
        return float(self.formula(**{key: float(facts.value(key)) for key in self.keys}))


#: Times of which a weight can be a multiple (:attr:`perfmodel.models.model.Weight.scale`), by name.
RATES: Mapping[str, Rate] = MappingProxyType(
    {
        "same": Rate("what takes as long on every device", lambda: 1.0),
        "launch": Rate("a launch", lambda launch_s: launch_s, "same"),
        # of a compute unit
        "cycle": Rate("a cycle of a unit, in which local memory serves one wavefront", lambda clock_hz: 1 / clock_hz),
        "issue": Rate("an instruction of a sub-group on a unit",
                      lambda subgroup_size, lanes_per_unit, clock_hz: subgroup_size / (lanes_per_unit * clock_hz)),
        "single": Rate("a float32 multiply-add of a sub-group on a unit",
                       lambda subgroup_size, compute_units, peak_flops_float32:
                       2 * subgroup_size * compute_units / peak_flops_float32),
        "double": Rate("a float64 multiply-add of a sub-group on a unit",
                       lambda subgroup_size, compute_units, peak_flops_float64:
                       2 * subgroup_size * compute_units / peak_flops_float64),
        "l2": Rate(f"{SECTOR} bytes from the second-level cache to a unit",
                   lambda compute_units, l2_bandwidth_bytes_per_s: SECTOR * compute_units / l2_bandwidth_bytes_per_s,
                   "cycle"),
        "memory": Rate("a byte of global memory for a unit",
                       lambda compute_units, memory_bandwidth_bytes_per_s:
                       compute_units / memory_bandwidth_bytes_per_s),
        "l1_latency": Rate("waiting for the first-level cache", lambda l1_load_s: l1_load_s, "cycle"),
        "l2_latency": Rate("waiting for the second-level cache", lambda l2_latency_s: l2_latency_s, "cycle"),
        "memory_latency": Rate("waiting for global memory", lambda memory_latency_s: memory_latency_s, "cycle"),
        # of the device
        "unit_cycle": Rate("a cycle of a unit, where all units work",
                           lambda compute_units, clock_hz: 1 / (compute_units * clock_hz)),
        "lane_cycle": Rate("an operation of a work-item, where all lanes work",
                           lambda compute_units, lanes_per_unit, clock_hz:
                           1 / (compute_units * lanes_per_unit * clock_hz)),
        "single_operation": Rate("a float32 operation", lambda peak_flops_float32: 1 / peak_flops_float32),
        "double_operation": Rate("a float64 operation", lambda peak_flops_float64: 1 / peak_flops_float64),
        "memory_byte": Rate("a byte of global memory",
                            lambda memory_bandwidth_bytes_per_s: 1 / memory_bandwidth_bytes_per_s),
    }
)  # fmt: skip


def known_rate(name: str, *devices: DeviceFacts) -> str:
    """Return the name of a rate. If a device lacks a fact for this rate, return the name of the replacement."""
    other = RATES[name].otherwise
    return other if other and any(RATES[name].lacking(device) for device in devices) else name
