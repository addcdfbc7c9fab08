"""The grammar of random kernels: loop nests, accesses, expressions, bodies and transformations, drawn by a seed.

A drawn kernel is text for Loopy with the transformations of it. What a loop does not change would be moved out of it by
any compiler, and its counts would not be the executed ones. So each load in a loop names the variables of all loops,
and no operation has constants only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

T = TypeVar("T")

#: Shapes of work-groups by the number of parallel axes, l.0 first.
GROUPS = {
    1: ((32,), (64,), (128,), (256,)),
    2: ((8, 8), (16, 4), (16, 16), (32, 4), (32, 8), (64, 2), (128, 1), (4, 32)),
    3: ((8, 4, 4), (16, 4, 2), (32, 4, 1), (64, 1, 1), (4, 4, 8)),
}
#: Distances of rows in flattened arrays [cells]: powers of two, next to them, and others.
PITCHES = (255, 256, 257, 512, 1000, 1023, 1024, 1025, 2048, 4096, 4099)
#: Forms of a load and how often each is drawn.
LOADS = {
    "plain": 30, "transposed": 12, "broadcast": 16, "stencil": 14, "reversed": 6, "strided": 9, "pitch": 9,
    "blocked": 5, "gather": 5,
}  # fmt: skip
#: Binary operations, and how often each is drawn; a quotient is by a load, which is not near zero.
BINARY = {"({0} + {1})": 40, "{0}*{1}": 30, "({0} - {1})": 10, "fmin({0}, {1})": 4, "fmax({0}, {1})": 4, "{0}/{1}": 8}
#: Functions of any number, and how often each is drawn; arguments stay where none overflows.
UNARY = {
    "sqrt(fabs({0}) + 0.5{f})": 6, "exp(0.125{f}*{0})": 5, "fabs({0})": 3, "sin({0})": 2, "cos({0})": 2, "tanh({0})": 1,
    "log(fabs({0}) + 1.5{f})": 2, "(0.75{f}*{0} + 1.5{f})": 6,
}  # fmt: skip
#: What a run may take by the estimate at the smallest size, on two cores [s].
TIMES = 8e-5, 8e-4
#: Most bytes of all arrays at the smallest size.
MOST_BYTES = 12e6


@dataclass(frozen=True)
class Axis:
    """A parallel axis: work-items of a group along it, and cells of each with their layout and Loopy's tag."""

    name: str
    lanes: int
    cells: int = 1
    layout: str = "blocked"
    tag: str = ""

    @property
    def tile(self) -> int:
        """Cells of a work-group along the axis."""
        return self.lanes * self.cells


@dataclass(frozen=True)
class Loop:
    """A sequential loop: its trips are a parameter, a constant, or up to the position on an axis (a triangle)."""

    name: str
    kind: str
    trips: str
    unrolled: int = 1


@dataclass(frozen=True)
class Array:
    """An array argument: its type and the text of its shape; `near` is the reach of an index array's entries."""

    name: str
    dtype: str
    shape: tuple[str, ...]
    near: int | None = None


