"""The search among recipes: a space made by hand, and weights with which fewer work-groups are faster."""

import os
import pickle
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace

import loopy as lp
import numpy as np
import pytest
from loopy.diagnostic import LoopyWarning

from perfmodel.counts import count
from perfmodel.errors import ArgumentError, KernelError, OptionError, WeightsError
from perfmodel.facts import Fact
from perfmodel.fitting.selection import Scatter
from perfmodel.recipes import search
from perfmodel.recipes.recipe import Recipe, Step
from perfmodel.recipes.search import Transformed, refuse, small_sizes, transformed
from perfmodel.tuning import tuning
from tests.tuning.test_anchoring import model

pytestmark = pytest.mark.device
SIZES = {"n": 2**16}
TILES = (8, 16, 32, 64, 128, 256)
UNIFORM = {"global_load_32_uniform": 1e-7, "global_store_32_uniform": 1e-7}
KINDS, STRIDES = ("load", "store", "minloadstore"), ("uniform", "stride1")
ACCESSES = [f"global_{kind}_32_{stride}" for kind in KINDS for stride in STRIDES]
PRICES = dict.fromkeys(ACCESSES, 1e-15) | UNIFORM
TAGS = {"lanes": {"outer_tag": "g.0", "inner_tag": "l.0"}, "groups": {"outer_tag": "g.0"}}


