"""Traffic of small kernels, derived by hand in the comments; ``test_simulation.py`` compares with an LRU cache."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.errors import ArgumentError, SizeError, UnknownNameError
from tests.corpus import kernels
from tests.corpus.kernel import make
from tests.corpus.made import counted
from tests.corpus.matrix import tiled

pytestmark = pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning", "ignore::DeprecationWarning")
LINE = 64


def kernel(domain: str, code: str, shapes: str, *, order: str = "", **splits: tuple[int, str, str]) -> KernelCounts:
    """Count a kernel of float32 arrays, whose shapes are ``"a: n, n; b: n"``, with inames split into g and l."""
    arrays = [
        lp.GlobalArg(name.strip(), np.float32, shape=shape.strip(), is_input=None)
        for name, shape in (one.split(":") for one in shapes.split(";"))
    ]
    unit = make(domain, code, [*arrays, ...], assumes="n mod 64 = 0 and n >= 64")
    for iname, (length, outer, inner) in splits.items():
        unit = lp.split_iname(unit, iname, length, outer_tag=outer, inner_tag=inner)
    return count(lp.prioritize_loops(unit, order) if order else unit, cache=False)


def column_walk() -> KernelCounts:
    domain = "[n, p] -> { [i, j]: 0 <= i, j < n <= p }"
    return kernel(domain, "out[j] = sum(i, a[i, j])", "a: n, p; out: n", order="j, i")


def stencil() -> KernelCounts:
    code = "r[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]"
    return kernel("[n] -> { [i, j]: 1 <= i, j < n - 1 }", code, "u: n, n; r: n, n", order="i, j")


def transpose() -> KernelCounts:
    domain, code = "[n] -> { [i, j]: 0 <= i, j < n }", "out[j, i] = a[i, j]"
    return kernel(domain, code, "a: n, n; out: n, n", i=(16, "g.1", "l.1"), j=(16, "g.0", "l.0"))


@pytest.mark.parametrize("order", ["serial", "lockstep"])
@pytest.mark.parametrize(
    ("name", "lines"),
    [
        # two arrays of n*m float32: of 64 cells, and of 66
        ("flattened_by_hand", (8, 10)), ("flattened_columns_by_hand", (8, 10)),
        # idx is a line, t are 3 rows of 16 cells, and c is one line; at 21 cells idx and c are two, t four
        ("folded_ilp", (1 + 3 + 1, 2 + 4 + 2)), ("folded_unr", (1 + 3 + 1, 2 + 4 + 2)),
        # p and c are a line; of a half of the rows, which are 3*5 or 11*2 cells
        ("nested_around_a_reduction", (1 + 1 + 1, 1 + 1 + 2)),
        # p and a are a line; of c a column, 5 cells with a stride of 20 bytes or 2 cells of 84 bytes
        ("nested_before_a_loop", (1 + 1 + 2, 1 + 1 + 2)),
    ],
)  # fmt: skip
def test_an_array_whose_slowest_extent_is_not_known_is_as_long_as_it_is_touched(
    name: str, lines: tuple[int, ...], order: str
) -> None:
    """Its flattened index was split into axes, so that the number of rows is unknown."""
    (found,) = [kernel for kernel in kernels() if kernel.name == name]
    for case, expected in zip(found.cases, lines, strict=False):
        assert expected == counted(found, case).traffic(capacity=1 << 30, order=order)(**case).fetched


def test_a_column_is_kept_until_its_neighbour_is_read_if_its_lines_fit() -> None:
    counts = column_walk()
    fetched = [counts.traffic("a", lines * LINE)(n=64, p=64).fetched for lines in (32, 60, 80)]
    # 64 rows: a line each for 64 columns, or for each 16 of them
    assert [64 * 64, 64 * 64, 64 * 4] == fetched


@pytest.mark.parametrize(("width", "jumps"), [(16, 1.0), (64, 0.25), (256, 0.0625)])
def test_the_first_line_of_each_run_is_a_jump(width: int, jumps: float) -> None:
    """A row of a group is ``4*width`` bytes; the next row of the group is elsewhere."""
    code, shapes = "out[i, j] = a[i, j]", "a: n, n; out: n, n"
    tiles = {"i": (4, "g.1", "l.1"), "j": (width, "g.0", "l.0")}
    found = kernel("[n] -> { [i, j]: 0 <= i, j < n }", code, shapes, **tiles).traffic(capacity=32768)(n=512)
    lines = 512 * 512 * 4 / 64
    assert (2 * lines, 2 * lines * jumps) == (found.fetched, found.jumps)
    assert lines * jumps == found.stored_jumps


def test_a_tiled_product_fetches_its_panels_for_each_group() -> None:
    counts = count(tiled("n >= 1 and n mod 16 = 0", 16), cache=False)
    fetched = {array: counts.traffic(array, 8192)(n=64).fetched for array in ("a", "b", "c", "a_fetch", "b_fetch")}
    # each of 16 groups reads 16 rows of 4 lines of a, and a line of each of 64 rows of b. These 128 lines do not stay,
    # with those of c and the tiles. The tiles of 16 lines, which each step uses, do.
    assert {"a": 1024, "b": 1024, "c": 256, "a_fetch": 16, "b_fetch": 16} == fetched
    large = counts.traffic("a", 65536)(n=64)
    assert (256, 256, 0) == (large.fetched, large.loads, large.stores)


def test_lanes_in_lockstep_share_lines_that_serial_ones_fetch_again() -> None:
    domain, code = "[n] -> { [i, k]: 0 <= i, k < n }", "out[i] = sum(k, a[k, i])"
    counts = kernel(domain, code, "a: n, n; out: n", i=(64, "g.0", "l.0"))
    # 128 rows of 8 lines; a work-item reads a line of each row, and 64 lines can't hold those for its neighbour
    assert 128 * 128 == counts.traffic("a", 4096)(n=128).fetched
    assert 128 * 8 == counts.traffic("a", 4096, order="lockstep")(n=128).fetched


def test_a_line_that_is_loaded_and_stored_to_is_fetched_once() -> None:
    counts = kernel("[n] -> { [i]: 0 <= i < n }", "a[i] = 2*a[i]", "a: n", i=(64, "g.0", "l.0"))
    lines = counts.traffic("a", 1024)(n=1024)
    assert (64, 64, 64) == (lines.fetched, lines.loads, lines.stores)


def test_what_data_decide_is_a_bound() -> None:
    unit = make("[n] -> { [i]: 0 <= i < n }", "out[i] = a[index[i]]",
                [lp.GlobalArg("index", np.int32, shape="n"), lp.GlobalArg("a, out", np.float32, shape="n"),
                 ...])  # fmt: skip
    counts = count(unit, cache=False)
    traffic = counts.traffic("a", 1024)
    assert not traffic.exact
    # 1024 accesses to 64 lines that the cache of 16 can't hold, a quarter at most, or can
    assert 768 <= traffic(n=1024).fetched < 1024
    assert pytest.approx(64) == counts.traffic("a", 65536)(n=1024).fetched
    assert stencil().traffic().exact


def test_arrays_of_sizes_give_what_single_sizes_give() -> None:
    traffic = column_walk().traffic(capacity=4096, sets=8)
    sizes = {"n": np.array([[64], [128]]), "p": np.array([128, 144, 256])}
    found = traffic.evaluate(sizes)
    expected = [[traffic(n=n, p=p).fetched for p in (128, 144, 256)] for n in (64, 128)]
    np.testing.assert_array_equal(expected, found.fetched)
    np.testing.assert_array_equal(found.fetched, found.streams + found.jumps)


@pytest.mark.parametrize(
    "cache",
    [
        {"capacity": 32}, {"capacity": 4096, "line_bytes": 0}, {"capacity": 4096, "sets": -1},
        {"capacity": 4096, "sets": 7}, {"capacity": 4096, "sets": 128}, {"capacity": 4096.5},
    ],
)  # fmt: skip
def test_impossible_caches(cache: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="give at least one line"):
        transpose().traffic(**cache)


def test_unknown_names() -> None:
    counts = transpose()
    with pytest.raises(ArgumentError, match="serial or vectors or lockstep"):
        counts.traffic(order="random")
    with pytest.raises(UnknownNameError, match="a, out"):
        counts.traffic("b")
    with pytest.raises(SizeError):
        counts.traffic("a")()


@pytest.mark.parametrize(("shape", "index", "order"), [("rows, 16", "i, 0", "C"), ("16, rows", "0, i", "F")])
def test_a_size_that_no_count_depends_on_may_be_left_out(shape: str, index: str, order: str) -> None:
    unit = make("{ [i]: 0 <= i < n }", f"a[{index}] = 2*a[{index}]",
                [lp.GlobalArg("a", np.float32, shape=shape, order=order),
                 lp.ValueArg("n, rows", np.int32)])  # fmt: skip
    counts = count(unit, cache=False)
    assert [("n",), ("n", "rows")] == [counts.parameters, counts.size_arguments]
    assert counts.size_arguments == KernelCounts.from_json(counts.to_json()).size_arguments
    traffic = counts.traffic("a", 2**20)
    assert 100 == traffic(n=100).fetched == traffic(n=100, rows=1000).fetched  # a line for each row of 64 bytes
