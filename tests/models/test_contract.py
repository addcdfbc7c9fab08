"""One battery over every family that is found, and over that of docs/add-a-family.md once it is in the folder."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import perfmodel.models
from perfmodel.models import Family, families, find_family
from perfmodel.models.model import Weight
from tests.contract import CHECKS, Trial, trial


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("family", families().values(), ids=lambda family: family.name)
def test_contract(family, check):
    check(trial(family))


def broken(**changes):
    """A family that keeps the contract but for the changes."""
    kept = Family(
        "toy", "nowhere", quantities=lambda case: {"waves": case.value(case.counts.work_groups())}, units={"waves": ""},
        sums={"busy": ("op_*", "launches")}, weights=(Weight("w_wave", "s", start=1e-6),),
        parts={"all": "busy + w_wave*waves"}, expression="all", additive=False,
    )  # fmt: skip
    return Trial(replace(kept, **changes), "short", "As in section 1.")


def stepped(case):
    return {"waves": 1.0 if isinstance(case.parameters.get("n"), int) else 2.0}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_battery_lets_a_good_family_pass(check):
    check(broken())


@pytest.mark.parametrize(("check", "changes", "said"), [
    ("names_are_unique", {"units": {"busy": ""}}, "'busy' is a sum and a quantity"),
    ("names_are_unique", {"units": {"launches": ""}}, "called like a feature"),
    ("names_are_unique", {"weights": (Weight("wave", "s"),)}, "begin with w_"),
    ("names_are_unique", {"citation": ""}, "cites nothing"),
    ("all_has_a_unit", {"weights": (Weight("w_wave", "s", start=2.0, upper=1.0),)}, "out of its bounds"),
    ("all_has_a_unit", {"weights": (Weight("w_wave", "s", fact="speed"),)}, "'speed' is not in"),
    ("quantities_are_numbers_of_the_sizes_shape", {"quantities": lambda _: {}}, "differ: {'waves'}"),
    ("quantities_are_numbers_of_the_sizes_shape", {"quantities": lambda _: {"waves": -1.0}}, "waves is -1.0 at"),
    ("quantities_are_numbers_of_the_sizes_shape", {"quantities": lambda _: {"waves": np.ones(3)}}, "no number"),
    ("quantities_are_numbers_of_the_sizes_shape", {"quantities": stepped}, "waves of "),
    ("missing_facts_are_told", {"quantities": lambda case: {"waves": case.fact("speed")}}, "'speed' is not in"),
    ("seconds_are_above_zero", {"expression": "0*all"}, "no seconds above zero"),
    ("seconds_do_not_fall_as_features_grow", {"expression": "busy/(1 + op_float32_add)"}, "more op_float32_add"),
])  # fmt: skip
def test_the_battery_finds_what_is_wrong(check, changes, said):
    run = next(one for one in CHECKS if one.__name__ == check)
    with pytest.raises(AssertionError, match=re.escape(said)):
        run(broken(**changes))


PAGE = Path(__file__).parents[2] / "docs" / "add-a-family.md"
NAME = "latency_bound"
CODE = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """The code block, as a file in a folder that belongs to the package for this test."""
    folder = tmp_path_factory.mktemp("families")
    (folder / f"{NAME}.py").write_text(CODE, encoding="utf-8")
    perfmodel.models.__path__.append(str(folder))
    families.cache_clear()
    yield families()[NAME]
    perfmodel.models.__path__.remove(str(folder))
    del sys.modules[f"perfmodel.models.{NAME}"]
    families.cache_clear()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(family, check):
    check(trial(family))


def test_it_is_found_as_a_file_too_and_is_as_short_as_the_page_says(family, tmp_path):
    (tmp_path / "own.py").write_text(CODE, encoding="utf-8")
    found = find_family(str(tmp_path / "own.py"))
    assert (family.name, family.expression, family.weights) == (found.name, found.expression, found.weights)
    assert len(CODE.strip().splitlines()) <= 26
    assert len([line for line in CODE.split('"""')[2].splitlines() if line.strip()]) <= 20
