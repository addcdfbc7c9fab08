"""Small hand-made counts and measurements: tests of features, fits and predictions need no kernel.

They have the attributes that those rooms read of ``KernelCounts`` and ``Measurements``, and real
counts inside.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any

from perfmodel.counts import KernelCounts
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.rows import LaunchShape
from perfmodel.facts import DeviceFacts, Fact


def count(text: str, parameters: str = "n") -> Count:
    return Count.from_text(f"[{parameters}] -> {{ {text} }}" if parameters else f"{{ {text} }}")


@dataclass(frozen=True)
class Operation:
    dtype: str
    kind: str
    count: Count


@dataclass(frozen=True)
class Access:
    space: str
    direction: str
    array: str
    stride: Count
    count: Count
    footprint: Count | None = None
    filled: Count | None = None
    dtype: str = "float32"
    bits: int = 32
    indirect: bool = False


ONE_ITEM = LaunchShape((), 0, 0)


@dataclass(frozen=True, eq=False)
class Counts(KernelCounts):
    name: str = "stand-in"
    parameters: tuple[str, ...] = ("n",)
    assumptions: str = "{ : }"
    subgroup_size: int = 16
    launch: LaunchShape = ONE_ITEM
    launch_table: tuple[Any, ...] = ()
    operation_table: tuple[Operation, ...] = ()
    access_table: tuple[Access, ...] = ()
    barrier_table: tuple[Any, ...] = ()
    source: Any = None
    barrier_count: Count = field(default_factory=lambda: count("0", ""))
    group_count: Count = field(default_factory=lambda: count("n"))
    hash: str = "0"
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def barriers(self, scope: str = "local") -> Count:
        return self.barrier_count if scope == "local" else count("0", "")

    def work_groups(self) -> Count:
        return self.group_count

    def launches(self) -> Count:
        return count("1", "")


@dataclass(frozen=True)
class Row:
    kernel: str
    parameters: Mapping[str, int]
    seconds: float
    counts_hash: str
    variant: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""
    kept_s: tuple[float, ...] = ()
    disagreement: float = nan
    flags: tuple[str, ...] = ()
    device_s: float = nan
    tags: tuple[str, ...] = ()

    @property
    def kept_by_visit_s(self) -> tuple[tuple[float, ...], ...]:
        """Its samples: of one visit."""
        return ((self.seconds,),)

    def seconds_by(self, clock: str) -> float:
        return self.seconds if clock == "host" else self.device_s


@dataclass(frozen=True)
class Rows:
    rows: tuple[Row, ...]
    counts: Mapping[str, Counts]
    device: str = "stand-in"
    facts: DeviceFacts | None = None
    notes: tuple[str, ...] = ()
    mixture: str = ""

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def known_facts(self) -> DeviceFacts | None:
        return self.facts

    def with_facts(self, facts: DeviceFacts | None) -> "Rows":
        return replace(self, facts=facts)

    def of_kernels(self, *names: str) -> "Rows":
        return replace(self, rows=tuple(row for row in self.rows if row.kernel in names))


def made_up(name: str = "toy", **values: Any) -> DeviceFacts:
    """Facts of a device that a test makes up; None leaves one out."""
    facts = {key: Fact(value, "", "made up") for key, value in values.items() if value is not None}
    return DeviceFacts.from_mapping(name, "none", "0", facts)
