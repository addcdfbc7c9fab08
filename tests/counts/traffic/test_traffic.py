"""Traffic of small kernels, derived by hand in the comments; ``test_simulation.py`` compares with an LRU cache."""

from collections.abc import Iterator
from itertools import product

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.traffic.traffic import iterations_that_fill
from perfmodel.errors import ArgumentError, SizeError, UnknownNameError
from tests.corpus import kernels
from tests.corpus.indirect import csr_product
from tests.corpus.kernel import make
from tests.corpus.made import counted
from tests.corpus.matrix import tiled
from tests.counts.traffic.simulation import fetched_lines

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
@pytest.mark.parametrize(("name", "lines"), [
    # two arrays of n*m float32: of 64 cells, and of 66
    ("flattened_by_hand", (8, 10)), ("flattened_columns_by_hand", (8, 10)),
    # idx is a line, t are 3 rows of 16 cells, and c is one line; at 21 cells idx and c are two, t four
    ("folded_ilp", (1 + 3 + 1, 2 + 4 + 2)), ("folded_unr", (1 + 3 + 1, 2 + 4 + 2)),
    # p and c are a line; of a half of the rows, which are 3*5 or 11*2 cells
    ("nested_around_a_reduction", (1 + 1 + 1, 1 + 1 + 2)),
    # p and a are a line; of c a column, 5 cells with a stride of 20 bytes or 2 cells of 84 bytes
    ("nested_before_a_loop", (1 + 1 + 2, 1 + 1 + 2)),
])  # fmt: skip
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
    unit = make("[n] -> { [i]: 0 <= i < n }", "out[i] = a[index[i]]", "int32 index: n; a, out: n")
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


@pytest.mark.parametrize("cache", [
    {"capacity": 32}, {"capacity": 4096, "line_bytes": 0}, {"capacity": 4096, "sets": -1},
    {"capacity": 4096, "sets": 7}, {"capacity": 4096, "sets": 128}, {"capacity": 4096.5},
])  # fmt: skip
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


SPARSE_ROWS, TRIPS = 65536, 16


@pytest.fixture(scope="module")
def spmv() -> KernelCounts:
    """Products of a sparse matrix of 65536 rows of 16 values and a vector of 256 KiB."""
    return count(csr_product(64, "n >= 64 and n mod 64 = 0"), statistics={"j": TRIPS}, cache=False)


@pytest.mark.parametrize("order", ["serial", "lockstep"])
@pytest.mark.parametrize("array", ["values", "columns"])
def test_a_row_is_one_stream(spmv: KernelCounts, array: str, order: str) -> None:
    """16 values of 4 bytes are a line of 64."""
    lines = KernelCounts.from_json(spmv.to_json()).traffic(array, order=order)(n=SPARSE_ROWS)
    assert (SPARSE_ROWS, 0) == (lines.fetched, lines.jumps)


