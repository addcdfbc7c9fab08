"""Random Loopy kernels of nested conditions, some of which read arrays, to compare where each test is made."""

import random
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import loopy as lp
import numpy as np
import pymbolic.primitives as p

ON_SIZES = ("i == 0", "i >= 2", "m > 2", "i % 2 == 1", "2*i < n")
ON_INNER = (*ON_SIZES, "i < {j}", "{j} >= 2", "i + {j} < n", "i % 3 == 1")
ON_DATA = ("ones[i] > 0", "zeros[i] > 0", "ones[i + 1] > 0", "more[i] > 0")
ON_INNER_DATA = (*ON_DATA, "ones[{j}] > 0", "zeros[{j}] > 0", "more[{j}] > 0", "table[i, {j}] > 0")
TAGGINGS = ("sequential", "lanes", "groups", "ilp")
LARGEST = 20


@dataclass(frozen=True)
class ConditionalKernel:
    """A kernel, the sizes at which it is executed, and the arrays that decide its tests in a way that is known."""

    unit: lp.TranslationUnit
    text: str
    sizes: Mapping[str, int]

    @property
    def arrays(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """Contents: ``zeros`` holds zeros, the others ones."""
        ones = np.ones((LARGEST, LARGEST), np.int32)
        return {"ones": ones[0], "more": ones[0], "zeros": 0 * ones[0], "table": ones}

    @property
    def statistics(self) -> Mapping[str, int]:
        """The probability of each test that reads an array: 0 or 1."""
        return {
            str(test): int("zeros" not in str(test))
            for instruction in self.unit.default_entrypoint.instructions
            for predicate in instruction.predicates for test in _comparisons(predicate) if "[" in str(test)
        }


def conditional_kernel(seed: int) -> ConditionalKernel | None:
    """The kernel of a seed; None if Loopy refuses it, or tests an array before the launch."""
    writer = _Writer(random.Random(seed))
    lines = writer.block(3, "")
    text = "for i\n" + "\n".join(f"    {line}" for line in lines) + "\nend"
    tagging = writer.random.choice(TAGGINGS)
    sizes = {"n": writer.random.choice((3, 6, 9)), "m": writer.random.choice((1, 3, 5))}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            unit = _tagged(writer.unit(text), tagging)
            generated = lp.generate_code_v2(unit)
    except Exception:  # Loopy refuses in many ways
        return None
    if any(f"if {name}[" in generated.host_code() for name in ("ones", "more", "zeros", "table")):
        return None
    return ConditionalKernel(unit, text, sizes)


class _Writer:
    def __init__(self, generator: random.Random) -> None:
        self.random = generator
        self.inner: list[str] = []
        self.results = 0

    def block(self, depth: int, inner: str) -> list[str]:
        return [line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth, inner)]

    def statement(self, depth: int, inner: str) -> list[str]:
        kind = self.random.random()
        if kind < 0.5 and depth:
            return self.condition(depth - 1, inner)
        self.results += 1
        if kind < 0.75 and not inner:
            self.inner.append(f"j{self.results}")
            if kind < 0.6:
                return [f"c[{self.results}, i] = sum({self.inner[-1]}, 2*table[i, {self.inner[-1]}])"]
            return [f"for {self.inner[-1]}", *_indented(self.block(depth, self.inner[-1])), "end"]
        if inner:
            return [f"d[{self.results}, i, {inner}] = 2*b[{inner}] + b[i]"]
        return [f"c[{self.results}, i] = b[i] + 1"]

    def condition(self, depth: int, inner: str) -> list[str]:
        tests = (*ON_INNER, *ON_INNER_DATA, *ON_INNER_DATA) if inner else (*ON_SIZES, *ON_DATA, *ON_DATA)
        test = self.random.choice(tests)
        if self.random.random() < 0.25:
            test += self.random.choice((" and ", " or ")) + self.random.choice(tests)
        body = self.block(depth, inner)
        lines = [f"if {test.format(j=inner)}", *_indented(body)]
        if self.random.random() < 0.5 and not any("if " in line for line in body):  # Loopy reads no other `else`
            lines += ["else", *_indented(self.block(0, inner))]
        return [*lines, "end"]

    def unit(self, text: str) -> lp.TranslationUnit:
        arguments = [
            lp.GlobalArg("ones,more,zeros,b", np.int32, shape=f"{LARGEST}"),
            lp.GlobalArg("table", np.int32, shape=f"{LARGEST},{LARGEST}"),
            lp.GlobalArg("c", np.int32, shape=f"{self.results + 1},n"),
            lp.GlobalArg("d", np.int32, shape=f"{self.results + 1},n,m"), lp.ValueArg("n,m", np.int32),
        ]
        return lp.make_kernel(
            ["[n, m] -> {[i]: 0 <= i < n}", *(f"[n, m] -> {{[{name}]: 0 <= {name} < m}}" for name in self.inner)],
            text, arguments, assumptions="1 <= n <= 9 and 1 <= m <= 9", lang_version=(2018, 2), seq_dependencies=True,
        )


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _tagged(unit: lp.TranslationUnit, tagging: str) -> lp.TranslationUnit:
    if tagging == "lanes":
        return lp.split_iname(unit, "i", 4, outer_tag="g.0", inner_tag="l.0")
    if tagging == "groups":
        return lp.tag_inames(unit, {"i": "g.0"})
    return lp.split_iname(unit, "i", 2, inner_tag="ilp") if tagging == "ilp" else unit


def _comparisons(expr: Any) -> Iterator[Any]:
    if isinstance(expr, p.LogicalNot):
        yield from _comparisons(expr.child)
    elif isinstance(expr, (p.LogicalAnd, p.LogicalOr)):
        for child in expr.children:
            yield from _comparisons(child)
    else:
        yield expr
