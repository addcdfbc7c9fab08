"""The kernels of `test_kernels/recorded/` compute what they should, on sizes that do not divide too where they may."""

import random

import numpy as np
import pytest

from test_kernels.recorded import convolution, dedispersion, gemm, space
from tests.machine import device

pytestmark = [
    pytest.mark.device,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Unable to generate code to automatically"),  # find sizes, which are given
]
#: Configurations of a space in a nightly run.
MANY = [pytest.param(number, marks=pytest.mark.nightly) for number in range(24)]


def chosen(name, given, allowed=lambda **_: True):
    """Return a configuration; a number stands for one of those drawn from the space where `allowed` is true."""
    if not isinstance(given, int):
        return dict(zip(space(name).values, given, strict=True))
    return random.Random(5).sample([one for one in space(name).configurations if allowed(**one)], len(MANY))[given]


def few(tile_size_x, tile_size_y, **_):
    """Of few unrolled statements: more take minutes to compile."""
    return tile_size_x * tile_size_y <= 4


def few_sums(**given):
    return given["MWG"] * given["NWG"] <= 32 * given["MDIMC"] * given["NDIMC"]


def outputs(t_unit, **given):
    _, queue = device().context()
    _, found = t_unit.executor(queue.context)(queue, **given)
    return found[0]


@pytest.mark.parametrize("configuration", [
    (48, 2, 2, 1, 0, 0, 0),  # a guard along x
    (48, 1, 1, 2, 0, 1, 1),  # a guard and padding
    (16, 8, 2, 1, 1, 1, 1),
    *MANY,
], ids=str)  # fmt: skip
def test_convolution(configuration, monkeypatch):
    if not isinstance(configuration, int):  # a filter whose unrolled loops compile soon
        monkeypatch.setattr(convolution, "EXTENT", 3)
        monkeypatch.setattr(convolution, "HALO", 2)
    extent = convolution.EXTENT
    configuration = {**chosen("convolution15", configuration, few), "filter_width": extent, "filter_height": extent}
    n = 256  # a multiple of all tiles that divide 4096, but those of a group 256 wide
    n *= 4 if configuration["block_size_x"] * configuration["tile_size_x"] > 256 else 1
    generator = np.random.default_rng(1)
    image = generator.random((n + extent - 1, n + extent - 1), dtype=np.float32)
    weights = generator.random((extent, extent), dtype=np.float32)
    expected = np.zeros((n, n))
    for i in range(extent):
        for j in range(extent):
            expected += weights[i, j].astype(float) * image[i : i + n, j : j + n]
    found = outputs(convolution.kernel(**configuration), image=image, filter=weights, n=n)
    assert np.allclose(found, expected, rtol=1e-4)
    assert np.allclose(convolution.reference(image, weights)["out"], expected, rtol=1e-4)


@pytest.mark.parametrize("mean_delay", [False, True])
@pytest.mark.parametrize("configuration", [(8, 32, 3, 2, 1, 0), (4, 40, 2, 3, 0, 1), *MANY], ids=str)
def test_dedispersion(configuration, mean_delay):
    configuration = chosen("dedispersion", configuration)
    channels, measures, samples, row = 7, 150, 100, 160
    generator = np.random.default_rng(2)
    data = generator.integers(0, 256, (channels, row), dtype=np.uint8)
    shifts = (dedispersion.SHIFTS[:: dedispersion.CHANNELS // channels][:channels]).astype(np.float32)
    slopes = np.float32(dedispersion.DM_STEP) * np.arange(measures, dtype=np.float32)
    delays = (slopes[:, np.newaxis] * shifts).astype(int)
    if mean_delay:
        delays = np.repeat(np.arange(measures)[:, np.newaxis] * 143 // 1000, channels, axis=1)
    expected = np.zeros((measures, samples))
    for dm in range(measures):
        for c in range(channels):
            expected[dm] += data[c, delays[dm, c] : delays[dm, c] + samples]
    kernel = dedispersion.kernel(**configuration, mean_delay=mean_delay)
    sizes = {"channels": channels, "measures": measures, "samples": samples, "row": row}
    found = outputs(kernel, data=data, shifts=shifts, dm_step=np.float32(dedispersion.DM_STEP), **sizes)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(("configuration", "more"), [
    ((16, 32, 8, 8, 8, 16, 2, 1, 0, 0), {"STRM": 1}), ((32, 32, 8, 8, 8, 16, 4, 2, 1, 1), {}),
    *[pytest.param(*one, marks=pytest.mark.nightly) for one in (
        ((32, 32, 8, 16, 32, 8, 1, 2, 1, 0), {}), ((64, 32, 8, 8, 8, 8, 8, 4, 1, 0), {"STRM": 1}),
        ((32, 64, 16, 8, 8, 16, 1, 4, 1, 1), {"KWG": 16, "STRM": 1, "STRN": 1}),
    )],
    *[pytest.param(*one.values, {}, marks=pytest.mark.nightly) for one in MANY],
], ids=str)  # fmt: skip
def test_gemm(configuration, more):
    configuration = chosen("gemm", configuration, few_sums) | more
    m, n, k = 128, 256, 64
    generator = np.random.default_rng(3)
    a, b, c = (generator.random(shape, dtype=np.float32) for shape in ((k, m), (k, n), (n, m)))
    expected = 1.5 * b.T.astype(float) @ a + 0.5 * c
    width, columns = (min(configuration[name], 4) for name in ("VWM", "VWN"))
    given = {"a": a.reshape(k, -1, width), "b": b.reshape(k, -1, columns), "c": c.reshape(n, -1, width).copy()}
    scalars = {"alpha": np.float32(1.5), "beta": np.float32(0.5)}
    found = outputs(gemm.kernel(**configuration), **given, **scalars, m=m, n=n, k=k)
    assert np.allclose(found.reshape(n, m), expected, rtol=1e-4)
