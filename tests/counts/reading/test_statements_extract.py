"""From scheduled kernels to programs: launches, shared tests and barriers, by hand."""

from __future__ import annotations

import islpy as isl
import loopy as lp
import numpy as np

from perfmodel.counts.program.program import Program
from perfmodel.counts.reading.schedule import schedule
from perfmodel.counts.reading.statements import extract
from perfmodel.counts.reading.values import Options
from tests.corpus.structure import loop_around_launches


def program_of(unit: lp.TranslationUnit) -> Program:
    return extract(schedule(unit), {}, {}, Options())[0]


def kernel(domains: str, code: str, *arguments: object) -> lp.TranslationUnit:
    unit = lp.make_kernel(domains, code, [*arguments, ...], lang_version=(2018, 2), assumptions="n >= 1")
    names = [argument.name for argument in unit.default_entrypoint.args if argument.dtype is None]
    return lp.add_dtypes(unit, {name: np.float32 for name in names if name != "n"})


def accesses(program: Program) -> list[tuple[str, str, tuple[str, ...]]]:
    return [
        (one.array, one.direction, statement.domain.names)
        for statement in program.statements for one in statement.accesses
    ]


def test_a_test_that_neighbours_share_is_evaluated_once() -> None:
    guarded = """
        if flag[i] > 0
            b[i] = a[i] {id=one}
            c[i] = a[i] {id=two, dep=one}
        end
    """
    assert 1 == accesses(program_of(kernel("{ [i]: 0 <= i < n }", guarded))).count(("flag", "load", ("i",)))
    between = """
        if flag[i] > 0
            b[i] = a[i] {id=one}
        end
        d[i] = a[i] {id=other, dep=one}
        if flag[i] > 0
            c[i] = a[i] {id=two, dep=other}
        end
    """
    assert 2 == accesses(program_of(kernel("{ [i]: 0 <= i < n }", between))).count(("flag", "load", ("i",)))


def test_a_test_of_the_outer_iname_stands_before_the_inner_loop() -> None:
    code = """
        for i
            if flag[i] > 0
                b[i, k] = a[i, k]
            end
        end
    """
    found = accesses(program_of(kernel("{ [i, k]: 0 <= i < n and 0 <= k < 5 }", code)))
    assert ("flag", "load", ("i",)) in found
    assert {("i", "k")} == {tuple(sorted(names)) for array, _, names in found if array in "ab"}


def test_a_barrier_is_met_in_each_iteration_of_its_loop() -> None:
    unit = lp.make_kernel(
        "{ [g, k, l]: 0 <= g < n and 0 <= k < 5 and 0 <= l < 16 }",
        """
        for g, k
            tile[l] = a[16*g + l] {id=fill}
            out[16*g + l, k] = tile[15 - l] {id=use, dep=fill}
        end
        """,
        [lp.GlobalArg("a", np.float32, shape="16*n"), lp.GlobalArg("out", np.float32, shape="16*n, 5"),
         lp.TemporaryVariable("tile", np.float32, (16,), address_space=lp.AddressSpace.LOCAL), ...],
        lang_version=(2018, 2), assumptions="n >= 1",
    )  # fmt: skip
    program = program_of(lp.tag_inames(unit, {"g": "g.0", "l": "l.0"}))
    # one after the tile is filled, one before it is filled again
    assert ["local", "local"] == [site.scope for site in program.barriers]
    for site in program.barriers:
        assert site.points.is_equal(isl.Set("[n] -> { [k] : 0 <= k < 5 and n >= 1 }"))
        assert ("",) == site.axes
    (launch,) = program.launches
    assert ((16,), 16) == (launch.group_shape, launch.group_size)
    positive = isl.Set("[n] -> { : n >= 1 }")
    (groups,) = launch.grid
    assert groups.intersect_params(positive).is_equal(isl.PwAff("[n] -> { [(n)] : n >= 1 }"))


def test_two_launches_in_a_loop_of_the_host() -> None:
    program = program_of(loop_around_launches())  # three steps; b from a, all wait, a from b
    assert 2 == len(program.launches)
    for launch in program.launches:
        assert launch.repeats.is_equal(isl.Set("{ [t] : 0 <= t < 3 }"))
    assert {("a", "load", 0), ("b", "store", 0), ("b", "load", 1), ("a", "store", 1)} == {
        (one.array, one.direction, s.domain.launch) for s in program.statements for one in s.accesses
    }
    assert () == program.barriers  # all groups wait between launches, and no kernel has a barrier
