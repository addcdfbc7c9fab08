"""``perfmodel count`` at several sizes."""

from __future__ import annotations

import csv
from io import StringIO

from tests.cli.documents import document

SIZES = (256, 512, 1024)


def test_features_at_several_sizes(perfmodel):
    found = document(perfmodel("count", "kernel.py", "-p", "n=256..1024", "--json"))["variants"]["kernel"]
    assert [{"n": n} for n in SIZES] == [point["sizes"] for point in found["points"]]
    assert list(SIZES) == [point["features"]["op_float32_add"] for point in found["points"]]
    assert [n // 128 for n in SIZES] == [point["features"]["work_groups"] for point in found["points"]]
    assert "operation" == found["units"]["op_float32_add"]
    rows = list(csv.DictReader(StringIO(perfmodel("count", "variants.py", "-p", "n=256..1024", "--csv").stdout)))
    groups = {(row["variant"], row["n"]): float(row["value"]) for row in rows if row["feature"] == "work_groups"}
    assert {("small", str(n)): n / 64 for n in SIZES}.items() <= groups.items()


def test_columns_follow_each_other_on_a_narrow_terminal(perfmodel, monkeypatch):
    whole = perfmodel("count", "kernel.py", "-p", "n=256..1024").stdout.splitlines()
    assert ["feature", "unit", "n=256", "n=512", "n=1024"] == whole[1].split()
    monkeypatch.setenv("COLUMNS", "55")
    lines = perfmodel("count", "kernel.py", "-p", "n=256..1024").stdout.splitlines()
    assert max(map(len, lines)) <= 55
    heads = [name for line in lines if line.startswith("feature") for name in line.split()]
    assert [name for name in whole[1].split() if name not in ("feature", "unit")] == [
        name for name in heads if name not in ("feature", "unit")
    ]
