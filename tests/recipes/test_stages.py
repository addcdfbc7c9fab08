"""Reductions with few results have recipes in two stages, whose results are NumPy's."""

from typing import Any

import loopy as lp
import numpy as np
import pytest

from perfmodel.facts.device_facts import published
from perfmodel.opencl import find
from perfmodel.recipes import Recipe, recipes_of
from perfmodel.recipes.generator import legal
from perfmodel.recipes.loops import quiet
from perfmodel.recipes.own_steps import extract_parts

N = 8205  # no tile divides it
RNG = np.random.default_rng(0)
A, B, ROWS, SQUARE = RNG.random(N), RNG.random(N), RNG.random((5, N)), RNG.random((97, 97))
MEAN = "<> mean = sum(i, a[i])/n {id=mean}\ns[0] = sum(i, (a[i] - mean)*(a[i] - mean)) {dep=mean}"
NORM = "<> norm = sqrt(sum(i, a[i]*a[i])) {id=norm}\nb[k] = a[k]/norm {dep=norm}"
#: Domain, instructions, arrays that are read, and results.
CASES = {
    "dot": ("0 <= i < n", "s[0] = sum(i, a[i]*b[i])", {"a": A, "b": B}, {"s": [A @ B]}),
    "largest": ("0 <= i < n", "s[0] = reduce(max, i, abs(a[i]))", {"a": -A}, {"s": [A.max()]}),
    "two sums": (
        "0 <= i < n", "s[0] = sum(i, a[i]*b[i]) {id=s}\nt[0] = reduce(min, i, a[i]) {id=t}", {"a": A, "b": B},
        {"s": [A @ B], "t": [A.min()]},
    ),
    "variance": ("0 <= i < n", MEAN, {"a": A}, {"s": [A.var() * N]}),
    "normalised": ("0 <= i, k < n", NORM, {"a": A}, {"b": A / np.sqrt(A @ A)}),
    "after a loop": (
        "0 <= i, k < n", "b[k] = 2*a[k] {id=b}\ns[0] = sum(i, a[i]*b[i]) {dep=b}", {"a": A, "b": 0 * A},
        {"b": 2 * A, "s": [2 * A @ A]},
    ),
    "rows": ("0 <= r < 5 and 0 <= j < n", "t[r] = sum(j, c[r, j])", {"c": ROWS}, {"t": ROWS.sum(axis=1)}),
    "columns": (
        "0 <= r < 5 and 0 <= j < n", "t[r] = sum(j, c[j, r])", {"c": ROWS.T.copy()}, {"t": ROWS.sum(axis=1)}
    ),
    "square": ("0 <= i, j < n", "s[0] = sum([i, j], c[i, j])", {"c": SQUARE}, {"s": [SQUARE.sum()]}),
    "nested": ("0 <= i, j < n", "s[0] = sum(i, sum(j, c[i, j]))", {"c": SQUARE}, {"s": [SQUARE.sum()]}),
    "some": ("0 <= i < n", "s[0] = sum(i, a[i] if a[i] > 0.5 else 0)", {"a": A}, {"s": [A[A > 0.5].sum()]}),
}  # fmt: skip


def built(name):
    domain, text, given, results = CASES[name]
    n = max(max(array.shape) for array in given.values())
    shapes = {name: np.shape(array) for name, array in {**results, **given}.items()}
    arguments = [
        lp.GlobalArg(name, np.float64, shape=", ".join("n" if size == n else str(size) for size in shape))
        for name, shape in shapes.items()
    ]
    loops = ", ".join(word for word in "ijkr" if f"{word} " in domain or f"{word}," in domain)
    return lp.make_kernel(
        f"{{[{loops}]: {domain}}}", text, [*arguments, lp.ValueArg("n", np.int32)], lang_version=(2018, 2)
    ), n  # fmt: skip


@pytest.mark.device
@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")  # of the result of a tree, and of a slow scheduler
@pytest.mark.filterwarnings("ignore:Cannot (satisfy|enforce):UserWarning")
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("name", CASES)
def test_results_of_two_stages_equal_numpy(name, kind):
    _, _, given, results = CASES[name]
    unit, n = built(name)
    device = find()
    recipes = recipes_of(unit, {"n": n}, device.facts if kind == "cpu" else published("a100"))
    first = {}
    for form in recipes.forms:
        if form.parts:
            first.setdefault((form.parts, form.axes[0].kind), form)
    context, queue = device.context()
    with quiet():
        for form in list(first.values())[:3]:
            recipe = recipes.first(form)
            legal(recipe, unit)
            copies = {name: array.copy() for name, array in given.items()}
            _, outputs = recipe.apply(unit).executor(context)(queue, n=n, **copies, out_host=True)
            for output, array in zip(sorted(results), outputs, strict=True):
                np.testing.assert_allclose(array, results[output], rtol=1e-12, err_msg=f"{output} of {recipe}")
    assert first


def test_reductions_become_rules_of_their_parts():
    unit, _ = built("nested")
    unit = extract_parts(lp.split_iname(unit, "i", 4), ["i_outer"])
    (rule,) = unit.default_entrypoint.substitutions.values()
    (statement,) = unit.default_entrypoint.instructions
    assert ("part", ("i_outer",)) == (rule.name, rule.arguments)
    assert "reduce(sum, [i_inner, j], c[i_inner + i_outer*4, j])" == str(rule.expression)
    assert "reduce(sum, [i_outer], part(i_outer))" == str(statement.expression)


@pytest.mark.parametrize(("domain", "text", "n"), [
    ("0 <= i < n", "s[0] = sum(i, a[i])", 1000),  # short
    ("0 <= i, r < n", "s[r] = sum(i, a[i] + r)", 8192),  # many results
    ("1 <= t < n and 0 <= i < n", "s[t] = s[t - 1] + sum(i, a[i])", 8192),  # in time steps
])  # fmt: skip
def test_other_sums_stay_in_one_stage(domain, text, n):
    loops = ", ".join(word for word in "tir" if f"{word} <" in domain or f", {word}" in domain)
    arguments = [lp.GlobalArg("a, s", np.float32, shape="n"), lp.ValueArg("n", np.int32)]
    unit = lp.make_kernel(f"{{[{loops}]: {domain}}}", text, arguments, lang_version=(2018, 2))
    assert {()} >= {form.parts for form in recipes_of(unit, {"n": n}).forms}


@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
def test_a_recipe_in_two_stages_is_stored_and_saved():
    text = """import loopy as lp
import numpy as np


def kernel():
    return lp.make_kernel(
        "{[i]: 0 <= i < n}", "s[0] = sum(i, a[i])",
        [lp.GlobalArg("a", np.float32, shape="n"), lp.GlobalArg("s", np.float32, shape="1"), ...],
        lang_version=(2018, 2))
"""
    plain, saved = dict[str, Any](), dict[str, Any]()
    exec(text, plain)
    recipes = recipes_of(plain["kernel"](), {"n": 1 << 20}, published("a100"))
    recipe = recipes.first(next(form for form in recipes.forms if form.parts))
    assert ("n mod 1024 = 0",) == recipe.assumptions
    assert recipe == Recipe.from_json(recipe.to_json())
    code = recipe.code(text)
    assert "perfmodel" not in code
    exec(code, saved)
    units = recipe.apply(plain["kernel"]()), saved["kernel"](n=1024)
    assert 1 == len({lp.generate_code_v2(unit).device_code() for unit in units})
