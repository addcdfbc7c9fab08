"""From scheduled kernels to programs: launches, shared tests and barriers, by hand."""

from __future__ import annotations

import loopy as lp
import numpy as np

from perfmodel.counts.program.program import Program
from perfmodel.counts.reading.schedule import schedule
from perfmodel.counts.reading.statements import extract
from perfmodel.counts.reading.values import Options


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
