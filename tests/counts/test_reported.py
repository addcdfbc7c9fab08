"""Questions that once crashed, did not return or had wrong answers, each asked in a process of at most ten seconds.

``python -m tests.counts.test_reported`` prints a JSON document of answers by the question's name; null if there is
none. The limit is CPU time, so that other work on the machine does not matter.
"""

import json
import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from itertools import product
from typing import Any

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from tests.corpus import hard
from tests.shadow import ROOT

CPU_S = 10
SIZES_3D = {"nx": 64, "ny": 64, "nz": 64}


def make(domain: str | list[str], body: Any, arguments: Any = (...,), **options: Any) -> lp.TranslationUnit:
    return lp.make_kernel(domain, body, list(arguments), lang_version=(2018, 2), **options)


def counted(unit: lp.TranslationUnit, **options: Any) -> KernelCounts:
    return count(unit, cache=False, **options)


def atomic_lines_slow() -> Any:
    arguments = [
        lp.GlobalArg("out", np.int64, shape=lp.auto, for_atomic=True), lp.GlobalArg("a", np.int64, shape=lp.auto), ...,
    ]
    unit = make("{[i]: 0<=i<n}", "out[i%20] = out[i%20] + 2*a[i] {atomic}", arguments, assumptions="n>0")
    unit = lp.split_iname(lp.split_iname(unit, "i", 512), "i_inner", 128, outer_tag="unr", inner_tag="g.0")
    counts = counted(unit)
    return {array: [counts.lines(array)(n=700), counts.lines(array, n=700)()] for array in ("a", "out")}


def modulo_footprint_hang() -> Any:
    footprint = counted(hard.remainders()).footprint("a")
    return [footprint(n=n) for n in (5, 12, 300)]


def sep_offset_auto() -> Any:
    a = lp.GlobalArg("a", np.float64, shape="2,n", dim_tags="sep,C", offset=lp.auto)
    arguments = [a, lp.GlobalArg("out", np.float64, shape="n"), lp.ValueArg("n", np.int32)]
    counts = counted(make("{[i]: 0<=i<n}", "out[i] = a[0,i] + a[1,i]", arguments))
    return [counts.accesses(direction="load")(n=9), counts.accesses(direction="store")(n=9)]


def skew_subgroup_hang() -> Any:
    counts, sizes = counted(hard.skewed_plane()), {"steps": 3, "n": 35, "m": 20}
    return [counts.accesses(array="u", granularity=unit)(**sizes) for unit in ("workitem", "subgroup")]


def stencil3d_halo_group_hang() -> Any:
    return _of_sub_groups(hard.stencil_3d_halo_group())


def stencil3d_subgroup_recursionerror() -> Any:
    return _of_sub_groups(hard.stencil_3d_guarded())


def _of_sub_groups(unit: lp.TranslationUnit) -> list[int]:
    counts = counted(unit)
    found = [counts.accesses(array=array, granularity="subgroup")(**SIZES_3D) for array in "vu"]
    return [counts.accesses(array="v")(**SIZES_3D), *found]


#: Work-items of the groups of 8 x 8 x 8 in 64^3 cells; of them the group has 512, its halo 1000.
GROUPS_3D = 8**3
INSIDE = [k + 10 * j + 100 * i for i, j, k in product(range(8), repeat=3)]


def lines_of_atomics(cell: Callable[[int], int]) -> int:
    """Work-item g of 128 has i = g, g + 128, ...; a line holds 8 cells of 8 bytes."""
    return sum(len({cell(i) // 8 for i in range(g, 700, 128)}) for g in range(128))


def skewed_cells() -> Iterator[tuple[int, int, int]]:
    for t in range(3):
        yield from ((t, i, j) for i in range(t, 35 + t) for j in range(t, 20 + t) if i + j <= 2 * 35)


def fetching() -> set[tuple[tuple[int, ...], int]]:
    """8 x 8 x 8 lanes fetch 10 x 10 x 10 cells in up to two steps along each axis; a sub-group is 8 x 4 x 1 of them."""
    return {
        (steps, (lane[0] + 8 * lane[1] + 64 * lane[2]) // 32)
        for steps in product((0, 8), repeat=3) for lane in product(range(8), repeat=3)
        if all(step + one < 10 for step, one in zip(steps, lane, strict=True))
    }  # fmt: skip


EXPECTED: dict[Callable[[], Any], Any] = {
    atomic_lines_slow: {"a": [lines_of_atomics(lambda i: i)] * 2, "out": [lines_of_atomics(lambda i: i % 20)] * 2},
    modulo_footprint_hang: [len({7 * i % 12 for i in range(n)}) for n in (5, 12, 300)],
    sep_offset_auto: [18, 9],  # two loads and a store for each of 9
    # A sub-group is a row of 32 lanes along j; four loads each.
    skew_subgroup_hang: [4 * len([*skewed_cells()]), 4 * len({(t, i, j // 32) for t, i, j in skewed_cells()})],
    # 8 x 8 x 8 of the 10 x 10 x 10 lanes store, all of them fetch.
    stencil3d_halo_group_hang: [64**3, GROUPS_3D * len({lane // 32 for lane in INSIDE}), GROUPS_3D * -(-1000 // 32)],
    stencil3d_subgroup_recursionerror: [64**3, GROUPS_3D * 512 // 32, GROUPS_3D * len(fetching())],
}  # fmt: skip


def answer(question: Callable[[], Any], cpu_s: int = CPU_S) -> Any:
    """Ask in a process that the system ends after ten seconds of the processor; None without an answer."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
        warnings.simplefilter("ignore")
        with redirect_stdout(sys.stderr):
            os.write(writing, json.dumps(question()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


@pytest.fixture(scope="module")
def answers():
    command = [sys.executable, "-m", "tests.counts.test_reported"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    found = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


@pytest.mark.parametrize("question", EXPECTED, ids=lambda question: question.__name__)
def test_an_answer_comes_in_time_and_is_right(answers, question):
    assert EXPECTED[question] == answers[question.__name__]


def test_a_question_that_takes_too_long_has_no_answer():
    def endless():
        while True:
            pass

    assert answer(endless, 1) is None


if __name__ == "__main__":
    json.dump({question.__name__: answer(question) for question in EXPECTED}, sys.stdout)
