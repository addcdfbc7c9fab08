"""Roofs found again in times that were made from them, and what measurements tell below what a device tells."""

from dataclasses import replace
from functools import cache

import loopy as lp
import numpy as np
import pytest

from perfmodel import store
from perfmodel.counts import count
from perfmodel.errors import StoreError
from perfmodel.facts import ROOFS_FILE, DeviceFacts, Fact, read_facts
from perfmodel.fitting import throughput
from perfmodel.fitting.throughput import CACHE_KEY, roofs, save_roofs, with_measured_facts
from perfmodel.models import find_family
from perfmodel.models.model import known_weights
from perfmodel.store import Measurement, Measurements
from tests.recorded import QUICKSTART
from tests.standins import made_up

BANDWIDTH, CACHE, PEAK, DOUBLE, LOCAL = 2e11, 9e11, 4e12, 1e12, 3e12
MEMORY = "memory_bandwidth_bytes_per_s"
L2 = 2**20


def facts(**known):
    return made_up(**{"global_transaction_bytes": 64, "l2_bytes": L2, **known})


@cache
def kernel(text, dtype=np.float32, local=False):
    temporary = [lp.TemporaryVariable("s", dtype, shape=(64,), address_space=lp.AddressSpace.LOCAL)] if local else []
    t_unit = lp.make_kernel(
        "{[g, l, k, m]: 0 <= g < n and 0 <= l < 64 and 0 <= k < 16 and 0 <= m < 64}", text,
        [lp.GlobalArg("a, out", dtype, shape="64*n"), *temporary, ...],
        assumptions="n >= 1", lang_version=(2018, 2), silenced_warnings=["unused_inames"],
    )  # fmt: skip
    return count(lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0"}), subgroup_size=32)


COPY = "out[64*g + l] = a[64*g + l]"  # 512 bytes a group
SUM = "out[64*g + l] = sum(k, a[64*g + l])"  # 16 additions a work-item
TILE = ("s[l] = a[64*g + l]", "out[64*g + l] = s[l]")
#: The same 64 times as often, so that neither comes near the roof of memory; 65536 additions a group.
SUMS = "out[64*g + l] = sum((k, m), a[64*g + l])"
TILES = ("s[l] = a[64*g + l]", "out[64*g + l] = sum((k, m), s[l])")
LOCAL_BYTES = 256 + 64 * 1024 * 4  # of a group


def row(counts, n, seconds, isolates, **more):
    """A row whose minimum is half of its median."""
    kept = {"kernel": "toy", "variant": {"form": isolates or ""}, "flags": (), **more}
    return Measurement(
        group="toy", parameters={"n": n}, device="toy", platform="none", driver="0", versions={}, kernel_hash="0",
        isolates=isolates, counts_hash=counts.hash, status="ok", dropped=1,
        samples_s=(9.0, seconds / 2, seconds, seconds, seconds * 3), **kept,
    )  # fmt: skip


def measured(*extra, known=None):
    """Streams at two rates on either side of the cache's size, sums of both types, and a tile."""
    copy, single, double = kernel(COPY), kernel(SUMS), kernel(SUMS, np.float64)
    tile = kernel(TILES, local=True)
    rows = [row(copy, n, 512 * n / rate, "global_load_32_stride1", variant={"form": "copy"})
            for n, rate in ((16, CACHE / 5), (512, CACHE), (2**14, BANDWIDTH), (2**16, BANDWIDTH / 1.5))]  # fmt: skip
    rows += [row(single, n, 65536 * n / PEAK * slow, "op_float32_add") for n, slow in ((2**10, 1), (2**12, 2))]
    rows += [row(double, n, 65536 * n / DOUBLE * slow, "op_float64_add") for n, slow in ((2**10, 3), (2**12, 1))]
    rows += [row(tile, 2**12, LOCAL_BYTES * 2**12 / LOCAL, None)]
    counts = {one.hash: one.to_json() for one in (copy, single, double, tile)}
    return Measurements((*rows, *extra), counts, facts=known or facts())


@pytest.mark.parametrize(("kind", "rate"), [("cpu", CACHE), ("gpu", CACHE / 60)])
def test_local_memory_of_a_cpu_is_as_fast_as_its_caches(kind, rate):
    tile = kernel(TILES, local=True)
    slow = row(tile, 2**12, LOCAL_BYTES * 2**12 / (CACHE / 60), None)
    others = [each for each in measured() if each.counts_hash != tile.hash]
    counts = {one.hash: one.to_json() for one in (kernel(COPY), kernel(SUMS), kernel(SUMS, np.float64), tile)}
    found = roofs(Measurements((*others, slow), counts, facts=facts(device_type=kind)))
    assert rate == pytest.approx(found["local_bandwidth_bytes_per_s"].value)


def test_roofs_are_the_best_medians_and_name_their_kernel_and_its_sizes():
    made = roofs(measured())
    found = {key: roof.value for key, roof in made.items()}
    expected = {
        MEMORY: BANDWIDTH, CACHE_KEY: CACHE, "peak_flops_float32": PEAK, "peak_flops_float64": DOUBLE,
        "local_bandwidth_bytes_per_s": LOCAL,
    }  # fmt: skip
    assert pytest.approx(expected) == found
    assert "measured, best median of 5 rows: toy form=copy n=16384" == made[MEMORY].source
    assert ("B/s", "operation/s") == (made[MEMORY].unit, made["peak_flops_float64"].unit)


def test_a_cpu_s_cores_have_a_cache_each_and_the_last_level_counts_where_it_is_known():
    # 2 * 64 caches of 1 MiB hold more than any row moves: nothing is beyond, and the best of all rows counts.
    known = facts(device_type="cpu", compute_units=64)
    found = roofs(measured(known=known))
    assert pytest.approx(CACHE) == found[MEMORY].value
    assert CACHE_KEY not in found
    assert "of 9 rows" in found[MEMORY].source
    # 4 MiB of it: the streams of 8 MiB and more are beyond, those of 256 KiB within
    found = roofs(measured(known=facts(last_level_bytes=2**22)))
    assert (pytest.approx(BANDWIDTH), pytest.approx(CACHE)) == (found[MEMORY].value, found[CACHE_KEY].value)
    assert CACHE_KEY not in roofs(measured(known=facts(last_level_bytes=2**30)))


def test_a_row_with_a_flag_makes_no_roof_and_any_other_may():
    more = {"flags": ("faster than physically possible",), "kernel": "odd"}
    found = roofs(measured(row(kernel(COPY), 2**15, 512 * 2**15 / 1e13, "global_load_32_stride1", **more)))
    assert pytest.approx(BANDWIDTH) == found[MEMORY].value
    # A sum at twice the peak, and a copy at 100 times the bandwidth
    fast = row(kernel(SUMS), 2**10, 65536 * 2**10 / PEAK / 2, None, kernel="tiles")
    found = roofs(measured(fast))
    assert pytest.approx(2 * PEAK) == found["peak_flops_float32"].value
    assert pytest.approx(2e13) == roofs(measured(row(kernel(COPY), 2**15, 512 * 2**15 / 2e13, None)))[MEMORY].value


def test_samples_may_reach_the_roofs_but_for_that_of_local_memory(tmp_path):
    """A copy and a sum at twice the rates of the measured kernels, and a tile that a compiler keeps in registers."""
    copy, single, tile = kernel(COPY), kernel(SUMS), kernel(TILES, local=True)
    rows = (
        row(copy, 2**14, 512 * 2**14 / BANDWIDTH / 2, None), row(single, 2**10, 65536 * 2**10 / PEAK / 2, None),
        row(tile, 2**12, LOCAL_BYTES * 2**12 / LOCAL / 2, None),
    )  # fmt: skip
    samples = Measurements(rows, {one.hash: one.to_json() for one in (copy, single, tile)}, facts=facts())
    found = {key: roof.value for key, roof in roofs(measured(), samples).items()}
    assert pytest.approx((2 * BANDWIDTH, CACHE, LOCAL)) == (
        found[MEMORY], found[CACHE_KEY], found["local_bandwidth_bytes_per_s"],
    )  # fmt: skip
    assert pytest.approx(2 * PEAK) == found["peak_flops_float32"]
    save_roofs(measured(), tmp_path, samples)
    saved = read_facts(tmp_path / ROOFS_FILE)
    assert found == {key: fact.value for key, fact in saved.items()}
    assert found[MEMORY] == with_measured_facts(measured(), samples=samples).facts.value(MEMORY)


def test_slow_operations_tell_no_peak_and_without_transfers_there_is_no_roof_over_memory():
    """A campaign that measured nothing but roots of float64 knows no roof of float64, not one that anything exceeds."""
    roots = kernel("out[64*g + l] = sum(k, sqrt(sqrt(k*a[64*g + l])))", np.float64)
    rows = [one for one in measured().rows if one.isolates != "op_float64_add"]
    slow = row(roots, 2**10, 1.0, "op_float64_special")
    counts = {**measured().counts_documents, roots.hash: roots.to_json()}
    found = roofs(Measurements((*rows, slow), counts, facts=facts()))
    assert "peak_flops_float64" not in found
    assert "peak_flops_float32" in found
    found = roofs(measured(known=facts(global_transaction_bytes=None)))
    assert {"peak_flops_float32", "peak_flops_float64", "local_bandwidth_bytes_per_s"} == set(found)


def test_the_roofline_takes_measured_roofs_as_known_weights():
    known = known_weights(find_family("roofline"), with_measured_facts(measured()).facts)
    expected = {"w_peak_float32": PEAK, "w_peak_float64": DOUBLE, "w_bandwidth": BANDWIDTH, "w_local_bandwidth": LOCAL}
    assert pytest.approx(expected) == known


KNOWN = DeviceFacts("d", "p", "1", (("compute_units", Fact(2, "", "CL")), ("launch_s", Fact(3e-6, "s", "by hand"))))
BANKS = Fact(32, "", "roof")
READ_OFF = {"launch_s": Fact(4e-6, "s", "measured"), "local_latency_s": Fact(1e-9, "s", "measured")}


@pytest.fixture
def measurements():
    found = store.read(QUICKSTART)
    return replace(found, rows=found.rows[:1], facts=KNOWN)


def test_what_is_told_counts_more_than_what_is_measured_and_the_rest_is_left_out(monkeypatch, measurements):
    monkeypatch.setattr(throughput, "throughput_facts", lambda _: READ_OFF)
    monkeypatch.setattr(throughput, "roofs", lambda *_: {"launch_s": Fact(9.0, "s", "roof"), "banks": BANKS})
    found = with_measured_facts(measurements)
    assert KNOWN.updated({"local_latency_s": READ_OFF["local_latency_s"], "banks": BANKS}) == found.facts
    assert measurements.rows == found.rows
    assert found.facts == with_measured_facts(found).facts
    def fail(*_):
        raise StoreError("no counts")

    monkeypatch.setattr(throughput, "throughput", fail)
    monkeypatch.setattr(throughput, "roofs", fail)
    assert KNOWN == with_measured_facts(measurements).facts