@dataclass(frozen=True)
class DrawnKernel:
    """A kernel that was drawn: what Loopy makes it of, how it is transformed, and its smallest sizes.

    `sizes` holds them by name, `grow` the sizes that are doubled in turn, and `prefetched` the arrays with tiles in
    local memory.
    """

    seed: int
    dtype: str
    axes: tuple[Axis, ...]
    loops: tuple[Loop, ...]
    guarded: bool
    body: str
    statements: tuple[str, ...]
    arrays: tuple[Array, ...]
    sizes: dict[str, int]
    grow: tuple[str, ...]
    prefetched: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name, by its seed."""
        return f"sample_{self.seed}"

    @property
    def multiples(self) -> dict[str, int]:
        """What each size is assumed to be a multiple of."""
        of_axes = {f"n{i}": 1 if self.guarded else axis.tile for i, axis in enumerate(self.axes)}
        return of_axes | {loop.trips: loop.unrolled for loop in self.loops if loop.kind == "parameter"}


@dataclass
class Writer:
    """Draws one kernel, and collects its arrays and what a point of its nest costs [ns]."""

    random: Random
    dtype: str
    axes: tuple[Axis, ...]
    loops: tuple[Loop, ...]
    arrays: list[Array] = field(default_factory=list)
    affine: list[str] = field(default_factory=list)
    cost: float = 1.0

    @property
    def counted_cells(self) -> set[str]:
        """The axes along which a work-item's cells are a loop, so that each load must name them."""
        return {axis.name for axis in self.axes if axis.cells > 1 and not axis.tag}

    def extent(self, name: str) -> str:
        """Return the text of a variable's number of values."""
        trips = {loop.name: loop.trips for loop in self.loops}
        return trips.get(name) or f"n{name[1:]}"

    def new(self, shape: Sequence[str], dtype: str = "", near: int | None = None) -> str:
        """Add an array of that shape and return its name."""
        name = f"a{len(self.arrays)}"
        self.arrays.append(Array(name, dtype or self.dtype, tuple(shape), near))
        return name

    def load(self, loops: Sequence[str]) -> str:
        """Return a load, or several of a stencil, that names each of these loops."""
        form = _of(self.random, LOADS)
        axes = [axis.name for axis in reversed(self.axes)]
        if form == "broadcast":
            kept = [name for name in axes if name in self.counted_cells or self.random.random() < 0.5]
            axes = kept or ([] if loops else axes[:1])
        names = [*loops, *axes] if self.random.random() < 0.5 else [*axes, *loops]
        if form == "transposed":
            self.random.shuffle(names)
        self.cost += {"transposed": 2.0, "strided": 1.5, "gather": 2.0, "pitch": 1.0}.get(form, 0.4)
        return getattr(self, f"_{form}", self._plain)(names)

    def _plain(self, names: Sequence[str]) -> str:
        array = self.new([self.extent(name) for name in names])
        self.affine.append(array)
        return f"{array}[{', '.join(names)}]"

    def _stencil(self, names: Sequence[str]) -> str:
        reach = self.random.choice((1, 1, 2))
        array = self.new([f"{self.extent(name)} + {2 * reach}" for name in names])
        places = [[reach] * len(names)]
        for axis in self.random.sample(range(len(names)), min(len(names), self.random.choice((1, 2)))):
            for shift in (-reach, reach) if reach == 1 else (-2, -1, 1, 2):
                places.append([reach + shift * (i == axis) for i in range(len(names))])
        self.cost += 0.3 * len(places)
        cells = [", ".join(_plus(name, at) for name, at in zip(names, place, strict=True)) for place in places]
        factors = [f"{self.random.choice((0.125, 0.25, 0.5))}{self.suffix}*{array}[{cell}]" for cell in cells]
        self.affine.append(array)
        return f"({' + '.join(factors)})"

    def _reversed(self, names: Sequence[str]) -> str:
        turned = self.random.randrange(len(names))
        array = self.new([self.extent(name) for name in names])
        cells = [f"{self.extent(name)} - 1 - {name}" if i == turned else name for i, name in enumerate(names)]
        return f"{array}[{', '.join(cells)}]"

    def _strided(self, names: Sequence[str]) -> str:
        wide, stride = self.random.randrange(len(names)), self.random.choice((2, 2, 3, 4, 8))
        factors = [stride if i == wide else 1 for i in range(len(names))]
        array = self.new([_times(f, self.extent(name)) for f, name in zip(factors, names, strict=True)])
        cells = ", ".join(_times(f, name) for f, name in zip(factors, names, strict=True))
        return f"{array}[{cells}]"

    def _pitch(self, names: Sequence[str]) -> str:
        *rows, last = names
        pitches = [self.random.choice(PITCHES) for _ in rows]
        far = [f"{pitch}*{self.extent(name)}" for pitch, name in zip(pitches, rows, strict=True)]
        array = self.new([" + ".join([*far, self.extent(last)])])
        cells = [f"{pitch}*{name}" for pitch, name in zip(pitches, rows, strict=True)]
        return f"{array}[{' + '.join([*cells, last])}]"

    def _blocked(self, names: Sequence[str]) -> str:
        block, split = self.random.choice((4, 8, 16)), names[-1]
        array = self.new([f"{self.extent(split)} // {block} + 1", *map(self.extent, names[:-1]), str(block)])
        return f"{array}[{', '.join([f'{split} // {block}', *names[:-1], f'{split} % {block}'])}]"

    def _gather(self, names: Sequence[str]) -> str:
        first = next((name for name in reversed(names) if name.startswith("i")), names[-1])
        if self.counted_cells - {first}:
            return self._plain(names)
        rest = [name for name in names if name.startswith("k") and name != first]
        reach = self.random.choice((0, 0, 16, 256))
        index = self.new([self.extent(first), *map(self.extent, rest)], "int32", reach)
        return f"{self.new([self.extent(first)])}[{index}[{', '.join([first, *rest])}]]"

    @property
    def suffix(self) -> str:
        """What a literal of the type ends with."""
        return "f" if self.dtype == "float32" else ""

    def expression(self, loops: Sequence[str], leaves: Sequence[str] = ()) -> str:
        """Return an expression of one to four loads and of given names."""
        parts = [*leaves, *(self.load(loops) for _ in range(_of(self.random, {1: 3, 2: 4, 3: 3, 4: 1})))]
        self.random.shuffle(parts)
        made = parts.pop()
        while parts:
            right = parts.pop()
            form = _of(self.random, BINARY)
            self.cost += 2.0 if "/" in form else 0.2
            made = form.format(made, right)
            if self.random.random() < 0.14:
                unary = _of(self.random, UNARY)
                self.cost += 0.4 if unary.startswith(("(", "fabs")) else 4.0
                made = unary.format(made, f=self.suffix)
        return made


