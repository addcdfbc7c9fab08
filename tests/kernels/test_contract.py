"""What every kernel class must do: one battery over all that the folders hold.

The first and the last variant of each class are built and counted, in the work-group shape that a campaign takes if it
takes one. The first is run, and so is the last of a ranked class, whose variants compute the same in different ways.
``-m nightly`` looks at all variants, and runs them in all shapes.
"""

import re
from collections import Counter
from functools import cache

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.reading.schedule import refuse_outside
from perfmodel.errors import KernelError
from perfmodel.features import evaluate, unit
from perfmodel.kernels import discover
from perfmodel.measuring import QUICK
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.subject import Subject, host_array
from tests.machine import ROOT, device

CAMPAIGNS = ("measurement_kernels", "test_kernels")
SUITES = "test_kernels/suites"
PAPERS = "test_kernels/papers"
FOLDERS = (*CAMPAIGNS, SUITES, PAPERS)
CLASSES = [kernel for folder in FOLDERS for kernel in discover(ROOT / folder)]
#: The first and the last variant of each class: for an ordinary run.
ENDS = [k.with_variants(k.variants if len(k.variants) < 2 else (k.variants[0], k.variants[-1])) for k in CLASSES]
WHOLE = [
    pytest.param(kernel, marks=pytest.mark.nightly, id=f"{kernel.name}-whole")
    for kernel in CLASSES
    if len(kernel.variants) > 2
]
LIMIT = 4096


@cache
def subjects(kernel):
    return tuple(Subject(kernel, variant) for variant in kernel.variants_on(LIMIT, shapes=1))


@cache
def counted(subject):
    return count(subject.generated.t_unit, subgroup_size=32, statistics=subject.statistics)


def exponents(ladder):
    return range(ladder.start, ladder.start + ladder.step * ladder.rungs, ladder.step)


def largest(kernel):
    """The parameters of the highest rung that are the most work."""
    return kernel.sizes.at(exponents(kernel.sizes)[-1])[-1]


every_class = pytest.mark.parametrize("kernel", [*ENDS, *WHOLE], ids=lambda kernel: kernel.name)
all_of_a_class = pytest.mark.parametrize("kernel", CLASSES, ids=lambda kernel: kernel.name)
the_ends = pytest.mark.parametrize("kernel", ENDS, ids=lambda kernel: kernel.name)
every_ranked = pytest.mark.parametrize(
    "kernel", [*(kernel for kernel in ENDS if kernel.ranked), *(whole for whole in WHOLE if whole.values[0].ranked)],
    ids=lambda kernel: kernel.name,
)  # fmt: skip


class KeptOutput(Bench):
    """Keeps the arrays after its latest run."""

    def output(self, subject, parameters):
        arguments, self.after = super().output(subject, parameters)
        return arguments, self.after


@pytest.fixture(scope="module")
def bench():
    return KeptOutput(device(), QUICK)


@every_class
def test_a_class_is_described(kernel):
    assert kernel.group.isidentifier()
    assert kernel.name.isidentifier()
    assert kernel.tags
    assert kernel.variants
    assert any((ROOT / folder / f"{kernel.name}.py").is_file() for folder in FOLDERS)


@every_class
def test_rungs_get_larger(kernel):
    rungs = [kernel.sizes.at(e) for e in exponents(kernel.sizes)]
    work = [max(np.prod(list(point.values()), dtype=float) for point in rung) for rung in rungs]
    assert sorted(set(work)) == work


@every_class
def test_variants_are_distinct_in_code(kernel):
    times = Counter(subject.generated.hash for subject in subjects(kernel))
    assert [] == [subject.variant for subject in subjects(kernel) if times[subject.generated.hash] > 1]


@every_class
def test_arguments_are_of_the_types_that_are_filled(kernel):
    for subject in subjects(kernel):
        for argument in subject.generated.kernel.args:
            dtype = argument.dtype.numpy_dtype
            if isinstance(argument, lp.ValueArg):
                assert (np.int32 == dtype) == (argument.name in subject.smallest), argument
            elif argument.is_input:  # what indexes another array must be drawn by the class
                assert dtype not in (np.int32, np.int64) or argument.name in kernel.contents, argument


