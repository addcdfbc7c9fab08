"""Shares of measurements, chosen and at random, on a part of the committed measurements."""

import json

import pytest

from perfmodel.compare import evaluate
from perfmodel.store import read
from scripts.lab.shares import shares
from tests.recorded import POCL

pytestmark = pytest.mark.nightly  # research code, and long

CLASSES = (
    "stride1", "matmul_tiled", "matmul_naive", "tiled_terms", "empty", "group_ladder", "transpose", "arithmetic",
    "strided_load", "load_streams", "tile_copies",
)  # fmt: skip


def test_everything_is_what_protocol_a_says(tmp_path):
    """Of some 200 rows of eleven classes, and matrix products to predict."""
    for name, kept in (("measurements", CLASSES), ("test", ("matmul_skinny", "matmul_variants"))):
        lines = (POCL / f"{name}.jsonl").read_text().splitlines(keepends=True)
        (tmp_path / f"{name}.jsonl").write_text("".join(line for line in lines if json.loads(line)["kernel"] in kept))
    for name in ("counts.jsonl.xz", "device.json"):
        (tmp_path / name).write_bytes((POCL / name).read_bytes())
    measured, tests = read(tmp_path), read(tmp_path / "test.jsonl")
    found = shares(measured, tests, {}, wanted=(0.1, 0.25, 0.5), draws=15, seed=4)
    a, _ = evaluate(measured, tests, level=None, protocols=("A", "B"))
    assert pytest.approx(a.figures.error, rel=1e-9) == found.full
    assert (len(measured), len(a.rows)) == (found.rows, found.tests)
    assert (1.0, found.rows, 1.0) == (found.points[-1].share, found.points[-1].rows, found.points[-1].time)
