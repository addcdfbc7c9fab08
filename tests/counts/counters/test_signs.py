"""Parameters that may be negative, and parameters of statements without anything to count."""

import loopy as lp
import numpy as np
import pytest

import perfmodel as pm
from perfmodel import features
from perfmodel.counts import KernelCounts, count
from perfmodel.counts.counters.executions import signed_parameters
from perfmodel.counts.program.serialisation import read_program, write_program
from perfmodel.errors import SizeError
from tests.corpus import CorpusKernel, kernels
from tests.corpus.kernel import make

SIGNED = {"shifted_index": {"shift"}, "loop_from_below_zero": {"low", "high"}, "sign_of_an_axis": {"axis"},
          "shifted_rows": {"shift"}}  # fmt: skip
KERNELS = {kernel.name: kernel for kernel in kernels()}


def counts_of(kernel: CorpusKernel) -> KernelCounts:
    statistics = kernel.statistics(kernel.cases[0]) if kernel.statistics else None
    return count(kernel.build(), 8, statistics)


@pytest.mark.parametrize("name", SIGNED)
def test_what_may_be_negative(name):
    counts = counts_of(KERNELS[name])
    assert SIGNED[name] == signed_parameters(counts.program)
    assert SIGNED[name] == signed_parameters(read_program(write_program(counts.program)))
    assert set(KERNELS[name].cases[0]) == {*counts.parameters}


@pytest.mark.parametrize("name", ["matmul_naive", "explicit_strides", "array_offset", "skewed_plane"])
def test_sizes_of_loops_arrays_and_strides_may_not(name):
    assert set() == signed_parameters(counts_of(KERNELS[name]).program)


@pytest.mark.parametrize("name", SIGNED)
def test_a_prediction_at_negative_values(name):
    """A shift that leaves all work in place changes no time; the model needs no parameter that the counts lack."""
    kernel, model = KERNELS[name], pm.load("fitted_weights/pocl-skylake-avx512-amd-epyc-zen4/bottleneck.json")
    counts = KernelCounts.from_json(counts_of(kernel).to_json())
    for sizes in kernel.cases:
        assert model.predict(counts, sizes, allow_unmeasured=True).seconds > 0
    columns = {key: np.array([case[key] for case in kernel.cases]) for key in kernel.cases[0]}
    at_once = model.predict(counts, columns, allow_unmeasured=True).seconds
    assert [model.predict(counts, sizes, allow_unmeasured=True).seconds for sizes in kernel.cases] == pytest.approx(
        at_once.tolist()
    )


def test_refused_sizes():
    counts = counts_of(KERNELS["shifted_index"])
    with pytest.raises(SizeError, match="'n' is -3, which is negative"):
        counts.work_groups()(n=-3, shift=0)
    with pytest.raises(SizeError, match="'shift' is -2147483649"):
        features.evaluate(counts, {"n": 40, "shift": -(2**31) - 1})
    reads = counts.accesses(array="a")
    assert [36, 35, 40, 0] == [reads(n=40, shift=shift) for shift in (-4, 5, 0, -40)]
    assert [36.0, 35.0] == reads.evaluate({"n": 40, "shift": np.array([-4, 5])}).tolist()


def test_a_test_of_a_parameter_around_a_nest():
    """The loop over k has no instance where the test is false, but its trips do not depend on the parameter."""
    unit = make("{[i,k]: 0<=i<n and 0<=k<4}", """
        for i
            a[i] = 1 {id=first}
            if mode >= 0
                for k
                    a[i] = a[i] + b[i, k] {dep=first}
                end
            end
        end
        """, "a: n; b: n, 4; int32 mode")  # fmt: skip
    counts = count(lp.tag_inames(unit, {"i": "g.0"}))
    assert {"mode"} == signed_parameters(counts.program)
    assert [0, 40] == [counts.accesses(array="b")(n=10, mode=mode) for mode in (-1, 0)]


def test_a_branch_that_data_never_take():
    """Its count is zero at all sizes; the lines that it would touch still depend on its test of a parameter."""
    unit = make("{[i]: 0<=i<n}", """
        for i
            b[i] = a[i] {id=first}
            if flags[i] > 0
                if axis == 1
                    b[i] = b[i] + 2*a[n - 1 - i] {dep=first}
                end
            end
        end
        """, "a, b: n; int32 flags: n; int32 axis")  # fmt: skip
    counts = count(lp.tag_inames(unit, {"i": "g.0"}), 8, {"flags[i] > 0": 0})
    assert ("axis", "n") == counts.parameters
    sizes = {"n": 64, "axis": -1}
    assert [64, 64] == [counts.accesses(array=array, direction="load")(**sizes) for array in ("a", "flags")]
    assert 12 == counts.traffic(line_bytes=64)(**sizes).fetched  # 4 lines of each of three arrays
