"""Classes made for a feature exercise it, and compute what NumPy does."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from perfmodel import features, measuring
from perfmodel.calibration.kernel_choice import classes_for, synthesise
from perfmodel.cli import application
from perfmodel.counts import count
from perfmodel.errors import UnknownNameError
from perfmodel.kernels import KernelClass, Ladder
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.subject import Subject
from perfmodel.opencl import find
from tests.machine import ROOT

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
        "known", "toy", build=lambda **_: None, sizes=Ladder(lambda e: ({"n": 2**e},), 1),
        reference=lambda **_: {}, variants=({"kind": "add"}, {"kind": "mul"}),
        isolates=lambda kind, **_: f"op_float64_{kind}",
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
    first = CliRunner().invoke(application(), command)
    assert 0 == first.exit_code, first.output
    for name in ("op_float64_div", "global_load_64_stride3_1of3", "global_store_64_stride1", "launches"):
        assert name in first.stderr
    second = CliRunner().invoke(application(), command)
    assert {"needed": []} == json.loads(second.stdout)
