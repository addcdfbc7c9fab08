"""Recipes as values: they print, apply, become a kernel file, and survive JSON."""

import json
import pickle

import loopy as lp
import numpy as np
import pytest

from perfmodel.errors import ArgumentError, DocumentError, KernelError
from perfmodel.kernels.files import load_kernel_file
from perfmodel.recipes import Recipe, Step

PLAIN = '''"""A matrix product."""
import loopy as lp
import numpy as np


def kernel():
    return lp.make_kernel(
        "{[i, j, k]: 0 <= i, j, k < n}",
        "c[i, j] = sum(k, a[i, k]*b[k, j])",
        [lp.GlobalArg("a, b, c", np.float32, shape="n, n"), lp.ValueArg("n", np.int32)],
        lang_version=(2018, 2),
    )


def arguments(n):
    return {"a": np.ones((n, n), np.float32)}
'''
TILED = Recipe((
    Step.of("split_iname", "i", 8, outer_tag="g.1", inner_tag="l.1"),
    Step.of("split_iname", "j", 8, outer_tag="g.0", inner_tag="l.0"),
    Step.of("split_iname", "k", 4),
    Step.of("add_prefetch", "a", ["i_inner", "k_inner"], fetch_outer_inames={"k_outer", "i_outer", "j_outer"},
            default_tag="l.auto"),
    Step.of("prioritize_loops", "k_outer,k_inner"),
))  # fmt: skip


@pytest.fixture(scope="module")
def plain():
    return executed(PLAIN)["kernel"]()


def executed(text):
    names = {}
    exec(compile(text, "plain.py", "exec"), names)
    return names


def opencl(t_unit):
    t_unit = t_unit.with_kernel(t_unit.default_entrypoint.copy(silenced_warnings=["v1_scheduler_fallback"]))
    return lp.generate_code_v2(t_unit).device_code()


def test_a_recipe_shows_a_short_name_and_lines_of_python():
    text = "g.1=i l.1=i:8 g.0=j l.0=j:8 k:4 prefetch=a[i_inner,k_inner] order=k_outer,k_inner"
    assert text == str(TILED)
    assert (
        't_unit = lp.split_iname(t_unit, "i", 8, outer_tag="g.1", inner_tag="l.1")',
        't_unit = lp.split_iname(t_unit, "j", 8, outer_tag="g.0", inner_tag="l.0")',
        't_unit = lp.split_iname(t_unit, "k", 4)',
        't_unit = lp.add_prefetch(t_unit, "a", ["i_inner", "k_inner"], '
        'fetch_outer_inames=frozenset({"i_outer", "j_outer", "k_outer"}), default_tag="l.auto")',
        't_unit = lp.prioritize_loops(t_unit, "k_outer,k_inner")',
    ) == TILED.lines()
    assert ("untransformed", ()) == (str(Recipe()), Recipe().lines())
    assert "l.0=i ilp=j" == str(Recipe((Step.of("tag_inames", "i:l.0, j:ilp"),)))


@pytest.mark.parametrize(("texts", "sizes", "expected"), [
    ([], {}, True), (["n mod 64 = 0"], {"n": 128, "m": 1}, True), (["n mod 64 = 0"], {"n": 100}, False),
    (["n mod 64 = 0"], {}, False), (["(4 + 2*n) mod 8 = 0 and n >= 2", "m <= 9"], {"n": 6, "m": 9}, True),
    (["exists e: n = 2*e"], {"n": 2}, False), (["1 <= n <= 10"], {"n": 100}, False),
    (["n, m >= 200"], {"n": 1, "m": 1}, False), (["n != 3", "2*n = 8"], {"n": 4}, True), (["n != 3"], {"n": 3}, False),
    # these would take all memory, or too deep a stack
    (["(1<<(1<<40)) >= n"], {"n": 1}, False), (["n >> n >= 0"], {"n": 1}, False), (["9**9**9 >= n"], {"n": 1}, False),
    (["-" * 10**5 + "n < 1"], {"n": 1}, False), (["(" * 10**4 + "n" + ")" * 10**4 + "> 0"], {"n": 1}, False),
])  # fmt: skip
def test_assumptions_hold_at_some_sizes(texts, sizes, expected):
    recipe = Recipe((*(Step.of("assume", text) for text in texts), *TILED.steps))
    assert expected == recipe.allows(sizes)
    assert (tuple(texts), TILED) == (recipe.assumptions, recipe.unassumed)


