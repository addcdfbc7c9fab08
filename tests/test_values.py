"""Public names are loaded at their first use, and values are copied and pickled without cached results."""

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import loopy as lp
import numpy as np
import pytest

import perfmodel as pm
from perfmodel import store
from perfmodel.errors import KernelError
from perfmodel.facts import DeviceFacts, read_device
from perfmodel.opencl import Device
from perfmodel.store import Measurements
from tests.recorded import POCL
from tests.tuning.test_tuned import tuned

#: Imports the packages alone, then all their public names.
PUBLIC_NAMES = """
import sys
from importlib import import_module

packages = [import_module("perfmodel")]
for name in ("counts", "fitting", "compare", "report", "predicting", "tuning", "measuring"):
    packages.append(import_module(f"perfmodel.{name}"))
    assert not {"loopy", "scipy", "pyopencl", "matplotlib"} & set(sys.modules), name
for package in packages:
    for name in package.__all__:
        getattr(package, name)
"""


def test_every_public_name_of_a_package_can_be_loaded_and_none_is_loaded_before():
    done = subprocess.run([sys.executable, "-c", PUBLIC_NAMES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def double(rows: int) -> lp.TranslationUnit:
    """Return a kernel of which each work-item doubles one number after another."""
    t_unit = lp.make_kernel(
        f"{{ [i, j]: 0 <= i < n and 0 <= j < {rows} }}", "out[j, i] = 2*a[j, 2*i]",
        [lp.GlobalArg("out, a", np.float32, shape=f"{rows}, 2*n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 128 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    return lp.split_iname(t_unit, "i", 128, outer_tag="g.0", inner_tag="l.0")


SIZES = np.array([1024, 2048])
MODELS = [POCL / f"{name}.json" for name in ("bottleneck", "gpuperf", "stevens_kloeckner_2016")]


def answers_of_counts(counts: pm.KernelCounts) -> object:
    asked = (counts.operations(), counts.footprint("a"), counts.lines("a"), *(row.count for row in counts.depth()))
    numbers = [(one(n=1024), one.evaluate({"n": SIZES}).tolist(), str(one)) for one in asked]
    return counts.hash, numbers, len(counts.nests), counts.traffic("a")(n=1024), counts.utilization("a")(n=1024)


def answers_of_model(model: pm.FittedModel) -> object:
    counts, at = pm.count(double(2)), {"allow_unmeasured": True}
    one, more = model.predict(counts, n=1024, **at), model.predict(counts, n=SIZES, **at)
    return one.seconds, dict(one.terms), one.interval, more.seconds.tolist(), dict(model.weights), model.family.name


def answers_of_family(family: pm.Family) -> object:
    return family, family.patterns, family.plain_sum, dict(family.units), dict(family.parts), family.weights


def ranking() -> pm.Ranking:
    variants = {"one": double(1), "two": double(2)}
    return pm.rank(variants, pm.load(POCL / "bottleneck.json"), n=1024, allow_unmeasured=True)


def measurements(rows: int) -> Measurements:
    found = store.read(POCL / "test.jsonl")
    first = found.rows[:rows]
    documents = {row.counts_hash: found.counts_documents[row.counts_hash] for row in first}
    return dataclasses.replace(found, rows=first, counts_documents=documents)


def answers_of_ranked(one: pm.RankedVariant) -> object:
    return one.name, one.seconds, one.interval, one.fastest, one.tied


#: By each public class how one is made, and all that is asked of it.
SAMPLES = {
    pm.KernelCounts: (lambda: pm.count(double(2)), answers_of_counts),
    pm.Count: (
        lambda: pm.count(double(2)).operations(),
        lambda count: (count(n=1024), count.evaluate({"n": SIZES}).tolist(), str(count), count.to_json()),
    ),
    pm.FittedModel: (lambda: pm.load(POCL / "bottleneck.json"), answers_of_model),
    pm.Prediction: (
        lambda: pm.load(POCL / "bottleneck.json").predict(pm.count(double(2)), n=1024, allow_unmeasured=True),
        lambda one: (one.seconds, dict(one.terms), one.interval, str(one)),
    ),
    pm.Family: (lambda: pm.families()["bottleneck"], answers_of_family),
    pm.Weight: (lambda: pm.families()["bottleneck"].weights[0], lambda weight: (weight, weight.unit)),
    pm.Ranking: (ranking, lambda found: ([answers_of_ranked(one) for one in found], str(found), dict(found.errors))),
    pm.RankedVariant: (lambda: ranking()[0], answers_of_ranked),
    pm.CountedVariants: (
        lambda: pm.count_all({"one": double(1), "none": None}),
        lambda found: ([counts.hash for counts in found.values()], dict(found.errors)),
    ),
    pm.Space: (
        lambda: pm.Space(double, {"rows": (1, 2)}),
        lambda space: (space.configurations, sorted(space.variants), space.values),
    ),
    pm.Tuned: (tuned, lambda found: (found.best, found.tied, found.summary, found.sizes)),
    pm.PerfModelError: (lambda: KernelError("no types", "give some"), lambda error: (type(error), error.args)),
    Device: (lambda: Device(3, DeviceFacts("a", "b", "1", ())), lambda one: (one.slug, one.facts.hash, one.index)),
    DeviceFacts: (
        lambda: read_device(POCL / "device.json"), lambda facts: (facts, facts.hash, facts.value("compute_units"))
    ),
    Measurements: (
        lambda: measurements(12),
        lambda found: (found.rows, sorted(found.counts), len(found.current), found.outdated),
    ),
}  # fmt: skip
COPIES = {"pickled": lambda value: pickle.loads(pickle.dumps(value)), "deep": copy.deepcopy, "copied": copy.copy}


def check_copies(value: object, answers: Callable[[Any], object]) -> None:
    before = {name: copied(value) for name, copied in COPIES.items()}
    expected = answers(value)
    for name, copied in COPIES.items():
        assert expected == answers(before[name]), name
        for used in (copied(value), copied(before[name])):
            assert type(value) is type(used)
            assert expected == answers(used), name


@pytest.mark.parametrize("kind", SAMPLES, ids=lambda kind: kind.__name__)
def test_a_public_value_can_be_copied_before_and_after_its_use(kind):
    make, answers = SAMPLES[kind]
    check_copies(make(), answers)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_model_and_its_family_can_be_copied_after_their_use(path):
    model = pm.load(path)
    check_copies(model, answers_of_model)
    check_copies(model.family, answers_of_family)
