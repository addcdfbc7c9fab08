"""The platforms of Karsin (2018), and the time of operations by the Synchronous Parallel Throughput model.

Numbers are in clock cycles, as printed, and times in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from perfmodel.facts import published

#: The dissertation's platforms (Table 4.1), and the names of their facts.
PLATFORMS: Mapping[str, str] = MappingProxyType(
    {"ALGOPARC": "quadro-m4000-karsin", "GIBSON": "gtx-770", "UHHPC": "tesla-k40m"}
)
#: The family of the dissertation.
SPT = "synchronous_parallel_throughput"
WORD = 4
"""Bytes of an element."""
WARP = 32


@dataclass(frozen=True)
class Gpu:
    """Table 4.2 for one platform, each number for one core and in clock cycles, as printed there."""

    cores: float  # p, cores of the GPU
    # shared_words, registers: m and R, elements of four bytes that the whole GPU holds in shared memory and in
    # registers.
    shared_words: float
    registers: float
    clock_hz: float  # its clock [Hz]
    # L of each operation [cycles]: global memory "g", shared memory "s", registers "r", barriers "y".
    latency: Mapping[str, float]
    bandwidth: Mapping[str, float]  # b of each operation [elements per cycle and core]
    launch: float  # L_sync [cycles]


def gpu(platform: str) -> Gpu:
    """Read a platform from the published devices' facts, which are in SI units for the whole device.

    Examples
    --------
    >>> round(gpu("GIBSON").latency["g"], 1)
    267.6
    """
    value = published(PLATFORMS[platform]).value
    units, clock = value("compute_units"), value("clock_hz")
    cores = units * value("lanes_per_unit")
    rates = {
        "g": value("memory_bandwidth_bytes_per_s") / WORD, "s": value("local_bandwidth_bytes_per_s") / WORD,
        "r": value("peak_flops_float32") / 2, "y": value("barriers_per_s"),
    }  # fmt: skip
    names = {"g": "memory", "s": "local", "r": "register", "y": "barrier"}
    return Gpu(
        cores, units * value("local_memory_bytes") / WORD, units * value("registers_per_unit"), clock,
        {key: value(f"{name}_latency_s") * clock for key, name in names.items()},
        {key: rate / (cores * clock) for key, rate in rates.items()},
        value("launch_s") * clock,
    )  # fmt: skip


def operation_seconds(
    device: Gpu, amounts: Mapping[str, float], multiplicity: Mapping[str, float], launches: int
) -> dict[str, float]:
    """Return A max(1/B, L/M) of each operation, and the launches' synchronisation "sync" [s] (section 4.8).

    `amounts` are A, the operations of one core, and `multiplicity` M, by the operations' letters.
    """
    cycles = {
        key: amount * max(1 / device.bandwidth[key], device.latency[key] / multiplicity[key])
        for key, amount in amounts.items()
    }
    return {key: value / device.clock_hz for key, value in {**cycles, "sync": launches * device.launch}.items()}
