"""Places of accesses and barriers in a schedule, by hand."""

from __future__ import annotations

import loopy as lp
import numpy as np

from perfmodel.counts import count
from perfmodel.counts.program.program import Program
from perfmodel.counts.program.serialisation import access_places, barrier_places, loops_of


def matrix_vector() -> Program:
    unit = lp.make_kernel(
        "{ [i, k]: 0 <= i, k < n }", "y[i] = sum(k, a[i, k]*x[k])", lang_version=(2018, 2), assumptions="n >= 1"
    )
    unit = lp.tag_inames(lp.add_dtypes(unit, {"a": np.float32, "x": np.float32}), {"i": "g.0"})
    return count(unit, cache=False).program


def test_loops_alternate_with_positions() -> None:
    assert ("k", "j") == loops_of((4, "k", 0, "j", 2))
    assert () == loops_of((4,))


def test_loads_stand_in_the_loop_and_the_store_behind_it() -> None:
    # the launch holds: the sum's start (0), the loop over k (2) with its update (0), the store (4)
    places = access_places(matrix_vector(), 0)
    assert [("a", (2, "k", 0)), ("x", (2, "k", 0)), ("y", (4,))] == [(one.access.array, one.place) for one in places]
    assert [0, 1, 2] == [one.number for one in places]


def test_barriers() -> None:
    unit = lp.make_kernel(
        "{ [i]: 0 <= i < 16 }", ["t[i] = a[i] {id=first}", "b[i] = t[15 - i] {dep=first}"],
        [lp.TemporaryVariable("t", np.float32, (16,), address_space=lp.AddressSpace.LOCAL), ...],
        lang_version=(2018, 2),
    )
    unit = lp.tag_inames(lp.add_dtypes(unit, {"a": np.float32}), {"i": "l.0"})
    # store to t (0), barrier (2), load of t (4)
    ((site, place),) = barrier_places(count(unit, cache=False).program, 0)
    assert ("local", (2,)) == (site.scope, place)


def test_statements_that_load_the_same_array_get_a_load_each() -> None:
    unit = lp.make_kernel(
        "{ [i]: 0 <= i < n }", ["b[i] = a[i] {id=first}", "c[i] = a[i] + a[i+1] {id=second, dep=first}"],
        [lp.GlobalArg("a", np.float32, shape="n+1"), lp.GlobalArg("b, c", np.float32, shape="n"), ...],
        lang_version=(2018, 2), assumptions="n >= 1",
    )  # fmt: skip
    places = access_places(count(lp.tag_inames(unit, {"i": "g.0"}), cache=False).program, 0)
    assert [("a", "first"), ("a", "second"), ("a", "second"), ("b", "first"), ("c", "second")] == [
        (one.access.array, one.statement) for one in places
    ]
