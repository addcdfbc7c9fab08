"""Expressions that are summed over launches, against each launch by itself."""

import numpy as np

from perfmodel.expressions.expression import parse
from perfmodel.models.model import LaunchSum, each_launch, in_launch

ONE = parse("w_a*max(x, w_b*y) + w_c*y", ("x", "y"))
GENERATOR = np.random.default_rng(3)


def test_values_and_derivatives_are_sums_over_the_launches_that_a_row_has():
    launches = [[{"x": x, "y": y} for x, y in GENERATOR.uniform(1, 9, (n, 2))] for n in (1, 3, 2, 1)]
    columns = {
        in_launch(name, k): np.array([row[k - 1][name] if k <= len(row) else 0.0 for row in launches])
        for k in (1, 2, 3) for name in "xy"
    }
    whole, weights = LaunchSum.of(ONE, columns), [2.0, 0.5, 3.0]
    assert ("x", "y", "x@2", "y@2", "x@3", "y@3") == whole.features
    np.testing.assert_allclose(
        whole.value(columns, weights), [sum(ONE.value(one, weights) for one in row) for row in launches]
    )
    np.testing.assert_allclose(
        whole.jacobian(columns, weights), [sum(ONE.jacobian(one, weights) for one in row) for row in launches]
    )


def test_of_one_launch_it_is_the_expression_itself():
    assert ONE is LaunchSum.of(ONE, ["x", "y"])


def test_a_launch_that_is_not_there_ends_the_row():
    assert 1 == len([*each_launch(["x", "y"], {"x": 1.0, "x@3": 2.0})])
