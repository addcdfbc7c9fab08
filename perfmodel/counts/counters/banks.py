"""Bank conflicts: how often local memory repeats an access of a sub-group.

Local memory has banks, and each bank serves one word at a time. An access is repeated if lanes need different words of
one bank. The factor beta of Karsin's dissertation (SPT model, chapter 3) is the number of serialised accesses for each
access of a sub-group. A *touch* is a lane of a sub-group, and the distance of its address from the first lane's
address. Executions with the same touches form one *kind*. A *box* of lanes is a product of intervals of local ids.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import pairwise
from math import prod

import islpy as isl

from perfmodel.counts.counters.executions import Cardinalities, boxes_of_sub_groups, completed
from perfmodel.counts.counters.lines import Site, doubts
from perfmodel.counts.points.factors import without_dimensions
from perfmodel.counts.points.set_counter import BudgetSpentError, limited
from perfmodel.counts.program.program import Access, Domain, Launch
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.printing import quasi_polynomial_of

SET, IN, OUT, PARAM = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param
WORD_BYTES = 4
TOUCHES, KINDS = 1024, 128  # limits for a sub-group
WORK = 4  # operations of isl for the kinds of an access, relative to the limit of one formula
Touch = tuple[int, ...]  #: the lane's local ids, and last the bytes from the first lane's word to the lane's address


def bank_conflicts(cardinalities: Cardinalities, sites: list[Site], banks: int) -> Count:
    """Return the most distinct words in one bank, summed over sub-group accesses. The sum may be an upper bound."""
    counts = (_serialised(cardinalities, domain, access, banks) for domain, access in sites)
    return sum(counts, Count.constant(0, "subgroup"))


def _serialised(cardinalities: Cardinalities, domain: Domain, access: Access, banks: int) -> Count:
    octets, reasons = access.bits // 8, doubts(domain, access)
    launch = cardinalities.program.launches[domain.launch]
    try:
        with limited(WORK * cardinalities.operations):
            by_sub_group = [
                [(executions, _passes(words, octets, banks)) for executions, words in _kinds(touches, octets, banks)]
                for touches in _touches(domain, access, launch, cardinalities.subgroup_size)
            ]
    except (UnknownLanesError, BudgetSpentError):
        vary = f"the distance between lanes in '{access.array}' is not one number"
        bound = cardinalities.count(domain)  # the worst case: one lane after another
        return bound.labelled("subgroup", False, reasons or (vary,))
    passes = sorted({number for kinds in by_sub_group for _, number in kinds})
    total = (passes or [0])[0] * cardinalities.count(domain, "subgroup")
    for fewer, more in pairwise(passes):
        parts = ([executions for executions, number in kinds if number >= more] for kinds in by_sub_group)
        executed = cardinalities.executions(domain, [reduce(isl.Set.union, part).coalesce() for part in parts if part])
        total = total + (more - fewer) * executed
    return total.labelled("subgroup", total.exact and not reasons, reasons)


class UnknownLanesError(Exception):
    """The words that lanes touch together are unknown, or executions have too many kinds."""


def _touches(domain: Domain, access: Access, launch: Launch, size: int) -> Iterator[isl.Map]:
    """Yield maps from executions by a sub-group to touches, one map for each shape of sub-groups."""
    strides = [quasi_polynomial_of(stride) for stride in access.strides]
    if access.cells is None or domain.trips is not None or any(stride.parameters for stride in strides):
        raise UnknownLanesError
    whole = completed(domain, launch, groups=False)
    cells = access.cells.add_dims(IN, len(whole.axes) - len(domain.axes)).intersect_domain(whole.points)
    address = " + ".join(f"{int(s.exact()) * access.bits // 8}*x{k}" for k, s in enumerate(strides)) or "0"
    names = ", ".join(f"x{k}" for k in range(len(strides)))
    tied = [k for k, name in enumerate(whole.names) if name in domain.tied]
    addresses = cells.apply_range(isl.Map(f"{{ [{names}] -> [{address}] }}"))
    for k in reversed(tied):
        addresses = addresses.project_out(IN, k, 1)
    axes = [axis for k, axis in enumerate(whole.axes) if k not in tied]
    if addresses.is_empty():
        return
    if not addresses.is_single_valued():
        raise UnknownLanesError
    (_, anywhere), *_ = isl.PwMultiAff.from_map(addresses).get_pw_aff(0).get_pieces()
    for lanes, first in _lanes_of_sub_groups(axes, launch, size):
        at_first = lanes.flat_range_product(isl.Map.from_aff(anywhere)).range()
        executions = lanes.dim(OUT) - len(first)
        for k, coordinate in enumerate(first, executions):
            at_first = at_first.fix_val(SET, k, isl.Val(coordinate))
        at_first = without_dimensions(at_first, range(executions, lanes.dim(OUT)))
        at_first, touched = (
            isl.Map.from_range(points).move_dims(IN, 0, OUT, 0, executions)
            for points in (at_first, lanes.flat_range_product(addresses).range())
        )  # fmt: skip
        ids = ", ".join(f"l{k}" for k in range(len(first)))
        distance = f"{{ [{ids}, a, b] -> [{ids}, a - {WORD_BYTES}*floor(b/{WORD_BYTES})] }}"
        yield touched.flat_range_product(at_first).apply_range(isl.Map(distance))


def _lanes_of_sub_groups(axes: list[str], launch: Launch, size: int) -> Iterator[tuple[isl.Map, tuple[int, ...]]]:
    """Yield maps from a group's instances to executions and lanes, and the local ids of the first lane."""
    names = [f"i{k}" for k in range(len(axes))]
    local = [names[axes.index(f"l.{axis}")] for axis in range(len(launch.group_shape))]
    others = [name for name in names if name not in local]
    source = ", ".join(names)
    widths = _widths(launch.group_shape, size)
    if widths is None:
        for boxes in boxes_of_sub_groups(launch, size):
            limits = (
                " and ".join(f"{low} <= {name} <= {high}" for name, (low, high) in zip(local, box, strict=True))
                for box in boxes
            )  # fmt: skip
            target = ", ".join([*others, *local])
            yield isl.Map(f"{{ [{source}] -> [{target}] : {' or '.join(limits)} }}"), tuple(low for low, _ in boxes[0])
    else:
        target = ", ".join([
            *others, *(f"floor({name}/{width})" for name, width in zip(local, widths, strict=True)),
            *(f"{name} mod {width}" for name, width in zip(local, widths, strict=True)),
        ])
        yield isl.Map(f"{{ [{source}] -> [{target}] }}"), (0,) * len(widths)


