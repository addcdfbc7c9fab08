"""Latency and bandwidth of operations, found again in times that were made from them."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.facts import Fact
from perfmodel.fitting import fit_weights, throughput as module
from perfmodel.fitting.throughput import throughput, throughput_facts, with_measured_facts
from perfmodel.kernels import discover
from perfmodel.models import find_family
from perfmodel.quantities.case import Case
from perfmodel.quantities.multiplicity import CLASSES
from perfmodel.store import Measurement, Measurements
from tests.standins import made_up

FAMILY = find_family("synchronous_parallel_throughput")
SPT = "spt_throughput"
#: Latency [s], bandwidth [operations/s] of the whole device; a launch's latency.
PLANTED = {
    "memory": (4e-7, 5e10), "local": (3e-8, 9e11), "register": (5e-9, 2e12), "barrier": (2e-7, 3e11),
    "launch": (4e-6, 2.5e5),
}  # fmt: skip
LANES = 32


def facts(hides, **known):
    return made_up(**{"compute_units": 4, "lanes_per_unit": LANES, "oversubscription": int(hides), **known})


@cache
def counted():
    """The microbenchmarks' classes, counted, with a few sizes of each."""
    folder = Path(__file__).parents[2] / "measurement_kernels"
    classes = {kernel.name: kernel for kernel in discover(folder)}
    found = []
    for name, exponents, shape in ((SPT, range(8, 19, 2), {}), ("barriers", (0, 4), {"work_group": (256,)}),
                                   ("launch_sequence", (10, 13, 16), {"work_group": (256,)})):
        for variant in classes[name].variants:
            counts = count(classes[name].build(**variant, **shape), subgroup_size=32)
            sizes = [size for e in exponents for size in classes[name].sizes.at(e)]
            found.append((name, variant, counts, sizes))
    return tuple(found)


def record(name, variant, size, counts, seconds):
    return Measurement(
        kernel=name, group=name, variant=variant, parameters=size, device="toy", platform="none", driver="0",
        versions={}, kernel_hash="0", counts_hash=counts.hash, samples_s=(seconds,), dropped=0, status="ok",
    )  # fmt: skip


def measured(hides, *, sizes=None, planted=PLANTED, noise=0.0, told=None):
    """Times of the model, with 5 us before anything else happens."""
    known, rows, documents = facts(hides), [], {}
    generator = np.random.default_rng(3)
    for name, variant, counts, all_sizes in counted():
        documents[counts.hash] = counts.to_json()
        operation = {"global": "memory"}.get(variant.get("memory"), variant.get("memory")) or {
            "barriers": "barrier", "launch_sequence": "launch"}[name]
        latency, bandwidth = planted[operation]
        for size in all_sizes:
            if sizes is not None and name == SPT and size["n"] not in sizes:
                continue
            found = FAMILY.quantities(Case(counts, size, known))
            if operation == "launch":
                seconds = found["launched"] * latency + 1e-12 * counts.work_items()(**size)
            else:
                seconds = 5e-6 + sum(
                    max(found[f"{operation}_amount_{k}"] / bandwidth, found[f"{operation}_waits_{k}"] * latency)
                    for k in range(1, CLASSES + 1)
                )
            seconds *= 1 + noise * generator.standard_normal()
            rows.append(record(name, variant, size, counts, float(seconds)))
    return Measurements(tuple(rows), documents, facts=told or facts(hides))


@pytest.mark.parametrize("hides", [True, False])
def test_what_was_planted_is_found(hides):
    found = {one.operation: one for one in throughput(measured(hides))}
    assert set(PLANTED) == set(found)
    for operation, (latency, bandwidth) in PLANTED.items():
        one = found[operation]
        assert hides == one.oversubscription
        assert 1 == pytest.approx(one.r_squared, abs=1e-6), operation
        assert (module.NOT_HIDDEN in one.note) == (not hides and operation != "launch")
        assert (module.ONE_MULTIPLICITY in one.note) == (operation == "barrier" and not hides)
        if module.LATENCY_BOUND not in one.note and module.ONE_MULTIPLICITY not in one.note:
            assert bandwidth == pytest.approx(one.bandwidth_per_s, rel=1e-4), operation
        if module.BANDWIDTH_BOUND not in one.note and module.ONE_MULTIPLICITY not in one.note:
            assert latency == pytest.approx(one.latency_s, rel=1e-4), operation
    if hides:
        assert not any(found[operation].note for operation in ("memory", "local", "register"))


