"""The spaces of the benchmark of tuners: what their kernels execute, and tables of recorded ones."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.documents import canonical
from perfmodel.store import read
from scripts.benchmarks import tuner_recorded
from scripts.benchmarks.tuner_spaces import BENCHMARKS, MATMUL, STENCIL
from scripts.benchmarks.tuner_table import read_table
from test_kernels import recorded
from tests.machine import device

pytestmark = pytest.mark.nightly  # research code, and long

DATA = Path(__file__).resolve().parents[2] / "docs" / "data" / "tuner-recorded"


def test_a_space_is_predicted_for_each_card(monkeypatch: pytest.MonkeyPatch):
    """Two configurations that differ in a parameter that is not counted share a prediction."""
    rows = [row for row in recorded.recorded("convolution15", "a100") if row.configuration["use_shmem"] == 0]
    first = dict(rows[0].configuration)
    both = [{**first, "read_only": value} for value in (0, 1)]
    monkeypatch.setattr(tuner_recorded, "_chosen", lambda space: both)
    source = tuner_recorded.load(tuner_recorded.DEVICE / "multithreaded.json")
    tables = dict(tuner_recorded.kernel_tables("convolution15", source))
    assert [f"convolution15-{card}" for card in recorded.cards("convolution15")] == [*tables]
    for table in tables.values():
        once, again = table.rows
        assert both == [once.values, again.values]
        assert once.predicted is not None
        assert once.predicted == again.predicted > 0
        assert source.fitted.scatter is not None
        assert source.fitted.scatter.model_dump() == table.scatter
    assert tables["convolution15-a100"].rows[0].predicted != tables["convolution15-w6600"].rows[0].predicted


@pytest.mark.parametrize(("space", "card"), [("convolution15", "a100"), ("dedispersion", "w6600")])
def test_committed_tables_have_the_recorded_times(space: str, card: str):
    table = read_table(DATA / f"{space}-{card}.jsonl.gz")
    times = {canonical(row.configuration): row.seconds for row in recorded.recorded(space, card)}
    for row in table.rows:
        assert (row.seconds or 0) == pytest.approx(times[canonical(row.values)] or 0, rel=1e-3)


def test_committed_tables_of_the_titan_v_are_its_whole_spaces():
    spaces = Counter(" ".join(tuner_recorded._space(row)) for row in read(tuner_recorded.DEVICE))
    tables = [read_table(path) for path in sorted(DATA.glob("titan-v-*"))]
    assert spaces.most_common(8) == [(table.space, len(table.rows)) for table in tables]


def sample(benchmark, number: int) -> list[dict]:
    return random.Random(17).sample(list(benchmark.space.configurations), number)


@pytest.mark.parametrize("config", sample(MATMUL, 6), ids=lambda config: "-".join(map(str, config.values())))
def test_products_multiply_and_add_n_cubed_times(config):
    counts = count(MATMUL.space.build(**config))
    for kind in ("mul", "add"):
        assert 128**3 == counts.operations(dtype="float32", kind=kind)(n=128)
    assert (config["width"], config["height"]) == counts.launch.group_shape
    assert 128**2 == counts.accesses(array="c", direction="store")(n=128)
    # A work-item reads an element of a once for its columns; a tile in local memory, once for all columns of the tile.
    items = {"j": config["width"], "i": config["height"]}
    if config["order"] == "ji":
        items = {"i": config["width"], "j": config["height"]}
    for array, axis, own in (("a", "j", config["columns"]), ("b", "i", config["rows"])):
        tiled = config["prefetch"] != "none" and array in config["prefetch"]
        loads = counts.accesses(array=array, direction="load", space="global")(n=128)
        assert 128**3 // (own * items[axis] if tiled else own) == loads


@pytest.mark.parametrize("config", sample(STENCIL, 4), ids=lambda config: "-".join(map(str, config.values())))
def test_stencils_weigh_nine_points(config):
    counts = count(STENCIL.space.build(**config))
    assert 8 * 256**2 == counts.operations(dtype="float32", kind="add")(n=256)
    assert 3 * 256**2 == counts.operations(dtype="float32", kind="mul")(n=256)
    loads = counts.accesses(array="u", direction="load", space="global")(n=256)
    tall, wide = config["height"] * config["rows"], config["width"]
    tiles = 256**2 // (tall * wide)
    assert loads == (tiles * (tall + 2) * (wide + 2) if config["prefetch"] else 9 * 256**2)


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("matmul", marks=pytest.mark.nightly), "stencil"])
def test_kernels_compute_what_they_should(name):
    benchmark = BENCHMARKS[name]
    _, queue = device().context()
    generator = np.random.default_rng(5)
    if name == "matmul":
        n = 128
        given = {key: generator.random((n, n), dtype=np.float32) for key in "ab"}
        expected = given["a"] @ given["b"]
    else:
        n = 256
        u = generator.random((n + 2, n + 2), dtype=np.float32)
        given = {"u": u, "source": np.float32(benchmark.scalars["source"])}
        edges = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        corners = u[:-2, :-2] + u[:-2, 2:] + u[2:, :-2] + u[2:, 2:]
        expected = given["source"] * u[1:-1, 1:-1] + edges / 8 + corners / 16
    for config in sample(benchmark, 2):
        _, (found,) = benchmark.space.build(**config).executor(queue.context)(queue, n=np.int32(n), **given)
        assert expected == pytest.approx(found, rel=1e-4), config
