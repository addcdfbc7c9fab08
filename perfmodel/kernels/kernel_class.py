"""A kernel class: how to build its kernels, their sizes and work-group shapes, and their correct output."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from loopy import TranslationUnit

from perfmodel.documents import require
from perfmodel.errors import listed

Parameters: TypeAlias = Mapping[str, int]


@dataclass(frozen=True)
class Ladder:
    """Sizes from small to large. Rung t has the sizes ``at(p + step*t)``. The number p is chosen for each device."""

    at: Callable[[int], tuple[Parameters, ...]]  #: from an exponent to the parameter sets of one rung
    start: int  #: the smallest exponent to try
    step: int = 1  #: distance of two rungs: 1 for the paper's ``2**(p+t)``, 2 for ``2**(p+2*t)``
    rungs: int = 4  #: number of rungs in the paper
    #: If given, a rung is sorted by the times of its sets, and only the `longest` slowest of its short enough sets are
    #: measured.
    longest: int | None = None


WorkGroup: TypeAlias = tuple[int, ...]

#: Four of the paper's six sets of work-group shapes (section 4.1), by dimensions and size. The large ones are left out:
#: the paper uses them for only one of two cards with the same limits.
WORK_GROUPS: Mapping[tuple[int, str], tuple[WorkGroup, ...]] = MappingProxyType({
    (1, "small"): ((192,), (224,), (256,)), (1, "medium"): ((128,), (256,), (384,)),
    (2, "small"): ((16, 12), (16, 14), (16, 16)), (2, "medium"): ((16, 12), (16, 16), (32, 16)),
})  # fmt: skip


def work_groups(dimensions: int, max_work_group_size: int) -> tuple[WorkGroup, ...]:
    """Return the work-group shapes (Stevens and Klöckner, section 4.1) for a device with this limit [work-items].

    The medium sets are for devices that allow 512 work-items, the small sets for 256. For lower limits, the shape is
    the largest power of two that is allowed. For 0 dimensions the shape is empty, and the class sets its own.

    >>> work_groups(2, 64)
    ((8, 8),)
    """
    if dimensions == 0:
        return ((),)
    for size in ("medium", "small"):
        shapes = WORK_GROUPS[dimensions, size]
        if max(map(math.prod, shapes)) <= max_work_group_size:
            return shapes
    exponent = max_work_group_size.bit_length() - 1
    return ((2 ** (exponent // dimensions),) * dimensions,)


def assume(**multiples: WorkGroup) -> str:
    """Return Loopy assumptions: each size is positive and a multiple of its power-of-two tiles.

    Sizes are powers of two, so a tile of 16 needs no guard. A tile of 12 does, and its guards are counted.

    >>> assume(n=(16, 12), m=())
    'n >= 1 and n mod 16 = 0 and m >= 1'
    """
    terms = []
    for name, tiles in multiples.items():
        terms.append(f"{name} >= 1")
        tile = max((tile for tile in tiles if tile & (tile - 1) == 0), default=1)
        if tile > 1:
            terms.append(f"{name} mod {tile} = 0")
    return " and ".join(terms)


Variant: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class KernelClass:
    """One class of kernels: how to build them, their sizes, and their expected output."""

    name: str  #: unique in its folder; by convention the file's name
    group: str  #: classes of one group are left out together when models are judged (matmul, stencil, ...)
    build: Callable[..., TranslationUnit]  #: ``build(**variant)`` returns the transformed translation unit
    sizes: Ladder  #: parameter sets; they do not change the code
    #: ``reference(arguments, **variant)``: from arguments by name (arrays, scalars, sizes) to the expected outputs.
    reference: Callable[..., Mapping[str, Any]]
    variants: tuple[Variant, ...] = (MappingProxyType({}),)  #: arguments of `build`, without the work-group
    dimensions: int = 0  #: axes of the work-group (1 or 2) that `build` gets as ``work_group``; 0 for none
    scalars: Callable[..., Mapping[str, float]] = field(default=lambda **_: {})  #: a variant's floating-point arguments
    tags: tuple[str, ...] = ()  #: words by which a user chooses classes
    #: The feature that dominates the time, or a function of the variant that names it.
    isolates: str | Callable[..., str | None] | None = None
    #: Names the operation and type that a variant covers, such as ``exp float64``, or returns None. A campaign that
    #: leaves variants out still measures one of each name, at one size.
    covers: Callable[..., str | None] = field(default=lambda **_: None)
    #: The size parameter that doubles the isolated feature's count when it is doubled, for tests of the isolation.
    doubles: str | None = None
    #: The isolated feature raises the time by at least this share of its own rise in such a test; 1 is in proportion.
    raises: float = 0.5
    #: From array name to ``draw(generator, shape)``, for arrays whose contents are not numbers in [0.5, 2).
    contents: Mapping[str, Callable[..., Any]] = field(default_factory=lambda: MappingProxyType({}))
    #: Mean trip counts and probabilities [1] for :func:`perfmodel.counts.count`, or a function of the variant.
    statistics: Mapping[str, float] | Callable[..., Mapping[str, float]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    tolerance: float = 1e-4  #: largest relative difference from `reference` [1]
    #: Whether the variants are choices for one computation, to be ranked by their predicted times. All have the same
    #: arrays. A campaign measures all at sizes where the fastest exceeds the launch overhead and the slowest is short.
    ranked: bool = False

    def __post_init__(self) -> None:
        where = f"KERNEL '{self.name}'"
        require(callable(self.build), f"{where}: build", self.build, "a function")
        taken = inspect.signature(self.build).parameters
        require(isinstance(self.tags, tuple), f"{where}: tags", self.tags, "a tuple of words, such as ('memory',)")
        keys = {key for variant in self.variants for key in variant}
        takes_all = any(each.kind is each.VAR_KEYWORD for each in taken.values())
        allowed = f"an argument of build(): {listed(taken)}"
        for key in sorted(keys):
            require(takes_all or key in taken, f"{where}: a key of variants", key, allowed)
        require(not (self.dimensions and "work_group" in keys), f"{where}: dimensions", self.dimensions,
                "0, since the variants have a work_group")  # fmt: skip
        if self.doubles is not None:
            sizes = self.sizes.at(self.sizes.start)[0]
            require(self.doubles in sizes, f"{where}: doubles", self.doubles, f"one of its sizes: {listed(sizes)}")

    def variants_on(self, max_work_group_size: int, shapes: int = 3) -> tuple[Variant, ...]:
        """Return the variants for a device with this limit [work-items], each in at most `shapes` work-group shapes."""
        groups = work_groups(self.dimensions, max_work_group_size)
        if shapes < len(groups):
            groups = tuple(sorted(groups, key=lambda g: abs(math.prod(g) - 256)))[:shapes]
        own = ({"work_group": group} if group else {} for group in sorted(groups))
        return tuple({**variant, **group} for group in own for variant in self.variants)

    def with_variants(self, variants: tuple[Variant, ...]) -> "KernelClass":
        """Return the class with only these variants."""
        return replace(self, variants=variants)

    def isolated(self, variant: Variant) -> str | None:
        """Return the feature that this variant isolates, or None."""
        return self.isolates(**variant) if callable(self.isolates) else self.isolates

    def known_statistics(self, variant: Variant) -> Mapping[str, float]:
        """Return the statistics of this variant's data for :func:`perfmodel.counts.count`."""
        return self.statistics(**variant) if callable(self.statistics) else self.statistics