@every_class
def test_what_a_class_draws_is_an_index_or_in_the_common_range(kernel):
    for array in subjects(kernel)[0].arrays(subjects(kernel)[0].smallest):
        if array.name in kernel.contents and array.dtype.kind == "f":
            drawn = host_array(array, QUICK.seed, kernel.contents[array.name])
            assert 0.5 <= drawn.min() <= drawn.max() < 2.0


@every_class
def test_code_has_the_groups_asked_for_and_no_double_by_accident(kernel):
    for subject in subjects(kernel):
        if "work_group" in subject.variant:
            shape = [*subject.variant["work_group"], 1, 1][:3]
            assert f"reqd_work_group_size({', '.join(map(str, shape))})" in subject.generated.text
        if not re.search("float64|double|complex128", str(subject.variant)):
            assert "double" not in subject.generated.text, subject.variant


@every_class
def test_no_access_leaves_the_memory_that_the_code_declares(kernel):
    """Only temporaries can, as Loopy compares indices with shapes, and not strides with what it declares."""
    for subject in subjects(kernel):
        if any(array.shape for array in subject.generated.kernel.temporary_variables.values()):
            refuse_outside(lp.preprocess_program(subject.generated.t_unit))


@every_class
def test_counts_exist_and_all_sizes_obey_the_assumptions(kernel):
    sizes = kernel.sizes
    for subject in subjects(kernel):
        for exponent in (*exponents(sizes), sizes.start + 1):
            for point in sizes.at(exponent):
                assert counted(subject).work_groups()(**point) > 0


@every_class
def test_an_isolated_feature_is_there_and_doubles(kernel):
    point = largest(kernel)
    for subject in subjects(kernel):
        name = kernel.isolated(subject.variant)
        if name is None:
            continue
        unit(name)  # raises where there is no such feature
        once = evaluate(counted(subject), point).get(name, 0.0)
        assert once > 0, subject.variant
        if kernel.doubles is not None:
            twice = evaluate(counted(subject), {**point, kernel.doubles: 2 * point[kernel.doubles]})[name]
            assert pytest.approx(2.0, rel=0.05) == twice / once, subject.variant


@every_ranked
def test_variants_to_rank_have_the_same_arguments_and_sizes(kernel):
    def arrays(subject):
        return {(array.name, array.dtype, array.shape) for array in subject.arrays(subject.smallest)}

    for subject in subjects(kernel):
        assert arrays(subjects(kernel)[0]) == arrays(subject)
        assert tuple(sorted(largest(kernel))) == counted(subject).parameters


@every_ranked
def test_variants_to_rank_compute_the_same(kernel):
    first = subjects(kernel)[0]
    arrays = {array.name: array.view(host_array(array, QUICK.seed)) for array in first.arrays(first.smallest)}
    arguments = {**arrays, **first.scalars, **first.smallest}
    expected = kernel.reference(arguments, **first.variant)
    for subject in subjects(kernel):
        assert first.scalars == subject.scalars
        np.testing.assert_equal(kernel.reference(arguments, **subject.variant), expected)


def check(bench, subject):
    bench.check(subject)
    for array in bench.after.values():
        assert np.isfinite(array).all()


def fits(subject):
    try:
        counted(subject).check_launch(device().facts)
    except KernelError:
        return False
    return True


@pytest.mark.device
@the_ends
def test_output_is_the_references(bench, kernel):
    first, *_ = kernel.variants_on(LIMIT)  # in the shape that most often needs guards; a campaign may take another
    known = [subject for subject in subjects(kernel) if subject.variant == first]
    check(bench, known[0] if known else Subject(kernel, first))
    if kernel.ranked and subjects(kernel)[-1:] != known:
        check(bench, subjects(kernel)[-1])


@pytest.mark.device
@pytest.mark.nightly
@all_of_a_class
def test_every_output_is_the_references(bench, kernel):
    for variant in kernel.variants_on(LIMIT):
        subject = Subject(kernel, variant)
        if fits(subject):  # else a campaign records that it cannot run
            check(bench, subject)
