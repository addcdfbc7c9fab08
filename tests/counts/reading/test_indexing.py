"""Accesses as isl maps, against cells and strides worked out by hand."""

import islpy as isl
import loopy as lp
import numpy as np
import pymbolic.primitives as p
import pytest

from perfmodel.counts import count
from perfmodel.counts.reading.domains import Domains
from perfmodel.counts.reading.indexing import Indexing
from perfmodel.counts.reading.values import AccessEvent
from perfmodel.libraries import with_main

ROW, J, N = p.Variable("i"), p.Variable("j"), p.Variable("n")
SQUARE = "{ [i, j]: 0 <= i, j < n }", "out[i, j] = a[i, j]"


def access_of(kernel, array, *indices, direction="load"):
    domains = Domains(kernel, {})
    domain = domains.domain(0, {"i", "j"})
    return Indexing(kernel, domains).access(AccessEvent(array, indices, direction, ()), domain, 1), domain


def test_a_flat_index_is_two_axes_where_its_range_fits(scheduled) -> None:
    # a[n*i + j] with 0 <= j < n: row i, column j
    kernel = scheduled(
        "{ [i, j]: 0 <= i, j < n }", "out[i, j] = a[n*i + j]", lp.GlobalArg("a", np.float32, shape=("n*n",))
    )
    access, domain = access_of(kernel, "a", N * ROW + J)
    assert access.cells_exact
    assert ["[n] -> { n }", "{ 1 }"] == [str(stride) for stride in access.strides]
    assert access.cells.intersect_domain(domain.points).is_equal(
        isl.Map("[n] -> { [i, j] -> [i, j] : n >= 1 and 0 <= i < n and 0 <= j < n }")
    )


def test_a_flat_index_that_overlaps_the_next_row_is_not_exact(scheduled) -> None:
    # a[n*i + 2*j]: 2*j reaches 2*n - 2, so that two (i, j) may be one cell
    kernel = scheduled(
        "{ [i, j]: 0 <= i, j < n }", "out[i, j] = a[n*i + 2*j]", lp.GlobalArg("a", np.float32, shape=("n*n + n",))
    )
    access, _ = access_of(kernel, "a", N * ROW + 2 * J)
    assert not access.cells_exact


def test_a_flat_index_that_runs_backwards_is_two_axes(scheduled) -> None:
    # n*i + n - 1 - j: row i, column n - 1 - j; and n*i - 1 - j: row i - 1, the same column
    kernel = scheduled(
        "{ [i, j]: 0 <= i, j < n }", "out[i, j] = a[n*i + n - 1 - j]", lp.GlobalArg("a", np.float32, shape=("n*n",))
    )
    for constant, row in ((N - 1, "i"), (-1, "i - 1")):
        access, domain = access_of(kernel, "a", N * ROW + constant - J)
        assert access.cells_exact
        assert access.cells.intersect_domain(domain.points).is_equal(
            isl.Map(f"[n] -> {{ [i, j] -> [{row}, n - 1 - j] : n >= 1 and 0 <= i < n and 0 <= j < n }}")
        )


@pytest.mark.xfail(with_main(), reason="Loopy's main branch fails at a shape of None")
def test_an_extent_that_is_left_open() -> None:
    # the cells k to n - 1 are loaded and stored; the array's shape is not known
    arguments = [lp.GlobalArg("a", np.int32, shape=(None,)), lp.ValueArg("k, n", np.int32)]
    unit = lp.make_kernel("{ [i]: k <= i < n }", "a[i] = a[i] + 1", arguments, lang_version=(2018, 2))
    counts = count(unit, cache=False)
    assert (68, 34) == (counts.accesses()(k=3, n=37), counts.footprint("a")(k=3, n=37))
    assert counts.footprint("a").exact


def test_separate_arrays_whose_offsets_the_caller_gives(scheduled) -> None:
    # a_s0[i + a_s0_offset] + a_s1[i + a_s1_offset]: two rows of n cells
    kernel = scheduled(
        "{ [i, j]: 0 <= i, j < n }", "out[i] = a[0, i] + a[1, i] + j",
        lp.GlobalArg("a", np.float64, shape="2, n", dim_tags="sep,C", offset=lp.auto),
    )
    access, _ = access_of(kernel, "a", 1, ROW)
    assert ("float64", 1, "{ 0 }") == (access.dtype, access.unit_axis, str(access.offset))
    assert [f"{{ {2**40} }}", "{ 1 }"] == [str(stride) for stride in access.strides]  # no line holds cells of both
