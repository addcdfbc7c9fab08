"""Rows that are measured for what a kernel needs and weights lack, and the fits with them."""

import shutil
from dataclasses import replace
from functools import cache

import pytest

from perfmodel import store
from perfmodel.calibration import kernel_choice
from perfmodel.calibration.kernel_choice import discovered
from perfmodel.counts import count
from perfmodel.errors import PerfModelError, SizeError
from perfmodel.models.bottleneck import FAMILY as BOTTLENECK
from perfmodel.predicting.model import fit, load
from perfmodel.quantities.bottleneck import bottleneck_quantities
from perfmodel.quantities.case import Case
from tests.machine import ROOT
from tests.predicting.test_relatives import lp_sines, without

FOLDERS, QUICKSTART = ROOT / "fitted_weights", ROOT / "docs" / "data" / "calibrate-quick"
POCL, INTEL = "pocl-skylake-avx512-amd-epyc", "intel-amd-epyc"
#: Quantities that some kernel of the library has in the order of the device's lanes.
NOWHERE = {POCL: {"split"}, INTEL: {"inlined_32", "inlined_64"}}
SOME = ("circular_64", "int_divide_64", "chain_root", "power", "exponential_32", "waiting_items")


@cache
def library():
    return discovered(None)


@cache
def model(folder):
    return load(FOLDERS / folder / "bottleneck.json")


def exercised(kernel, folder):
    """What a chosen class exercises, evaluated for itself: all of its variants at its one size."""
    facts = model(folder).facts
    for variant in kernel.variants_on(4096, 1):
        counts = count(kernel.build(**variant), model(folder).fitted.subgroup_size,
                       statistics=kernel.known_statistics(variant))  # fmt: skip
        (sizes,) = kernel.sizes.at(kernel.sizes.start)
        yield {name for name, value in bottleneck_quantities(Case(counts, sizes, facts)).items() if value}


@pytest.mark.slow
@pytest.mark.parametrize("quantity", [
    pytest.param(name, marks=() if name in SOME else pytest.mark.nightly) for name in BOTTLENECK.units
])  # fmt: skip
@pytest.mark.parametrize("folder", [POCL, INTEL])
def test_what_is_chosen_for_a_quantity_exercises_it(folder, quantity):
    needed = {"bottleneck": [quantity]}
    chosen, problems = kernel_choice.rows_for(needed, {"bottleneck": without(model(folder), quantity)}, library(), 4096)
    if quantity in NOWHERE[folder]:
        assert ((), 1) == (chosen, len(problems))
        return
    assert ((), True) == (problems, 1 <= len(chosen) <= kernel_choice.ROWS)
    for kernel in chosen:
        assert (1, kernel_choice.ROWS) == (len(kernel.variants), len(chosen)*kernel.sizes.rungs)
        assert all(quantity in found for found in exercised(kernel, folder))


def test_each_family_of_a_folder_names_what_it_lacks():
    models = {"bottleneck": without(model(POCL), "circular_64"),
              "stevens_kloeckner_2016": load(FOLDERS / POCL / "stevens_kloeckner_2016.json")}  # fmt: skip
    counts = count(lp_sines())
    assert {"bottleneck": ("circular_64",)} == kernel_choice.lacking(models, [counts], {"n": 1024})
    models["stevens_kloeckner_2016"] = without(models["stevens_kloeckner_2016"], "op_float64_special")
    needed = kernel_choice.lacking(models, [counts], {"n": 1024})
    assert {"bottleneck": ("circular_64",), "stevens_kloeckner_2016": ("op_float64_special",)} == needed
    chosen, problems = kernel_choice.rows_for(needed, models, library(), 4096)
    assert ((), {"arithmetic"}) == (problems, {kernel.group for kernel in chosen})
    assert 2 <= len(chosen) <= 3


def test_sizes_without_values_kernels_that_no_family_evaluates_and_features_without_a_kernel():
    counts = count(lp_sines())
    with pytest.raises(SizeError, match="'n'"):
        kernel_choice.lacking({"bottleneck": model(POCL)}, [counts], {})
    unknown = replace(counts, source=None)  # as counts that were stored without a program
    with pytest.raises(PerfModelError):
        kernel_choice.lacking({"bottleneck": model(POCL)}, [unknown], {"n": 1024})
    needed = kernel_choice.lacking({"bottleneck": without(model(POCL), "circular_64")}, [unknown, counts], {"n": 1024})
    assert {"bottleneck": ("circular_64",)} == needed
    linear = load(FOLDERS / POCL / "stevens_kloeckner_2016.json")
    chosen, (problem,) = kernel_choice.rows_for({"s": ["op_complex64_special"]}, {"s": linear}, (), 256)
    assert ((), True) == (chosen, "op_complex64_special" in problem)


def test_a_second_fit_is_the_fit_of_all_rows(tmp_path):
    folder = tmp_path / "device"
    shutil.copytree(QUICKSTART, folder)
    whole = fit(store.read(folder))
    whole.save(folder / "stevens_kloeckner_2016.json")
    (again,) = kernel_choice.refitted(folder, ["stevens_kloeckner_2016"]).values()
    assert whole.weights == again.weights == load(folder / "stevens_kloeckner_2016.json").weights
