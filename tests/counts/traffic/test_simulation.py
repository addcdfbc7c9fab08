"""Traffic against LRU: the model within 10 % of the simulation in nine of ten cases, over all kernel classes.

A case is a variant, at the largest size whose accesses can all be listed, with one of three small caches. Ordinary
tests take one variant of a few classes; ``-m nightly`` takes all, and prints those that are further off (with ``-s``).
``docs/lab/counting.md`` explains these.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.traffic.footprints import Cache
from perfmodel.counts.traffic.order import ORDERS
from perfmodel.errors import PerfModelError
from perfmodel.kernels import KernelClass, discover
from tests.counts.traffic.simulation import Moved, accesses_of, simulated, total
from tests.machine import ROOT

CLASSES = {one.name: one for folder in ("measurement_kernels", "test_kernels") for one in discover(ROOT / folder)}
#: 4 KiB and 32 KiB in 8 ways, and 32 KiB without sets; lines of 64 B
CACHES = (Cache(64, 64, 8), Cache(512, 64, 64), Cache(512, 64, 0))
NEAR = 0.1
FEW = ("matmul_naive", "matmul_tiled", "nbody", "scale_add", "stencil", "strided_load", "transpose")


@dataclass(frozen=True)
class Case:
    """What a cache moves of all arrays, simulated and by the model."""

    name: str
    variant: Mapping[str, object]
    sizes: Mapping[str, int]
    cache: Cache
    expected: int
    found: float

    @property
    def near(self) -> bool:
        return abs(self.found / self.expected - 1) <= NEAR

    def __str__(self) -> str:
        ratio = self.found / self.expected
        return f"{self.name} {dict(self.variant)} {dict(self.sizes)} {self.cache}: {ratio:.2f} of {self.expected}"


def cases(kernel: KernelClass, most: int, order: str, variants: int | None = None) -> Iterator[Case]:
    """Yield the cases of a kernel class; variants that access memory alike are one."""
    known: dict[tuple[object, ...], list[dict[str, Moved]]] = {}
    for variant in kernel.variants_on(4096, shapes=1)[:variants]:
        counts = count(kernel.build(**variant))
        sizes = largest(kernel, counts, most)
        if sizes is None:
            continue
        key = (*access_texts(counts), str(sizes))
        if key not in known:
            known[key] = simulated(counts, sizes, CACHES, order)
            for cache, moved in zip(CACHES, known[key], strict=True):
                traffic = counts.traffic(None, 64 * cache.lines, 64, cache.sets, order)
                fetched, _ = total(moved.values())
                lines = traffic(**sizes)
                yield Case(kernel.name, variant, sizes, cache, fetched, float(lines.fetched))


def access_texts(counts: KernelCounts) -> Iterator[str]:
    """Yield texts that are equal for kernels that access memory alike."""
    for domain, access in counts.access_maps:
        if access.space != "private":
            yield f"{access.cells} {access.strides} {access.bits} {access.direction} {domain.points} {domain.axes}"


def largest(kernel: KernelClass, counts: KernelCounts, most: int) -> Mapping[str, int] | None:
    """Return the sizes with the most accesses, but no more than ``most`` where some have fewer."""
    found: list[tuple[float, int, Mapping[str, int]]] = []
    for exponent in range(1, 16):
        for sizes in kernel.sizes.at(exponent):
            try:
                number = accesses_of(counts, sizes)
            except PerfModelError:  # the kernel's assumptions exclude it
                continue
            if number > 0:
                found.append((number, len(found), sizes))
    allowed = [one for one in found if one[0] <= most]
    return max(allowed)[2] if allowed else min(found)[2] if found else None


@pytest.mark.parametrize("order", ["serial", "vectors"])
@pytest.mark.parametrize("name", FEW)
def test_a_variant_of_a_class(name: str, order: str) -> None:
    found = list(cases(CLASSES[name], 30_000, order, variants=1))
    assert found
    assert 2 / 3 <= sum(case.near for case in found) / len(found), "\n".join(map(str, found))


@pytest.mark.nightly
@pytest.mark.parametrize("order", ORDERS)
def test_all_classes(order: str) -> None:
    found = [case for kernel in CLASSES.values() for case in cases(kernel, 400_000, order)]
    far = [str(case) for case in found if not case.near]
    print(f"{order}: {len(far)} of {len(found)} cases are further off than {NEAR:.0%}", *far, sep="\n")  # noqa: T201
    assert len(found) > 100
    assert 0.9 <= 1 - len(far) / len(found), "\n".join(far)
