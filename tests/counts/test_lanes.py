"""What lanes touch together, against the executed code."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.lanes import lane_patterns
from tests import oracle
from tests.corpus.kernel import make

SECTOR = 32


def copying(shape: tuple[int, ...], target: str, source: str, guard: str, dtype: type) -> lp.TranslationUnit:
    """Lanes i, j of groups g copy cells in each iteration of a loop k, where a guard holds."""
    lanes = ("i", "j")[:len(shape)]
    extents = " and ".join(f"0 <= {lane} < {extent}" for lane, extent in zip(lanes, shape, strict=True))
    unit = make(f"{{ [g, k, {', '.join(lanes)}]: 0 <= g < n and 0 <= k < 3 and {extents} }}",
                f"if {guard}\n tile[{target}] = a[{source}]\n end", "a: n, 4096; local tile: 4096", dtype=dtype,
                assumes="n >= 1")  # fmt: skip
    return lp.tag_inames(unit, {"g": "g.0", **{lane: f"l.{axis}" for axis, lane in enumerate(lanes)}})


@pytest.mark.parametrize(("shape", "target", "source", "guard"), [
    ((64,), "i", "g, i", "True"), ((64,), "2*i", "g, 2*i + k", "i + 64*g < 100"),
    ((64,), "32*i", "g, i + 3", "i < 16*k"), ((64,), "4*i + k", "g, 3*i + 5*k", "(i + k) % 3 == 0"),
    ((64,), "(256*k + i)//4", "g, (i + k)//3", "i > 40"), ((64,), "i", "g, (i + 7*k) % 50", "i < 20 or i > 50"),
    ((64,), "i", "g, i", "i < 20 and k < 1 or i > 50 and k > 1"), ((48,), "2*i", "g, i + k", "True"),
    ((5,), "32*i", "g, 9*i", "k > 0"), ((8, 3), "8*j + i", "g, 100*j + i", "True"),
    ((12, 7), "40*j + i", "g, 13*j + i + 12*k", "i + 12*k < 30 and j < 5"),
    ((8, 8), "32*i + j", "g, 72*j + i", "i + 8*g < 13 and j + 8*k < 20"),
    ((48, 2), "32*(i//2) + j", "g, 2*i + j", "i + j < 30"),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
def test_only_active_lanes_touch(shape, target, source, guard, dtype):
    unit = copying(shape, target, source, guard, dtype)
    counts = count(unit, subgroup_size=32, cache=False)
    for n in (1, 3):
        executed = oracle.execute(unit.copy(target=lp.PyOpenCLTarget()), {"n": n})
        for access in (access for issue in counts.issues for access in issue.accesses):
            patterns = lane_patterns(*access.site, {"n": n}, SECTOR)
            times, size = access.count(n=n), access.bits // 8
            touched = executed.lines(access.array, SECTOR, "instance", access.direction)
            assert touched == pytest.approx(times * patterns.segments(32, size, SECTOR))
            if access.space == "local":
                conflicts = executed.bank_conflicts(access.array, 32, access.direction)
                assert conflicts == pytest.approx(times * patterns.passes(32, size, 32))


def test_unknown_where_data_give_the_index_or_points_are_too_many():
    counts = count(copying((64,), "i", "g, i*k", "True", np.float32), subgroup_size=32, cache=False)
    load, _ = counts.issues[0].accesses
    assert lane_patterns(*load.site, {"n": 3}, SECTOR) is None
    counts = count(copying((64,), "i", "g, i", "i + g + k < 100", np.float32), subgroup_size=32, cache=False)
    load, _ = counts.issues[0].accesses
    assert lane_patterns(*load.site, {"n": 10**7}, SECTOR) is not None  # the guard bounds g
    counts = count(copying((64,), "i", "g, i", "i + 10*k < g", np.float32), subgroup_size=32, cache=False)
    load, _ = counts.issues[0].accesses
    assert lane_patterns(*load.site, {"n": 10**7}, SECTOR) is None
