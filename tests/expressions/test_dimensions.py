"""Units of weights that follow from seconds, by hand."""

from __future__ import annotations

import pytest

from perfmodel.expressions import parse, weight_units


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("w_a*launches", {"w_a": "s/launch"}),
        ("launches/w_a", {"w_a": "launch/s"}),
        ("w_a*launches/work_groups", {"w_a": "s*work-group/launch"}),
        ("w_a + max(w_b*launches, w_c)", {"w_a": "s", "w_b": "s/launch", "w_c": "s"}),
        ("(w_a if launches > 1 else w_b)*2", {"w_a": "?", "w_b": "?"}),
        ("w_a*launches**w_b", {"w_a": "?", "w_b": ""}),
        ("w_a*w_b*launches", {"w_a": "?", "w_b": "?"}),  # only the product of both is known
    ],
)
def test_units(text, units):
    assert units == weight_units(parse(text))
