"""A loop that data bound is the same nest, with the same strides and traffic, as one that a size bounds."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from tests.corpus.kernel import make

N, M = 64, 256
ROWS = "for r\n<> m = f[r] {{id=m}}\n{} {{id=b, dep=m}}\nend"
RAGGED = "for r\n<> lo = f[r] {{id=lo}}\n<> hi = f[r+1] {{id=hi}}\n{} {{id=b, dep=lo:hi}}\nend"


def made(domains: list[str], text: str, lanes: int = 0) -> KernelCounts:
    unit = make(domains, text,
                [lp.GlobalArg("f", np.int32, shape=f"{N}+1"), lp.GlobalArg("a, b", np.float32, shape=f"{N}, {M}"),
                 lp.GlobalArg("v, w", np.float32, shape=f"{N}*{M} + 2")])  # fmt: skip
    unit = (
        lp.split_iname(unit, "r", lanes, outer_tag="g.0", inner_tag="l.0")
        if lanes else lp.prioritize_loops(unit, "r, j")
    )
    return count(unit, statistics={"j": M} if len(domains) > 1 else None, cache=False)


def of_size(body: str, low: str = "0") -> KernelCounts:
    text = body if "sum" in body else f"for r, j\n{body}\nend"
    return made([f"{{[r, j]: 0 <= r < {N} and {low} <= j < {low} + {M}}}"], text)


@pytest.mark.parametrize("capacity", [1024, 16384, 2**22])
@pytest.mark.parametrize("body", [
    "a[r, j] = 1", "a[r, j] = b[r, j]", "a[r, j] = 2*b[r, M - j - 1]", "w[j] = v[j + 2]", "w[j] = v[j] + v[j + 1]",
    f"w[{M}*r + j] = v[{M}*r + j]", "a[r, 0] = sum(j, b[r, j])", "a[0, r] = sum(j, v[j])",
])  # fmt: skip
def test_loops_from_a_known_start(body, capacity):
    body = body.replace("M", str(M))
    known, data = of_size(body), made([f"{{[r]: 0 <= r < {N}}}", "{[j]: 0 <= j < m}"], ROWS.format(body))
    compare(known, data, capacity)


@pytest.mark.parametrize("body", ["w[j] = 2*v[j]", "a[0, r] = sum(j, v[j])"])
def test_rows_that_follow_one_another(body):
    known = of_size(body, low=f"{M}*r")
    data = made([f"{{[r]: 0 <= r < {N}}}", "{[j]: lo <= j < hi}"], RAGGED.format(body))
    compare(known, data, 1024)
    for nest in (nest for nest in data.nests if "j" in nest.loops.inner):
        assert all(access.step("r") is None for access in nest.accesses if access.array in "vw")


def test_a_row_that_data_choose_moves_with_all_other_loops():
    text = "a[r, j] = b[f[r], j] + v[f[r]] + v[f[j // 4] + j] + v[f[f[r] + 1] + 2*j] {id=b}"
    counts = made([f"{{[r, j]: 0 <= r < {N} and 0 <= j < {M}}}"], f"for r, j\n{text}\nend")
    nest = next(nest for nest in counts.nests if "j" in nest.loops.inner)
    steps = [(access.step("r"), access.step("j")) for access in nest.accesses if access.array in "bv"]
    found = [tuple(None if step is None else int(step()) for step in pair) for pair in steps]
    assert sorted(found, key=str) == sorted([(None, 4), (None, 0), (0, None), (None, 8)], key=str)
    addresses = [access.address for access in nest.accesses if access.array == "v"]
    assert 3 == len({address.base for address in addresses if address is not None})  # no two are known to be equal


def compare(known: KernelCounts, data: KernelCounts, capacity: int) -> None:
    arrays = [array for array in ("a", "b", "v", "w") if array in {row.array for row in known.access_table}]
    for array in arrays:
        lines = [counts.traffic(array, capacity, order="serial")() for counts in (known, data)]
        assert lines[1].fetched == pytest.approx(lines[0].fetched, rel=0.05, abs=2)
    (nest,) = [nest for nest in known.nests if nest.loops.inner[-1:] == ("j",)]
    (other,) = [nest for nest in data.nests if nest.loops.inner[-1:] == ("j",)]
    assert float(nest.entries()) == float(other.entries())
    assert float(nest.iterations()) == float(other.iterations())
    assert other.trips is None
    steps = [
        sorted((a.array, a.direction, str(a.step("j"))) for a in each.accesses if a.array in arrays)
        for each in (nest, other)
    ]
    assert steps[0] == steps[1]


def test_lanes_beside_a_loop_from_a_known_start_have_their_stride():
    data = made([f"{{[r]: 0 <= r < {N}}}", "{[j]: 0 <= j < m}"], ROWS.format("a[r, j] = b[j, r] + v[j]"), lanes=16)
    strides = {row.array: None if row.indirect else row.stride() for row in data.access_table}
    assert {"f": 1, "a": M, "b": 1, "v": 0} == strides
    text = RAGGED.format("a[0, r] = sum(j, v[j])")
    ragged = made([f"{{[r]: 0 <= r < {N}}}", "{[j]: lo <= j < hi}"], text, lanes=16)
    assert [True] == [row.indirect for row in ragged.access_table if row.array == "v"]