def _of(random: Random, weights: Mapping[T, int]) -> T:
    return random.choices(list(weights), list(weights.values()))[0]


# {{{ drawing a kernel

def draw(seed: int) -> DrawnKernel:
    """Draw the kernel of a seed."""
    random = Random(seed)
    dtype = _of(random, {"float32": 7, "float64": 3})
    body = _of(random, {"pointwise": 9, "loop of stores": 2, "reduction": 9, "recurrence": 3})
    axes = _axes(random, _of(random, {1: 5, 2: 8, 3: 4}))
    guarded = random.random() < 0.25
    loops = _loops(random, axes, body)
    writer = Writer(random, dtype, axes, loops)
    statements = _statements(writer, body)
    sizes = _sizes(random, writer, guarded)
    return DrawnKernel(
        seed, dtype, axes, loops, guarded, body, statements, tuple(writer.arrays), sizes,
        tuple(random.sample(sorted(sizes), len(sizes))), _prefetched(random, writer, guarded),
    )  # fmt: skip


def _axes(random: Random, dimensions: int) -> tuple[Axis, ...]:
    lanes = random.choice(GROUPS[dimensions])
    several = random.randrange(dimensions) if random.random() < 0.35 else None
    cells = [random.choice((2, 4, 8)) if i == several else 1 for i in range(dimensions)]
    return tuple(
        Axis(f"i{i}", width, each, random.choice(("blocked", "interleaved")), random.choice(("unr", "ilp", "")))
        for i, (width, each) in enumerate(zip(lanes, cells, strict=True))
    )


def _loops(random: Random, axes: tuple[Axis, ...], body: str) -> tuple[Loop, ...]:
    if body == "pointwise":
        return ()
    loops = []
    for i in range(2 if body == "reduction" and random.random() < 0.3 else 1):
        kind = _of(random, {"parameter": 6, "constant": 2, "triangle": 2 * (body != "loop of stores" and not i)})
        if kind == "parameter":
            loops.append(Loop(f"k{i}", kind, f"m{i}", random.choice((1, 1, 1, 2, 4, 8))))
        elif kind == "constant":
            trips = random.randint(2, 9)
            loops.append(Loop(f"k{i}", kind, str(trips), random.choice((1, trips))))
        else:
            loops.append(Loop(f"k{i}", kind, f"n{random.randrange(len(axes))}"))
    return tuple(loops)


