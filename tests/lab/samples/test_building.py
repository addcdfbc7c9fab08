"""What Loopy makes of drawn kernels, and whether the shipped samples are what is made today."""

from dataclasses import replace

import numpy as np
import pytest

from perfmodel.calibration.kernel_choice import shipped_samples
from perfmodel.counts import count
from perfmodel.kernels import Ladder
from perfmodel.kernels.samples import sample_class, samples
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.subject import Subject
from scripts.lab.recounting import changes
from scripts.lab.samples import archive
from scripts.lab.samples.archive import document
from scripts.lab.samples.building import built
from scripts.lab.samples.grammar import Array, Axis, DrawnKernel, Loop, draw
from tests.campaigns import TINY
from tests.kernels.test_samples import kept
from tests.machine import device

#: out[i] = sum of a[i, k] over k, in groups of 4 work-items that fetch tiles of 2 columns, for n = 8 and m = 6.
ROWS = DrawnKernel(
    1, "float32", (Axis("i0", 4),), (Loop("k0", "parameter", "m0", 2),), False, "reduction",
    ("a1[i0] = sum(k0, a0[i0, k0])",), (Array("a0", "float32", ("n0", "m0")), Array("a1", "float32", ("n0",))),
    {"n0": 8, "m0": 6}, ("n0", "m0"), ("a0",),
)  # fmt: skip

#: Loopy refuses the tiles of the two that are left out.
SEEDS = sorted({*range(20, 80)} - {32, 54})


def test_a_tile_in_local_memory_is_fetched_once_and_read_by_its_work_items():
    counts = count(built(ROWS), subgroup_size=4)
    sizes = {"n0": 8, "m0": 6}
    assert 4 == counts.launch.group_shape[0]
    assert 4 * 4 * 2 == counts.launch.local_bytes
    loads = {space: int(counts.accesses(space=space, direction="load")(**sizes)) for space in ("global", "local")}
    assert {"global": 48, "local": 48} == loads
    assert 48 == counts.operations(kind="add")(**sizes)


def test_cells_of_a_work_item_and_a_triangle():
    axis = Axis("i0", 4, 2, "interleaved", "ilp")
    drawn = DrawnKernel(
        2, "float64", (axis,), (Loop("k0", "triangle", "n0"),), False, "reduction", ("a1[i0] = sum(k0, a0[k0, i0])",),
        (Array("a0", "float64", ("n0", "n0")), Array("a1", "float64", ("n0",))), {"n0": 16}, ("n0",),
    )  # fmt: skip
    counts = count(built(drawn), subgroup_size=4)
    assert (2, 8) == (counts.work_groups()(n0=16), counts.work_items()(n0=16))
    assert 16 * 17 // 2 == counts.accesses(array="a0")(n0=16)


@pytest.mark.parametrize("place", [3, 77, 140])
def test_shipped_counts_are_those_of_today(place):
    sample = shipped_samples()[place]
    seed = int(sample.name.removeprefix("sample_"))
    today, kept = count(built(draw(seed)), subgroup_size=8), sample.build().counts(8)
    assert () == changes(kept, today)
    assert sample.build().document["sizes"] == draw(seed).sizes


def output(drawn: DrawnKernel, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Return all arrays after a run of the kernel on the device."""
    kernel = sample_class(document(drawn))
    plain = replace(kernel, build=lambda: built(drawn), sizes=Ladder(lambda _: (sizes,), start=0))
    return Bench(device(), TINY).output(Subject(plain, {}), sizes)[1]


@pytest.mark.device
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.nightly) for seed in (5, *SEEDS)])
def test_transformations_do_not_change_what_is_computed(seed):
    drawn = draw(seed)
    sizes = {name: 2 * multiple for name, multiple in drawn.multiples.items()}
    plain = replace(
        drawn, axes=tuple(Axis(axis.name, 1) for axis in drawn.axes), prefetched=(),
        loops=tuple(replace(loop, unrolled=1) for loop in drawn.loops),
    )  # fmt: skip
    expected, made = output(plain, sizes), output(drawn, sizes)
    for name, array in expected.items():
        np.testing.assert_allclose(made[name], array, rtol=2e-4, atol=1e-3, err_msg=name)


def test_a_file_of_samples_is_read_as_it_was_written(tmp_path):
    first, second = tmp_path / "first.xz", tmp_path / "second.xz"
    for path in (first, second):
        archive.pack_samples(path, [kept().document, {**kept().document, "name": "other"}])
    assert first.read_bytes() == second.read_bytes()
    assert ["scale", "other"] == [sample.name for sample in samples(first)]
    assert kept().document == samples(first)[0].build().document


def test_every_kind_is_drawn():
    kernels = [draw(seed) for seed in range(300)]
    assert {"float32", "float64"} == {drawn.dtype for drawn in kernels}
    assert {1, 2, 3} == {len(drawn.axes) for drawn in kernels}
    assert {0, 1, 2} == {len(drawn.loops) for drawn in kernels}
    assert {"parameter", "constant", "triangle"} == {loop.kind for drawn in kernels for loop in drawn.loops}
    assert {"pointwise", "loop of stores", "reduction", "recurrence"} == {drawn.body for drawn in kernels}
    assert any(drawn.prefetched for drawn in kernels)
    assert any(drawn.guarded for drawn in kernels)
    assert any(array.near is not None for drawn in kernels for array in drawn.arrays)
