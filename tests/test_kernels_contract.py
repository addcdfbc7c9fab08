"""What every kernel class must do, each discovered one in each variant."""

from __future__ import annotations

import re

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.kernels import discover
from perfmodel.measure import QUICK
from perfmodel.measure.bench import Bench, Subject
from tests.machine import ROOT, device

FOLDERS = ("measurement_kernels", "test_kernels")
CLASSES = [kernel for folder in FOLDERS for kernel in discover(ROOT / folder)]
SUBJECTS = [Subject(kernel, variant) for kernel in CLASSES for variant in kernel.variants_on(4096)]
PAPER = {
    "matmul_tiled", "matmul_naive", "scale_add", "transpose", "stride1", "filled_stride2",
    "filled_stride3", "arithmetic", "empty",
}  # fmt: skip


def title(subject: Subject) -> str:
    words = [subject.kernel.name, *map(str, subject.variant.values())]
    return re.sub(r"[^\w.-]+", "-", " ".join(words)).strip("-")


every_class = pytest.mark.parametrize("kernel", CLASSES, ids=lambda kernel: kernel.name)
every_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=title)


@pytest.fixture(scope="module")
def bench():
    return Bench(device(), QUICK)


def test_the_papers_classes_are_there():
    assert set() == PAPER - {kernel.name for kernel in discover(ROOT / "measurement_kernels")}


def test_the_test_kernels_are_there():
    names = {kernel.name for kernel in discover(ROOT / "test_kernels")}
    assert {"stencil", "matmul_skinny", "convolution", "nbody"} == names


@every_class
def test_a_class_is_described(kernel):
    assert kernel.group.isidentifier()
    assert kernel.name.isidentifier()
    assert kernel.tags


@every_class
def test_a_class_lives_in_a_file_of_its_name(kernel):
    assert any((ROOT / folder / f"{kernel.name}.py").is_file() for folder in FOLDERS)


@every_class
def test_rungs_get_larger(kernel):
    rungs = [kernel.sizes.at(e) for e in kernel.sizes.exponents(kernel.sizes.start)]
    work = [max(np.prod(list(point.values()), dtype=float) for point in rung) for rung in rungs]
    assert sorted(set(work)) == work


@every_class
def test_isolated_features_are_named_as_everywhere(kernel):
    for variant in kernel.variants_on(4096):
        feature = kernel.isolated(variant)
        assert feature is None or re.match(r"op_|global_|local_|work_groups$|barrier_", feature)


@every_subject
def test_arguments_are_float32_arrays_and_sizes_are_integers(subject):
    kernel = subject.program.kernel
    sizes = set(subject.kernel.sizes.at(subject.kernel.sizes.start)[0])
    for argument in kernel.args:
        expected = np.int32 if argument.name in sizes else np.float32
        assert expected == argument.dtype.numpy_dtype


@every_subject
def test_all_sizes_obey_the_assumptions(subject):
    counts = count(subject.program.t_unit, subgroup_size=32)
    sizes = subject.kernel.sizes
    for exponent in (*sizes.exponents(sizes.start), sizes.start + 1):
        for point in sizes.at(exponent):
            assert counts.work_groups()(**point) > 0


@every_subject
def test_code_has_no_double_and_the_groups_asked_for(subject):
    assert "double" not in subject.program.code
    shape = [*subject.variant["work_group"], 1, 1][:3]
    assert f"reqd_work_group_size({', '.join(map(str, shape))})" in subject.program.code


@pytest.mark.device
@every_subject
def test_output_is_the_references(bench, subject):
    bench.check(subject)


ARITHMETIC = {
    "add": r"acc\[\d\] \+ (there|back)",
    "mul": r"acc\[\d\] \* (there|back)",
    "div": r"acc\[\d\] / (there|back)",
    "pow": r"powf32\(acc\[\d\], (there|back)\)",
    "rsqrt": r"rsqrt\(acc\[\d\]\)",
}


@pytest.mark.parametrize("kind", ARITHMETIC)
@pytest.mark.parametrize(("form", "chains"), [("throughput", 8), ("latency", 1)])
def test_arithmetic_does_sixteen_operations_in_its_innermost_loop(kind, form, chains):
    (kernel,) = (kernel for kernel in CLASSES if kernel.name == "arithmetic")
    code = Subject(kernel, {"kind": kind, "form": form, "work_group": (16, 16)}).program.code
    body = re.search(r"for \(int step.*?\{(.*?)\}", code, re.DOTALL).group(1)
    assert 16 == len(re.findall(ARITHMETIC[kind], body))
    assert chains == len(set(re.findall(r"acc\[\d\]", body)))


def test_pow_calls_the_devices_pow():
    (kernel,) = (kernel for kernel in CLASSES if kernel.name == "arithmetic")
    subject = Subject(kernel, {"kind": "pow", "form": "latency", "work_group": (16, 16)})
    assert re.search(r"powf32\(float x, float y\) \{\s*return pow\(x, y\);", subject.program.code)


@every_class
def test_building_twice_gives_the_same_code(kernel):
    variant = kernel.variants_on(4096)[0]
    first, second = (lp.generate_code_v2(kernel.build(**variant)).device_code() for _ in "ab")
    assert first == second
