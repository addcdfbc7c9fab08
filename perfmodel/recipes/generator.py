"""The legal recipes of a plain kernel, from forms and tile sizes.

A *form* chooses the loops that run along work-items and work-groups, how a reduction is executed, which arrays go
through local memory, and which loops are unrolled. With tile sizes it gives a :class:`Recipe`. Recipes are built only
when they are used, because Loopy takes 30 to 200 ms to transform and schedule a kernel.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain, islice, permutations, product, zip_longest
from operator import itemgetter
from typing import NamedTuple

import loopy as lp
from loopy import TranslationUnit
from loopy.check import check_for_unused_hw_axes_in_insns, check_for_write_races, pre_schedule_checks
from loopy.diagnostic import WriteRaceConditionWarning
from loopy.kernel.tools import get_subkernel_to_insn_id_map
from loopy.schedule import generate_loop_schedules

from perfmodel.documents import one_line
from perfmodel.errors import ArgumentError, KernelError, clipped
from perfmodel.facts import DeviceFacts
from perfmodel.recipes import loops as nesting
from perfmodel.recipes.loops import Invariants, Loop, Nest, Statement
from perfmodel.recipes.recipe import Recipe, Step, reason_of
from perfmodel.recipes.stages import in_stages
from perfmodel.values import FrozenValue, cached_method

LOCAL_BYTES, LARGEST_GROUP = 32 * 1024, 256  # limits where no facts are given: what OpenCL's full profile promises
SHORT = 16  # trips of a loop that may be unrolled
REGISTERS = 64  # most trips of a short loop, copies of unrolled code, and results that a work-item keeps at once
ALONE = 128  # most results of a lone work-item, which keeps several in a vector register
LONGEST_CODE = 1200  # accesses in the code after unrolling; Loopy and a compiler take 7 ms for each
MOST_AXES = 3
MOST_FORMS = 2000
MOST_COVERS = 6  # loops, or sets of loops, that may become axes
MOST_ORDERS = 6
MOST_ORDERED = 3  # loops
_RACE = re.compile(r"instruction '([^']*)' contains a write race")


class Parts(NamedTuple):
    """The loops that an axis makes of a loop, or their suffixes; None where there is none."""

    group: str | None = None
    items: str | None = None
    elements: str | None = None
    outer: str | None = None  # sequential, around the rest


class Kind(NamedTuple):
    """How an axis distributes a loop."""

    name: str
    tiles: str  #: L: work-items in a group, E: elements of each work-item
    parts: Parts  #: suffixes
    on_cpu: int  #: how unusual it is on a processor; 0 is the most usual
    on_gpu: int


KINDS = (
    # work-items of groups, one element each
    Kind("item", "L", Parts("_outer", "_inner"), 0, 0),
    # several elements of each work-item, with the stride L, or next to each other
    Kind("strided", "LE", Parts("_outer", "_inner_inner", "_inner_outer"), 5, 2),
    Kind("blocked", "LE", Parts("_outer", "_inner_outer", "_inner_inner"), 4, 5),
    # each work-item executes all of a short loop, E elements at a time
    Kind("steps", "E", Parts(elements="_inner", outer="_outer"), 2, 4),
    # a group executes E steps one after the other, or one step
    Kind("tile", "E", Parts("_outer", elements="_inner"), 1, 6),
    Kind("group", "", Parts(group=""), 3, 1),
    # the whole of a short loop is the work-items of a group
    Kind("lanes", "", Parts(items=""), 2, 1),
    # one group's work-items share the whole loop; a reduction becomes a tree
    Kind("local", "L", Parts(items="_inner", outer="_outer"), 6, 4),
)

_STEPS = next(kind for kind in KINDS if kind.name == "steps")


class Axis(NamedTuple):
    """Loops that run along one axis, at most one of them around each statement."""

    loops: tuple[str, ...]
    kind: Kind
    moved: tuple[tuple[str, str], ...] = ()  #: loops, and statements that are put into them

    def parts(self, loop: str) -> Parts:
        """Return the loops that it makes of a loop."""
        return Parts(*(None if suffix is None else f"{loop}{suffix}" for suffix in self.kind.parts))


@dataclass(frozen=True)
class Form(FrozenValue):
    """All choices for a kernel except for tile sizes."""

    axes: tuple[Axis, ...] = ()  #: from the axis 0 on
    elements: str = ""  #: the tag of loops over a work-item's elements: "", "ilp" or "unr"
    reduction: str = ""  #: of long sequential reductions: "", "split", or "unrolled" in parts
    prefetch: tuple[str, ...] = ()  #: arrays that go through local memory
    order: tuple[str, ...] = ()  #: sequential loops of the plain kernel, from outside to inside; () for Loopy's choice
    unrolled: tuple[str, ...] = ()  #: short loops that are unrolled
    parts: tuple[str, ...] = ()  #: splits and tags of reductions that two kernels execute one after the other

    @cached_property
    def placed(self) -> Mapping[str, Parts]:
        """The loops that axes make of each loop."""
        return {loop: axis.parts(loop) for axis in self.axes for loop in axis.loops}

    def __str__(self) -> str:
        words = [f"{'/'.join(axis.loops)}:{axis.kind.name}" for axis in self.axes]
        options = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "axes"}
        words += [f"{name}={','.join(value) if isinstance(value, tuple) else value}" for name, value in options.items()
                  if value]  # fmt: skip
        return " ".join(words)


Tiles = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Point(FrozenValue):
    """A recipe's form and tile sizes. Names of tiles: L0 and E0 of the first axis, L1, ..., K of reductions."""

    form: Form
    tiles: Tiles


