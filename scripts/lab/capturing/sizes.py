"""Two sizes at which a captured kernel is small enough to be executed by brute force."""

from collections.abc import Iterator, Mapping

import islpy as isl

from perfmodel.counts import KernelCounts

TRIED = (16, 7, 32, 24, 12, 48, 10, 5, 64, 20, 96, 128, 4, 3, 2, 1, 256, 512, 1024)
MOST_EVENTS = 60_000  # operations and accesses of one execution
MOST_AT_ALL = 800_000  # where no sizes give fewer, as when all sizes are fixed: then one execution


def two_sizes(
    counts: KernelCounts, names: tuple[str, ...], most: int = MOST_EVENTS, least: int = 0
) -> list[dict[str, int]]:
    """Return up to two settings of the size parameters within the assumptions at which the execution is short.

    None is below *least*. Where no execution is short, one that is not too long will do.
    """
    found: list[dict[str, int]] = []
    for sizes in candidates(counts, names):
        if sizes not in found and min(sizes.values(), default=least) >= least and 0 < events(counts, sizes) <= most:
            found.append(sizes)
        if len(found) == 2 or not names:
            break
    return found or (two_sizes(counts, names, MOST_AT_ALL, least)[:1] if most == MOST_EVENTS else [])


def candidates(counts: KernelCounts, names: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """Yield settings that the assumptions allow: all sizes alike, then slightly different ones, then a lexical one."""
    allowed = isl.Set(counts.assumptions)
    for step in (0, 1):
        for value in TRIED:
            sizes = {name: value + step * place for place, name in enumerate(names)}
            if _meets(allowed, sizes):
                yield sizes
    one = _smallest(allowed, names)
    if one is not None:
        yield one


def events(counts: KernelCounts, sizes: Mapping[str, int]) -> int:
    given = {name: sizes[name] for name in counts.parameters}
    return int(counts.operations()(**given) + counts.accesses()(**given) + counts.work_items()(**given))


def _meets(allowed: isl.Set, sizes: Mapping[str, int]) -> bool:
    for name, value in sizes.items():
        place = allowed.find_dim_by_name(isl.dim_type.param, name)
        if place >= 0:
            allowed = allowed.fix_val(isl.dim_type.param, place, isl.Val(value))
    return not allowed.is_empty()


def _smallest(allowed: isl.Set, names: tuple[str, ...]) -> dict[str, int] | None:
    for name in names:
        place = allowed.find_dim_by_name(isl.dim_type.param, name)
        if place >= 0:
            allowed = allowed.lower_bound_val(isl.dim_type.param, place, isl.Val(1))
    point = allowed.sample_point()
    if point.is_void():
        return None
    values = {}
    for name in names:
        place = allowed.find_dim_by_name(isl.dim_type.param, name)
        values[name] = 1 if place < 0 else int(point.get_coordinate_val(isl.dim_type.param, place).to_python())
    return values
