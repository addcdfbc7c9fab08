"""Random Loopy kernels: affine domains, strides, tags, splits, prefetches, predicates, conditional expressions."""

import re
import warnings
from dataclasses import dataclass
from typing import Any

import loopy as lp
import numpy as np
from hypothesis import reject, strategies as st

DTYPES = {"float32": np.float32, "float64": np.float64, "int32": np.int32}

# What a third loop runs over, given i and j.
INNER_DOMAINS = (
    "0 <= k < 5", "0 <= k < n", "0 <= k <= i", "i <= k < n", "0 <= k < n - i", "0 <= k and 2*k <= i",
    "0 <= k < n and i - 2 <= k <= i + 2", "0 <= k < n and k mod 3 = 0", "0 <= k < m", "i <= k < i + m",
    "3 <= k < i - 1"
)  # fmt: skip
OUTER_DOMAINS = (
    "0 <= i < n and 0 <= j < m", "0 <= i < n and 0 <= j <= i", "0 <= i < n and i <= j < n",
    "0 <= i < n and 0 <= j < n and i mod 2 = 0", "1 <= i < n and 0 <= j < 6",
    "0 <= i < n and 0 <= j < m and j <= i + 1"
)  # fmt: skip
# Subscripts: never negative, never beyond 9*(n + m) + 40 for i, j, k below n + m. Several accesses
# to one array are of the shared kind; the others go to an array each, because the union of unlike
# lattices takes isl for ever.
SHARED = ("i", "j", "i + 1", "2*i", "2*i + 1", "j + 2", "i + j")
INNER_SHARED = (*SHARED, "k", "k", "k + i", "k + 1")
OWN = ("i % 4", "i // 2", "3*i + 2", "5*i", "2*j + i", "n - 1 - i", "j % 3", "j // 4", "0", "n + i", "4*(i // 4) + 1")
INNER_OWN = (*OWN, "2*k", "k + 8*j", "k % 5", "k // 3", "n - 1 - i + k", "8*j + i % 8")
OWN_ARRAYS = tuple(f"q{number}" for number in range(10))
# Of the array that is prefetched: simple, because isl can take hours for the hull of others.
FETCHED = ("i", "i + 1", "j", "j + 2", "i + j", "2*i", "n - 1 - i", "3*j + 1")
INNER_FETCHED = (*FETCHED, "k", "k", "k + i", "k + 2", "2*k")
AFFINE_CONDITIONS = (
    "i >= 2", "i + j < n", "i < j", "j == 1", "i >= 1 and j >= 1", "i < 2 or j > 3", "2*i < n", "i != j"
)  # fmt: skip
CONDITIONS = (*AFFINE_CONDITIONS, "i % 3 == 1")
TAGGINGS = ("lanes_i", "lanes_j", "plane_ij", "plane_ji", "group_i", "sequential", "lanes_i_group_j", "ilp_i")


@dataclass(frozen=True, repr=False)
class GeneratedKernel:
    """A random kernel that Loopy can generate code for, where to execute it, and the choices that made it."""

    unit: lp.TranslationUnit
    parameters: tuple[tuple[str, int], ...]
    recipe: "Recipe"

    def __repr__(self) -> str:
        return f"GeneratedKernel at {self.case} of {self.recipe}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For hypothesis, which else prints every attribute of the kernel."""
        printer.text(repr(self))

    @property
    def case(self) -> dict[str, int]:
        return dict(self.parameters)


@dataclass(frozen=True)
class Recipe:
    outer: str
    inner: str | None
    statement: str
    predicate: str | None
    dtype: str
    assumption: str
    tagging: str
    size: int
    split: str | None
    prefetch: bool


class _Expressions:
    """Draws expressions, and keeps account of the arrays that they access.

    The union of many unlike sets takes isl and Barvinok for ever, and is no more telling than that of two: at most two
    accesses to the two-dimensional array and three to the shared one, none where the domain or the predicate has a
    lattice of its own (*lattice*); all others go to an array each.
    """

    def __init__(self, draw: Any, lattice: bool) -> None:
        self.draw = draw
        self.lattice = lattice
        self.left = {"a": 0 if lattice else 3, "b": 0 if lattice else 2}
        self.own = 0

    def access(self, inner: bool) -> str:
        array = self.draw(st.sampled_from(("a", "a", "b", "own")))
        if not self.left.get(array):
            self.own += 1
            return f"q{self.own - 1}[{self.draw(st.sampled_from(INNER_OWN if inner else OWN))}]"
        self.left[array] -= 1
        shared = st.sampled_from(INNER_SHARED if inner else SHARED)
        return f"b[{self.draw(shared)}, {self.draw(shared)}]" if array == "b" else f"a[{self.draw(shared)}]"

    def term(self, inner: bool) -> str:
        access = self.access(inner)
        form = self.draw(st.integers(0, 6))
        if form == 0:
            return f"{access}*{self.access(inner)}"
        if form == 1:
            return f"3*{access}"
        if form == 2:
            condition = self.draw(st.sampled_from(CONDITIONS if self.lattice else AFFINE_CONDITIONS))
            return f"({access} if {condition} else 2*{self.access(inner)})"
        return f"{access}**2" if form == 3 else access

    def sum(self, inner: bool) -> str:
        text = self.term(inner)
        for _ in range(self.draw(st.integers(0, 2))):
            text += self.draw(st.sampled_from((" + ", " - "))) + self.term(inner)
        return text


