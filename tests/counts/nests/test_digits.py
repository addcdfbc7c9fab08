"""Digits of an index by hand: their place values and names."""

import loopy as lp
import pytest

from perfmodel.counts import count
from perfmodel.counts.nests.digits import digit_name, name_and_place_value, place_values
from tests.corpus.kernel import make


@pytest.mark.parametrize(("index", "values"), [
    ("(l + 3*k) // 8, g, k", {(0, "k"): (8,), (0, "l.0"): (8,)}),
    ("l // 8, g // 6, k", {(0, "l.0"): (8,), (0, "g.0"): (6,)}),
    ("k // 12, k % 4, g + l", {(0, "k"): (4, 12)}),
    ("(2*g + l) // 8, (2*g + l) % 4, k", {(0, "l.0"): (4, 8), (0, "g.0"): (2, 4)}),  # two groups are 4 cells
    ("(l + 16) // 64, g, k", {}),  # the group has 32 work-items
    ("g, l, k", {}),
])  # fmt: skip
def test_place_values_of_floors(index: str, values: dict[tuple[int, str], tuple[int, ...]]) -> None:
    unit = make("{ [g, l, k]: 0 <= g, k < 24 and 0 <= l < 32 }", f"out[g, l] = sum(k, a[{index}])",
                "a: 64, 64, 64; out: 24, 32")  # fmt: skip
    counts = count(lp.tag_inames(unit, {"g": "g.0", "l": "l.0"}), cache=False)
    assert values == place_values(counts.program, factors=True)
    without = {name: numbers for name, numbers in values.items() if "3*k" not in index or name != (0, "k")}
    assert without == place_values(counts.program, factors=False)


@pytest.mark.parametrize(("name", "digit"), [(("g.2", 36), "g.2/36"), (("g.2", 1), "g.2"), (("k", 4), "k/4")])
def test_names_of_digits(name: tuple[str, int], digit: str) -> None:
    assert digit == digit_name(*name)
    assert name == name_and_place_value(digit)
