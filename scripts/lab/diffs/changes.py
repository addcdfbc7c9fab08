"""Changes of a kernel, as functions of a translation unit: some make it slower, and some change nothing that it does.

Each function raises an exception if it does not apply to a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import loopy as lp
import numpy as np
from loopy.symbolic import IdentityMapper, SubstitutionMapper
from pymbolic import parse, var
from pymbolic.mapper.substitutor import make_subst_func
from pymbolic.primitives import Product, Subscript, Sum

Unit = Any  # a lp.TranslationUnit
Change = Callable[[Unit], Unit]
ALMOST_ONE = 1.0000001  # a factor that keeps values in range
TINY = 1e-9


def with_instructions(unit: Unit, change: Callable[[Any], Any]) -> Unit:
    """Return a unit with each assignment changed."""
    kernel = unit.default_entrypoint
    made = [change(each) if isinstance(each, lp.Assignment) else each for each in kernel.instructions]
    return unit.with_kernel(kernel.copy(instructions=made))


def of_assignment(change: Callable[[Any, Any], Any], which: int = -1) -> Change:
    """Return a change of one assignment, by default the last: a function of its expression and its assignee."""

    def changed(unit: Unit) -> Unit:
        assignments = [each for each in unit.default_entrypoint.instructions if isinstance(each, lp.Assignment)]
        chosen = assignments[which].id
        return with_instructions(unit, lambda each: each.copy(
            expression=change(each.expression, each.assignee)) if each.id == chosen else each)  # fmt: skip

    return changed


class _InReductions(IdentityMapper):  # type: ignore[misc]
    def __init__(self, change: Callable[[Any], Any]) -> None:
        self.change = change
        super().__init__()

    def map_reduction(self, expr: Any, *args: Any) -> Any:
        return type(expr)(expr.operation, expr.inames, self.change(expr.expr), expr.allow_simultaneous)


def in_reductions(change: Callable[[Any], Any]) -> Change:
    """Return a change of the expression in each reduction."""
    mapper = _InReductions(change)
    return lambda unit: with_instructions(unit, lambda each: each.copy(expression=mapper(each.expression)))


def division(which: int = -1) -> Change:
    return of_assignment(lambda expression, assignee: expression / ALMOST_ONE, which)


def both(first: Change, second: Change) -> Change:
    return lambda unit: second(first(unit))


def added_load(unit: Unit) -> Unit:
    """The last statement also loads the cell that it stores to."""
    def loading(expression: Any, assignee: Any) -> Any:
        if not isinstance(assignee, Subscript) or assignee.aggregate.name not in unit.default_entrypoint.arg_dict:
            raise ValueError("the last statement stores to no argument")
        return expression + TINY * assignee

    return of_assignment(loading)(unit)


def array_layout(name: str, axes: str) -> Change:
    """Return a change of an array's order in memory, such as ``"N0,N1"`` for columns."""
    return lambda unit: lp.tag_array_axes(unit, name, axes)


def without_tags(unit: Unit, *names: str) -> Unit:
    kernel = unit.default_entrypoint
    made = {name: iname.copy(tags=frozenset()) if name in names else iname for name, iname in kernel.inames.items()}
    return unit.with_kernel(kernel.copy(inames=made))


def retagged(**tags: str | None) -> Change:
    """Return a change of loops' tags. None makes a sequential loop."""
    return lambda unit: lp.tag_inames(without_tags(unit, *tags), {name: tag for name, tag in tags.items() if tag})


def smaller_group(iname: str, width: int) -> Change:
    """Return a change that keeps only `width` iterations of a loop over work-items parallel."""
    return lambda unit: lp.split_iname(without_tags(unit, iname), iname, width, inner_tag="l.0")


class _Unfetched(IdentityMapper):  # type: ignore[misc]
    def __init__(self, tile: str, array: str, origin: tuple[Any, ...]) -> None:
        self.tile, self.array, self.origin = tile, array, origin
        super().__init__()

    def map_subscript(self, expr: Any, *args: Any) -> Any:
        if expr.aggregate.name != self.tile:
            return super().map_subscript(expr, *args)
        cell = (start + index for start, index in zip(self.origin, expr.index_tuple, strict=True))
        return Subscript(var(self.array), tuple(cell))


def lost_prefetch(tile: str, array: str, origin: str, rule: str) -> Change:
    """Return a change that loads cells of an array in place of a tile's. `rule` fills the tile."""

    def changed(unit: Unit) -> Unit:
        kernel, mapper = unit.default_entrypoint, _Unfetched(tile, array, parse(origin))
        made = [
            each.copy(expression=mapper(each.expression), depends_on=each.depends_on - {rule})
            for each in kernel.instructions if each.id != rule
        ]  # fmt: skip
        kept = {name: value for name, value in kernel.temporary_variables.items() if name != tile}
        return lp.remove_unused_inames(unit.with_kernel(kernel.copy(instructions=made, temporary_variables=kept)))

    return changed


def more_terms(terms: str) -> Change:
    return of_assignment(lambda expression, assignee: expression + parse(terms))


