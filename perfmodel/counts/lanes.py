"""The addresses of the lanes of sub-groups at given sizes, and the lanes that are active.

A *pattern* is the addresses of a work-group's lanes in one execution of an access. Equal patterns are stored once, with
a weight. Addresses are compared modulo a *period*, such as a sector. The points are a product of sets over groups of
inames. Tests, and floors of the address, couple the inames of a group.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import islpy as isl
import numpy as np
from numpy.typing import NDArray

from perfmodel.counts.counters.banks import WORD_BYTES
from perfmodel.counts.counters.executions import completed
from perfmodel.counts.points.factors import merged, without_dimensions
from perfmodel.counts.program.program import Access, Domain, Launch
from perfmodel.counts.quasipoly.arguments import at_sizes
from perfmodel.counts.quasipoly.evaluation import evaluated
from perfmodel.counts.quasipoly.printing import indicator_of, quasi_polynomial_of
from perfmodel.errors import CountError

SET, IN, PARAM, DIV = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.param, isl.dim_type.div
MOST = 1 << 20  #: Limit of the points of a set, and of the lanes in all patterns together
IDLE = np.iinfo(np.int64).max
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LanePatterns:
    """The patterns of an access, with their numbers of executions."""

    addresses: Ints  # (n_patterns, work-items): relative to a multiple of the period, `IDLE` for inactive lanes [B]
    weights: Floats  # (n_patterns,): executions of each pattern

    def segments(self, subgroup: int, size: int, segment: int) -> float:
        """Return how many segments accesses of ``size`` bytes touch, as a mean over executions by sub-groups."""
        lanes = self._of_sub_groups(subgroup)
        active = lanes != IDLE
        parts = [*range(0, size, segment), size - 1]
        touched = [np.where(active, (lanes + part) // segment, IDLE) for part in parts]
        return self._mean(_distinct(np.concatenate(touched, axis=-1)).sum(axis=-1), active)

    def passes(self, subgroup: int, size: int, banks: int) -> float:
        """Return the most distinct words in one bank, as a mean over executions by sub-groups."""
        lanes = self._of_sub_groups(subgroup)
        active = lanes != IDLE
        words = [np.where(active, lanes // WORD_BYTES + k, IDLE) for k in range(max(size // WORD_BYTES, 1))]
        touched = np.concatenate(words, axis=-1)
        new = _distinct(touched)
        rows = np.broadcast_to(np.arange(prod(new.shape[:-1])).reshape(*new.shape[:-1], 1), new.shape)
        slots = rows[new] * banks + np.sort(touched, axis=-1)[new] % banks
        in_bank = np.bincount(slots, minlength=prod(new.shape[:-1]) * banks)
        return self._mean(in_bank.reshape(*new.shape[:-1], banks).max(axis=-1), active)

    def _of_sub_groups(self, subgroup: int) -> Ints:
        number, items = self.addresses.shape
        whole = np.full((number, -(-items // subgroup) * subgroup), IDLE)
        whole[:, :items] = self.addresses
        return whole.reshape(number, -1, subgroup)

    def _mean(self, values: Ints, active: NDArray[np.bool_]) -> float:
        executed = self.weights[:, None] * active.any(axis=-1)
        return float((executed * values).sum() / executed.sum())


def _distinct(values: Ints) -> NDArray[np.bool_]:
    values = np.sort(values, axis=-1)
    return (np.diff(values, axis=-1, prepend=-IDLE) != 0) & (values != IDLE)


def values_at(function: isl.Map, columns: Mapping[str, Ints], count: int) -> Ints:
    """Return the values of a map at some points. The map has one output dimension and no parameters."""
    polynomial = isl.PwQPolynomial.from_pw_aff(isl.PwMultiAff.from_map(function).get_pw_aff(0))
    program = quasi_polynomial_of(polynomial.move_dims(PARAM, 0, IN, 0, polynomial.dim(IN)))
    return np.rint(evaluated(program, [columns[name] for name in program.parameters], count)).astype(np.int64)


def value_of(function: isl.PwQPolynomial, sizes: Mapping[str, int]) -> int:
    """Return the value of a function at the sizes. A parameter without a size, such as an offset, is 0."""
    program = quasi_polynomial_of(function)
    return int(program.exact(*(sizes.get(name, 0) for name in program.parameters)))


def addresses(access: Access, cells: isl.Map, points: isl.Set, sizes: Mapping[str, int]) -> isl.Map:
    """Return the map from an access's points to addresses [access size]. A point with several cells is a CountError."""
    cells = at_sizes(cells, sizes).intersect_domain(points)
    if not cells.is_single_valued():
        problem = f"one access to '{access.array}' reaches several cells at once"
        raise CountError(problem, "write it as a loop over single cells")
    strides = [value_of(stride, sizes) for stride in access.strides]
    axes = [f"x{k}" for k in range(len(strides))]
    products = [f"{stride}*{axis}" for stride, axis in zip(strides, axes, strict=True)]
    address = " + ".join([str(value_of(access.offset, sizes) + access.shifted(sizes)), *products])
    return cells.apply_range(isl.Map(f"{{ [{', '.join(axes)}] -> [{address}] }}"))