def plain(assumptions: str = "n >= 1") -> lp.TranslationUnit:
    return lp.make_kernel(
        "{[i]: 0 <= i < n}", ["out[i] = 3*a[i] {id=first}", "out[i] = out[i] + 1 {id=second, dep=first}"],
        [lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions=assumptions, lang_version=(2018, 2), name="plain",
    )  # fmt: skip


@dataclass(frozen=True)
class Dropped(Recipe):
    """The steps, and then the second instruction runs before the first, on which it depended."""

    def apply(self, t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
        kernel = super().apply(t_unit).default_entrypoint
        order = {"first": frozenset({"second"}), "second": frozenset[str]()}
        instructions = [one.copy(depends_on=order[one.id]) for one in kernel.instructions]
        return t_unit.with_kernel(kernel.copy(instructions=instructions))


@dataclass(frozen=True)
class Sleeping(Recipe):
    """The steps, but in another process than the test's they take a minute."""

    def apply(self, t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
        if str(os.getpid()) != os.environ["PID_OF_TEST"]:
            time.sleep(60)
        return super().apply(t_unit)


@dataclass(frozen=True)
class Crashing(Recipe):
    """The steps, but they end another process than the test's, as a kernel that writes to wrong addresses may."""

    def apply(self, t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
        if str(os.getpid()) != os.environ["PID_OF_TEST"]:
            os._exit(3)
        return super().apply(t_unit)


class Space:
    """Two forms: work-items along `i`, or only groups; the tiles are powers of two."""

    def __init__(self, kind: type[Recipe] = Recipe, tiles: tuple[int, ...] = TILES) -> None:
        self.forms, self.tiles = tuple(TAGS), tiles
        self.made = {
            (form, tile): kind((Step.of("split_iname", "i", tile, **tags),))
            for form, tags in TAGS.items() for tile in tiles
        }  # fmt: skip
        self.known = {recipe: key for key, recipe in self.made.items()}
        self.notes = ("a note",)

    def first(self, form: str) -> Recipe:
        return self.made[form, self.tiles[0]]

    def of(self, form: str) -> list[Recipe]:
        return [self.made[form, tile] for tile in self.tiles[:4]]

    def point(self, recipe: Recipe) -> SimpleNamespace:
        return SimpleNamespace(form=self.known[recipe][0])

    def neighbours(self, recipe: Recipe) -> Iterator[Recipe]:
        form, tile = self.known[recipe]
        yield from (self.made[form, near] for near in (2 * tile, tile // 2) if (form, near) in self.made)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "TUNE", replace(tuning.TUNE, runs=4, dropped=1))


def found_by(space: object = None, **options: object) -> Transformed:
    # Without work-items along `i`, all lanes use the same address, and these accesses cost time.
    asked = {"model": model(**PRICES), "space": space or Space(), "jobs": 1, "archive": False, **options}
    return transformed(plain(), SIZES, **asked)


def test_the_model_alone_finds_the_largest_tile_from_the_smallest(monkeypatch):
    found = found_by(runs=0)
    assert len(found.candidates) == 2 * len(TILES)
    assert ("g.0=i l.0=i:256", None, None) == (str(found.recipe), found.seconds, found.tuned)
    times = [one.seconds for one in found.candidates]
    assert times == sorted(times)
    # a group costs 1e-8 s, a launch 1e-5 s
    assert found.predicted.seconds == pytest.approx(1e-5 + 1e-8 * 2**16 / 256, rel=1e-4)
    assert found.fastest is None  # the weights lack the scatter of errors
    assert ("a note",) == found.notes
    assert 't_unit = lp.split_iname(t_unit, "i", 256, outer_tag="g.0", inner_tag="l.0")' == found.code
    assert found.kernel() == found.recipe.apply(plain())
    monkeypatch.setattr(search, "scatter_of", lambda *asked: Scatter(deviation=1e-9, cells=2))
    assert found_by(runs=0).fastest == pytest.approx(1.0)
    assert ("recipe", "g.0=i l.0=i:256") == tuple(row[0] for row in found.table[:2])
    assert pickle.loads(pickle.dumps(found)).recipe == found.recipe


def test_recipes_run_after_the_untransformed_kernel():
    seen: list[str] = []
    found = found_by(runs=2, level=0.9999, watch=lambda tuned: seen.append(tuned.tried[-1].name))
    assert (search.PLAIN, 3) == (seen[0], len(seen))
    assert ({"ok"}, 3) == ({one.status for one in found.tried.values()}, len(found.tried))
    assert found.seconds == min(one.seconds for one in found.tried.values())
    assert found.tried[found.recipe].seconds == found.seconds
    assert found.speedup == pytest.approx(found.tried[Recipe()].seconds / found.seconds)
    assert set(found.tuned.outputs.right) == {one.name for one in found.tried.values()}
    assert search.PLAIN in {row[0] for row in found.table}


def test_the_fastest_runs_without_its_assumptions_too(monkeypatch):
    monkeypatch.setattr(search, "AFFORDABLE_S", 0.0)  # the untransformed kernel does not run
    space = Space(tiles=TILES[:1])
    assumed = Step.of("assume", "n mod 128 = 0")
    space.made = {key: Recipe((assumed, *recipe.steps)) for key, recipe in space.made.items()}
    space.known = {recipe: key for key, recipe in space.made.items()}
    found = found_by(space, runs=1, level=0.9999)
    assert found.candidates[0].recipe.assumptions  # what the model alone would choose
    ran = [recipe for recipe in found.tried if recipe.steps]
    assert [recipe.unassumed for recipe in ran] == [ran[1], ran[1]]
    assert ("n mod 128 = 0",) == ran[0].assumptions
    assert (ran[1], found.untransformed) == (found.otherwise, plain())
    assert ran[1].apply(plain()) == found.kernel() == found.kernel(n=100)
    assert found.recipe.apply(plain()) == found.kernel(**SIZES)


def test_a_recipe_with_a_dropped_dependency_is_never_chosen():
    found = found_by(Space(Dropped), runs=3, level=0.9999)
    assert Recipe() == found.recipe
    status = {name: one.status for name, one in found.tried.items()}
    assert "ok" == status.pop(Recipe())
    assert {"correctness"} == set(status.values())
    assert "the kernel stays as it is" in found.summary[0]


@pytest.mark.parametrize(
    ("kind", "expected", "most_s"), [(Sleeping, "more than 2 s", 2.0), (Crashing, "crashed", 60.0)]
)
def test_a_recipe_that_hangs_or_crashes_does_so_in_another_process(kind, expected, most_s, monkeypatch):
    monkeypatch.setenv("PID_OF_TEST", str(os.getpid()))
    monkeypatch.setattr(search, "FIRST_RUN_S", most_s)
    space = Space(kind, TILES[:1])
    space.forms = space.forms[:1]
    found = found_by(space, runs=1)
    assert Recipe() == found.recipe
    (failed,) = (one for recipe, one in found.tried.items() if recipe != Recipe())
    assert "compile" == failed.status
    assert expected in failed.message


def _make_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "AFFORDABLE_S", 0.0)
    monkeypatch.setattr(search, "COMPARED_S", 0.0)


@pytest.mark.parametrize("kind", [Recipe, Dropped])
def test_outputs_are_compared_at_small_sizes_if_the_untransformed_kernel_is_slow(kind, monkeypatch):
    _make_slow(monkeypatch)
    found = found_by(Space(kind), runs=2, level=0.9999)
    assert Recipe() not in found.tried
    assert {"ok" if kind is Recipe else "correctness"} == {one.status for one in found.tried.values()}
    assert bool(found.recipe.steps) == (kind is Recipe)
    assert "at n=128" in found.notes[-1]
    assert "not timed: its prediction is" in found.notes[-2]


@pytest.mark.parametrize("assumed", [{"lanes", "groups"}, {"groups"}, {"lanes"}])
def test_recipes_that_are_not_valid_at_small_sizes_run_only_if_they_are_much_faster(assumed, monkeypatch):
    _make_slow(monkeypatch)
    space = Space(tiles=TILES[:1])
    assume = Step.of("assume", "n mod 256 = 0")  # 128 elements are compared
    space.made = {
        key: Recipe((assume, *recipe.steps)) if key[0] in assumed else recipe
        for key, recipe in space.made.items()
    }
    space.known = {recipe: key for key, recipe in space.made.items()}
    found = found_by(space, runs=3, level=0.9999)
    # groups without lanes are predicted to be much slower
    expected = {recipe.unassumed for (form, _), recipe in space.made.items() if form == "lanes" or "lanes" in assumed}
    assert expected == {recipe for recipe, one in found.tried.items() if one.status == "ok"}
    left_out = "1 recipes could not run: their assumptions do not hold at n=128"
    assert (left_out in found.notes) == (assumed == {"groups"})


def test_outputs_are_compared_at_the_given_sizes_if_the_kernel_may_run_once(monkeypatch):
    monkeypatch.setattr(search, "AFFORDABLE_S", 0.0)
    found = found_by(runs=1)
    assert (Recipe() in found.tried, [name for name in found.notes if "compared" in name]) == (False, [])
    assert found.tuned.outputs.reference
    assert found.tuned.outputs.right


@pytest.mark.parametrize("refused", [(), (128,)])
def test_arguments_may_refuse_small_sizes(refused, monkeypatch):
    _make_slow(monkeypatch)

    def arguments(n: int) -> dict[str, np.ndarray]:
        if n in refused:
            raise ValueError("no data")
        return {"a": np.arange(n, dtype=np.float32)}

    found = found_by(runs=1, arguments=arguments)
    assert {"ok"} == {one.status for one in found.tried.values()}
    assert ("compared" in found.notes[-1]) == (not refused)


def test_small_sizes_keep_remainders_and_the_assumptions():
    counts = lambda text: search.count(plain(text))  # noqa: E731
    assert {"n": 128 + 104} == small_sizes(counts("n >= 1"), {"n": 1000}, 128)
    assert {"n": 200} == small_sizes(counts("n >= 1"), {"n": 200}, 128)
    found = small_sizes(counts("n >= 96 and n mod 96 = 0"), {"n": 9600}, 128)
    assert 0 == found["n"] % 96
    assert found["n"] < 9600


def test_without_time_the_model_chooses():
    found = found_by(runs=2, budget_s=0.0)
    assert (None, True) == (found.tuned, bool(found.candidates))
    assert found.recipe == found.candidates[0].recipe


def test_a_search_without_time_to_predict_gives_the_reason(monkeypatch):
    monkeypatch.setattr(search._ModelSearch, "_predict", lambda *asked: False)
    found = found_by(runs=0, budget_s=0.0)
    assert (Recipe(), ()) == (found.recipe, found.candidates)
    assert "the time was over before a recipe was predicted; give a larger budget" == found.summary[-1]
    assert ("a note",) == found_by(runs=0).notes  # there was time, and no recipe fits


def test_the_best_comes_from_the_archive(monkeypatch, tmp_path):
    monkeypatch.setattr("perfmodel.recipes.archive.data_folder", lambda: tmp_path)
    found = found_by(runs=1, archive=True)
    from perfmodel.recipes.archive import best

    kept = best(plain(), **SIZES)
    assert (found.recipe, found.seconds) == (kept.recipe, kept.entry.seconds)


def test_why_compares_terms():
    found = found_by(runs=0)
    heading, *rows = found.why
    assert ("term", "untransformed", "transformed", "times") == heading
    names = [row[0] for row in rows]
    assert {"launches", "work_groups", *UNIFORM, "predicted time"} <= set(names)
    # two loads and two stores of each element without lanes; a group for each of 256 tiles, or one
    before, after = 1e-5 + 1e-8 + 4e-7 * 2**16, 1e-5 + 1e-8 * 256
    assert f"{after / before:.3g}" == rows[names.index("predicted time")][-1]


def test_what_cannot_be_transformed_comes_back_with_a_reason():
    bound = lp.make_kernel(
        ["{[i]: 0 <= i < n}", "{[j]: 0 <= j < m}"], ["for i", "<> m = rows[i]", "out[i] = sum(j, a[j])", "end"],
        [lp.GlobalArg("rows", np.int32, shape="n"), lp.GlobalArg("out, a", np.float32, shape="n"), "..."],
        assumptions="n >= 1", lang_version=(2018, 2),
    )  # fmt: skip
    large = lp.split_iname(plain(), "i", 2**20, outer_tag="g.0", inner_tag="l.0")
    for unit, expected in ((bound, "statistics"), (large, "work-group")):
        facts = {"max_work_group_size": Fact(4096, "", "made up")}
        found = transformed(unit, n=2**20, model=model().with_facts(facts), space=Space(), jobs=1)
        assert (unit, Recipe()) == (found.kernel(), found.recipe)
        assert expected in found.notes[0]
    none = Space()
    none.forms = ()
    found = found_by(none)
    assert (Recipe(), ("a note",), ()) == (found.recipe, found.notes, found.candidates)
    assert found.summary[0].startswith("the kernel stays as it is, predicted ")


def test_wrong_arguments_are_refused():
    with pytest.raises(ArgumentError, match="t_unit"):
        transformed("kernel", SIZES, model=model())
    with pytest.raises(OptionError, match="runs=-1"):
        found_by(runs=-1)
    with pytest.raises(OptionError, match="level"):
        found_by(level=1.0)
    with pytest.raises(WeightsError, match="with runs=0"):
        found_by(model=model("another device"))


def test_reasons_that_differ_only_in_names_and_numbers_count_as_the_first():
    refused: Counter[str] = Counter()
    for n in (1, 2):
        refuse(refused, KernelError(f"Loopy refused 'i_{n}' for {n} items", ""))
    refuse(refused, KernelError("another problem", ""))
    assert {"Loopy refused 'i_1' for 1 items": 2, "another problem": 1} == refused


def test_recipes_that_loopy_refuses_are_not_chosen_without_runs(monkeypatch):
    found = found_by(runs=0)
    steps = (
        Step.of("split_iname", "no_such_loop", 8),
        Step.of("split_iname", "i", 8, outer_tag="g.0", inner_tag="l.1"),  # refused only when Loopy writes the code
    )
    wrong = tuple(replace(found.candidates[0], recipe=Recipe((step,))) for step in steps)
    checked = partial(count, check=True)
    legal = search._only_legal(replace(found, candidates=(*wrong, *found.candidates)), checked)
    assert (found.candidates, 2) == (legal.candidates, sum(legal.refused.values()) - sum(found.refused.values()))
    none = search._only_legal(replace(found, candidates=wrong), checked)
    assert ((), "Loopy refuses all predicted recipes") == (none.candidates, none.notes[-1])
    monkeypatch.setattr(search._ModelSearch, "run", lambda *asked: None)
    monkeypatch.setattr(search._ModelSearch, "ranked", (*wrong, *found.candidates))
    assert found.recipe == found_by(runs=0).recipe


def test_warnings_of_loopy_s_scheduler_do_not_reach_the_user():
    with search._quiet_loopy():
        warnings.warn("Cannot satisfy constraint that iname 'b' must be nested within 'i''.", stacklevel=1)
        warnings.warn("a slow scheduler", LoopyWarning, stacklevel=1)
        with pytest.raises(UserWarning, match="unused"):
            warnings.warn("statistics are unused", stacklevel=1)
