"""Values, derivatives, errors and units of expressions."""

import math

import numpy as np
import pytest

from perfmodel.errors import FamilyError
from perfmodel.expressions import parse, weight_units
from perfmodel.expressions.expression import Expressions

NAMES = ("x", "y")
VALUES = {"x": np.array([0.5, 1.5, 3.0]), "y": np.array([2.0, 1.5, 0.25])}
WEIGHTS = {"w_a": 1.25, "w_b": 0.75, "w_s": 4.0}

# Each with its value in Python, where that is not the same text.
TEXTS = {
    "w_a*x + y": "", "w_a*x - -y": "", "(x + w_a)/(y*w_b)": "", "w_a**3 + x**w_a": "", "w_a**x/x**2": "",
    "max(w_a*x, y)": "", "min(w_a*x, y, 2.2*w_b)": "", "max(1, w_a*x, y + w_b, 2)": "",
    "smooth_max(w_a*x, y, w_s)": "((w_a*x)**w_s + y**w_s)**(1/w_s)",
    "smooth_max(y, w_a*x, w_b + 1)": "(y**(w_b + 1) + (w_a*x)**(w_b + 1))**(1/(w_b + 1))",
    "sqrt(w_a*x) + exp(-w_b) + log(1 + w_a*y) + tanh(w_b*x)": "", "abs(1 - w_a)*x": "",
    "where(w_a*x > y, w_a**2, 3*w_b)": "w_a**2 if w_a*x > y else 3*w_b",
    "w_a if x < y and not y == 0 or x >= 3 else w_b*x": "", "floor(x)*w_a + ceil(y)/w_b": "",
}  # fmt: skip
PYTHON = {
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "tanh": math.tanh, "floor": math.floor,
    "ceil": math.ceil, "max": max, "min": min, "abs": abs,
}  # fmt: skip


def vector(expression, **changes):
    return [{**WEIGHTS, **changes}[name] for name in expression.weights]


@pytest.mark.parametrize("text", TEXTS)
def test_values_are_python_s(text):
    expression = parse(f"max({text}, 0)", NAMES)
    points = [{"x": x, "y": y} for x, y in zip(*VALUES.values(), strict=True)]
    expected = [max(0.0, eval(TEXTS[text] or text, dict(PYTHON), {**point, **WEIGHTS})) for point in points]
    assert expected == pytest.approx([expression.value(one, vector(expression)) for one in points])
    assert expected == pytest.approx(expression.value(VALUES, vector(expression)).tolist())


@pytest.mark.parametrize("text", TEXTS)
def test_derivatives_are_the_limits_of_differences(text):
    expression = parse(f"max({text}, 0)", NAMES)
    found = expression.jacobian(VALUES, vector(expression))
    assert (3, len(expression.weights)) == found.shape
    for place, name in enumerate(expression.weights):
        step = 1e-6 * WEIGHTS[name]
        above = expression.value(VALUES, vector(expression, **{name: WEIGHTS[name] + step}))
        below = expression.value(VALUES, vector(expression, **{name: WEIGHTS[name] - step}))
        np.testing.assert_allclose(found[:, place], (above - below) / (2 * step), rtol=2e-6, atol=1e-8)


@pytest.mark.parametrize("text", TEXTS)
def test_slopes_are_the_derivatives_for_numbers_and_for_arrays(text):
    expression = parse(f"max({text}, 0)", NAMES)
    expected = expression.jacobian(VALUES, vector(expression))
    many = expression.slopes(VALUES, vector(expression))
    assert len(expression.weights) == len(many)
    for place, column in enumerate(many):
        np.testing.assert_allclose(np.broadcast_to(column, 3), expected[:, place], rtol=1e-14)
    for row, (x, y) in enumerate(zip(*VALUES.values(), strict=True)):
        one = expression.slopes({"x": x, "y": y}, vector(expression))
        assert all(isinstance(slope, float | int) for slope in one)
        np.testing.assert_allclose(one, expected[row], rtol=1e-12)


@pytest.mark.parametrize(("x", "y"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (2.0, 2.0), (1e300, 1e300)])
def test_slopes_of_the_smooth_maximum_at_its_edges(x, y):
    one = parse("smooth_max(w_a*x, w_b*y, w_s)", NAMES)
    weights = [1.0, 1.0, 2.0]
    np.testing.assert_allclose(one.slopes({"x": x, "y": y}, weights), one.jacobian({"x": x, "y": y}, weights))


def test_parts_sums_and_constants():
    one = parse(
        "overhead + max(compute, w_latency*x)", NAMES, parts={"compute": "on_chip/units", "twice": "2*compute"},
        sums={"on_chip": ("op_float32_add", "local_load_32"), "overhead": ("launches",), "none": ()},
        constants={"units": 4.0},
    )  # fmt: skip
    assert ("w_launches", "w_op_float32_add", "w_local_load_32", "w_latency") == one.weights
    assert ("launches", "op_float32_add", "local_load_32", "x") == one.features
    values = {"launches": 1.0, "op_float32_add": 8.0, "local_load_32": 2.0, "x": 1.0}
    assert 5.0 + (8 * 3 + 2 * 2) / 4 == one.value(values, [5.0, 3.0, 2.0, 1.0])
    assert 5.0 + 9.0 == one.value({**values, "x": 9.0}, [5.0, 3.0, 2.0, 1.0])