@dataclass(frozen=True)
class Recipes(FrozenValue):
    """The recipes of one plain kernel, made when they are used.

    Loopy has checked none of them: :func:`legal` applies and checks a recipe. Iteration yields all recipes, form by
    form.
    """

    t_unit: TranslationUnit
    sizes: tuple[tuple[str, int], ...]
    cpu: bool  #: whether forms for processors come first
    largest_group: int  #: most work-items of a group
    local_bytes: int  #: most bytes of local memory that a group uses
    notes: tuple[str, ...]  #: sentences: which loops stay sequential and why
    forms: tuple[Form, ...]  #: the most usual first
    nests: Mapping[tuple[str, ...], Nest]  #: of the plain kernel, and by :attr:`Form.parts`

    def __repr__(self) -> str:
        return one_line(f"<Recipes: {len(self.forms)} forms, at most {self.number} recipes>")

    def __iter__(self) -> Iterator[Recipe]:
        return chain.from_iterable(map(self.of, self.forms))

    def __bool__(self) -> bool:
        return bool(self.forms)

    @cached_property
    def number(self) -> int:
        """An upper bound of the number of recipes."""
        return sum(math.prod(map(len, self.choices(form).values())) for form in self.forms)

    def of(self, form: Form) -> Iterator[Recipe]:
        """Yield the recipes of a form, those with default tiles first."""
        choices = self.choices(form)
        for position in sorted(product(*(range(len(values)) for values in choices.values())), key=sum):
            tiles = {name: values[at] for (name, values), at in zip(choices.items(), position, strict=True)}
            if self._fits(form, tiles):
                yield self.recipe(Point(form, tuple(tiles.items())))

    def first(self, form: Form) -> Recipe | None:
        """Return the recipe of a form with default tiles, or None if no tiles are within the device's limits."""
        return next(self.of(form), None)

    def recipe(self, point: Point) -> Recipe:
        """Return the recipe of a form and tile sizes. It assumes that these divide the given sizes, where they do."""
        assumed = (Step.of("assume", text) for text in self._assumptions(point))
        recipe = Recipe((*assumed, *_steps(self.nests[point.form.parts], point)))
        self._points.setdefault(recipe, point)
        return recipe

    def point(self, recipe: Recipe) -> Point:
        """Return form and tile sizes of a recipe. Raise an ArgumentError if this value has not made it."""
        if recipe not in self._points:
            problem = f"'{clipped(recipe)}' is not a recipe of this kernel"
            raise ArgumentError(problem, "give one that this value has yielded")
        return self._points[recipe]

    def neighbours(self, recipe: Recipe) -> Iterator[Recipe]:
        """Yield the recipes that differ in one choice: one tile halved or doubled, or one field of the form."""
        point = self.point(recipe)
        tiles = dict(point.tiles)
        for name, values in self.choices(point.form).items():
            near = sorted(values, key=lambda value: abs(math.log2(value / tiles[name])))
            for value in near[1:3]:
                changed = tiles | {name: value}
                if self._fits(point.form, changed):
                    yield self.recipe(Point(point.form, tuple(changed.items())))
        for form in self.forms:
            if _distance(form, point.form) == 1:
                choices = self.choices(form)
                kept = {name: tiles[name] if tiles.get(name) in had else had[0] for name, had in choices.items()}
                if self._fits(form, kept):
                    yield self.recipe(Point(form, tuple(kept.items())))

    @cached_method
    def choices(self, form: Form) -> Mapping[str, tuple[int, ...]]:
        """Return the values of each tile of a form, the default first.

        Those that divide the loop come before the others, and then those near the usual value.
        """
        found: dict[str, tuple[int, ...]] = {}
        nest = self.nests[form.parts]
        wide = [axis for axis in form.axes if "L" in axis.kind.tiles]
        for number, axis in enumerate(form.axes):
            loops = [nest.by_name[loop] for loop in axis.loops]
            trips = max(loop.trips for loop in loops)
            first = bool(wide) and axis is wide[0]
            if "L" in axis.kind.tiles:
                usual = (128 if len(wide) == 1 else 32) if first else (2 if self.cpu else 8)
                least = (8 if self.cpu else 16) if first else 2
                most = min(self.largest_group, 2 * trips - 1, (4096 if self.cpu else 1024) if first else 64)
                found[f"L{number}"] = _sizes(least, most, usual, loops)
            if "E" in axis.kind.tiles:
                tile = axis.kind.name == "tile"
                most = (1024 if not form.elements else 32) if tile else 16
                found[f"E{number}"] = _sizes(2, min(most, 2 * trips - 1), 8 if tile else 4, loops)
        if split := _split_reductions(nest, form):
            loops = [nest.by_name[loop] for loop in split]
            most = 2 * max(loop.trips for loop in loops) - 1
            low, high, usual = (4, 32 if form.reduction == "unrolled" else 64, 16) if form.prefetch else (2, 16, 4)
            found["K"] = _sizes(low, min(high, most), usual, loops)
        return found

    def _assumptions(self, point: Point) -> list[str]:
        """Return the conditions on sizes, true at the given ones, that leave out tests of the ends of split loops."""
        tiles, divisors, nest = dict(point.tiles), dict[str, int](), self.nests[point.form.parts]
        splits = [(step.arguments[0], int(str(step.arguments[1]))) for step in nest.first if step.name == "split_iname"]
        splits += [(loop, tiles["K"]) for loop in _split_reductions(nest, point.form)]
        for number, axis in enumerate(point.form.axes):
            size = math.prod(tiles[f"{letter}{number}"] for letter in axis.kind.tiles)
            splits += [(loop, size) for loop in axis.loops]
        loops = {**nest.by_name, **self.nests[()].by_name}
        for loop, size in ((loops[name], size) for name, size in splits if name in loops):
            known = set(re.findall(r"[^\W\d]\w*", loop.upper)) <= set(dict(self.sizes))
            if loop.upper and known and size > 1 and loop.trips % size == 0:
                divisors[loop.upper] = max(size, divisors.get(loop.upper, 1))  # tiles are powers of two
        uppers = {upper: upper if upper.isidentifier() else f"({upper})" for upper in divisors}
        texts = (f"{uppers[upper]} mod {size} = 0" for upper, size in divisors.items())
        return [text for text in texts if not self._implied(text)]

    @cached_method
    def _implied(self, text: str) -> bool:
        """Whether the plain kernel's own assumptions imply a condition."""
        own, more = (unit.default_entrypoint.assumptions for unit in (self.t_unit, lp.assume(self.t_unit, text)))
        return bool(own.is_subset(more))

    @cached_property
    def _points(self) -> dict[Recipe, Point]:
        return {}

    def _fits(self, form: Form, tiles: Mapping[str, int]) -> bool:
        nest = self.nests[form.parts]
        items, elements = (math.prod(size for name, size in tiles.items() if name[0] == letter) for letter in "LE")
        lanes = [axis.loops[0] for axis in form.axes if axis.kind.name == "lanes"]
        items *= math.prod(nest.by_name[loop].trips for loop in lanes)
        kept = elements if form.elements else 1
        alone = items == 1 and not nest.first_axis("l")
        few = items <= self.largest_group and kept <= (ALONE if alone else REGISTERS)
        unrolled = len(_split_reductions(nest, form)) if form.reduction == "unrolled" else 0
        copies = kept * tiles.get("K", 1) ** unrolled
        copies *= max(
            math.prod(nest.by_name[loop].trips for loop in part.intersection(form.unrolled))
            for part in _parts(nest, form.prefetch)
        )
        few = few and (copies == 1 or copies * len(nest.accesses) <= LONGEST_CODE)
        # with a tile of twice the trips, half of a group has no work
        few = few and all(
            tiles[f"L{number}"] * tiles[f"E{number}"] < 2 * max(nest.by_name[loop].trips for loop in axis.loops)
            for number, axis in enumerate(form.axes) if axis.kind.tiles == "LE"
        )  # fmt: skip
        return few and _local_bytes(nest, form, tiles) <= self.local_bytes


