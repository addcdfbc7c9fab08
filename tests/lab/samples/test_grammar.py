"""The grammar of random kernels."""

from __future__ import annotations

import re

from scripts.lab.samples.grammar import draw

DRAWN = [draw(seed) for seed in range(300)]


def in_loops(text: str) -> str:
    """Return what a statement computes in its loops: the operands of its reductions, or all of it."""
    starts = [match.end() for match in re.finditer(r"(sum|max|min)\((k\d|\(k0, k1\)), ", text)]
    ends = [closing(text, start) for start in starts]
    return " ".join(text[start:end] for start, end in zip(starts, ends, strict=True)) if starts else text


def closing(text: str, start: int) -> int:
    depth = 1
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return place
    raise ValueError(text)


def loads(text: str) -> list[str]:
    """Return the outermost indices of arrays in a text; an index array's are part of a gather's."""
    found, depth, start = [], 0, 0
    for place, character in enumerate(text):
        if character == "[":
            start = start if depth else place + 1
            depth += 1
        elif character == "]":
            depth -= 1
            found += [] if depth else [text[start:place]]
    return found


def test_a_loop_changes_each_load_in_it():
    for drawn in DRAWN:
        names = [loop.name for loop in drawn.loops]
        names += [axis.name for axis in drawn.axes if axis.cells > 1 and not axis.tag]
        for statement in drawn.statements:
            for index in loads(in_loops(statement.partition(" = ")[2])):
                assert all(re.search(rf"\b{name}\b", index) for name in names), (statement, index)


def test_every_kind_is_drawn():
    assert {"float32", "float64"} == {drawn.dtype for drawn in DRAWN}
    assert {1, 2, 3} == {len(drawn.axes) for drawn in DRAWN}
    assert {0, 1, 2} == {len(drawn.loops) for drawn in DRAWN}
    assert {"parameter", "constant", "triangle"} == {loop.kind for drawn in DRAWN for loop in drawn.loops}
    assert {"pointwise", "loop of stores", "reduction", "recurrence"} == {drawn.body for drawn in DRAWN}
    assert any(drawn.prefetched for drawn in DRAWN)
    assert any(drawn.guarded for drawn in DRAWN)
    assert any(array.near is not None for drawn in DRAWN for array in drawn.arrays)
