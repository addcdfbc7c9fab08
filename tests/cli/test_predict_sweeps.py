"""``predict`` and ``rank`` over several sizes, against times worked out by hand."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import pytest

from tests.cli.documents import document, seconds

W = ("-w", "weights.json")
PAIR = ("--variant", "small", "--variant", "large")


def table(result) -> list[dict[str, str]]:
    assert 0 == result.exit_code, result.stderr
    return list(csv.DictReader(StringIO(result.stdout)))


def test_predictions_at_several_sizes(perfmodel):
    found = document(perfmodel("predict", "kernel.py", "-p", "n=1Ki..4Ki", *W, "--json"))
    assert "perfmodel.sweep/1" == found["schema"]
    assert [{"n": 1024}, {"n": 2048}, {"n": 4096}] == [point["sizes"] for point in found["points"]]
    expected = [seconds(n, 128) for n in (1024, 2048, 4096)]
    assert pytest.approx(expected, rel=1e-7) == [point["variants"][0]["seconds"] for point in found["points"]]
    rows = table(perfmodel("predict", "kernel.py", "-p", "n=1Ki..4Ki", *W, "--csv"))
    assert pytest.approx(expected, rel=1e-7) == [float(row["seconds"]) for row in rows]
    terms = [sum(float(value) for name, value in row.items() if name.startswith("term.")) for row in rows]
    assert pytest.approx(expected, rel=1e-7) == terms  # a plain sum
    text = perfmodel("predict", "kernel.py", "-p", "n=1Ki..4Ki", *W).stdout.splitlines()
    assert [["n", "predicted", "interval"], ["1024"], ["2048"], ["4096"]] == [text[1].split()] + [
        line.split()[:1] for line in text[2:5]
    ]


def test_a_single_size_as_csv(perfmodel):
    (row,) = table(perfmodel("predict", "kernel.py", "-p", "n=4096", *W, "--csv"))
    assert pytest.approx(seconds(4096, 128), rel=1e-7) == float(row["seconds"])


def test_rankings_at_several_sizes(perfmodel):
    text = perfmodel("rank", "variants.py", "-p", "n=1024:4096:1024", *W, "--strict").stdout.splitlines()
    assert ["n", "fastest", "large", "small"] == text[1].split()
    assert [["1024", "large"], ["2048", "large"], ["3072", "large"], ["4096", "large"]] == [
        line.split()[:2] for line in text[2:6]
    ]
    assert text[-1].startswith("product: prediction withheld")
    rows = table(perfmodel("rank", "variants.py", "-p", "n=1024,4096", *W, "--strict", "--csv"))
    assert [("1024", "large"), ("1024", "small"), ("4096", "large"), ("4096", "small"), ("", "product")] == [
        (row["n"], row["variant"]) for row in rows
    ]
    assert "op_float32_mul" in rows[-1]["problem"]


def test_variants_are_picked(perfmodel):
    found = document(perfmodel("rank", "variants.py", "-p", "n=4096", *W, *PAIR, "--json"))
    assert (["large", "small"], []) == ([one["variant"] for one in found["variants"]], found["withheld"])
    result = perfmodel("rank", "variants.py", "-p", "n=4096", *W, "--variant", "huge")
    assert (2, True) == (result.exit_code, "small, large, product" in result.stderr)


def test_sizes_that_break_an_assumption_are_reported(perfmodel):
    text = perfmodel("rank", "variants.py", "-p", "n=100,128", *W).stdout.splitlines()
    assert ["100", "-", "-", "-", "-"] == text[2].split()
    rows = table(perfmodel("predict", "kernel.py", "-p", "n=100,128", *W, "--csv"))
    assert ["breaks an assumption", ""] == [row["problem"] for row in rows]
    assert "breaks the kernel's assumption" in perfmodel("rank", "variants.py", "-p", "n=100,101", *W).stderr


def test_a_narrow_terminal_gets_blocks_of_columns_and_csv_is_complete(perfmodel, monkeypatch):
    arguments = ("rank", "variants.py", "-p", "n=1024,4096", *W, *PAIR)
    whole = perfmodel(*arguments, "--csv").stdout
    monkeypatch.setenv("COLUMNS", "30")
    lines = perfmodel(*arguments).stdout.splitlines()
    assert max(map(len, lines)) <= 30
    assert {"large", "small"} <= {line.split()[-1] for line in lines if line.split()[:1] == ["n"]}
    assert whole == perfmodel(*arguments, "--csv").stdout


@pytest.mark.parametrize("form", ["png", "svg"])
def test_a_picture(perfmodel, form):
    assert 0 == perfmodel("predict", "variants.py", "-p", "n=1Ki..8Ki", *W, "--picture", f"p.{form}").exit_code
    drawn = Path(f"p.{form}").read_bytes()
    assert drawn.startswith({"png": b"\x89PNG", "svg": b"<?xml"}[form])


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("-p", "n=128..512", "--csv", "--json"), "--json and --csv both"),
        (("-p", "n=128,256", "-p", "n=512"), "-p gives 'n' twice"),
        (("-p", "n=128,256", "-p", "m=1,2,3", "--zip"), "--zip was given with 2 of n and 3 of m"),
        (("-p", "n=1:9000", "-p", "m=1:9000"), "81000000 combinations"),
        (("-p", "n=128,256", "-p", "m=1"), "'m'"),
        (("-p", "n=128,256", "--crossover", "n=1:9"), "--crossover was given with several sizes"),
        (("--crossover", "n=1:9", "--csv"), "--csv and --crossover were both given"),
        (("-p", "n=128", "--anchor", "--statistics", "j=2"), "--anchor and --statistics were both given, and the run"),
    ],
)
def test_bad_input_is_one_line(perfmodel, options, part):
    result = perfmodel("rank", "variants.py", *W, *options)
    assert (2, "") == (result.exit_code, result.stdout)
    *_, line = result.stderr.splitlines()
    assert part in line


def test_one_size_is_needed_for_a_reason(perfmodel):
    result = perfmodel("predict", "kernel.py", "-p", "n=128,256", *W, "--why")
    assert "--why was given with several sizes" in result.stderr
    result = perfmodel("predict", "kernel.py", "-p", "n=128", *W, "--why", "--jobs", "2")
    assert (2, "") == (result.exit_code, result.stdout)
    assert "--why and --jobs were both given; give one of them" in result.stderr


GRID = '''
import loopy as lp
import numpy as np


def kernel():
    t_unit = lp.make_kernel(
        "{[i,j]: 0 <= i < n and 0 <= j < m}", "out[i] = sum(j, a[i] + 1)",
        [lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("n, m", np.int32)],
        assumptions="n >= 1 and n mod 128 = 0 and m >= 1", lang_version=(2018, 2))
    return lp.split_iname(t_unit, "i", 128, outer_tag="g.0", inner_tag="l.0")
'''


def test_two_names_are_combined_or_paired(perfmodel):
    Path("grid.py").write_text(GRID)
    asked = ("predict", "grid.py", "-p", "n=128,256", "-p", "m=1,2", *W, "--csv")
    combined = [(row["n"], row["m"]) for row in table(perfmodel(*asked))]
    assert [("128", "1"), ("128", "2"), ("256", "1"), ("256", "2")] == combined
    assert [("128", "1"), ("256", "2")] == [(row["n"], row["m"]) for row in table(perfmodel(*asked, "--zip"))]
    together = ("predict", "grid.py", "-p", "n=128,256,m=1", *W, "--csv")
    assert [("128", "1"), ("256", "1")] == [(row["n"], row["m"]) for row in table(perfmodel(*together))]
    for more in ((), ("--zip",)):
        assert 0 == perfmodel(*asked, *more, "--picture", "grid.png").exit_code
    many = ("predict", "grid.py", "-p", "n=128:2048:128", "-p", "m=1:9", *W)
    assert "9 combinations of m; give at most 6" in perfmodel(*many, "--picture", "grid.png").stderr


def test_facts_replace_those_of_the_device(perfmodel):
    """A work-group of 128 does not fit a device of 64 work-items."""
    Path("small.yaml").write_text("facts:\n  max_work_group_size: {value: 64, unit: work-items, source: a guess}\n")
    result = perfmodel("predict", "kernel.py", "-p", "n=1024", *W, "--facts", "small.yaml")
    assert (2, True) == (result.exit_code, "64" in result.stderr), result.stderr
    assert "gtx-480" in perfmodel("predict", "kernel.py", "-p", "n=1024", *W, "--facts", "gtx-4800").stderr