def _steps(nest: Nest, point: Point) -> Iterator[Step]:
    form, tiles = point.form, dict(point.tiles)
    yield from nest.first
    yield from (Step.of("merge_domains", loops) for loops in nest.split_domains if form.prefetch)
    computed = _computed(nest, form.prefetch)
    if computed:
        yield Step.of("extract_invariants", computed.loops)
    for axis in form.axes:
        yield from (Step.of("add_inames_to_insn", loop, f"id:{statement}") for loop, statement in axis.moved)
    groups, items = (nest.first_axis(letter) for letter in "gl")
    for number, axis in enumerate(form.axes):
        tags = (f"g.{groups}", f"l.{items}", form.elements)
        for loop in axis.loops:
            yield from _distributed(axis, loop, tags, tiles.get(f"L{number}", 1), tiles.get(f"E{number}", 1))
            if axis.kind.name == "local" and nest.by_name[loop].kind == "reduction":
                yield Step.of("split_reduction_outward", f"{loop}_inner")
        groups += axis.kind.parts.group is not None
        items += axis.kind.parts.items is not None
    for loop in _split_reductions(nest, form):
        yield Step.of("split_iname", loop, tiles["K"], **{"inner_tag": "unr"} if form.reduction == "unrolled" else {})
    yield from (_fetch_step(nest, form, array) for array in form.prefetch)
    unrolled = list(form.unrolled)
    for array, sums in _repeated(nest, form.prefetch):
        names = [name for loop in sums for name in _sequential(nest, form, loop)]
        yield Step.of("duplicate_inames", ",".join(names), f"id:{array}", suffix=f"_{array}")
        unrolled += [f"{loop}_{array}" for loop in sums if loop in form.unrolled]
    if unrolled:
        yield Step.of("tag_inames", ", ".join(f"{loop}:unr" for loop in unrolled))
    together = (tuple(loop for loop in nest.kept if loop in one.all) for one in nest.statements)
    for loops in dict.fromkeys((form.order, *together)):
        names = [name for loop in loops for name in _sequential(nest, form, loop)]
        yield from [Step.of("prioritize_loops", ",".join(names))] * (len(names) > 1)
    yield from _barriers(nest, form)


def _computed(nest: Nest, names: Sequence[str]) -> Invariants | None:
    """Return the values to which those with these names belong, or None if the names are arrays."""
    return next((one for one in nest.invariants if any(value.array in names for value in one.values)), None)


def _parts(nest: Nest, names: Sequence[str]) -> list[frozenset[str]]:
    """Return sets of loops: those of statements, and for each value that is computed in advance those of its sums."""
    computed = _computed(nest, names)
    if computed is None:
        return [one.all for one in nest.statements]
    chosen = [one.reductions for one in computed.values if one.array in names]
    others = [one.reductions for one in computed.values if one.array not in names]
    rest = frozenset(nest.by_name).difference(*chosen).union(computed.left, *others)
    return [rest, *chosen]


