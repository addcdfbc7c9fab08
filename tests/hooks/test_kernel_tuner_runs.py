"""Kernel Tuner itself, with its own OpenCL backend, takes the restriction, the searching order and Loopy's kernels.

It is an extra (``perfmodel[kernel-tuner]``) that ``scripts/nightly`` installs.
"""

import json
from pathlib import Path

import loopy as lp
import numpy as np
import pytest

from perfmodel import store
from perfmodel.hooks import Guide, import_results
from perfmodel.kernels.space import Space
from test_kernels._stencil import SOURCE, tiled_stencil
from tests.corpus.kernel import make
from tests.hooks.spaces import MODEL
from tests.machine import device

pytestmark = [
    pytest.mark.device,
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of Kernel Tuner's own libraries
]
SIZES = {"n": 256}


def build_stencil(width: int, height: int, rows: int, prefetch: bool, unroll: bool) -> lp.TranslationUnit:
    """Weigh each point of an n by n grid and its eight neighbours.

    A group of `width` by `height` work-items computes a tile of width by height*`rows` points, each work-item `rows`
    of them in a loop, unrolled on demand; with `prefetch` from a tile with its halo in local memory.
    """
    t_unit = make("{[i, j]: 0 <= i, j < n}", """
        result[i, j] = source*u[i+1, j+1] + 0.125*(u[i, j+1] + u[i+2, j+1] + u[i+1, j] + u[i+1, j+2]) \
            + 0.0625*(u[i, j] + u[i, j+2] + u[i+2, j] + u[i+2, j+2])
        """, "u: n + 2, n + 2; result: n, n; float32 source",
        assumes=f"n >= 1 and n mod {max(width, height * rows)} = 0", name="stencil")  # fmt: skip
    return tiled_stencil(t_unit, "u", width, height, rows, prefetch, unroll)


SPACE = Space(
    build_stencil,
    {"width": (16, 32), "height": (4, 8), "rows": (1, 2), "prefetch": (False, True), "unroll": (False,)},
)


@pytest.fixture(scope="module")
def guide() -> Guide:
    return Guide(SPACE, MODEL, SIZES, allow_unmeasured=True)


def place() -> dict[str, int]:
    """Kernel Tuner's numbers of the device: of its platform, and of it there."""
    import pyopencl as cl

    for number, platform in enumerate(cl.get_platforms()):
        for index, one in enumerate(platform.get_devices()):
            if (one.name.strip(), platform.name.strip()) == (device().name, device().platform):
                return {"platform": number, "device": index}
    raise LookupError(device().name)


def tuned(given: dict, **options) -> list[dict]:
    from kernel_tuner import tune_kernel

    return tune_kernel(**given, **place(), quiet=True, **options)[0]


def shown(guide: Guide, results: list[dict]) -> list[tuple]:
    return [tuple(one[name] for name in guide.space.values) for one in results]


def test_it_times_loopys_kernels_predicted_fastest_first(guide, tmp_path):
    u = np.random.default_rng(0).random((258, 258), dtype=np.float32)
    middle, edges = u[1:-1, 1:-1], u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    corners = u[:-2, :-2] + u[:-2, 2:] + u[2:, :-2] + u[2:, 2:]
    expected = SOURCE * middle + 0.125 * edges + 0.0625 * corners
    given = guide.kernel({"u": u, "result": np.zeros((256, 256), np.float32)}, {"source": SOURCE})
    cache = tmp_path / "cache.json"
    found = tuned(
        given, strategy=guide.strategy(), strategy_options={"max_fevals": 5}, cache=str(cache),
        answer=[None, expected.astype(np.float32), None, None], atol=1e-4,
    )  # fmt: skip
    first = [tuple(one[name] for name in guide.space.values) for one, _ in guide.ranked[:5]]
    assert first == shown(guide, found)
    assert all(one["time"] > 0 for one in found)

    imported = import_results(cache, SPACE.build, tmp_path / "store", SIZES)
    assert {"ok": 5} == imported.statuses
    assert device().name == imported.device
    for row, one in zip(store.read(tmp_path / "store").rows, found, strict=True):
        assert [time * 1e-3 for time in one["times"]] == pytest.approx(row.samples_s)


def test_an_interrupted_cache_is_imported(guide, tmp_path):
    cache = tmp_path / "cache.json"
    given = guide.kernel(scalars={"source": SOURCE}) | {"restrictions": [guide.restriction(top=3)]}
    tuned(given, cache=str(cache))
    text = cache.read_text()
    assert 3 == len(json.loads(text)["cache"])
    Path(cache).write_text(text.rstrip()[:-3] + ",")  # as Kernel Tuner leaves it
    assert 3 == len(import_results(cache, SPACE.build, tmp_path / "open", SIZES).rows)
    Path(cache).write_text(text[: text.rindex('"time"')])
    torn = import_results(cache, SPACE.build, tmp_path / "torn", SIZES)
    assert (2, 1) == (len(torn.rows), len(torn.notes))


def test_t4_of_kernel_tuner_is_imported(guide, tmp_path):
    from kernel_tuner.file_utils import store_output_file

    given = guide.kernel(scalars={"source": SOURCE}) | {"restrictions": [guide.restriction(top=3)]}
    found = tuned(given)
    store_output_file(str(tmp_path / "t4.json"), found, given["tune_params"])
    rows = import_results(tmp_path / "t4.json", SPACE.build, tmp_path / "store", SIZES, device="D").rows
    assert [min(one["times"]) * 1e-3 for one in found] == pytest.approx([row.seconds for row in rows])
