"""Which kernel classes and which campaign are meant."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from perfmodel.calibration.kernel_choice import chosen_classes, discovered, missing_features
from perfmodel.counts import count
from perfmodel.errors import OptionError
from perfmodel.kernels import discover
from perfmodel.measuring import DEFAULT, QUICK

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def kernels():
    return discover(ROOT / "measurement_kernels")


def test_folders_are_read_in_order(tmp_path):
    for folder, name in (("b", "empty"), ("a", "stride1")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.py").write_text((ROOT / "measurement_kernels" / f"{name}.py").read_text())
    found = discovered([tmp_path / "b", tmp_path / "a"])
    assert ["empty", "stride1"] == [kernel.name for kernel in found]


def test_names_and_tags_choose_classes(kernels):
    assert kernels == chosen_classes(kernels, ())
    names = ("empty", "stride1")
    assert set(names) == {kernel.name for kernel in chosen_classes(kernels, names)}
    assert {k.name for k in kernels if "paper" in k.tags} == {k.name for k in chosen_classes(kernels, ("paper",))}
    with pytest.raises(OptionError, match="'gone'"):
        chosen_classes(kernels, ("gone",))


def test_without_a_store_every_feature_is_missing(kernels, tmp_path):
    (copy,) = chosen_classes(kernels, ("stride1",))
    counts = count(copy.build(**copy.variants_on(256, shapes=1)[0]))
    sizes = copy.sizes.at(copy.sizes.start)[0]
    missing = missing_features([counts], sizes, tmp_path)
    assert {"launches", "work_groups", "global_load_32_stride1"} <= set(missing)
    assert sorted(missing) == list(missing)


def test_short_campaigns_measure_each_operation_and_function_in_each_type():
    for campaign, kernel in product((QUICK, DEFAULT), discovered(None)):
        taken = (*campaign.variants_of(kernel, 4096), *campaign.covering(kernel).variants)
        plain = [{name: value for name, value in variant.items() if name != "work_group"} for variant in taken]
        assert {kernel.covers(**v) for v in kernel.variants} - {None} <= {kernel.covers(**v) for v in plain}
    names = {kernel.covers(**v) for kernel in discovered(None) for v in kernel.variants}
    some = {"sin float64", "exp float32", "exp float64 independent", "tanh float64 map", "pow float64", "div int32"}
    assert some <= names
