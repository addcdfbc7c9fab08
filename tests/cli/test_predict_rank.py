"""``perfmodel rank``: a ranking, a crossover, and one line for bad input."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfmodel.fitting.cautions import FarOutside
from perfmodel.predicting.model import FittedModel
from tests.cli.documents import document, seconds

PAIR = '''
from variants import scale


def variants():
    return {"small": scale("out[i] = a[i] + 1", 64), "large": scale("out[i] = a[i] + 1", 128)}
'''
AT = ("-w", "weights.json", "-p", "n=4096")


@pytest.fixture
def pair(perfmodel, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pair.py").write_text(PAIR)
    return perfmodel


def test_fastest_first_and_the_withheld_one_last(perfmodel):
    text = perfmodel("rank", "variants.py", *AT, "--strict").stdout.splitlines()
    assert "stevens_kloeckner_2016 on stand-in, n=4096, times by the host's clock" == text[0]
    assert ["variant", "large", "small"] == [line.split()[0] for line in text[1:4]]
    assert text[-1].startswith("product: prediction withheld")
    found = document(perfmodel("rank", "variants.py", *AT, "--strict", "--json"))
    assert "perfmodel.ranking/1" == found["schema"]
    assert ["large", "small"] == [row["variant"] for row in found["variants"]]
    assert pytest.approx(seconds(4096, 128), rel=1e-7) == found["variants"][0]["seconds"]
    assert [{"variant": "product", "unmeasured": ["op_float32_mul"]}] == found["withheld"]


def test_a_note_on_all_variants_is_printed_once(pair, monkeypatch):
    """The caution on the last level of the cache stood below a ranking once for each variant."""
    caution = FarOutside("launches", (1e9, 1e9), (10.0, 1e3))
    predict = FittedModel.predict
    monkeypatch.setattr(
        FittedModel, "predict", lambda *given, **more: replace(predict(*given, **more), cautions=(caution,))
    )
    message = "note: launches is 1e+09, measured were 10 to 1e+03"
    for command in (("rank", *AT), ("predict", *AT), ("rank", "-w", "weights.json", "-p", "n=256,512")):
        name, *options = command
        text = pair(name, "pair.py", *options).stdout.splitlines()
        assert 1 == text.count(message), text


def test_a_range_of_sizes(pair):
    # half as many work-groups are always faster; only multiples of 128 are assumed
    found = document(pair("rank", "pair.py", "-w", "weights.json", "--crossover", "n=1:1000", "--json"))
    assert "perfmodel.ranking/1" == found["schema"]
    assert [{"variant": "large", "low": 128, "high": 896, "tied": [[], []]}] == found["leads"]
    text = pair("rank", "pair.py", "-w", "weights.json", "--crossover", "n=1:1000").stdout
    assert "n from 128 to 896: large\n" == text


@pytest.mark.parametrize(
    ("file", "options", "part"),
    [
        ("pair.py", ("--crossover", "n=1:100"), "no n from 1 to 100"),
        ("pair.py", ("--crossover", "n=1:1000", "--variant", "small"), "there is only 'small'"),
        ("pair.py", ("-p", "n=100"), "breaks the kernel's assumption"),
        ("pair.py", (), "n"),
        ("pair.py", ("--crossover", "n=1:"), "'--crossover n=1:' does not give exactly one range"),
    ],
)
def test_bad_input_is_one_line(pair, file, options, part):
    result = pair("rank", file, "-w", "weights.json", *options)
    assert 2 == result.exit_code
    assert 1 == len(result.stderr.splitlines())
    assert part in result.stderr


def test_the_fastest_of_several_by_ranges(perfmodel):
    asked = ("rank", "variants.py", "-w", "weights.json", "--crossover", "n=1:1Ki", "--strict")
    found = document(perfmodel(*asked, "--json"))
    assert [{"variant": "large", "low": 128, "high": 1024, "tied": [[], []]}] == found["leads"]
    assert [{"variant": "product", "unmeasured": ["op_float32_mul"]}] == found["withheld"]


SPACE = """
from variants import scale


def kernel(group):
    return scale("out[i] = a[i] + 1", group)


def space():
    return {"group": (64, 0, 128)}
"""


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.nightly)])
def test_with_processes_a_variant_that_fails_is_left_out(jobs, pair, tmp_path):
    (tmp_path / "groups.py").write_text(SPACE)
    asked = ("groups.py", *AT, "--jobs", jobs)
    ran = pair("rank", *asked)
    lines = ran.stdout.splitlines()
    assert ["variant", "group=128", "group=64"] == [line.split()[0] for line in lines[1:4]]
    assert lines[-1].startswith("group=0: ")
    assert "counting and predicting: 2 of 3 done" not in ran.stderr
    assert "3 of 3 done, 1 failed" in ran.stderr
    found = document(pair("rank", *asked, "--json"))
    assert ["group=128", "group=64"] == [row["variant"] for row in found["variants"]]
    assert pytest.approx(seconds(4096, 128), rel=1e-7) == found["variants"][0]["seconds"]
    ((variant, unmeasured, error),) = [tuple(row.values()) for row in found["withheld"]]
    assert ("group=0", []) == (variant, unmeasured)
    assert "domain '[n] -> { [i_outer, i_inner] : 1 = 0 }' is empty" in error


HALF = """
from variants import scale


def kernel(group, tile):
    if tile > 1:
        raise ValueError(f"no tile of {tile} for {group}")
    return scale("out[i] = a[i] + 1", group)


def space():
    return {"group": (64, 128), "tile": (1, 2, 3)}
"""


def test_variants_that_cannot_be_built_are_left_out_in_one_line(pair, tmp_path):
    (tmp_path / "half.py").write_text(HALF)
    span = ("-w", "weights.json", "--crossover", "n=128:256")
    for asked in (("rank", *AT), ("predict", *AT), ("rank", *span), ("count",)):
        ran = pair(asked[0], "half.py", *asked[1:])
        assert 0 == ran.exit_code, ran.stderr
        (line,) = [line for line in ran.stdout.splitlines() if "no tile of" in line]
        names = "group=64 tile=2, group=64 tile=3, group=128 tile=2 and group=128 tile=3"
        assert line.startswith(f"4 variants are left out ({names}): 'half.py' line 7: raised ValueError")
        assert "no tile of" not in ran.stderr
    assert 4 == len(document(pair("rank", "half.py", *AT, "--json"))["withheld"])
    text = pair("rank", "half.py", *AT, "--variant", "group=64 tile=2", "--variant", "group=64 tile=3").stderr
    assert "variant 'group=64 tile=2': 'half.py' line 7: raised ValueError" in text


def test_several_sizes_and_counts_with_processes(pair, tmp_path):
    (tmp_path / "groups.py").write_text(SPACE)
    found = document(pair("predict", "groups.py", "-w", "weights.json", "-p", "n=128,256", "-j", "1", "--json"))
    assert [2, 2] == [len(point["variants"]) for point in found["points"]]
    assert ["group=0"] == [row["variant"] for row in found["withheld"]]
    counted = document(pair("count", "groups.py", "-j", "1", "--json"))
    assert ["group=64", "group=128"] == [*counted["variants"]]
    refused = pair("count", "groups.py", "--jobs", "0")
    assert (2, 1) == (refused.exit_code, len(refused.stderr.splitlines()))
    assert "jobs=0; give the number of processes" in refused.stderr