def _statements(writer: Writer, body: str) -> tuple[str, ...]:
    random, f = writer.random, writer.suffix
    loops = [loop.name for loop in writer.loops]
    if body == "pointwise":
        if random.random() < 0.3:
            first = f"<> t = {writer.expression(())} {{id=t}}"
            second = _store(writer, writer.expression((), ["t"]), (), " {dep=t}")
            return (first, second, *([_store(writer, writer.expression(()), ())] if random.random() < 0.4 else []))
        return tuple(_store(writer, writer.expression(()), ()) for _ in range(_of(random, {1: 4, 2: 1})))
    if body == "loop of stores":
        return (_store(writer, writer.expression(loops), loops),)
    if body == "reduction":
        over = f"({', '.join(loops)})" if len(loops) > 1 else loops[0]
        sums = [f"{_of(random, {'sum': 7, 'max': 2, 'min': 1})}({over}, {writer.expression(loops)})"
                for _ in range(_of(random, {1: 6, 2: 1}))]  # fmt: skip
        end = f" + {writer.load(())}" if random.random() < 0.4 else ""
        return (_store(writer, f" + 0.5{f}*".join(sums) + end, ()),)
    inside = f"for {', '.join(loops)}"
    step = f"acc = 0.75{f}*acc + {writer.expression(loops)} {{id=step, dep=first}}"
    return (f"<> acc = 0.25{f} {{id=first}}", inside, step, "end", _store(writer, "acc", (), " {dep=step}"))


def _store(writer: Writer, value: str, loops: Sequence[str], after: str = "") -> str:
    names = [*loops, *(axis.name for axis in reversed(writer.axes))]
    form = _of(writer.random, {"plain": 7, "transposed": 2, "strided": 1})
    if form == "transposed":
        writer.random.shuffle(names)
    last = 2 if form == "strided" else 1
    array = writer.new([*map(writer.extent, names[:-1]), _times(last, writer.extent(names[-1]))])
    writer.cost += 0.5 if form == "plain" else 2.0
    return f"{array}[{', '.join([*names[:-1], _times(last, names[-1])])}] = {value}{after}"


def _plus(name: str, shift: int) -> str:
    return f"{name} + {shift}" if shift else name


def _times(factor: int, text: str) -> str:
    return text if factor == 1 else f"{factor}*{text}"


def _prefetched(random: Random, writer: Writer, guarded: bool) -> tuple[str, ...]:
    """Return the arrays of which the kernel keeps tiles in local memory: of one or two loads with affine indices."""
    rolled = all(loop.kind == "parameter" and loop.unrolled > 1 for loop in writer.loops)
    if guarded or not rolled or not writer.affine or any(axis.cells > 1 for axis in writer.axes):
        return ()
    return tuple(random.sample(writer.affine, min(len(writer.affine), 2))) if random.random() < 0.6 else ()

# }}}


# {{{ sizes

def _sizes(random: Random, writer: Writer, guarded: bool) -> dict[str, int]:
    """Return the smallest sizes: a run takes about the time drawn of :data:`TIMES`, and arrays are not too large."""
    points = math.exp(random.uniform(*map(math.log, TIMES))) * 2e9 / writer.cost
    sizes = {}
    for loop in writer.loops:
        if loop.kind == "parameter":
            trips = math.exp(random.uniform(math.log(8), math.log(300 if len(writer.loops) < 2 else 40)))
            sizes[loop.trips] = max(1, round(trips / loop.unrolled)) * loop.unrolled
            points /= sizes[loop.trips]
        elif loop.kind == "constant":
            points /= int(loop.trips)
        else:
            points = 2 * points ** (len(writer.axes) / (len(writer.axes) + 1))
    parts = [random.uniform(0.6, 1.4) for _ in writer.axes]
    while True:
        for i, (axis, part) in enumerate(zip(writer.axes, parts, strict=True)):
            cells = max(points, 1.0) ** (part / sum(parts))
            odd = random.randrange(axis.tile) if guarded else 0
            sizes[f"n{i}"] = max(1, round(cells / axis.tile)) * axis.tile + odd
        if bytes_of(writer.arrays, sizes) < MOST_BYTES or points < 64:
            return sizes
        points /= 2


def bytes_of(arrays: Sequence[Array], sizes: Mapping[str, int]) -> int:
    """Return the bytes of all arrays at some sizes."""
    widths = {"float32": 4, "float64": 8, "int32": 4}
    return sum(widths[a.dtype] * math.prod(eval(text, {}, dict(sizes)) for text in a.shape) for a in arrays)

# }}}