def test_noise_lowers_r_squared_and_moves_the_numbers_little():
    found = {one.operation: one for one in throughput(measured(True, noise=0.03))}
    for operation in ("memory", "local", "register"):
        latency, bandwidth = PLANTED[operation]
        assert 0.9 < found[operation].r_squared < 1
        assert bandwidth == pytest.approx(found[operation].bandwidth_per_s, rel=0.1)
        assert latency == pytest.approx(found[operation].latency_s, rel=0.1)


def test_a_number_that_no_row_shows_is_a_bound():
    slow = {**PLANTED, "register": (1e-5, 2e12)}  # nothing hides ten microseconds
    register = next(one for one in throughput(measured(True, planted=slow)) if one.operation == "register")
    assert module.LATENCY_BOUND == register.note
    assert 1e-5 == pytest.approx(register.latency_s, rel=1e-3)
    assert register.bandwidth_per_s < 2e12
    quick = {**PLANTED, "memory": (1e-12, 5e10)}
    memory = next(one for one in throughput(measured(True, planted=quick)) if one.operation == "memory")
    assert module.BANDWIDTH_BOUND in memory.note
    assert 5e10 == pytest.approx(memory.bandwidth_per_s, rel=1e-3)
    assert memory.latency_s > 1e-12


def test_facts_have_si_units_and_a_source_and_the_family_takes_them_below_what_was_told():
    found = throughput_facts(throughput(measured(True)))
    assert Fact(1, "", "measured, spt_throughput: what fits better") == found["oversubscription"]
    assert "measured, spt_throughput, r2=1.000" == found["memory_latency_s"].source
    assert ("B/s", "operation/s", "s") == tuple(
        found[key].unit for key in ("memory_bandwidth_bytes_per_s", "peak_flops_float32", "launch_s")
    )
    assert 4 * 5e10 == pytest.approx(found["memory_bandwidth_bytes_per_s"].value, rel=1e-4)
    assert 2 * 2e12 == pytest.approx(found["peak_flops_float32"].value, rel=1e-4)  # a fused pair is two
    caught = facts(True, launch_s=7e-6)
    rows = with_measured_facts(measured(True, told=caught))
    assert rows.facts is not None
    assert Fact(7e-6, "", "made up") == rows.facts.fact("launch_s")
    weights = fit_weights(rows, FAMILY).weights
    assert 4e-7 == pytest.approx(weights["w_memory_latency"].value, rel=1e-3)
    given = {name for name, weight in weights.items() if "given" in weight.marks}
    assert set(weights) - {"w_barrier_rate"} == given


def test_latencies_are_those_of_the_pointer_chase():
    """A device that was probed: the plateaus of a load count for Wang and Lou, the regression's latency for SPT."""
    probed = {"l1_load_s": 1e-9, "l2_load_s": 4e-9, "l3_load_s": 2e-8, "memory_load_s": 1e-7}
    rows = measured(True, told=facts(True, **probed))

    def latencies(family, rows=rows):
        known = with_measured_facts(rows, family).known_facts
        return tuple(known.value(key) for key in ("l2_latency_s", "memory_latency_s"))

    assert (4e-9, 1e-7) == latencies(find_family("mwp_cwp_l2")) == latencies(find_family("gpuperf"))
    assert (4e-9, pytest.approx(4e-7, rel=1e-3)) == latencies(FAMILY) == latencies(None)
    caught = measured(True, told=facts(True, **probed, memory_latency_s=3e-7))
    assert (4e-9, 3e-7) == latencies(find_family("mwp_cwp_l2"), caught)
