"""Data-dependent indices: lines with a given span, and in an LRU cache for matrices of that bandwidth."""

from collections.abc import Iterator
from itertools import product

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.traffic.traffic import iterations_that_fill
from tests.corpus.kernel import make
from tests.counts.traffic.simulation import fetched_lines

pytestmark = pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
ROWS, ENTRIES, GROUP, LINE = 8192, 8, 64, 64
LINES = ROWS * 4 // LINE  # of the vector
SPANS = [(64, 192), (1024, 16), (1024, 256), (4096, 128), (ROWS, 128), (ROWS, 256), (ROWS, 1024)]
"""Spans, and lines of a cache; where it holds just the span the answer depends on every access, and none is here."""


def product_with_rows(shape: str | None = "n", **statistics: float) -> KernelCounts:
    """The product of a matrix in ELLPACK form and a vector, a work-item for each row."""
    unit = make("{ [i, j]: 0 <= i < n and 0 <= j < k }", "y[i] = sum(j, a[i, j]*x[column[i, j]])",
                [lp.GlobalArg("a", np.float32, shape="n, k"), lp.GlobalArg("column", np.int32, shape="n, k"),
                 lp.GlobalArg("x", np.float32, shape=shape), lp.GlobalArg("y", np.float32, shape="n"),
                 lp.ValueArg("n, k", np.int32)], assumes="n >= 64 and n mod 64 = 0 and k >= 1")  # fmt: skip
    unit = lp.split_iname(unit, "i", GROUP, outer_tag="g.0", inner_tag="l.0")
    return count(unit, statistics=statistics, cache=False)


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