def lane_patterns(
    domain: Domain, access: Access, launch: Launch, sizes: Mapping[str, int], period: int
) -> LanePatterns | None:
    """Return the patterns of an access at some sizes, or None if they are unknown or have too many points."""
    if access.cells is None or domain.tied or domain.trips is not None:
        return None
    whole = completed(domain, launch, groups=False)
    points, names = at_sizes(whole.points, sizes), [f"i{k}" for k in range(len(whole.axes))]
    cells = access.cells.add_dims(IN, len(whole.axes) - len(domain.axes))
    try:
        address = addresses(access, cells, isl.Set.universe(points.get_space()), sizes)
    except CountError:  # one execution touches several cells
        return None
    for k, name in enumerate(names):
        points, address = points.set_dim_name(SET, k, name), address.set_dim_name(IN, k, name)
    pieces = isl.PwMultiAff.from_map(address).get_pw_aff(0).get_pieces()
    if points.is_empty() or len(pieces) > 1:
        return None
    form = pieces[0][1]
    groups, address = _coupled(points, names, form), isl.Map.from_aff(form)  # without its domain, which can be complex
    lanes = {name: int(axis[2:]) for name, axis in zip(names, whole.axes, strict=True) if axis.startswith("l")}
    ranges = {
        name: np.arange(points.dim_min_val(k).to_python(), points.dim_max_val(k).to_python() + 1)
        for k, name in enumerate(names)
    }  # fmt: skip
    octets, items = access.bits // 8, prod(launch.group_shape)
    start = int(values_at(address, {name: values[:1] for name, values in ranges.items()}, 1)[0]) * octets
    found = LanePatterns(np.full((1, items), start % period), np.ones(1))
    for group in sorted(groups, key=lambda group: len(group & {*lanes})):
        order = sorted(group, key=lambda name: (name in lanes, -lanes.get(name, 0)))  # l.0 last
        own = [name for name in order if name in lanes]
        if prod(len(ranges[name]) for name in order) > MOST:
            return None
        moved = _moved(points, address, ranges, order, start, octets)
        moved = moved.reshape(-1, prod(len(ranges[name]) for name in own))
        patterns, weights = _alike(moved, np.ones(len(moved)), period)
        if len(patterns) * found.addresses.size > MOST:
            return None
        index = _indices([(lanes[name], ranges[name]) for name in own], launch.group_shape)
        touched = np.where(index < 0, IDLE, patterns[:, np.maximum(index, 0)])
        idle = (found.addresses[:, None] == IDLE) | (touched == IDLE)
        both = np.where(idle, 0, found.addresses[:, None]) + np.where(idle, 0, touched)
        both[idle] = IDLE
        found = LanePatterns(*_alike(both.reshape(-1, items), np.outer(found.weights, weights).ravel(), period))
    return found


def _moved(
    points: isl.Set, address: isl.Map, ranges: Mapping[str, Ints], order: list[str], start: int, octets: int
) -> Ints:
    """Return address changes [B] for all values of the inames in ``order``. Outside of the set they are `IDLE`."""
    grid = [axis.ravel() for axis in np.meshgrid(*(ranges[name] for name in order), indexing="ij")]
    number = len(grid[0])
    columns = {name: np.broadcast_to(values[:1], number) for name, values in ranges.items()}
    columns |= dict(zip(order, grid, strict=True))
    moved = values_at(address, columns, number) * octets - start
    part = without_dimensions(points, (k for k, name in enumerate(ranges) if name not in order))
    inside = indicator_of(part.move_dims(PARAM, 0, SET, 0, len(order)).params())
    moved[evaluated(inside, [columns[name] for name in inside.parameters], number) == 0] = IDLE
    return moved


def _indices(axes: list[tuple[int, Ints]], shape: tuple[int, ...]) -> Ints:
    """Return the index of each work-item among the local ids of some axes, slowest first. Outside it is -1."""
    items = np.arange(prod(shape))
    index, outside = np.zeros_like(items), np.zeros(items.shape, np.bool_)
    for axis, values in axes:
        number = items // prod(shape[:axis]) % shape[axis] - values[0]
        outside |= (number < 0) | (number >= len(values))
        index = index * len(values) + number
    return np.where(outside, -1, index)


def _alike(rows: Ints, weights: Floats, period: int) -> tuple[Ints, Floats]:
    """Return the distinct rows that have an active lane, with addresses modulo the period, and their weights."""
    active = (rows != IDLE).any(axis=1)
    rows = rows[active]
    rows = np.where(rows == IDLE, IDLE, rows - rows.min(axis=1, keepdims=True) // period * period)
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], np.bincount(which.ravel(), weights[active]).astype(np.float64)


def _coupled(points: isl.Set, names: list[str], address: isl.Aff) -> list[set[str]]:
    """Return groups of inames. Over these groups, the points are a product, and the address is a sum."""
    couplings = [_involved(address.get_div(k), names) for k in range(address.dim(DIV))]
    basics = points.compute_divs().coalesce().get_basic_sets()
    for constraint in basics[0].get_constraints() if len(basics) == 1 else ():
        couplings.append(_involved(constraint, names, SET))
    if len(basics) > 1:
        couplings.append({name for k, name in enumerate(names) if not _is_free(points, k)})
    return merged(({name} for name in names), couplings)


def _involved(form: isl.Aff | isl.Constraint, names: list[str], kind: isl.dim_type = IN) -> set[str]:
    found = {name for k, name in enumerate(names) if not form.get_coefficient_val(kind, k).is_zero()}
    floors = (k for k in range(form.dim(DIV)) if not form.get_coefficient_val(DIV, k).is_zero())
    return found.union(*(_involved(form.get_div(k), names) for k in floors))


def _is_free(points: isl.Set, dimension: int) -> bool:
    line = points.eliminate(SET, 0, dimension).eliminate(SET, dimension + 1, points.dim(SET) - dimension - 1)
    return bool(points.eliminate(SET, dimension, 1).intersect(line).is_subset(points))
