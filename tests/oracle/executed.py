"""What was executed, and every count that can be made from it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from .expressions import Occurrence

AccessKey = tuple[str, str, str, str, int]  # (space, direction, array, dtype of a lane, bits of the access)


class Instance(NamedTuple):
    """One access occurrence in one iteration by one work-group: which lane (linear local id) touched which address."""

    occurrence: Occurrence
    launch: int
    group: int
    iteration: tuple[int, ...]
    touched: tuple[tuple[int, int], ...]

    def subgroups(self, size: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """(sub-group number, addresses of its active lanes) of each sub-group with an active lane."""
        members: dict[int, list[int]] = defaultdict(list)
        for lane, address in self.touched:
            members[lane // size].append(address)
        for number, addresses in members.items():
            yield number, tuple(addresses)


class Grid(NamedTuple):
    """One launch: kernel name, groups, items of a group, and work-items that did nothing countable."""

    kernel: str
    groups: tuple[int, int, int]
    items: tuple[int, int, int]
    idle: int

    @property
    def work_groups(self) -> int:
        return self.groups[0] * self.groups[1] * self.groups[2]

    @property
    def group_size(self) -> int:
        return self.items[0] * self.items[1] * self.items[2]


@dataclass(frozen=True)
class Executed:
    """The result of executing a translation unit at fixed parameters.

    Access granularities: work-item (each lane counts), sub-group ((sub-group, instance) pairs with an active lane, an
    instance being one occurrence in one iteration), work-group (likewise). A vector access counts once, with the bits
    of the vector; an operation on vectors counts once for each lane. *negations* are products with -1, which
    *operations* leave out. *mean_trips* has the loops whose bounds are data, with the mean of their iterations.
    *index_items* are the operations in subscripts and in the tests of indices that ``? :`` makes.
    """

    subgroup_size: int
    operation_items: tuple[tuple[tuple[str, str], int], ...]
    negations: int
    barriers: int
    launched: tuple[Grid, ...]
    instances: tuple[Instance, ...] = field(repr=False)
    mean_trips: tuple[tuple[str, Fraction], ...] = ()
    index_items: tuple[tuple[tuple[str, str], int], ...] = ()

    @cached_property
    def operations(self) -> Mapping[tuple[str, str], int]:
        return MappingProxyType(dict(self.operation_items))

    @property
    def launches(self) -> int:
        return len(self.launched)

    @property
    def work_groups(self) -> int:
        return sum(grid.work_groups for grid in self.launched)

    @property
    def work_items(self) -> int:
        return sum(grid.work_groups * grid.group_size for grid in self.launched)

    @property
    def sub_groups(self) -> int:
        return sum(grid.work_groups * -(-grid.group_size // self.subgroup_size) for grid in self.launched)

    @property
    def padded_lanes(self) -> int:
        return self.sub_groups * self.subgroup_size - self.work_items

    @property
    def idle_work_items(self) -> int:
        """Work-items that execute no operation and no access, only barriers."""
        return sum(grid.idle for grid in self.launched)

    @staticmethod
    def key(occurrence: Occurrence) -> AccessKey:
        return (occurrence.space, occurrence.direction, occurrence.array, occurrence.type.dtype, occurrence.type.bits)

    @cached_property
    def accesses(self) -> Mapping[AccessKey, int]:
        counts: Counter[AccessKey] = Counter()
        for instance in self.instances:
            counts[self.key(instance.occurrence)] += len(instance.touched)
        return MappingProxyType(dict(counts))

    @cached_property
    def subgroup_accesses(self) -> Mapping[AccessKey, int]:
        counts: Counter[AccessKey] = Counter()
        for instance in self.instances:
            counts[self.key(instance.occurrence)] += len({lane // self.subgroup_size for lane, _ in instance.touched})
        return MappingProxyType(dict(counts))

    @cached_property
    def workgroup_accesses(self) -> Mapping[AccessKey, int]:
        return MappingProxyType(dict(Counter(self.key(instance.occurrence) for instance in self.instances)))

    def select(
        self, array: str | None = None, direction: str | None = None, space: str | None = None
    ) -> Iterator[Instance]:
        for instance in self.instances:
            one = instance.occurrence
            if array in (None, one.array) and direction in (None, one.direction) and space in (None, one.space):
                yield instance

    def arrays(self, space: str = "global") -> tuple[tuple[str, str], ...]:
        return tuple(sorted({(one.occurrence.array, one.occurrence.direction) for one in self.select(space=space)}))

    def footprint(self, array: str, direction: str | None = None) -> int:
        return len({address for instance in self.select(array, direction) for _, address in instance.touched})

    def lines(self, array: str, line_bytes: int, per: str, direction: str | None = None, row: int | None = None) -> int:
        """Distinct cache lines of *array*.

        *per*: ``instance`` (of each access by each sub-group, summed: transactions), ``subgroup``, ``workgroup`` (of
        everything a sub-group or work-group touches, summed over them) or ``launch``. With *row*, the elements of a
        row, every row begins on a line; else the array's address 0 does and rows follow each other.
        """
        seen: set[tuple[object, ...]] = set()
        for number, instance in enumerate(self.select(array, direction)):
            place = (instance.launch, instance.group)
            for subgroup, addresses in instance.subgroups(self.subgroup_size):
                owner = {
                    "instance": (number, subgroup), "subgroup": (*place, subgroup), "workgroup": place,
                    "launch": (instance.launch,)
                }[per]  # fmt: skip
                width = instance.occurrence.type.bits // 8
                seen.update((owner, line) for line in _lines(addresses, width, line_bytes, row))
        return len(seen)

    def bank_conflicts(self, array: str, banks: int = 32, direction: str | None = None) -> int:
        """For each access by each sub-group the maximum over banks of distinct 4-byte words, summed."""
        total = 0
        for instance in self.select(array, direction, "local"):
            width = instance.occurrence.type.bits // 8
            for _, addresses in instance.subgroups(self.subgroup_size):
                ranges = [range(a * width // 4, ((a + 1) * width - 1) // 4 + 1) for a in addresses]
                words = {word for words in ranges for word in words}
                total += max(Counter(word % banks for word in words).values())
        return total

    def lane_strides(self, array: str, direction: str | None = None) -> Mapping[int, int]:
        """{|address difference| of neighbouring active l.0 lanes, in elements: how many pairs}."""
        return sum(map(Counter, self.strides_by_occurrence(array, direction).values()), Counter())

    def strides_by_occurrence(self, array: str, direction: str | None = None) -> Mapping[int, Mapping[int, int]]:
        """The same for each access occurrence by its number (numbers start again in each kernel)."""
        strides: dict[int, Counter[int]] = defaultdict(Counter)
        for instance in self.select(array, direction):
            width, addresses = self.launched[instance.launch].items[0], dict(instance.touched)
            for lane, address in instance.touched:
                if (lane + 1) % width and lane + 1 in addresses:
                    strides[instance.occurrence.number][abs(addresses[lane + 1] - address)] += 1
        return strides


def _lines(addresses: Iterable[int], width: int, line_bytes: int, row: int | None) -> set[tuple[int, int]]:
    if row is None:
        return {(0, address * width // line_bytes) for address in addresses}
    return {(address // row, address % row * width // line_bytes) for address in addresses}
