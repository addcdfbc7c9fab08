"""``perfmodel tune --transform``: the text, JSON, the saved file, and what it refuses. Recipes are made by hand."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from perfmodel.cli import options
from perfmodel.kernels.files import load_kernel_file
from perfmodel.recipes import Recipe, Step, search
from perfmodel.tuning import tuning
from tests.cli.program import invoke, ran
from tests.recipes.test_search import PRICES, Dropped, Space
from tests.tuning.test_anchoring import model

pytestmark = pytest.mark.device
KERNEL = '''
import loopy as lp
import numpy as np


def kernel():
    return lp.make_kernel(
        "{[i]: 0 <= i < n}", ["out[i] = 3*a[i] {id=first}", "out[i] = out[i] + 1 {id=second, dep=first}"],
        [lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1", lang_version=(2018, 2), name="plain")
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "plain.py").write_text(KERNEL)
    variants = "\n\ndef variants():\n    return {'one': kernel(), 'two': kernel()}\n"
    data = "\n\ndef arguments(n, variant):\n    return {'a': {'two': np.ones(n, np.float32)}[variant]}\n"
    (tmp_path / "two.py").write_text(KERNEL + variants + data)
    found, known = options.model_with_facts, model(**PRICES)
    monkeypatch.setattr(options, "model_with_facts", lambda facts, *given, **more: (
        found(facts, *given, **more) if facts else known
    ))  # fmt: skip
    monkeypatch.setattr(search, "recipes_of", lambda *asked: Space())
    monkeypatch.setattr(search, "TUNE", replace(tuning.TUNE, runs=4, dropped=1))
    monkeypatch.setattr("perfmodel.recipes.archive.data_folder", lambda: tmp_path)
    return tmp_path


def tune(folder: Path, *more: str, file: str = "plain.py"):
    return invoke("tune", folder / file, "-p", "n=65536", "--jobs", "1", *more)


def test_the_best_recipe_is_printed_and_saved(folder, monkeypatch):
    monkeypatch.setattr(search, "AFFORDABLE_S", 0.0)  # the untransformed kernel, which may be faster, is not timed
    done = ran(tune(folder, "--transform", "--runs", "2", "--save", str(folder / "best.py"), "--why"))
    assert "12 recipes (2 forms) were predicted" in done.stdout
    assert "outputs of 2 of 2 variants are as expected" in done.stdout
    assert "predicted time" in done.stdout
    saved = (folder / "best.py").read_text()
    assert "perfmodel" not in saved
    (unit,) = load_kernel_file(folder / "best.py").variants.values()
    recipes = {str(recipe): recipe for recipe in Space().known}
    (plain,) = load_kernel_file(folder / "plain.py").variants.values()
    chosen = done.stdout.partition("best recipe: ")[2].partition(",")[0]
    assert recipes[chosen].apply(plain) == unit


def test_the_model_alone_chooses(folder):
    done = ran(tune(folder, "--transform", "--runs", "0", "--json"))
    found = json.loads(done.stdout)
    assert ("perfmodel.transformation/1", "g.0=i l.0=i:256", None) == (found["schema"], found["name"], found["seconds"])
    assert ([], None) == (found["tried"], found["outputs"])
    assert found["fastest"] is None  # the weights lack the scatter of errors
    assert 12 == len(found["recipes"])
    assert search.Recipe.from_json(found["recipe"]).lines() == tuple(found["code"])
    other = ran(tune(folder, "--transform", "--facts", "a100"))
    assert "with a probability of" in other.stdout


def test_what_it_refuses(folder):
    for given, expected in (
        (("--runs", "2"), "--runs was given without --transform"), (("--why",), "--why was given without --transform"),
        (("--save", "best.py"), "--save was given without"), (("--facts", "a100"), "--facts was given without"),
    ):  # fmt: skip
        done = tune(folder, *given)
        assert (2, True) == (done.exit_code, expected in done.stderr), done.output
    done = tune(folder, "--transform", file="two.py")
    assert "a file with 2 variants" in done.stderr
    (folder / "hidden.py").write_text(KERNEL.replace("def kernel", "def hidden") + "\n\nglobals()['kernel'] = hidden\n")
    done = tune(folder, "--transform", "--save", "best.py", file="hidden.py")
    assert (2, "") == (done.exit_code, done.stdout)
    assert "does not define kernel(); define it at the top level of the file" in done.stderr


def test_a_kernel_s_own_default_size_is_tuned_and_saved(folder):
    text = KERNEL.replace("kernel()", "kernel(n=8)").replace('"{[i]: 0 <= i < n}"', 'f"{{[i]: 0 <= i < {n}}}"')
    text = text.replace('assumptions="n >= 1", ', "")
    (folder / "fixed.py").write_text(text)
    done = ran(tune(folder, "--transform", "--runs", "0", "--save", str(folder / "best.py"), "--json", file="fixed.py"))
    recipe = search.Recipe.from_json(json.loads(done.stdout)["recipe"])
    at = {"n": 65536}
    (plain,), (best,) = (load_kernel_file(folder / name, at).variants.values() for name in ("fixed.py", "best.py"))
    assert ("i <= 7" in str(plain.default_entrypoint), recipe.apply(plain)) == (True, best)


def test_a_saved_kernel_is_transformed_again_as_the_one_for_all_sizes(folder, monkeypatch):
    assumed = Recipe((Step.of("assume", "n mod 8 = 0"),)).code(KERNEL)
    (folder / "saved.py").write_text(assumed)
    units = []
    monkeypatch.setattr("perfmodel.recipes.transformed", lambda unit, *asked, **given: units.append(unit) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        raise tune(folder, "--transform", file="saved.py").exception
    assert [load_kernel_file(folder / "plain.py").variants["kernel"]] == units


def test_one_of_several_variants_has_its_own_arguments_and_stays_if_all_recipes_are_wrong(folder, monkeypatch):
    monkeypatch.setattr(search, "recipes_of", lambda *asked: Space(Dropped, (8,)))
    best = folder / "best.py"
    done = ran(tune(folder, "--transform", "--runs", "1", "--variant", "two", "--save", str(best), file="two.py"))
    assert "outputs of 1 of 2 variants are as expected: untransformed" in done.stdout
    assert "nothing was saved: the kernel stays as it is" in done.stdout
    assert not best.exists()