@st.composite
def recipes(draw: Any) -> Recipe:
    outer = draw(st.sampled_from(OUTER_DOMAINS))
    inner = draw(st.one_of(st.none(), st.sampled_from(INNER_DOMAINS)))
    predicate = draw(st.one_of(st.none(), st.none(), st.sampled_from(CONDITIONS)))
    prefetch = draw(st.booleans())
    expressions = _Expressions(draw, any(mark in f"{outer} {inner} {predicate}" for mark in ("mod", "%", "2*")))
    value = expressions.sum(inner is not None)
    if prefetch:
        value = f"p[{draw(st.sampled_from(INNER_FETCHED if inner else FETCHED))}]*({value})"
    if inner:
        value = f"{draw(st.sampled_from(('sum', 'sum', 'sum', 'max')))}(k, {value})"
    if draw(st.booleans()):
        value += f" + {expressions.term(False)}"
    return Recipe(
        outer=outer, inner=inner, statement=f"out[{draw(st.sampled_from(('i, j', 'j, i', '2*i, j')))}] = {value}",
        predicate=predicate, dtype=draw(st.sampled_from(tuple(DTYPES))),
        assumption=draw(st.sampled_from(("n >= 1 and m >= 1", "n >= 8 and n mod 8 = 0 and m >= 1"))),
        tagging=draw(st.sampled_from(TAGGINGS)), size=draw(st.sampled_from((4, 8, 8, 16))),
        split=draw(st.sampled_from((None, None, "plain", "unr"))) if inner else None, prefetch=prefetch,
    )  # fmt: skip


def _tagged(unit: lp.TranslationUnit, recipe: Recipe) -> tuple[lp.TranslationUnit, list[str]]:
    def line(unit: lp.TranslationUnit, name: str, axis: int, size: int) -> lp.TranslationUnit:
        return lp.split_iname(unit, name, size, outer_tag=f"g.{axis}", inner_tag=f"l.{axis}")

    size = recipe.size
    if recipe.tagging in ("lanes_i", "lanes_j"):
        name = recipe.tagging[-1]
        return line(unit, name, 0, size), [f"{name}_inner"]
    if recipe.tagging in ("plane_ij", "plane_ji"):
        slow, fast = recipe.tagging[-2], recipe.tagging[-1]
        return line(line(unit, slow, 1, 4), fast, 0, size), [f"{slow}_inner", f"{fast}_inner"]
    if recipe.tagging == "group_i":
        return lp.tag_inames(unit, {"i": "g.0"}), []
    if recipe.tagging == "lanes_i_group_j":
        return lp.tag_inames(line(unit, "i", 0, size), {"j": "g.1"}), ["i_inner"]
    if recipe.tagging == "ilp_i":
        unit = lp.split_iname(unit, "i", 2 * size, outer_tag="g.0")
        return lp.split_iname(unit, "i_inner", size, outer_tag="ilp", inner_tag="l.0"), ["i_inner_inner"]
    return unit, []


def _used(unit: lp.TranslationUnit) -> set[str]:
    names: set[str] = set()
    for statement in unit.default_entrypoint.instructions:
        for access in re.findall(r"\bp\[([^\]]*)\]", str(statement.expression)):
            names |= set(re.findall(r"[a-z]\w*", access))
    return names


def build(recipe: Recipe) -> lp.TranslationUnit:
    """The kernel of a recipe; raises whatever Loopy raises where it can't be made."""
    domain = recipe.outer + (f" and {recipe.inner}" if recipe.inner else "")
    statement = f"{recipe.statement} {{id=work}}"
    text = f"if {recipe.predicate}\n    {statement}\nend" if recipe.predicate else statement
    dtype = DTYPES[recipe.dtype]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        unit = lp.make_kernel(
            f"[n, m] -> {{[i, j{', k' if recipe.inner else ''}]: {domain}}}",
            text,
            [
                lp.GlobalArg(",".join(("a", "p", *OWN_ARRAYS)), dtype, shape="9*n+9*m+40"),
                lp.GlobalArg("b", dtype, shape="9*n+9*m+40,9*n+9*m+40"),
                lp.GlobalArg("out", dtype, shape="3*n+m,3*n+m"), lp.ValueArg("n,m", np.int32),
            ],
            assumptions=recipe.assumption,
            lang_version=(2018, 2),
        )  # fmt: skip
        unit, group = _tagged(unit, recipe)
        swept = list(group)
        if recipe.split:
            unit = lp.split_iname(unit, "k", 4, inner_tag="unr" if recipe.split == "unr" else None)
            swept.append("k_inner")
        if recipe.prefetch and swept:
            outer = sorted(unit.default_entrypoint.all_inames() - set(swept) - {"k"})
            unit = lp.add_prefetch(
                unit, "p", [name for name in swept if name in _used(unit)], fetch_outer_inames=frozenset(outer),
                default_tag="l.auto", fetch_bounding_box=True
            )  # fmt: skip
        return unit


@st.composite
def generated_kernels(draw: Any) -> GeneratedKernel:
    """Kernels that Loopy schedules and generates code for; what it refuses is discarded."""
    recipe = draw(recipes())
    n = draw(st.sampled_from((8, 16))) if "mod" in recipe.assumption else draw(st.integers(1, 13))
    m = draw(st.integers(1, 7))
    try:
        unit = build(recipe)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lp.generate_code_v2(unit)
    except Exception:  # Loopy refuses in many ways
        reject()
    return GeneratedKernel(unit, (("n", n), ("m", m)), recipe)
