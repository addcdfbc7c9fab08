"""A count that is only a bound says why, whichever counter made it."""

from collections.abc import Iterator
from typing import Any

import loopy as lp
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.counters.lines import UNITS
from perfmodel.counts.quasipoly.count import Count
from tests.corpus.kernel import make

TEST = "out[i] = (a[i] if index[i] > 3 else 0)"
LIKELY = "index[i_inner + i_outer*16] > 3"
CASES = {
    "index": ("out[i] = a[index[i]]", None, "data give the index of 'a'"),
    "test": (TEST, None, f"the probability of '{LIKELY}' is not known"),
    "chance": (TEST, {LIKELY: 0.5}, "data decide which work-items execute it"),
    "row": ("out[i] = m[i, 1] + index[i]", None, "a row of 'm' may begin anywhere in a line"),
}


def kernel(code: str) -> lp.TranslationUnit:
    unit = make("{ [i]: 0 <= i < n }", code, "a, out: n; m: n, n + 1; int32 index: n", assumes="n >= 1")
    return lp.split_iname(unit, "i", 16, outer_tag="g.0", inner_tag="l.0")


def counts_in(counts: KernelCounts) -> Iterator[tuple[str, Any]]:
    """Yield every count of a kernel, with its name."""
    arrays = {row.array for row in counts.access_table}
    for row in counts.access_table:
        yield from ((f"{what} of {row.array}", getattr(row, what)) for what in ("count", "footprint", "filled"))
    for row in counts.operation_table:
        yield row.kind, row.count
    for array in arrays:
        yield from ((f"lines of {array} per {per}", counts.lines(array, per=per)) for per in UNITS)
        yield f"bank conflicts of {array}", counts.bank_conflicts(array)
        for unit in ("subgroup", "workgroup"):
            yield f"accesses to {array} per {unit}", counts.accesses(array=array, granularity=unit)
    yield "idle lanes", counts.idle_lanes()
    yield from ((f"chain of {row.kind}", row.count) for row in counts.depth())
    yield from ((f"barriers, {scope}", counts.barriers(scope)) for scope in ("local", "global"))


@pytest.mark.parametrize("name", CASES)
def test_a_bound_has_a_reason(name: str) -> None:
    code, statistics, reason = CASES[name]
    bounds = {
        what: one for what, one in counts_in(count(kernel(code), 8, statistics, cache=False))
        if isinstance(one, Count) and not one.exact
    }
    assert [] == [what for what, one in bounds.items() if not one.reasons]
    assert any(reason in str(one) for one in bounds.values())