def _repeated(nest: Nest, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield values, and those of their reductions that statements or values before them have too."""
    known, *others = _parts(nest, names)
    for name, own in zip(names, others, strict=True) if _computed(nest, names) else ():
        if own & known:
            yield name, sorted(own & known)
        known |= own


def _fetch_step(nest: Nest, form: Form, array: str) -> Step:
    fetch = _fetched(nest, form, array) or Fetch()
    options = {} if fetch.alone else {"default_tag": "l.auto"}
    if array not in nest.arrays:
        return Step.of("precompute", array, fetch.sweeps, precompute_outer_inames=set(fetch.outer), **options)
    options |= {"within": match} if (match := nest.match_of(array)) else {}
    return Step.of("add_prefetch", array, fetch.sweeps, fetch_outer_inames=set(fetch.outer), **options)


def _distributed(axis: Axis, loop: str, tags: Sequence[str], size: int, several: int) -> Iterator[Step]:
    """Yield the steps that put a loop on an axis. `tags` are those of groups, work-items and elements."""
    parts = axis.parts(loop)
    tag_of = dict(zip(parts, (*tags, ""), strict=True))
    size_of = {parts.items: size, parts.elements: several}
    splits = ((loop, size * several), (f"{loop}_inner", size_of.get(f"{loop}_inner_inner")))
    for whole, inner in splits[: len(axis.kind.tiles)]:
        options = {f"{side}_tag": tag_of.get(f"{whole}_{side}") for side in ("outer", "inner")}
        yield Step.of("split_iname", whole, inner, **{option: tag for option, tag in options.items() if tag})
    if not axis.kind.tiles:
        yield Step.of("tag_inames", f"{loop}:{tag_of[loop]}")


def _barriers(nest: Nest, form: Form) -> Iterator[Step]:
    """Yield the steps that order statements of different nests, and that share the results of trees in a group."""
    within = {"within_inames": {nest.step}} if nest.step else {}
    yield from (Step.of("add_barrier", f"id:{before}", f"id:{after}", **within) for before, after in nest.ordered)
    if _on_host(nest, form):
        every = " or ".join(f"id:{statement.name}" for statement in nest.statements)
        yield Step.of("add_barrier", every, insn_after=None, **within)
    for statement, readers in _shared(nest, form):
        yield Step.of("set_temporary_address_space", statement.scalar, "local")
        after = " or ".join(f"id:{reader}" for reader in readers)
        yield Step.of("add_barrier", f"id:{statement.name}", after, synchronization_kind="local",
                      within_inames=statement.loops)  # fmt: skip


def _on_host(nest: Nest, form: Form) -> bool:
    """Whether the loop :attr:`Nest.step` is a loop of the host, which launches kernels in each iteration."""
    stepped = any(nest.by_name[loop].step for axis in form.axes for loop in axis.loops)
    return stepped or bool(nest.step and nest.ordered)


def _shared(nest: Nest, form: Form) -> list[tuple[Statement, tuple[str, ...]]]:
    """Return the statements whose tree in a group gives a private scalar that other statements read, and these."""
    trees = {loop for axis in form.axes if axis.kind.name in ("local", "lanes") for loop in axis.loops}
    found = []
    for statement in nest.statements:
        readers = [other.name for other in nest.statements if statement.scalar in other.reads and other != statement]
        if statement.scalar and statement.reductions & trees and readers:
            found.append((statement, tuple(readers)))
    return found


def _split_reductions(nest: Nest, form: Form) -> list[str]:
    """Return the sequential reductions that the form splits: long ones whose bounds do not depend on data."""
    taken = form.placed.keys() | set(form.unrolled)
    return sorted(loop.name for loop in nest.loops if form.reduction and _long(loop) and loop.name not in taken)


def _long(loop: Loop) -> bool:
    return loop.kind == "reduction" and not loop.by_data and not (loop.constant and loop.trips <= SHORT)


def _sequential(nest: Nest, form: Form, loop: str) -> list[str]:
    """Return the sequential loops that a form makes of a loop, from outside to inside."""
    if parts := form.placed.get(loop):
        return [name for name in (parts.outer, "" if form.elements else parts.elements) if name]
    return [f"{loop}_outer", f"{loop}_inner"] if loop in _split_reductions(nest, form) else [loop]


class Fetch(NamedTuple):
    """A prefetch of an array, or the computation of values in advance."""

    sweeps: tuple[str, ...] = ()  #: loops whose elements are fetched together
    outer: tuple[str, ...] = ()  #: loops around the fetch
    plain: tuple[str, ...] = ()  #: loops of the plain kernel whose parts are in `sweeps`
    alone: bool = False  #: whether each work-item computes its own values


def _fetched(nest: Nest, form: Form, array: str) -> Fetch | None:
    """Return how a form fetches an array or computes an invariant, or None if it cannot."""
    loads = nest.loads_of(array)
    if not loads or nest.match_of(array) is None or not all(access.affine for access in loads):
        return None
    uses = nest.uses_of(array)
    placed, split = form.placed, _split_reductions(nest, form)
    inside, value = any(loop in split or placed.get(loop, Parts()).outer for loop in uses), array not in nest.arrays
    # A fetch inside of a reduction is inside of the loops around it, which are all that ILP does not move inside.
    deep = inside and form.elements != "ilp"
    alone = value and all(loop in uses for loop in loads[0].within if placed.get(loop, Parts()).items)
    computed = _computed(nest, [array])
    again = set(computed.loops.split(",")) - placed.keys() if computed else ()  # other values are the same in these
    sweeps: dict[str, list[str]] = {}
    outer: list[str | None] = []
    for loop in sorted(loads[0].within):
        used = loop in uses
        reduced = loop in nest.by_name and nest.by_name[loop].kind == "reduction"
        own = alone and used and not reduced and loop not in again  # a work-item computes the values of one iteration
        around = used or (value and inside)
        parts = placed.get(loop) or (Parts(elements=f"{loop}_inner", outer=f"{loop}_outer") if loop in split else None)
        if parts is None:  # the loop stays as it is
            whole = used and not own and _whole(nest, loop)
            if used and reduced and not whole:
                return None
            parts = Parts(elements=loop) if whole else Parts() if reduced else Parts(outer=loop)
            around = around or inside  # the loops that stay are around a reduction and its fetches
        once = own or (loop in placed and deep)  # a fetch for each of a work-item's elements
        outer += [parts.group, parts.outer if around else None, parts.elements if once else None]
        outer += [parts.items] * own
        if used and (names := list(filter(None, [None if own else parts.items, None if once else parts.elements]))):
            sweeps[loop] = names
    swept = tuple(chain.from_iterable(sweeps.values()))
    return Fetch(swept, tuple(filter(None, outer)), tuple(sweeps), alone) if swept or value else None


def _fetchable(nest: Nest, form: Form) -> list[str]:
    """Return the arrays of which several work-items read an element, or which are read along another axis."""
    placed = form.placed
    spread = [loop for loop, parts in placed.items() if parts.items]
    several = {loop for loop, parts in placed.items() if parts.items or parts.elements}
    scalars = {scalar for loop in nest.loops for scalar in loop.by_data}
    bounds = {array for statement in nest.statements if statement.scalar in scalars for array in statement.reads}
    found = []
    for array in sorted(nest.arrays - nest.written - bounds) if spread and not nest.first else ():
        fetch = _fetched(nest, form, array)
        if fetch is None:
            continue
        loads, uses = nest.loads_of(array), nest.uses_of(array)
        shifts = {load.constants for load in loads}
        if len(shifts) < math.prod(len(set(shift)) for shift in zip(*shifts, strict=True)):
            continue  # Loopy fetches boxes only
        lanes = [loop for loop in spread if loop in loads[0].within]
        if len(fetch.plain) < sum(not set(axis.loops).isdisjoint(lanes) for axis in form.axes):
            continue  # each of the group's axes takes part in a fetch
        across = lanes and any(
            abs(load.stride(lanes[0])) > 1 and any(abs(load.stride(loop)) == 1 for loop in load.uses) for load in loads
        )
        if several & loads[0].within - uses or len(shifts) > 1 or across:
            found.append(array)
    return found


def _computable(nest: Nest, form: Form) -> Iterator[tuple[str, ...]]:
    """Yield the values without each loop that a form can compute once for several iterations."""
    placed, split = form.placed, _split_reductions(nest, form)
    tree = any(nest.by_name[loop].kind == "reduction" for loop in placed)
    for some in () if tree or (split and all(_whole(nest, loop) for loop in split)) else nest.invariants:
        names = []
        for value in some.values:
            fetch, others = _fetched(nest, form, value.array), value.within - value.uses
            if fetch is None or not value.kept.isdisjoint(fetch.plain):
                continue
            if split and form.elements and not fetch.alone:
                continue  # Loopy's scheduler may crash
            again = {part for loop in others for part in (placed[loop][1:] if loop in placed else (loop,))}
            axes = [axis for axis in form.axes if axis.kind.parts.items is not None and value.within & set(axis.loops)]
            if again - {None, *fetch.outer} and (fetch.alone or len(fetch.plain) >= len(axes)):
                names.append(value.array)
        if names:
            yield tuple(names)


def _local_bytes(nest: Nest, form: Form, tiles: Mapping[str, int]) -> int:
    """Return about how many bytes of local memory a recipe uses."""
    extents: dict[str, int] = {}
    for number, axis in enumerate(form.axes):
        for loop in axis.loops:
            size = nest.by_name[loop].trips if axis.kind.name == "lanes" else tiles.get(f"L{number}", 1)
            extents[loop] = size * tiles.get(f"E{number}", 1)
    extents |= dict.fromkeys(_split_reductions(nest, form), tiles.get("K", 1))
    total = sum(16 * size for loop, size in extents.items() if nest.by_name[loop].kind == "reduction")
    for array in form.prefetch:
        loads = nest.loads_of(array)
        halo = 2 if len({access.constants for access in loads}) > 1 else 0
        loops = nest.uses_of(array) if array in nest.arrays else (_fetched(nest, form, array) or Fetch()).plain
        cells = math.prod(
            extents.get(loop, nest.by_name[loop].trips if _whole(nest, loop) else 1) + halo for loop in loops
        )
        total += cells * loads[0].bytes
    return total


def _whole(nest: Nest, loop: str) -> bool:
    known = nest.by_name.get(loop)
    return known is not None and known.constant and known.trips <= REGISTERS and not known.by_data


def _sizes(least: int, most: int, usual: int, loops: Sequence[Loop]) -> tuple[int, ...]:
    """Return powers of two from least to most, one at least, and divisors of a short loop.

    Divisors come first, then those near the usual value.
    """
    trips = max(loop.trips for loop in loops)
    values = {least, *(least << power for power in range(1, 16) if least << power <= most)}
    if all(loop.constant for loop in loops) and trips <= REGISTERS:
        values.update(size for size in range(least, most + 1) if trips % size == 0)
    return tuple(sorted(values, key=lambda value: (trips % value != 0, abs(math.log2(value / usual)), value)))


def _distance(one: Form, other: Form) -> int:
    """Return the number of fields that differ; each axis counts."""
    names = [field.name for field in fields(Form) if field.name != "axes"]
    pairs = [*zip_longest(one.axes, other.axes), *((getattr(one, name), getattr(other, name)) for name in names)]
    return sum(mine != yours for mine, yours in pairs)


def recipes_of(
    t_unit: TranslationUnit, sizes: Mapping[str, int] | None = None, facts: DeviceFacts | None = None
) -> Recipes:
    """Return the recipes of a plain kernel: one whose loops have no tags. A loop with a tag keeps it.

    Parameters
    ----------
    t_unit:
        The kernel. If it cannot be transformed, the value is empty, and ``notes`` has the reason.
    sizes:
        Sizes by parameter. They set the largest tiles and the order: tiles that divide a loop come first. Without
        them every parameter counts as 1024.
    facts:
        The device's facts: its largest work-group, its local memory and its type. Without them, a work-group has at
        most 256 work-items and 32 KiB of local memory, and forms for GPUs come first.

    Raises
    ------
    ArgumentError
        if `t_unit` is not a translation unit.

    Notes
    -----
    The function is not named ``recipes``, because this is the name of its package. A loop is parallel only if no two
    of its iterations access one element of which one writes it (Loopy's check of write races, for each loop alone),
    and if no private scalar outlives an iteration. If only different iterations of a sequential loop around all
    statements access such elements, that loop is a loop of the host, and a global barrier ends each of its iterations.
    """
    if not isinstance(t_unit, TranslationUnit):
        raise ArgumentError(f"t_unit is of the type {type(t_unit).__name__}", "give a loopy.TranslationUnit")
    cpu = facts is not None and facts.known("device_type", "gpu") == "cpu"
    largest = int(facts.known("max_work_group_size", LARGEST_GROUP)) if facts is not None else LARGEST_GROUP
    local = int(facts.known("local_memory_bytes", LOCAL_BYTES)) if facts is not None else LOCAL_BYTES
    given = tuple(sorted((sizes or {}).items()))
    nest = _nest(t_unit, dict(given))
    nests = {one.parts: one for one in (nest, *in_stages(t_unit, nest, dict(given), cpu=cpu))}
    ranked = sorted(chain.from_iterable(_forms(one, cpu=cpu) for one in nests.values()), key=itemgetter(0))
    forms = tuple(form for _, form in ranked[:MOST_FORMS])
    none = "no loop without a tag can run in parallel" if nest.loops else "all loops have tags already"
    notes = nest.notes if forms or not nest.statements else (none, *nest.notes)
    return Recipes(t_unit, given, cpu, largest, local, notes, forms, nests)


def _nest(t_unit: TranslationUnit, sizes: Mapping[str, int]) -> Nest:
    """Return the loops of a kernel. If it cannot be transformed, there are none, and a note has the reason."""
    kernels = [kernel for kernel in t_unit.callables_table.values() if isinstance(kernel, lp.CallableKernel)]
    if len(kernels) != 1 or len(t_unit.entrypoints) != 1:
        return Nest(notes=(f"the unit has {len(kernels)} kernels; recipes need one, with its callees inlined",))
    try:
        return nesting.nest_of(t_unit, sizes)
    except Exception as error:  # Loopy refuses the plain kernel with errors of many kinds
        return Nest(notes=(f"Loopy refuses the untransformed kernel: {reason_of(error)}",))


def legal(recipe: Recipe, t_unit: TranslationUnit) -> TranslationUnit:
    """Return the transformed and scheduled unit. Raise a KernelError with a `reason` if Loopy's checks refuse it.

    A write race is a refusal too, unless a single work-item executes the instruction.
    """
    t_unit = recipe.apply(t_unit)
    kernel = t_unit.default_entrypoint
    stated = {f"write_race({insn.id})" for insn in kernel.instructions if nesting.states_no_race(kernel, insn)}
    t_unit = t_unit.with_kernel(kernel.copy(silenced_warnings=frozenset({"v1_scheduler_fallback", *stated})))
    try:
        with nesting.quiet() as given:
            checked = lp.preprocess_program(t_unit)
            check_for_write_races(checked)
            pre_schedule_checks(checked)
            kernel = checked.default_entrypoint
            # lp.linearize would wait for the user's Enter where it finds no schedule
            schedules = generate_loop_schedules(kernel, checked.callables_table, debug_args={"interactive": False})
            unit: TranslationUnit = checked.with_kernel(next(iter(schedules)))
            check_for_unused_hw_axes_in_insns(unit.default_entrypoint, unit.callables_table)
        launches = get_subkernel_to_insn_id_map(unit.default_entrypoint).values()
        for ids in launches:
            kernel.get_grid_sizes_for_insn_ids(ids, checked.callables_table)  # refuses an axis that no loop uses
        for text in (str(one.message) for one in given if issubclass(one.category, WriteRaceConditionWarning)):
            match = _RACE.search(text)
            insn = kernel.id_to_insn[match[1]] if match else None
            ids = next((ids for ids in launches if insn is not None and insn.id in ids), ())
            own = kernel.copy(instructions=[one for one in kernel.instructions if one.id in ids])  # with its work-items
            checker = nesting.RaceChecker(own, checked.callables_table)
            if not ids or insn is None or any(checker.races(insn.id, insn.id, name) for name in nesting.assigned(insn)):
                raise WriteRaceConditionWarning(text.partition(" (add ")[0])
    except Exception as error:  # Loopy raises many kinds
        reason = reason_of(error)
        problem = f"Loopy refuses the transformed kernel: {reason}"
        raise KernelError(problem, "use another recipe", reason=reason) from error
    return unit


def _covers(nest: Nest) -> list[Axis]:
    """Return sets of loops that can share an axis: one around each statement. Their kind is to be chosen.

    If the kernel has several stages, a second axis may be of one stage alone. These sets come last.
    """
    usable = [loop for loop in nest.loops if loop.kind != "serial" and not loop.by_data]
    if any("ilp" in tag for _, tag in nest.tagged):
        usable = [loop for loop in usable if loop.kind != "reduction"]  # with a tree, Loopy's code would be wrong
    names = {loop.name for loop in usable}
    # a stage without such loops is one work-item
    stages = {nest.stages[one.name] for one in nest.statements if one.all & names}
    every = tuple(one for one in nest.statements if nest.stages[one.name] in stages)
    parts = [every] if len(stages) < 2 else [every, *(
        tuple(one for one in every if nest.stages[one.name] == stage) for stage in sorted(stages)
    )]  # fmt: skip
    found: dict[frozenset[str], Axis] = {}
    for statements in parts:
        for loop in usable:
            axis = _cover(nest, loop, statements)
            whole = statements is every
            if axis is None and whole and any(loop.name == one.loops for one in nest.invariants):
                axis = Axis((loop.name,), _STEPS)  # of a work-item, which computes values once for several steps
            if axis is not None and (whole or loop.kind == "parallel"):
                found.setdefault(frozenset(axis.loops), axis)
    return list(found.values())


def _cover(nest: Nest, loop: Loop, statements: Sequence[Statement]) -> Axis | None:
    """Return the set with a loop around each of the statements, or None if one has no such loop."""
    loops, moved = [loop.name], []
    for statement in statements:
        if not statement.all.isdisjoint(loops):
            continue
        if other := _sibling(nest, loops, statement):
            loops.append(other)
        elif target := _movable(nest, loops, statement):
            moved.append((target, statement.name))
        else:
            return None
    return Axis(tuple(loops), KINDS[0], tuple(moved))


def _sibling(nest: Nest, loops: Sequence[str], statement: Statement) -> str:
    """Return a loop of a statement that is never inside of the others, or "". In a stage, all have as many trips.

    A loop of the same kind is preferred, and then one that has the same rank among the loops of its statement.
    """
    stage = nest.stages[statement.name]
    bounds = {nest.by_name[loop].bounds for one in nest.statements if nest.stages[one.name] == stage
              for loop in one.all.intersection(loops)}  # fmt: skip

    def role(name: str) -> tuple[bool, int]:
        statement = next(one for one in nest.statements if name in one.all)
        ranked = [loop.name for loop in nest.loops if loop.name in statement.all]
        return nest.by_name[name].kind == "parallel", ranked.index(name)

    inside = frozenset().union(*(one.all for one in nest.statements if not one.all.isdisjoint(loops)))
    usable = [loop.name for loop in nest.loops if loop.name in statement.all - inside and loop.kind != "serial"
              and not loop.by_data and bounds <= {loop.bounds}]  # fmt: skip
    parallel, rank = role(loops[0])
    return min(usable, key=lambda name: (role(name)[0] != parallel, abs(role(name)[1] - rank)), default="")


def _movable(nest: Nest, loops: Sequence[str], statement: Statement) -> str:
    """Return the loop into which a statement can move, or "": it computes a private scalar from what stays the same."""
    if not statement.scalar or statement.reductions or statement.reads & nest.written:
        return ""
    readers = [other for other in nest.statements if statement.scalar in other.reads]
    writers = [other for other in nest.statements if statement.scalar in other.writes]
    targets = {next((name for name in loops if name in reader.loops), "") for reader in readers}
    if len(writers) != 1 or len(targets) != 1 or any(not statement.loops <= reader.loops for reader in readers):
        return ""
    return targets.pop()


def _forms(nest: Nest, *, cpu: bool) -> Iterator[tuple[float, Form]]:
    """Yield forms, and how unusual they are, those with usual axes first, and not all if there are very many."""
    covers = [cover for cover in _covers(nest) if _kinds(nest, cover)][:MOST_COVERS]
    ranks = {loop: rank for rank, cover in reversed([*enumerate(covers)]) for loop in cover.loops}
    most = sum(any(nest.by_name[loop].kind == "parallel" for loop in cover.loops) for cover in covers)
    ranked = [(_rank(nest, axes, ranks, min(most, 2), cpu=cpu), axes) for axes in _axes(nest, covers)]
    ranked.sort(key=itemgetter(0))
    options = ((rank + more, form) for rank, axes in ranked for more, form in _options(nest, axes, cpu=cpu))
    return islice(options, 5 * MOST_FORMS)


def _axes(nest: Nest, covers: Sequence[Axis]) -> Iterator[tuple[Axis, ...]]:
    """Yield the choices of axes. Those with work-items come first, and others in the order of the covers."""
    stages = [len({nest.stages[one.name] for one in nest.statements if one.all & set(at.loops)}) for at in covers]
    for number in range(1, min(MOST_AXES, len(covers)) + 1):
        for chosen in permutations(range(len(covers)), number):
            loops = [loop for at in chosen for loop in covers[at].loops]
            if len(loops) > len(set(loops)) or stages[chosen[0]] < max(stages):
                continue
            for kinds in product(*(_kinds(nest, covers[at]) for at in chosen)):
                on_items = [kind.parts.items is not None for kind in kinds]
                rest = chosen[sum(on_items):]
                if on_items != sorted(on_items, reverse=True) or (any(on_items) and list(rest) != sorted(rest)):
                    continue
                if kinds[0].name == "steps":
                    continue
                trees, several = sum(kind.name == "local" for kind in kinds), sum("E" in kind.tiles for kind in kinds)
                if trees > 1 or several > (1 if number == MOST_AXES and kinds[-1].name != "group" else 2):
                    continue
                axes = tuple(covers[at]._replace(kind=kind) for at, kind in zip(chosen, kinds, strict=True))
                if _shared_is_legal(nest, axes):
                    yield axes


def _kinds(nest: Nest, cover: Axis) -> list[Kind]:
    if cover.kind == _STEPS:
        return [cover.kind]
    loops = [nest.by_name[name] for name in cover.loops]
    short = all(loop.constant and loop.trips <= REGISTERS for loop in loops)
    if any(loop.kind == "reduction" for loop in loops):
        names = {"local"} if not short or loops[0].trips > SHORT else set()
    elif short:
        names = {kind.name for kind in KINDS} - {"local"} if loops[0].trips > SHORT else {"lanes", "group"}
    else:
        names = {kind.name for kind in KINDS} - {"lanes", "steps"}
    if nest.first and nest.tagged:  # with other loops around lanes, compilers do not make vectors of these
        names &= {"group"}
    return [kind for kind in KINDS if kind.name in names]


def _shared_is_legal(nest: Nest, axes: tuple[Axis, ...]) -> bool:
    """Whether scalars that a tree gives are shared by the whole group, and are written once."""
    shared = _shared(nest, Form(axes))
    rest = [axis for axis in axes if not any(set(axis.loops) & statement.reductions for statement, _ in shared)]
    grouped = {loop for axis in rest for loop in axis.loops}
    return not shared or (
        all(axis.kind.name == "group" for axis in rest) and all(statement.loops <= grouped for statement, _ in shared)
    )


def _rank(nest: Nest, axes: tuple[Axis, ...], ranks: Mapping[str, int], most: int, *, cpu: bool) -> float:
    """Return how unusual a choice of axes is; small is usual."""
    kinds, fewer = [axis.kind for axis in axes], most - len(axes)
    rank = 3.0 * (abs(fewer) if cpu else max(fewer, 0))  # a GPU needs many groups
    rank += 2.0 * ranks[axes[0].loops[0]] + 2.0 * (kinds[0].parts.items is None)
    parallel = [nest.by_name[loop].kind == "parallel" for axis in axes for loop in axis.loops]
    return rank + sum(kind.on_cpu if cpu else kind.on_gpu for kind in kinds) + 2.0 * (most > 0 and not all(parallel))


def _options(nest: Nest, axes: tuple[Axis, ...], *, cpu: bool) -> Iterator[tuple[float, Form]]:
    """Yield the forms with these axes, and how unusual their other choices are."""
    taken = {loop for axis in axes for loop in axis.loops}
    # ILP gives each element its own scalars and arrays: arrays become too large, and Loopy would not find the bounds
    # of a loop that are such scalars.
    several = any("E" in axis.kind.tiles for axis in axes)
    # With a tree, Loopy's code for several elements is wrong.
    several = several and not any(nest.by_name[loop].kind == "reduction" for loop in taken)
    several = several and not nest.private and not any(loop.by_data for loop in nest.loops)
    outside = taken | ({nest.step} if _on_host(nest, Form(axes)) else set())
    rest = [loop for loop in nest.loops if loop.name not in outside]
    short = _unrollable(rest, _parts(nest, ()))
    vectors = bool(nest.first and nest.tagged)  # compilers make none of the lanes in unrolled loops
    splits = ("", "unrolled", "split") if any(map(_long, rest)) and not vectors else ("",)
    steps = any(axis.kind.name == "steps" for axis in axes)
    choices = product(("",) * (not steps) + ("ilp",) * several, splits, ((), short) if short else ((),))
    for elements, reduction, unrolled in choices:
        form = Form(axes, elements, reduction, unrolled=unrolled, parts=nest.parts)
        arrays, split = tuple(_fetchable(nest, form)), set(_split_reductions(nest, form))
        values = [*_computable(nest, form)]  # they save work, so forms with them are first
        for prefetch in dict.fromkeys([(), arrays, *((array,) for array in arrays), *values]):
            loads = chain.from_iterable(map(nest.loads_of, prefetch))
            if reduction == "split" and not any(split & load.uses for load in loads):
                continue
            fetched = replace(form, prefetch=prefetch)
            if unrolled and prefetch in values:
                fetched = replace(fetched, unrolled=_unrollable(rest, _parts(nest, prefetch)))
            alone = prefetch in values and all((_fetched(nest, form, name) or Fetch()).alone for name in prefetch)
            for number, order in enumerate([()] if prefetch in values else _orders(nest, fetched)):
                penalty = (elements != "") + (reduction != "") + (unrolled != ()) + bool(prefetch) + number
                penalty -= 4 * (prefetch in values) + 4 * alone * len(prefetch)  # without barriers
                # usual on GPUs: a group loads tiles of all factors of a sum
                penalty -= 2 * (not cpu and reduction == "split" and len(prefetch) > 1)
                # usual on CPUs: a lone work-item keeps a tile of results in registers
                penalty -= 4 * (cpu and elements == "ilp" and [axis.kind.name for axis in axes] == ["tile", "tile"])
                yield penalty, replace(fetched, order=order)


def _unrollable(loops: Sequence[Loop], parts: Sequence[frozenset[str]]) -> tuple[str, ...]:
    """Return the short loops that are unrolled, reductions first, without making the code of a part too long."""
    found: list[str] = []
    copies = dict.fromkeys(parts, 1)
    for loop in sorted(loops, key=lambda loop: loop.kind != "reduction"):
        more = {part: copies[part] * loop.trips for part in parts if loop.name in part}
        short = loop.constant and 1 < loop.trips <= SHORT and not loop.by_data
        if short and max(more.values(), default=0) <= REGISTERS:
            found.append(loop.name)
            copies |= more
    return tuple(sorted(found))


def _orders(nest: Nest, form: Form) -> list[tuple[str, ...]]:
    """Return orders of the sequential loops of one statement, the best loop for neighbours inside first.

    Loops that carry dependencies keep their order: a form has orders only if at most one does.
    """
    inner = {loop.name for loop in nest.loops if loop.name not in form.unrolled and _sequential(nest, form, loop.name)}
    inner -= {loop for axis in form.axes for loop in axis.loops if nest.by_name[loop].kind == "reduction"}
    on_host = _on_host(nest, form)
    inner -= {nest.step} if on_host else set()  # it is outermost
    best: list[Loop] = []
    for statement in nest.statements:
        loops = [loop for loop in reversed(nest.loops) if loop.name in inner & statement.all]
        for kinds in (("parallel", "serial"), ("reduction",)):  # reductions are inside of the other loops
            best = max(best, [loop for loop in loops if loop.kind in kinds], key=len)
    serial = [loop for loop in best if loop.kind == "serial" or (loop.step and not on_host)]
    if not 2 <= len(best) <= MOST_ORDERED or len(serial) > 1 or (form.prefetch and any(map(_long, nest.loops))):
        return [()]
    return [*islice(permutations(loop.name for loop in best), MOST_ORDERS), ()]
