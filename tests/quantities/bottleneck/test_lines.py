"""Lines of each level, worked out by hand."""

from __future__ import annotations

import pytest

from perfmodel.quantities.bottleneck.lines import cold_share
from tests.quantities.bottleneck.by_hand import copy, found, kernel

pytestmark = [
    pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def test_arrays_that_stay_in_the_caches_cost_no_line_behind_them() -> None:
    small = found(copy(), "serial", n=4096)  # 32 KiB of 1 MiB
    assert not {name for name in small if name.startswith(("second", "memory"))}
    assert 4096 / 16 == small["first_loaded"]


def test_what_a_small_cache_fetches_again_counts_by_itself() -> None:
    """Each of n work-items reads all of b: 4 KiB stay in a cache of 8 KiB, and not in one of 1 KiB."""
    counts = kernel(
        "[n, k] -> { [i, j]: 0 <= i < n and 0 <= j < k }", "out[i] = sum(j, a[i]*b[j])", "a: n; b: k; out: n"
    )
    large, small = (
        found(counts, "serial", {"l1_bytes": size, "l1_ways": size // 64}, n=64, k=1024) for size in (8192, 1024)
    )
    assert "again_loaded" not in large
    assert 63 * 64 == pytest.approx(small["again_loaded"], rel=0.01)  # 64 lines by all items but the first
    assert large["first_loaded"] == small["first_loaded"] == 64 + 4


@pytest.mark.parametrize(("touched", "share"), [(1.0, 0.0), (256.0, 0.0), (512.0, 0.5), (1024.0, 1.0), (1e9, 1.0)])
def test_lines_are_cold_from_a_quarter_of_the_cache_on(touched: float, share: float) -> None:
    assert share == pytest.approx(cold_share(touched, 1024.0))