def _widths(shape: tuple[int, ...], size: int) -> list[int] | None:
    """Return a sub-group's width along each axis. The result is None unless all sub-groups are boxes of one shape."""
    if prod(shape) <= size:
        return list(shape)
    widths = []
    for extent in shape:
        if size % extent and extent % size:
            return None
        widths.append(min(extent, size))
        size //= widths[-1]
    return widths


def _points(touches: isl.Set) -> list[Touch]:
    touches = touches.project_out(PARAM, 0, touches.dim(PARAM))
    found: list[Touch] = []

    def add(point: isl.Point) -> None:
        if len(found) <= TOUCHES:  # an exception here would be printed
            found.append(tuple(point.get_coordinate_val(SET, k).to_python() for k in range(touches.dim(SET))))

    if touches.dim_min_val(touches.dim(SET) - 1).is_int() and touches.dim_max_val(touches.dim(SET) - 1).is_int():
        touches.foreach_point(add)
    if not 0 < len(found) <= TOUCHES:  # nothing is found if an address has no bound
        raise UnknownLanesError
    return found


def _kinds(touches: isl.Map, octets: int, banks: int) -> list[tuple[isl.Set, list[Touch]]]:
    """Return disjoint sets of executions with the touches of each set."""
    if touches.is_empty():
        return []
    executions, together = touches.domain(), _points(touches.range())
    if _never_conflict(together, octets, banks):
        return [(executions, together[:1])]
    if isl.Map.from_domain_and_range(executions, touches.range()).is_subset(touches):
        return [(executions, together)]
    alike: dict[str, tuple[isl.Set, list[Touch]]] = {}
    for touch in together:
        those = touches
        for k, value in enumerate(touch):
            those = those.fix_val(OUT, k, isl.Val(value))
        happens = those.domain().coalesce()
        alike.setdefault(str(happens), (happens, []))[1].append(touch)
    kinds: list[tuple[isl.Set, list[Touch]]] = [(executions, [])]
    for happens, of_them in alike.values():
        divided = list[tuple[isl.Set, list[Touch]]]()
        for points, known in kinds:
            parts = (points.intersect(happens), known + of_them), (points.subtract(happens), known)
            divided += [(part, touched) for part, touched in parts if not part.is_empty()]
        kinds = divided
        if len(kinds) > KINDS:
            raise UnknownLanesError
    return kinds


def _never_conflict(touches: Iterable[Touch], octets: int, banks: int) -> bool:
    if octets > WORD_BYTES:
        return False
    words, lanes = defaultdict[int, set[int]](set), defaultdict[int, set[Touch]](set)
    for *lane, address in touches:
        word = address // WORD_BYTES
        words[word % banks].add(word)
        lanes[word % banks].add(tuple(lane))
    return all(len(words[bank]) == 1 or len(lanes[bank]) == 1 for bank in words)


def _passes(touches: Iterable[Touch], octets: int, banks: int) -> int:
    """Return the number of distinct words in the bank that has the most of them."""
    words = {
        word for *_, address in touches
        for word in range(address // WORD_BYTES, (address + octets - 1) // WORD_BYTES + 1)
    }  # fmt: skip
    return max(Counter(word % banks for word in words).values())
