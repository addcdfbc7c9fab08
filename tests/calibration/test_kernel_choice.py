"""Which kernel classes and which campaign are meant; classes made for a feature exercise it."""

import json
from itertools import product

import pytest
from typer.testing import CliRunner

from perfmodel import features, measuring
from perfmodel.calibration.kernel_choice import chosen_classes, classes_for, discovered, missing_features, synthesise
from perfmodel.cli import application
from perfmodel.counts import count
from perfmodel.errors import OptionError, UnknownNameError
from perfmodel.kernels import KernelClass, Ladder, discover
from perfmodel.measuring import DEFAULT, QUICK
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.subject import Subject
from perfmodel.opencl import find
from tests.cli.program import ran
from tests.machine import ROOT


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


FEATURES = (
    *(f"op_float64_{kind}" for kind in ("add", "pow", "minmax", "special")), "op_int32_mul", "op_int32_shift",
    "global_load_8_stride1", "global_load_64_uniform", "global_load_64_stride3_2of3", "global_store_64_stride4_4of4",
    "global_minloadstore_32_stride3_1of3",
)  # fmt: skip


@pytest.mark.parametrize("name", FEATURES)
def test_doubling_the_loop_doubles_the_feature(name):
    kernel = synthesise(name)
    point = dict(kernel.sizes.at(kernel.sizes.start)[0])
    counts = count(kernel.build())
    once = features.evaluate(counts, point)
    twice = features.evaluate(counts, {**point, "k": 2 * point["k"]})
    assert 2 * once[name] == pytest.approx(twice[name], rel=0.02)
    assert once[name] >= point["n"] * point["k"]


@pytest.mark.device
@pytest.mark.parametrize("name", FEATURES)
def test_its_output_is_numpy_s(name):
    bench = Bench(find("pocl"), measuring.QUICK)
    bench.check(Subject(synthesise(name), {"work_group": (256,)}))


@pytest.mark.parametrize("name", ["barrier_local", "op_float32_shift", "global_load_32_indirect", "launches"])
def test_what_cannot_be_made_is_refused(name):
    with pytest.raises(UnknownNameError, match=name):
        synthesise(name)


def test_the_library_comes_first():
    known = KernelClass(
        "known", "toy", build=lambda **_: None, sizes=Ladder(lambda e: ({"n": 2**e},), 1), reference=lambda **_: {},
        variants=({"kind": "add"}, {"kind": "mul"}), isolates=lambda kind, **_: f"op_float64_{kind}",
    )  # fmt: skip
    found = classes_for(("op_float64_mul", "op_float64_pow"), (known,))
    assert [("known", ({"kind": "mul"},)), ("made_op_float64_pow", ({},))] == [(k.name, k.variants) for k in found]


KERNEL = '''
import loopy as lp, numpy as np

def kernel():
    t = lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = a[3*i]/1.5",
        [lp.GlobalArg("a", np.float64, shape="3*n"), lp.GlobalArg("out", np.float64, shape="n"),
         lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 64 = 0", lang_version=(2018, 2))
    return lp.split_iname(t, "i", 64, outer_tag="g.0", inner_tag="l.0")
'''


@pytest.mark.device
def test_measuring_for_a_kernel_measures_what_it_needs_and_nothing_twice(tmp_path):
    (tmp_path / "mine.py").write_text(KERNEL)
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "empty.py").write_text((ROOT / "measurement_kernels" / "empty.py").read_text())
    command = ["measure", "--quick", "--device", "pocl", "--for", str(tmp_path / "mine.py"), "-p", "n=4096",
               "--kernels", str(tmp_path / "library"), "--store", str(tmp_path / "store"), "--json"]  # fmt: skip
    first = ran(CliRunner().invoke(application(), command))
    for name in ("op_float64_div", "global_load_64_stride3_1of3", "global_store_64_stride1", "launches"):
        assert name in first.stderr
    second = CliRunner().invoke(application(), command)
    assert {"needed": []} == json.loads(second.stdout)
