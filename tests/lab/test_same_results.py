"""Recording the results of a checkout, and comparing two records."""

from __future__ import annotations

import json

import pytest

from scripts.lab.same_results import compare, differs, main, record_counts
from tests.corpus import kernels


def test_counts_of_a_kernel_at_each_of_its_sizes():
    kernel = next(kernel for kernel in kernels() if kernel.name == "banks_stride_2")
    recorded = dict(record_counts(kernel))
    assert len(kernel.cases) == len(recorded)
    numbers = next(iter(recorded.values()))
    assert 1 == numbers["launches"]
    assert 64 == len(numbers["hash"])
    assert {"bank conflicts", "by subgroup", "utilization"} <= {name.split(" ", 2)[-1] for name in numbers}
    assert not [value for value in numbers.values() if "Error" in str(value)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [(1.0, 1.0, False), (1.0, 1.0 + 1e-13, False), (1.0, 1.0 + 1e-11, True), (3, "at most 3", True), (None, 0.0, True),
     (float("nan"), float("nan"), False)],
)  # fmt: skip
def test_two_values_differ(old, new, expected):
    assert expected == differs(old, new)


def test_every_difference_is_listed(tmp_path, capsys):
    old = {"counts": {"a n=1": {"x": 1.0, "y": 2}, "gone n=1": {}}, "weights": {}}
    new = {"counts": {"a n=1": {"x": 1.0 + 1e-13, "y": 3, "z": 0}}}
    assert [
        "counts: 1 in both files, with 3 values: 0 equal, 1 equal to 1e-12, 2 different",
        "  only in the first: gone n=1",
        "  a n=1: y: 2 and 3",
        "  a n=1: z: absent and 0",
    ] == list(compare(old, new))
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for path, results in zip(files, (old, new), strict=True):
        path.write_text(json.dumps(results))
    assert 1 == main(["compare", *map(str, files)])
    assert 0 == main(["compare", str(files[0]), str(files[0])])
    assert "2 different" in capsys.readouterr().out