def test_sizes_of_any_shape_and_names_left_out():
    one = parse("w_a*x + w_b*y", NAMES)
    grid = one.value({"x": np.ones((2, 1)), "y": np.arange(3.0)}, [1.0, 10.0])
    assert [[1.0, 11.0, 21.0]] * 2 == grid.tolist()
    assert (2, 3, 2) == one.jacobian({"x": np.ones((2, 1)), "y": np.arange(3.0)}, [1, 1]).shape
    assert 4.0 == one.value({"x": 4.0}, [1.0, 10.0])
    assert [2.0, 2.0] == parse("w_a*x + 1", NAMES).value({"x": np.ones(2)}, [1.0]).tolist()


def test_poles_and_what_is_not_defined():
    one = parse("w_a*x/y", NAMES)
    assert math.inf == one.value({"x": 1.0, "y": 0.0}, [1.0])
    assert math.isnan(one.value({"x": 0.0, "y": 0.0}, [1.0]))
    assert [math.inf] == one.value({"x": np.ones(1), "y": np.zeros(1)}, [1.0]).tolist()
    assert math.inf == parse("exp(w_a*x)", NAMES).value({"x": 1e4}, [1.0])
    assert math.inf == parse("(w_a*x)**w_b", NAMES).value({"x": 0.0}, [1.0, -1.0])
    # the branch that is not taken does no harm
    assert 5.0 == parse("where(y > 0, w_a*x/y, 5)", NAMES).value({"x": 1.0, "y": 0.0}, [1.0])


def test_features_are_known_by_their_names():
    assert ("op_float32_add", "launches") == parse("w_a*op_float32_add + w_b*launches").features


@pytest.mark.parametrize(("text", "at", "problem"), [
    ("w_a*op_float32_ad + 1", "op_float32_ad", "neither a feature nor a weight"),
    ("1 +\n  w_a*launchs", "launchs", "neither a feature nor a weight"),
    ("w_a*launches + round(launches)", "round", "no such function"),
    ("w_a*floor(w_b*launches)", "floor(w_b*launches)", "not differentiable"),
    ("launches + w_a % 2", "w_a % 2", "not differentiable"),
    ("launches // w_a", "launches // w_a", "not differentiable"),
    ("launches + w_a*(launches - w_b)", "launches - w_b", "can be negative"),
    ("launches + -w_a", "-w_a", "can be negative"), ("log(w_a*launches)", "log(w_a*launches)", "can be negative"),
    ("max(launches)", "max(launches)", "1 arguments"), ("where(w_a, 1, 2)", "w_a", "not a condition"),
    ("(launches > 2)*w_a", "launches > 2", "not in the language"),
    ("launches.real", "launches.real", "not in the language"), ("'launches'", "'launches'", "not a number"),
    ("not launches", "not launches", "not in the language"),
    ("launches @ w_a", "launches @ w_a", "not in the language"), ("w_a*(launches", None, "not an expression"),
    ("", None, "not an expression"),
])  # fmt: skip
def test_errors_point_into_the_expression(text, at, problem):
    with pytest.raises(FamilyError) as caught:
        parse(text)
    error = caught.value
    assert problem in str(error)
    assert text == error.text
    if at is not None:
        assert at == text[error.start : error.end]
        assert "^" * len(at) in str(error)


def test_errors_in_parts_show_the_part():
    with pytest.raises(FamilyError) as caught:
        parse("one + 2", NAMES, parts={"one": "w_a*z"})
    assert ("w_a*z", "z") == (caught.value.text, caught.value.text[caught.value.start :])


@pytest.mark.parametrize(("text", "units"), [
    ("w_a*launches", {"w_a": "s/launch"}),
    ("launches/w_a", {"w_a": "launch/s"}),
    ("w_a*launches/work_groups", {"w_a": "s*work-group/launch"}),
    ("w_a + max(w_b*launches, w_c)", {"w_a": "s", "w_b": "s/launch", "w_c": "s"}),
    ("(w_a if launches > 1 else w_b)*2", {"w_a": "?", "w_b": "?"}),
    ("w_a*launches**w_b", {"w_a": "?", "w_b": ""}),
    ("w_a*w_b*launches", {"w_a": "?", "w_b": "?"}),  # only the product of both is known
])  # fmt: skip
def test_units(text, units):
    assert units == weight_units(parse(text))


@pytest.mark.parametrize("place", [None, 0, 1, 2])
def test_expressions_together_have_the_values_of_each(place):
    every = [parse(text, NAMES) for text in TEXTS]
    given = VALUES if place is None else {name: float(value[place]) for name, value in VALUES.items()}
    found = Expressions(tuple(every), WEIGHTS).values(given)
    for each, value in zip(every, found, strict=True):
        expected = each.value(given, [WEIGHTS[name] for name in each.weights])
        assert type(expected) is type(value)
        assert np.all(expected == value)


def test_expressions_together_may_have_different_features():
    both = Expressions((parse("w_a*x", NAMES), parse("w_b*y", NAMES)), WEIGHTS)
    assert [1.25 * 2.0, 0.0] == both.values({"x": 2.0})
    few, many = both.values({"x": 2.0, "y": np.array([1.0, 2.0])})
    assert (2.5, [0.75, 1.5]) == (few, many.tolist())
