"""What the kernels of `test_kernels/recorded/` execute at the recorded sizes, by closed forms of their descriptions."""

import random

import pytest

from perfmodel.counts import count
from test_kernels.recorded import SIZES, space

HALO, CELLS = 14, 225  # of the filter


def counted(name, configuration):
    """Return the counts, and functions that give operations and accesses at the recorded sizes."""
    counts = count(space(name).build(**configuration), cache=False)
    at = SIZES[name]
    return (
        counts, lambda kind: counts.operations(dtype="float32", kind=kind)(**at),
        lambda array, direction, where=None: counts.accesses(where, direction, array)(**at),
    )  # fmt: skip


def some(name, few, many):
    """Return configurations of a space: few for an ordinary run, many for a nightly one, drawn in the same way."""
    chosen = random.Random(11).sample(range(many), many)
    return [pytest.param(place, marks=[pytest.mark.nightly] * (rank >= few)) for rank, place in enumerate(chosen)]


def configured(name, place, many):
    configurations = space(name).configurations
    return configurations[place * len(configurations) // many]


def copied(size, tile):
    """Cells of the image along one axis that all groups copy."""
    return sum(min(tile + HALO, size + HALO - start) for start in range(0, size, tile))


@pytest.mark.parametrize(
    ("name", "place"), [(name, place) for name in ("convolution15", "convolution15-wide") for place in (1500, 3333)],
)
def test_convolution(name, place):
    check_convolution(name, space(name).configurations[place])


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["convolution15", "convolution15-wide"])
def test_all_convolutions(name):
    for configuration in space(name).configurations:
        if not configuration["read_only"]:  # the same kernel
            check_convolution(name, configuration)


def check_convolution(name, given):
    counts, operations, accesses = counted(name, given)
    n, shared = 4096, given.get("use_shmem", 1)
    block_x, block_y = given["block_size_x"], given["block_size_y"]
    width, height = block_x * given["tile_size_x"], block_y * given["tile_size_y"]
    groups = -(-n // width) * -(-n // height)
    assert (block_x, block_y)[: len(counts.launch.group_shape)] == counts.launch.group_shape
    assert groups == counts.work_groups()(n=n)
    assert (groups * block_x * block_y if shared else 0) == counts.barriers()(n=n)
    sums = CELLS * (groups * width * height if shared else n * n)
    loads = copied(n, width) * copied(n, height) if shared else sums
    assert (sums, sums) == (operations("add"), operations("mul"))
    assert (loads, n * n) == (accesses("image", "load"), accesses("out", "store"))
    assert CELLS * groups * block_x * block_y == accesses("filter", "load")
    local = 0
    if shared:
        assert (loads, sums) == (accesses("tile", "store"), accesses("tile", "load"))
        row = width + HALO
        if given["use_padding"] and block_x % 32:
            while (row - block_x) % 32:
                row += 1
        local = 4 * row * (height + HALO)
    assert local == counts.launch.local_bytes


@pytest.mark.parametrize("place", some("dedispersion", 2, 400))
def test_dedispersion(place):
    given = configured("dedispersion", place, 400)
    counts, operations, accesses = counted("dedispersion", given)
    outputs = 2048 * 25000
    assert (given["block_size_x"], given["block_size_y"]) == counts.launch.group_shape
    width, height = (given[f"block_size_{axis}"] * given[f"tile_size_{axis}"] for axis in "xy")
    assert -(-25000 // width) * -(-2048 // height) == counts.work_groups()(**SIZES["dedispersion"])
    for array in ("data", "shifts"):
        assert 1536 * outputs == accesses(array, "load")
    assert outputs == accesses("out", "store")
    assert 0 == counts.barriers()(**SIZES["dedispersion"]) == counts.launch.local_bytes
    for kind in ("add", "mul"):  # one for each channel, and what the measure of an output takes
        assert 1536 * outputs <= operations(kind) <= 1539 * outputs


@pytest.mark.parametrize("place", some("gemm", 2, 400))
def test_gemm(place):
    given = configured("gemm", place, 400)
    counts, operations, accesses = counted("gemm", given)
    n = 4096
    items = given["MDIMC"] * given["NDIMC"]
    groups = (n // given["MWG"]) * (n // given["NWG"])
    assert (given["MDIMC"], given["NDIMC"]) == counts.launch.group_shape
    assert groups == counts.work_groups()(**SIZES["gemm"])
    assert (n**3 + n**2, n**3 + 2 * n**2) == (operations("add"), operations("mul"))
    local = 0
    for array, axis, other, width, shared in (("a", "M", "N", "VWM", "SA"), ("b", "N", "M", "VWN", "SB")):
        tile, vector = given[f"{axis}WG"], min(given[width], 4)
        taken = groups * items * n * (tile // given[f"{axis}DIMC"]) // vector  # by work-items, one step after the other
        if given[shared]:
            assert taken == accesses(f"{array}_tile", "load")
            assert n * n * (n // given[f"{other}WG"]) // vector == accesses(f"{array}_tile", "store")
            assert accesses(f"{array}_tile", "store") == accesses(array, "load")
            local += 4 * 32 * tile
        else:
            assert taken == accesses(array, "load")
    assert n * n // min(given["VWM"], 4) == accesses("c", "load") == accesses("c", "store")
    assert local == counts.launch.local_bytes
    assert (2 * groups * items * (n // 32) if local else 0) == counts.barriers()(**SIZES["gemm"])
