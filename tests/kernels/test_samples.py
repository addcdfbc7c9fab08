"""Samples: kernels that ship with their generated code and their counts."""

import pickle
from functools import cache

import numpy as np
import pytest

from perfmodel.calibration.kernel_choice import shipped_samples
from perfmodel.counts import count
from perfmodel.kernels.samples import KeptKernel, sample_class
from perfmodel.measuring.bench import Bench, Timekeeper
from perfmodel.measuring.run import packed
from perfmodel.measuring.subject import GeneratedCode, Subject, array_arguments, scalar_arguments
from scripts.lab.samples.archive import kept_document
from tests.campaigns import SCALE, TINY, build
from tests.machine import device

SIZES = {"n": 256}


@cache
def kept() -> KeptKernel:
    """The kernel of the tiny campaign, out = 2 a, as its document."""
    unit = build()
    return KeptKernel(kept_document(GeneratedCode(unit), count(unit, subgroup_size=8), SIZES, ("n",), {}))


def test_a_kept_kernel_has_the_code_and_arguments_of_the_one_that_loopy_generates():
    generated = GeneratedCode(build())
    assert generated.hash == kept().hash
    assert generated.host_function == kept().host_function
    assert array_arguments(generated.kernel, SIZES) == array_arguments(kept().kernel, SIZES)
    assert scalar_arguments(generated.kernel, SIZES, {}) == scalar_arguments(kept().kernel, SIZES, {})


@pytest.mark.parametrize("lanes", [1, 4, 32, 64])
def test_kept_counts_hold_for_every_size_of_sub_groups(lanes):
    counted = count(build(), subgroup_size=lanes)
    assert counted.hash == kept().counts(lanes).hash
    # 256 work-items in groups of 64: 4 groups of 64 / lanes sub-groups
    assert 256 // lanes == kept().counts(lanes).sub_groups()(**SIZES)


@pytest.mark.device
def test_a_kept_kernel_is_measured_as_the_one_that_loopy_generates():
    bench = Bench(device(), TINY)
    timekeeper, sample = Timekeeper(bench, 0.0), sample_class(kept().document)
    subject, scale = Subject(sample, {}), Subject(SCALE, {"factor": 2})
    row = timekeeper.measured(timekeeper.configuration(subject, SIZES, 1e-4))
    assert ("ok", "scale", "scale", ("samples",)) == (row.status, row.kernel, row.group, row.tags)
    assert (scale.hash, timekeeper.count(scale).hash) == (row.kernel_hash, row.counts_hash)
    arguments, after = bench.output(subject, SIZES)
    assert np.array_equal(2 * arguments["a"], after["out"])


def test_sizes_are_doubled_in_turn():
    sample = sample_class({**kept().document, "sizes": {"n": 3, "m": 5}, "grow": ["m", "n"]})
    assert [({"n": 3, "m": 5},), ({"n": 6, "m": 10},), ({"n": 12, "m": 20},)] == [*map(sample.sizes.at, range(3))]
    alone = sample_class({**kept().document, "sizes": {"n": 3}, "grow": ["n"]})
    assert ({"n": 48},) == alone.sizes.at(2)


@pytest.mark.parametrize(("reach", "farthest"), [(0, 99), (2, 2)])
def test_entries_of_an_index_array_point_into_the_first_axis(reach, farthest):
    draw = sample_class({**kept().document, "near": {"index": reach}}).contents["index"]
    pointers = draw(np.random.default_rng(1), (100, 7))
    assert ((100, 7), np.int32) == (pointers.shape, pointers.dtype)
    assert pointers.min() >= 0
    assert pointers.max() < 100
    distances = np.abs(pointers - np.arange(100)[:, np.newaxis])
    assert distances.max() <= farthest
    assert distances.max() > (1 if reach else 50)


def test_samples_travel_to_other_processes():
    sample = pickle.loads(packed(sample_class(kept().document)))
    assert kept().hash == Subject(sample, {}).hash


def test_150_samples_ship_and_all_differ():
    shipped = shipped_samples()
    assert 150 == len(shipped) == len({sample.name for sample in shipped}) == len({s.build().hash for s in shipped})
    arrays = {sum(a.octets for a in Subject(s, {}).arrays(s.sizes.at(0)[0])) for s in shipped[:40]}
    assert len(arrays) > 35
    for sample in shipped[::30]:
        counts, sizes = sample.build().counts(16), sample.sizes.at(1)[0]
        assert counts.work_groups()(**sizes) > 0
        assert {array.name for array in Subject(sample, {}).arrays(sizes)} >= {row.array for row in counts.access_table
                                                                              if row.space == "global"}  # fmt: skip
