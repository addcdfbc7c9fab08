"""Bank conflicts of local memory: how often an access by a sub-group is serialised.

The factor beta of Karsin's dissertation (SPT model, chapter 3) is this count over that of the sub-group accesses.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import islpy as isl

from perfmodel.counts.counters.cardinality import Cardinalities, completed
from perfmodel.counts.counters.footprint import Site, doubts
from perfmodel.counts.program.program import Access, Domain
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.quasipoly.printing import fraction, quasi_polynomial_of

SET, IN, PARAM = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.param
WORD_BYTES = 4


def bank_conflicts(cardinalities: Cardinalities, sites: list[Site], banks: int) -> Count:
    """Return the sum over sub-group accesses of the most distinct words in one bank.

    Lanes that read the same word don't conflict. Exact where every group and iteration executes an access with the
    same lanes, else an upper bound (all lanes that ever do so).
    """
    total = Count.constant(0, "subgroup")
    for domain, access in sites:
        total = total + _serialised(cardinalities, domain, access, banks)
    return total


def _serialised(cardinalities: Cardinalities, domain: Domain, access: Access, banks: int) -> Count:
    launch = cardinalities.program.launches[domain.launch]
    steps = _lane_steps(access, domain)
    if steps is None or domain.trips is not None:
        bound = cardinalities.count(domain)  # at worst the lanes go one by one
        vary = f"the distance between lanes in '{access.array}' is not one number"
        return bound.labelled("subgroup", False, doubts(domain, access) or (vary,))
    whole = completed(domain, launch)
    touched = _words(whole, access, steps, launch.group_shape, cardinalities.subgroup_size)
    degree = sum(max(Counter(word % banks for word in words).values()) for words in touched.values())
    count = degree * cardinalities.count(domain, "workgroup")
    reasons = [*doubts(domain, access)]
    if not _same_lanes_everywhere(whole):
        reasons.append("groups or iterations execute it with different lanes")
    return count.labelled("subgroup", count.exact and not reasons, reasons)


def _lane_steps(access: Access, domain: Domain) -> dict[str, int] | None:
    """Return how many cells the address moves along each local axis, where that is constant."""
    if access.cells is None or domain.tied:
        return None
    index = isl.PwMultiAff.from_map(access.cells)
    steps: dict[str, int] = defaultdict(int)
    for k, stride in enumerate(access.strides):
        function = quasi_polynomial_of(stride)
        pieces = index.get_pw_aff(k).get_pieces()
        if function.parameters or len(pieces) != 1 or pieces[0][1].dim(isl.dim_type.div):
            return None
        cells = int(function.exact())
        for position, axis in enumerate(domain.axes):
            if axis.startswith("l"):
                steps[axis] += int(fraction(pieces[0][1].get_coefficient_val(IN, position))) * cells
    return dict(steps)


def _words(
    domain: Domain, access: Access, steps: dict[str, int], shape: tuple[int, ...], size: int
) -> dict[int, set[int]]:
    """Return the words that each sub-group touches, its lanes ``steps`` cells apart."""
    words: dict[int, set[int]] = defaultdict(set)
    axes = [axis for axis in domain.axes if axis.startswith("l")]
    for lane in _lanes(domain):
        ids = dict(zip(axes, lane, strict=True))
        linear, stride = 0, 1
        for axis, extent in enumerate(shape):
            linear += stride * ids[f"l.{axis}"]
            stride *= extent
        first = sum(steps.get(axis, 0) * ids[axis] for axis in axes) * access.bits // 8
        last = first + access.bits // 8 - 1
        words[linear // size] |= set(range(first // WORD_BYTES, last // WORD_BYTES + 1))
    return words


def _lanes(domain: Domain) -> list[tuple[int, ...]]:
    """Return the local ids that ever execute, in the order of the domain's local axes."""
    lanes = domain.points
    for index in reversed(range(len(domain.axes))):
        if not domain.axes[index].startswith("l"):
            lanes = lanes.project_out(SET, index, 1)
    lanes = lanes.project_out(PARAM, 0, lanes.dim(PARAM))
    local_ids: list[tuple[int, ...]] = []
    lanes.foreach_point(lambda point: local_ids.append(tuple(
        point.get_coordinate_val(SET, k).to_python() for k in range(lanes.dim(SET))
    )))
    return local_ids


def _same_lanes_everywhere(domain: Domain) -> bool:
    """Whether the lanes and the (group, iteration) pairs vary independently."""
    lanes = instances = domain.points
    for index, axis in enumerate(domain.axes):
        if axis.startswith("l"):
            instances = instances.eliminate(SET, index, 1)
        else:
            lanes = lanes.eliminate(SET, index, 1)
    lanes = lanes.eliminate(PARAM, 0, lanes.dim(PARAM)) if lanes.dim(PARAM) else lanes
    return bool(lanes.intersect(instances).is_subset(domain.points))