def test_the_saved_kernel_has_assumptions_only_at_sizes_that_fulfil_them(plain, tmp_path):
    splits = Recipe(TILED.steps[:3])
    recipe = Recipe((Step.of("assume", "n mod 8 = 0"), *splits.steps))
    text = recipe.code(PLAIN)
    assert "one that is valid only where n mod 8 = 0" in text
    kernel = executed(text)["kernel"]
    tested = ["-1 * lid(1)" in opencl(unit) for unit in (splits.apply(plain), kernel(n=16), kernel(), kernel(n=12))]
    assert [True, False, True, True] == tested
    (tmp_path / "best.py").write_text(text)
    loaded = [load_kernel_file(tmp_path / "best.py", sizes).variants["kernel"] for sizes in ({}, {"n": 16, "m": 3})]
    assert [kernel(), kernel(n=16)] == loaded
    again = executed(Recipe((Step.of("assume", "n mod 4 = 0"),)).code(text))  # of the kernel for all sizes
    assert (["n"], kernel()) == (again["kernel"].sizes, again["plain_2"]())
    assert not hasattr(executed(TILED.code(text))["kernel"], "sizes")
    other = Recipe((Step.of("tag_inames", "i:g.0"),))
    assert opencl(other.apply(plain)) == opencl(executed(recipe.code(PLAIN, otherwise=other))["kernel"](n=12))
    for text in ("n, m >= 8", "exists e: n = 2*e"):
        with pytest.raises(ArgumentError, match=r"is not a comparison in Python: .*; compare sums"):
            Recipe((Step.of("assume", text),)).code(PLAIN)
    assert f"assume=n%8=0 {splits}" == str(recipe)


def test_apply_does_what_a_person_would_write(plain):
    written = lp.split_iname(plain, "i", 8, outer_tag="g.1", inner_tag="l.1")
    written = lp.split_iname(written, "j", 8, outer_tag="g.0", inner_tag="l.0")
    written = lp.split_iname(written, "k", 4)
    outer = frozenset({"i_outer", "j_outer", "k_outer"})
    written = lp.add_prefetch(written, "a", ["i_inner", "k_inner"], fetch_outer_inames=outer, default_tag="l.auto")
    written = lp.prioritize_loops(written, "k_outer,k_inner")
    assert opencl(written) == opencl(TILED.apply(plain))
    assert plain == Recipe().apply(plain)


def test_the_code_is_a_kernel_file_without_perfmodel(plain, tmp_path):
    text = TILED.code(PLAIN)
    assert "perfmodel" not in text
    assert 1 == text.count("import loopy as lp")
    assert opencl(TILED.apply(plain)) == opencl(executed(text)["kernel"]())
    path = tmp_path / "best.py"
    path.write_text(TILED.code(Recipe((Step.of("assume", "n >= 1"),)).code(PLAIN)))  # a file of a recipe is one too
    again = load_kernel_file(path)
    assert ["kernel"] == list(again.variants)
    assert (8, 8) == again.arguments(n=8)["a"].shape
    assert (2, 1) == tuple(map(path.read_text().count, ("def kernel():", "def kernel(n=None):")))


def test_the_code_has_a_copy_of_the_transformation_of_perfmodel():
    text = PLAIN.replace("sum(k, a[i, k]*b[k, j])", "sum(k, a[i, k]*exp(b[k, j]))")
    once = Step.of("precompute", "without_i", ["k_inner"], precompute_outer_inames={"i", "j", "k_outer"})
    recipe = Recipe((Step.of("extract_invariants", "i"), Step.of("split_iname", "k", 4), once))
    saved = recipe.code(text)
    assert "perfmodel" not in saved
    assert opencl(recipe.apply(executed(text)["kernel"]())) == opencl(executed(saved)["kernel"]())
    assert "extract_invariants=i k:4 precompute=without_i[k_inner]" == str(recipe)
    assert recipe == Recipe.from_json(recipe.to_json())


