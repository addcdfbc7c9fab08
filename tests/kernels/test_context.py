"""What the classes of tag "context" vary, as the table of nests shows it."""

import itertools
from collections import defaultdict
from functools import cache

import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.kernels import discover
from tests.machine import ROOT

CLASSES = {kernel.name: kernel for kernel in discover(ROOT / "measurement_kernels")}
CONTEXT = [kernel for kernel in CLASSES.values() if "context" in kernel.tags]
# of a work-item's cells the guard takes only the last; and by halves lanes stop storing also without a guard
PLAIN = [kernel for kernel in CONTEXT if kernel.name not in ("cells_per_item", "group_sums")]
PAGE = 4096


@cache
def variants(name):
    """The variants, each with its counts in one work-group shape."""
    kernel = CLASSES[name]
    found = [(variant, count(kernel.build(**variant), subgroup_size=32)) for variant in kernel.variants_on(4096, 1)]
    return [({key: v for key, v in variant.items() if key != "work_group"}, counts) for variant, counts in found]


def top(kernel):
    """The parameter sets of the highest rung."""
    return kernel.sizes.at(kernel.sizes.start + kernel.sizes.step * (kernel.sizes.rungs - 1))


def storing(counts):
    """The nest that writes the output."""
    (nest,) = [n for n in counts.nests if any(a.array.startswith("out") for a in n.accesses if a.direction == "store")]
    return nest


def innermost(counts):
    """The nest with the most loops around it."""
    return max(counts.nests, key=lambda nest: len(nest.loops.names))


def operations(nest, point):
    return sum(row.count(**point) for row in nest.operations) / executions(nest, point)


def executions(nest, point):
    """Executions by work-items, with each copy of an unrolled loop counted by itself."""
    return max(access.count(**point) for access in nest.accesses)


def traits(nest, point):
    """Words for what is special about a nest."""
    number = {name: getattr(nest, name)(**point) for name in ("iterations", "box", "entries", "kept")}
    steps = [s(**point) for a in nest.accesses if a.address for s in a.address.steps.values() if a.space == "global"]
    trips = number["iterations"] / number["entries"]
    found = {
        "guard": number["box"] > number["iterations"], "copies": any(access.copies for access in nest.accesses),
        "values kept over a barrier": number["kept"] > 0, "short loop": bool(nest.loops.inner) and 2 < trips <= 16,
        "long loop": bool(nest.loops.inner) and trips >= 256,
        "loop between barriers": bool(nest.loops.outer and nest.loops.inner),
        "chain": bool(nest.carried), "arithmetic without a loop": not nest.loops.inner and operations(nest, point) >= 4,
        "rows of a power of two": any(step >= PAGE and step % PAGE == 0 for step in steps),
        "padded rows": any(step >= PAGE and step % PAGE == 64 for step in steps),
    }
    return {name for name, holds in found.items() if holds}


def test_every_trait_is_shown_by_classes_of_two_groups():
    groups = defaultdict(set)
    for kernel in (*CONTEXT, CLASSES["barriers"], CLASSES["tiled_terms"]):
        for _, counts in variants(kernel.name):
            for point in top(kernel):
                for trait in set().union(*(traits(nest, point) for nest in counts.nests)):
                    groups[trait].add(kernel.group)
    assert 10 == len(groups)
    assert [] == [trait for trait, names in groups.items() if len(names) < 2]


@pytest.mark.parametrize("kernel", PLAIN, ids=lambda kernel: kernel.name)
def test_a_guard_takes_work_from_one_lane_and_nothing_from_the_launch(kernel):
    point = top(kernel)[-1]
    for variant, counts in variants(kernel.name):
        nest = storing(counts)
        assert variant.get("guarded", False) == (nest.iterations(**point) < nest.box(**point)), variant


def test_sweeps_vary_the_step_of_the_loop():
    point = {"n": 1024, "k": 256}
    for variant, counts in variants("sweeps"):
        (load,) = innermost(counts).accesses
        pad = variant["pad"]
        size = np.dtype(variant.get("dtype", "float32")).itemsize
        along, across = (size, size * (256 + pad)) if variant["along"] == "rows" else (size * (1024 + pad), size)
        kind = "minmax" if variant.get("largest") else "add"
        assert (1024 - bool(variant.get("guarded"))) * 256 == counts.operations(kind=kind)(**point)
        assert along == load.step("step")(**point)
        assert across == load.step("i_inner")(**point)


def test_tile_reuse_varies_operations_copies_and_kept_values():
    point = {"n": 768, "k": 2}
    for variant, counts in variants("tile_reuse"):
        nest = innermost(counts)
        assert variant["operations"] == operations(nest, point)
        assert variant.get("unroll", 1) == executions(nest, point) / nest.iterations(**point)
        # the sum is read and written, and the values that the operations use are read
        used = variant.get("kept", 1) if variant["operations"] > 1 else 0
        assert used + 2 == nest.kept(**point) / executions(nest, point)


def test_shifted_loads_vary_the_distance_of_loads():
    point = {"m": 128, "n": 256}
    for variant, counts in variants("shifted_loads"):
        loads = [access for access in storing(counts).accesses if access.direction == "load"]
        starts = sorted(access.address.start(**point) for access in loads)
        step = {"columns": 4, "rows": 4 * (256 + 4)}[variant["along"]]
        assert variant["loads"] == len(starts)
        assert {step} >= {after - before for before, after in itertools.pairwise(starts)}


def test_shared_sweeps_vary_which_work_items_share():
    point = {"m": 16, "n": 256}
    for variant, counts in variants("shared_sweeps"):
        (load,) = [access for access in innermost(counts).accesses if access.space == "global"]
        pitch = 4 * (256 + variant.get("pad", 0))
        along = {"columns": (pitch, 0, 4), "rows": (4, pitch, 0), "across": (4, 0, pitch)}[variant["of"]]
        assert along == tuple(load.step(name)(**point) for name in ("step", "i_inner", "j_inner"))
