"""Texts of networks and merges, run line by line in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from test_kernels.papers._sorting import MERGE, SEARCH, bitonic_merge, bitonic_sort, odd_even


def run(text, names, loops):
    """Run a text whose loops have the values that `loops` gives them, each a function of the names so far."""
    scope = {"fmin": min, "fmax": max, **names}
    block([line.strip() for line in text.splitlines()], scope, loops)
    return scope


def block(lines, scope, loops):
    while lines:
        line = lines.pop(0)
        if line.startswith("for "):
            nested(line[4:].split(", "), body(lines), scope, loops)
        elif line:
            exec(line, scope)


def body(lines):
    """Take the lines up to the end of a loop."""
    taken, depth = [], 1
    while depth:
        taken.append(lines.pop(0))
        depth += taken[-1].startswith("for ") - (taken[-1] == "end")
    return taken[:-1]


def nested(inames, lines, scope, loops):
    if not inames:
        block(lines[:], scope, loops)
    for value in loops[inames[0]](scope) if inames else ():
        scope[inames[0]] = value
        nested(inames[1:], lines, scope, loops)


def shuffled(n):
    return np.random.default_rng(n).permutation(n).tolist()


@pytest.mark.parametrize("n", [1, 2, 7, 11, 15, 16])
def test_odd_and_even_phases_sort(n):
    keys = shuffled(n)
    loops = {"p": lambda _: range(n), "q": lambda at: range((n - at["p"] % 2) // 2)}
    assert sorted(keys) == run(odd_even("a", "p", "q"), {"a": keys}, loops)["a"]


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
def test_a_bitonic_network_sorts(stages):
    n = 2**stages
    loops = {"s": lambda _: range(stages), "t": lambda at: range(at["s"] + 1), "p": lambda _: range(n // 2)}
    for keys in (shuffled(n), list(range(n))[::-1], [key % 3 for key in shuffled(n)]):
        assert sorted(keys) == run(bitonic_sort("a", "s", "t", "p"), {"a": keys[:]}, loops)["a"]


@pytest.mark.parametrize("width", [1, 4, 32])
def test_a_bitonic_merge_merges(width):
    keys = shuffled(2 * width)
    both = sorted(keys[:width]) + sorted(keys[width:], reverse=True)
    steps = bitonic_merge("both", "l", width).split("low =")[1:]
    assert len(steps) == width.bit_length()
    for step in steps:  # all lanes
        for lane in range(width):
            run("low =" + step, {"both": both, "l": lane}, {})
    assert sorted(keys) == both


@pytest.mark.parametrize(("lefts", "rights"), [(6, 6), (6, 2), (1, 9), (0, 4)])
def test_merge_path_merges_from_any_place(lefts, rights):
    keys = np.random.default_rng(3).integers(0, 9, lefts + rights).tolist()
    a, end = sorted(keys[:lefts]) + sorted(keys[lefts:]), lefts + rights
    names = {"d": "d", "lefts": lefts, "rights": rights, "end": end}
    cell = "a[{0} if {0} < %d else 0]" % end  # noqa: UP031
    right = f"{lefts} + d - 1 - m_middle"
    text = SEARCH.format(
        **names, step="s", m="m", left="a[m_middle]", right=f"a[min(max({right}, 0), {end - 1})]"
    ) + MERGE.format(
        **names, at_i=cell.format("i"), at_j=cell.format("j"), at_next=cell.format("(i if left > 0 else j)"),
        result="out[e]",
    )  # fmt: skip
    for d in range(end):
        loops = {"s": lambda _: range(4), "e": lambda _, d=d: range(end - d)}
        found = run(text, {"a": a, "d": d, "out": [None] * (end - d)}, loops)
        assert sorted(keys)[d:] == found["out"]
