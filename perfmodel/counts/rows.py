"""The rows of a kernel's tables of counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from perfmodel.counts.quasipoly.count import Count

GRANULARITIES = ("workitem", "subgroup", "workgroup")


@dataclass(frozen=True)
class OperationCount:
    """Real operations of one type and kind, over all work-items of the launch sequence."""

    dtype: str
    kind: str
    count: Count


@dataclass(frozen=True)
class AccessCount:
    """Accesses to one array in one direction whose lanes are one distance apart.

    Attributes
    ----------
    space, direction, array, dtype : str
        Address space (``global``, ``local``, ``private``), ``load`` or ``store``, name, type.
    bits : int
        Size of one access.
    indirect : bool
        Whether the address depends on data; the stride is then unknown and given as 0.
    stride : Count
        Distance between neighbouring lanes' addresses, in units of the access size.
    count : Count
        Executions by work-items.
    footprint, filled : Count or None
        Distinct cells |F| of the array in this direction, and |F| with its gaps filled for this
        stride (None where the stride is below 2, or they are not known).
    """

    space: str
    direction: str
    array: str
    dtype: str
    bits: int
    indirect: bool
    stride: Count
    count: Count
    footprint: Count | None
    filled: Count | None


@dataclass(frozen=True)
class BarrierCount:
    """Barriers of one scope (``local`` or ``global``) met by work-items."""

    scope: str
    count: Count


@dataclass(frozen=True)
class LaunchCount:
    """One device kernel: its group's shape and how many groups are started."""

    name: str
    group_shape: tuple[int, ...]
    launches: Count
    work_groups: Count


@dataclass(frozen=True)
class LaunchShape:
    """What a launch asks of the device: group shape, and bytes of local and private arrays."""

    group_shape: tuple[int, ...]
    local_bytes: int
    private_bytes: int


@dataclass(frozen=True, eq=False)
class Utilization:
    """The ratio of used cells to all cells between them, for one array and direction."""

    cells: Count
    filled: tuple[Count, ...]

    def __call__(self, **sizes: int) -> Fraction:
        """Return the ratio at the given sizes."""
        most = max(Fraction(filled(**sizes)) for filled in self.filled)
        return Fraction(self.cells(**sizes)) / most if most else Fraction(1)