def test_functions_of_the_file_still_call_the_untransformed_kernel(plain, tmp_path):
    text = PLAIN + "\n\ndef reference(ä=0):\n    return 'ä', kernel()\n"
    names = executed(TILED.code(text))
    assert opencl(TILED.apply(plain)) == opencl(names["kernel"]())
    assert ("ä", opencl(plain)) == (names["reference"]()[0], opencl(names["reference"]()[1]))
    with pytest.raises(ArgumentError, match=r"call kernel\(\), which is not defined by 'def'"):
        TILED.code("from loopy import kernel\n\n\ndef reference():\n    return kernel()\n")


def test_the_code_of_one_of_several_variants(plain):
    several = PLAIN.replace("import loopy as lp\n", "import loopy\nfrom loopy import make_kernel\n")
    several = several.replace("lp.", "loopy.") + '\n\ndef variants():\n    return {"plain": kernel()}\n'
    names = executed(TILED.code(several, "plain"))
    assert {"plain": opencl(TILED.apply(plain))} == {name: opencl(unit) for name, unit in names["variants"]().items()}


@pytest.mark.parametrize(("text", "problem"), [("x = (", "is not Python"), ("x = 3", "does not define kernel()")])
def test_a_file_without_a_kernel_is_refused(text, problem):
    with pytest.raises(ArgumentError, match=problem.replace("(", r"\(").replace(")", r"\)")):
        TILED.code(text)


def test_recipes_are_values():
    stored = json.loads(json.dumps(TILED.to_json()))
    assert 1 == len({TILED, Recipe.from_json(stored), pickle.loads(pickle.dumps(TILED))})
    assert TILED != Recipe(TILED.steps[1:])
    assert Step.of("assume", "n >= 1") == Step("assume", ("n >= 1",))
    assert (5, 0) == (len(TILED.steps), len(Recipe().steps))


def test_a_refused_step_has_the_reason_of_loopy(plain):
    recipe = Recipe((Step.of("split_iname", "i", 8), Step.of("split_iname", "i", 8)))
    with pytest.raises(KernelError, match=r"Loopy cannot apply lp.split_iname\(t_unit, \"i\", 8\)") as caught:
        recipe.apply(plain)
    assert recipe.steps[1] == caught.value.step
    assert caught.value.reason
    with pytest.raises(KernelError, match="leave out the step, or change its arguments"):
        Recipe((Step.of("tag_inames", "i:l.0", no_such_option=True),)).apply(plain)


def test_wrong_steps_are_refused():
    with pytest.raises(ArgumentError, match=r"a step is named 'make_kernel'; name one of .*split_iname"):
        Step.of("make_kernel")
    with pytest.raises(ArgumentError, match="an argument of assume is of type ndarray"):
        Step.of("assume", np.zeros(2))
    with pytest.raises(ArgumentError, match="not a tuple of Step"):
        Recipe(("split_iname",))


@pytest.mark.parametrize(("document", "problem"), [
    ({}, "no schema"), ({"schema": "perfmodel.recipe/2", "steps": []}, "newer"),
    ({"schema": "perfmodel.recipe/1"}, "needs the list 'steps'"),
    ({"schema": "perfmodel.recipe/1", "steps": [["assume", "n >= 1"]]}, "has a step 0 that is not"),
    ({"schema": "perfmodel.recipe/1", "steps": [["system", [], {}]]}, "invalid step 0: a step is named 'system'"),
    ({"schema": "perfmodel.recipe/1", "steps": [["assume", [{}], {}]]}, "an argument of assume is of type dict"),
])  # fmt: skip
def test_damaged_documents_are_refused(document, problem):
    with pytest.raises(DocumentError, match=problem):
        Recipe.from_json(document)