def renamed_loops(unit: Unit) -> Unit:
    for name in sorted(unit.default_entrypoint.all_inames()):
        unit = lp.rename_iname(unit, name, f"{name}_other")
    return unit


def reversed_instructions(unit: Unit) -> Unit:
    kernel = unit.default_entrypoint
    return unit.with_kernel(kernel.copy(instructions=[*reversed(kernel.instructions)]))


class _Reversed(IdentityMapper):  # type: ignore[misc]
    def map_sum(self, expr: Any, *args: Any) -> Any:
        return Sum(tuple(self.rec(each, *args) for each in reversed(expr.children)))

    def map_product(self, expr: Any, *args: Any) -> Any:
        return Product(tuple(self.rec(each, *args) for each in reversed(expr.children)))


def reversed_operands(unit: Unit) -> Unit:
    """Exchange the operands of all sums and products."""
    mapper = _Reversed()
    return with_instructions(unit, lambda each: each.copy(expression=mapper(each.expression)))


class _SameIndex(IdentityMapper):  # type: ignore[misc]
    def map_subscript(self, expr: Any, *args: Any) -> Any:
        return Subscript(expr.aggregate, tuple(2 * index - index + 3 - 3 for index in expr.index_tuple))


def equivalent_indices(unit: Unit) -> Unit:
    mapper = _SameIndex()
    return with_instructions(unit, lambda each: each.with_transformed_expressions(mapper))


def renamed_instructions(unit: Unit) -> Unit:
    kernel = unit.default_entrypoint
    names = {each.id: f"step_{number}" for number, each in enumerate(kernel.instructions)}
    made = [
        each.copy(
            id=names[each.id], depends_on=frozenset(names[name] for name in each.depends_on),
            no_sync_with=frozenset((names.get(name, name), scope) for name, scope in each.no_sync_with),
        )
        for each in kernel.instructions
    ]  # fmt: skip
    return unit.with_kernel(kernel.copy(instructions=made))


def renamed_temporary(old: str) -> Change:
    new = f"{old}_other"
    mapper = SubstitutionMapper(make_subst_func({old: var(new)}))

    def changed(unit: Unit) -> Unit:
        kernel = unit.default_entrypoint
        made = [each.with_transformed_expressions(mapper) for each in kernel.instructions]
        variables = {**kernel.temporary_variables}
        variables[new] = variables.pop(old).copy(name=new)
        return unit.with_kernel(kernel.copy(instructions=made, temporary_variables=variables))

    return changed


def _arrays(unit: Unit) -> list[Any]:
    arrays = [each for each in unit.default_entrypoint.args if isinstance(each, lp.ArrayArg)]
    return sorted(arrays, key=lambda each: (-len(each.shape or ()), each.name))


def other_layout(unit: Unit) -> Unit:
    """The array with the most axes has them in the reverse order in memory."""
    array = _arrays(unit)[0]
    strides = [tag.layout_nesting_level for tag in array.dim_tags or ()]
    if len(strides) < 2 or sorted(strides) != [*range(len(strides))]:
        raise ValueError("no array has several axes")
    return lp.tag_array_axes(unit, array.name, ",".join(f"N{len(strides) - 1 - level}" for level in strides))


def other_precision(unit: Unit) -> Unit:
    """All arrays of float32 become float64, or the reverse."""
    kernel = unit.default_entrypoint
    types = {each.dtype.numpy_dtype for each in _arrays(unit) if each.dtype is not None}
    old, new = (np.float32, np.float64) if np.dtype(np.float32) in types else (np.float64, np.float32)
    if np.dtype(old) not in types:
        raise ValueError("no array has float32 or float64")

    def changed(each: Any) -> Any:
        return each.copy(dtype=new) if each.dtype is not None and each.dtype.numpy_dtype == old else each

    variables = {name: changed(each) for name, each in kernel.temporary_variables.items()}
    return unit.with_kernel(kernel.copy(args=[*map(changed, kernel.args)], temporary_variables=variables))


def exchanged_axes(unit: Unit) -> Unit:
    """The first and the second axis of the group change places."""
    places = {str(next(iter(iname.tags))): name for name, iname in unit.default_entrypoint.inames.items() if iname.tags}
    return retagged(**{places["l.0"]: "l.1", places["l.1"]: "l.0"})(unit)


def quarter_group(unit: Unit) -> Unit:
    """A quarter of the work-items along the first axis of the group, each with four neighbouring iterations."""
    (name,) = [name for name, iname in unit.default_entrypoint.inames.items() if "l.0" in map(str, iname.tags)]
    return lp.split_iname(without_tags(unit, name), name, 4, outer_tag="l.0")


GENERAL: dict[str, Change] = {
    "other layout": other_layout, "other precision": other_precision, "exchanged axes of the group": exchanged_axes,
    "quarter of the group": quarter_group, "division": division(), "added load": added_load,
    "exponential": of_assignment(lambda expression, assignee: var("exp")(-expression * expression)),
}  # fmt: skip
"""Changes that apply to many kernels."""