def test_a_gather_stays_where_the_cache_holds_what_is_touched_between_two_uses_of_a_line(spmv: KernelCounts) -> None:
    """The vector has 4096 lines, next to two streams: 512 lines hold an eighth of it at most, 16384 all."""
    gathers = {capacity: spmv.traffic("x", capacity=capacity)(n=SPARSE_ROWS).fetched for capacity in (2**15, 2**20)}
    assert SPARSE_ROWS * TRIPS * 7 / 8 <= gathers[2**15] < SPARSE_ROWS * TRIPS
    assert pytest.approx(SPARSE_ROWS * 4 // 64) == gathers[2**20]


def test_what_a_row_executes_is_in_no_comparison_of_lanes(spmv: KernelCounts) -> None:
    """Which lanes make more trips is not known: only the row's two ends and its sum are executed for sure."""
    by_items, by_subgroups = spmv.executions
    assert 3 * SPARSE_ROWS == by_items(n=SPARSE_ROWS) == spmv.subgroup_size * by_subgroups(n=SPARSE_ROWS)


ROWS, ENTRIES, GROUP = 8192, 8, 64
LINES = ROWS * 4 // LINE  # of the vector
SPANS = [(64, 192), (1024, 16), (1024, 256), (4096, 128), (ROWS, 128), (ROWS, 256), (ROWS, 1024)]
"""Spans, and lines of a cache; where it holds just the span the answer depends on every access, and none is here."""


def product_with_rows(shape: str | None = "n", **statistics: float) -> KernelCounts:
    """The product of a matrix in ELLPACK form and a vector, a work-item for each row."""
    unit = lp.split_iname(plain_product(shape), "i", GROUP, outer_tag="g.0", inner_tag="l.0")
    return count(unit, statistics=statistics, cache=False)


def plain_product(shape: str | None = "n") -> lp.TranslationUnit:
    return make("{ [i, j]: 0 <= i < n and 0 <= j < k }", "y[i] = sum(j, a[i, j]*x[column[i, j]])",
                [lp.GlobalArg("a", np.float32, shape="n, k"), lp.GlobalArg("column", np.int32, shape="n, k"),
                 lp.GlobalArg("x", np.float32, shape=shape), lp.GlobalArg("y", np.float32, shape="n"),
                 lp.ValueArg("n, k", np.int32)], assumes="n >= 64 and n mod 64 = 0 and k >= 1")  # fmt: skip


def band_matrix(span: int) -> np.ndarray:
    """Columns of the entries: a row's lie in a window of so many columns, which moves from the first to the last."""
    first = np.linspace(0, ROWS - span, ROWS).astype(int)
    return first[:, None] + np.random.default_rng(0).integers(0, span, (ROWS, ENTRIES))


def accesses(columns: np.ndarray, order: str) -> Iterator[tuple[str, int]]:
    """Yield each array and cell in the order of the device."""
    for group in range(0, ROWS, GROUP):
        rows, entries = range(group, group + GROUP), range(ENTRIES)
        pairs = product(rows, entries) if order == "serial" else ((i, j) for j, i in product(entries, rows))
        for i, j in pairs:
            yield from (("a", i * ENTRIES + j), ("column", i * ENTRIES + j), ("x", int(columns[i, j])))
            if j == ENTRIES - 1:
                yield "y", i


def fetched_by_lru(columns: np.ndarray, order: str, capacity: int) -> int:
    """Return the lines of the vector that an LRU cache fetches."""
    lines = ((array, cell * 4 // LINE) for array, cell in accesses(columns, order))
    return sum(array == "x" for array, _ in fetched_lines(lines, capacity))


@pytest.mark.parametrize("order", ["serial", "lockstep"])
@pytest.mark.parametrize(("span", "capacity"), SPANS)
def test_a_band_matrix_fetches_what_an_lru_cache_fetches(span: int, capacity: int, order: str) -> None:
    traffic = product_with_rows(**{"x:span": span}).traffic("x", capacity * LINE, order=order)
    expected = fetched_by_lru(band_matrix(span), order, capacity)
    assert pytest.approx(expected, rel=0.2) == traffic(n=ROWS, k=ENTRIES).fetched


JUST_FITS = pytest.param(*SPANS[-1], marks=pytest.mark.xfail(reason="counts 1458 lines instead of 551", strict=True))


@pytest.mark.parametrize(("span", "capacity"), [*SPANS[:-1], JUST_FITS])
def test_without_work_items_the_window_moves_with_the_outermost_loop(span: int, capacity: int) -> None:
    columns = band_matrix(span)
    counts = count(plain_product(), arrays={"column": columns.astype(np.int32)}, cache=False)
    traffic = counts.traffic("x", capacity * LINE)
    assert pytest.approx(fetched_by_lru(columns, "serial", capacity), rel=0.2) == traffic(n=ROWS, k=ENTRIES).fetched


def test_a_span_of_one_is_a_stream_and_one_of_all_indices_is_what_nothing_stated_says() -> None:
    counts, sizes = product_with_rows(), {"n": ROWS, "k": ENTRIES}
    stream, anywhere = (product_with_rows(**{"x:span": span}) for span in (1, ROWS))
    assert (("x",), ()) == (counts.gathered, stream.gathered)
    assert LINES == pytest.approx(stream.traffic("x", 128 * LINE)(**sizes).fetched, rel=0.02)
    assert stream.traffic("x", 128 * LINE)(**sizes).jumps < 0.02 * LINES
    for same, other in ((counts.most_local, stream), (counts, anywhere), (counts.least_local, anywhere)):
        assert same.traffic(capacity=4096)(**sizes) == other.traffic(capacity=4096)(**sizes)
    assert stream.most_local is stream


def copied_rows(rows: int, cells: int) -> KernelCounts:
    """Each work-item copies a row that data choose out of ``rows`` rows."""
    unit = make(f"{{ [e, j]: 0 <= e < n and 0 <= j < {cells} }}", "out[e, j] = u[chosen[e], j]",
                [lp.GlobalArg("u", np.float64, shape=(rows, cells)), lp.GlobalArg("chosen", np.int32, shape="n"),
                 lp.GlobalArg("out", np.float64, shape=f"n, {cells}"), lp.ValueArg("n", np.int32)],
                assumes="n >= 64 and n mod 64 = 0")  # fmt: skip
    return count(lp.split_iname(unit, "e", 64, outer_tag="g.0", inner_tag="l.0"), cache=False)


@pytest.mark.parametrize(("rows", "cells", "capacity"), [
    (1024, 64, 8192 * 64), (1024, 64, 512), (64, 64, 2048), (1024, 6, 256), (2048, 20, 1024), (4096, 3, 512),
])  # fmt: skip
def test_rows_that_data_choose_fetch_what_an_lru_cache_fetches(rows: int, cells: int, capacity: int) -> None:
    """Independent of the model: a cache of ``capacity`` lines, and rows drawn at random."""
    n, chosen = 4096, np.random.default_rng(0).integers(0, rows, 4096).tolist()
    lines = (
        (array, byte // LINE) for item, row in enumerate(chosen) for j in range(cells)
        for array, byte in (("chosen", 4 * item), ("u", 8 * (row * cells + j)), ("out", 8 * (item * cells + j)))
    )  # fmt: skip
    fetched = sum(array == "u" for array, _ in fetched_lines(lines, capacity))
    traffic = copied_rows(rows, cells).traffic("u", capacity * LINE, order="serial")
    assert pytest.approx(fetched, rel=0.2) == traffic(n=n).fetched


def test_a_row_that_data_choose_jumps_once() -> None:
    moved = copied_rows(1024, 64).traffic("u", 512 * LINE, order="serial")(n=4096)
    assert 1 / 9 == pytest.approx(moved.jumps / moved.fetched, rel=0.05)  # a row touches 8 or 9 lines


def test_iterations_that_fill_a_cache_by_bisection() -> None:
    """The capacity is what so many iterations touch: 300 lines chosen at random, and two streams, one of which ends."""
    others = [(0.5, 1e9), (2.0, 50.0)]
    filled = iterations_that_fill(400.0, 300.0, 0.02, others, 1e9)
    touched = 300 * (1 - np.exp(-0.02 * filled)) + 0.5 * filled + 50
    assert pytest.approx(400.0, rel=1e-3) == touched
    assert 10.0 == iterations_that_fill(400.0, 300.0, 0.02, others, 10.0)
