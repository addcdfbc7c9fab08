"""Facts from probes: capacities, lines and ways of caches, pages, lanes, barriers and overlap, from known curves."""

import numpy as np
import pytest

from perfmodel.facts import KEYS, DeviceFacts, Fact, probed
from perfmodel.facts.doubts import with_probed_facts
from perfmodel.measuring.probes.caches import LINES, STRIDES, footprints
from tests.probed import chase, lanes, probe


def test_the_launch_is_taken_off_and_the_first_runs_do_not_count():
    run = probe("chase", ())
    points = (probed.Point({"bytes": 64}, 0, (1.0, 3e-6, 2e-6)), probed.Point({"bytes": 64}, 100, (1e-9, 9e-6, 7e-6)))
    run = type(run)(**{**vars(run), "points": points})
    assert {(("bytes", 64),): pytest.approx(5e-8)} == run.seconds()  # (7 - 2) us over 100 loads


def test_the_lowest_visit_counts_in_the_order_of_the_settings():
    runs = [chase({128: 2e-9, 64: 1e-9}), chase({64: 3e-9, 128: 1.5e-9}, visit=1)]
    assert [((64,), pytest.approx(1e-9)), ((128,), pytest.approx(1.5e-9))] == list(probed.times(runs, "bytes").items())


def test_a_later_series_replaces_an_earlier_one_probe_by_probe():
    old, new, other = chase({64: 1e-9}), chase({64: 2e-9}, series=1), probe("line", ())
    assert (new,) == probed.newest([old, new, other], "chase")
    assert (other,) == probed.newest([old, new, other], "line")
    assert () == probed.newest([chase({64: 1e-9}, status="failed", message="no memory")], "chase")


L1, L2 = 48 * 2**10, 2**20
NEAR, MIDDLE, FAR = 1e-9, 4e-9, 100e-9


def level(octets, first=L1, second=L2):
    return NEAR if octets <= first else MIDDLE if octets <= second else FAR


def capacity(most=2**24):
    return chase({octets: level(octets) for octets in footprints(most)})


def conflicts(ways, sets_bytes):
    """Lines at a stride share a set of the first cache if the stride is a multiple of its sets times the line."""
    points = []
    for stride in STRIDES:
        shared = max(1, sets_bytes // stride)  # sets that the lines reach
        for lines in LINES:
            seconds = NEAR if lines <= ways * shared else MIDDLE
            points.append(({"stride": stride, "lines": lines}, 10, seconds))
    return probe("conflicts", points)


def pairs(line):
    second = {apart: NEAR if apart < line else MIDDLE for apart in (4, 16, 32, 64, 128)}
    return probe("line", [({"apart": apart}, 10, (MIDDLE + seconds) / 2) for apart, seconds in second.items()])


def test_two_caches():
    found = probed.cache_facts([capacity()])
    assert {"l1_bytes", "l1_load_s", "l2_bytes", "l2_load_s", "memory_load_s"} == set(found)
    assert (L1, L2) == (found["l1_bytes"].value, found["l2_bytes"].value)
    assert [pytest.approx(NEAR), pytest.approx(MIDDLE), pytest.approx(FAR)] == [
        found[key].value for key in ("l1_load_s", "l2_load_s", "memory_load_s")
    ]
    assert "steps up between 48 KiB and 56 KiB" in found["l1_bytes"].source
    assert all(fact.source.startswith("measured, ") for fact in found.values())


def test_what_was_not_probed_or_never_rises_gives_no_fact():
    assert {} == probed.cache_facts([])
    assert {} == probed.cache_facts([chase(dict.fromkeys(footprints(2 ** 24), NEAR))])


@pytest.mark.parametrize("line", [32, 64, 128])
def test_the_line(line):
    assert line == probed.cache_facts([capacity(), pairs(line)])["l1_line_bytes"].value


def test_the_ways_of_the_first_cache():
    found = probed.cache_facts([capacity(), pairs(64), conflicts(12, 64 * 64)])  # 64 sets of 12 lines: 48 KiB
    assert (12, "") == (found["l1_ways"].value, found["l1_ways"].unit)
    assert "l2_ways" not in found  # no chase over so few lines leaves the second cache


def test_ways_that_do_not_fit_the_capacity_are_not_told():
    assert "l1_ways" not in probed.cache_facts([capacity(), pairs(64), conflicts(10, 64 * 64)])  # 76.8 sets


def test_fewer_lines_that_share_a_set_of_the_tlb_are_no_ways_of_the_cache():
    # As on a Xeon whose L1 has 12 ways: 7 lines 64 KiB apart. 128 sets of 7 lines are 56 KiB, where loads are slow.
    points = [
        ({"stride": stride, "lines": lines}, 10, MIDDLE if lines > (7 if stride >= 2**16 else 12) else NEAR)
        for stride in STRIDES
        for lines in LINES
    ]
    assert "l1_ways" not in probed.cache_facts([capacity(), pairs(64), probe("conflicts", points)])


PLACES = np.array(footprints(2**28), np.float64)
KIB, MIB = 2**10, 2**20
#: Capacities, and the times of a load on each plateau.
DEVICES = {
    "three caches": ((48 * KIB, MIB, 32 * MIB), (1.3, 4.0, 12.0, 125.0)),
    "a small share of the third": ((48 * KIB, MIB, 2.5 * MIB), (1.3, 4.0, 12.0, 125.0)),
    "a server": ((48 * KIB, 2 * MIB, 24 * MIB), (1.6, 5.0, 25.0, 110.0)),
    "two caches": ((128 * KIB, 40 * MIB), (20.0, 130.0, 350.0)), "one cache": ((MIB,), (5.0, 80.0)),
    "no cache": ((), (5.0,)),
}


def curve(capacities, plateaus, *, width=0.0, noise=0.0, slow=0.0, seed=0):
    """Plateaus with steps of some width [octaves]; noise only makes slower, and some points are slower by up to 6."""
    generator = np.random.default_rng(seed)
    y = np.full(len(PLACES), plateaus[0])
    for capacity, low, high in zip(capacities, plateaus, plateaus[1:], strict=False):
        missed = PLACES > capacity
        if width:
            missed = 1 / (1 + np.exp(-(np.log2(PLACES / capacity) - 0.12) / (width / 4)))
        y = y + (high - low) * missed
    y = y * np.exp(np.abs(generator.normal(0, noise, len(y))))
    return np.where(generator.random(len(y)) < slow, y * generator.uniform(1.5, 6, len(y)), y)


@pytest.mark.parametrize("name", DEVICES)
def test_sharp_steps_are_found_where_they_are(name):
    capacities, plateaus = DEVICES[name]
    found = probed.steps(PLACES.tolist(), curve(capacities, plateaus).tolist())
    after = [int(np.searchsorted(PLACES, one, side="right")) for one in capacities]
    assert [(PLACES[at - 1], PLACES[at]) for at in after] == [(step.last, step.first) for step in found]
    assert [pytest.approx(one) for one in plateaus[1:]] == [step.after for step in found]
    assert [pytest.approx(one) for one in plateaus[:-1]] == [step.before for step in found]


@pytest.mark.parametrize("name", DEVICES)
def test_disturbed_curves(name):
    """The docstring of the rule promises more; this leaves room for other versions of NumPy."""
    capacities, plateaus = DEVICES[name]
    right = 0
    for seed in range(100):
        heights = curve(capacities, plateaus, width=0.4, noise=0.05, slow=0.04, seed=seed)
        found = [step.last for step in probed.steps(PLACES.tolist(), heights.tolist())]
        near = [abs(np.log2(a / b)) < 1 / 3 for a, b in zip(found, capacities, strict=False)]
        right += len(found) == len(capacities) and all(near)
    assert right >= 90


def test_one_disturbed_point_is_no_step():
    heights = np.full(len(PLACES), 2.0)
    heights[20] = 100.0
    assert () == probed.steps(PLACES.tolist(), heights.tolist())
    heights[-1] = 100.0
    assert () == probed.steps(PLACES.tolist(), heights.tolist())


def pages(walks: dict[int, float]):
    """Loads that take 1 ns, or 3 ns beyond 512 lines, and longer by what a look-up of their pages takes [ns]."""
    points = (
        ({"pages": number, "lines": lines}, 100, 1e-9 * ((3 if number > 512 else 1) + walk * (lines == "spread")))
        for number, walk in walks.items() for lines in ("packed", "spread")
    )  # fmt: skip
    return probe("pages", points)


def stream(times: dict[int, float]):
    return probe("stream", (({"bytes": octets, "units": 2}, octets, seconds) for octets, seconds in times.items()))


def test_pages_end_where_their_look_up_costs_most():
    """The first level of the TLB knows 64 pages, the second 2048."""
    walks = {2**k: 0.0 if k <= 6 else 1.5 if k <= 11 else 20.0 for k in range(4, 15)}
    facts = probed.page_facts([pages(walks)])
    assert {"page_bytes": 4096, "tlb_pages": 2048} == {key: fact.value for key, fact in facts.items()}


def test_the_last_level_ends_beyond_the_second_levels_of_all_units():
    chased = chase({2**k: 1e-9 * (1 if k <= 15 else 4 if k <= 20 else 12) for k in range(12, 26)})
    read = {2**k: 1e-12 * (4 if k <= 21 else 8 if k <= 24 else 25) for k in range(19, 28)}
    assert 16 * MIB == probed.last_level_fact([chased, stream(read)])["last_level_bytes"].value
    assert {} == probed.last_level_fact([chased, stream({octets: read[octets] for octets in read if octets < 2**24})])
    assert {} == probed.last_level_fact([])


def nests(gain, dtype="float32"):
    straight = {"nest": "straight", "dtype": dtype}
    looped = {"nest": "looped", "dtype": dtype}
    return probe("nests", [
        ({**straight, "operations": 32}, 1, 1.0 + 32), ({**straight, "operations": 64}, 1, 1.0 + 64),
        ({**looped, "operations": 32}, 1, 5.0 + 32 * gain), ({**looped, "operations": 64}, 1, 5.0 + 64 * gain),
    ])  # fmt: skip


@pytest.mark.parametrize(("width", "hidden", "order"), [
    (1, False, "serial"), (8, False, "lockstep"), (16, False, "lockstep"), (4, True, "multithreaded"),
    (32, True, "multithreaded"), (64, True, "multithreaded"), (64, False, "lockstep"),
])  # fmt: skip
def test_the_order(width, hidden, order):
    found = probed.lane_facts([lanes(width, hidden)])
    assert (order, width) == (found["lane_order"].value, found["lockstep_lanes"].value)


def test_whether_more_lanes_are_hidden_may_not_be_known():
    run = lanes(16)
    few = type(run)(**{**vars(run), "points": tuple(p for p in run.points if p.at["lanes"] == 256)})
    found = probed.lane_facts([few])  # fewer lanes were not measured
    assert ("lane_order" in found, found["lockstep_lanes"].value) == (False, 16)


def test_lanes_in_step_are_a_vector():
    later = type(lanes(1))(**{**vars(lanes(8, dtype="float64")), "visit": 1})
    found = probed.lane_facts([lanes(16), later, nests(4.0)])
    assert (16, 8) == (found["vector_lanes"].value, found["vector_lanes_float64"].value)


@pytest.mark.parametrize(("gain", "vector"), [(8.0, 8), (7.0, 8), (5.0, 4), (1.1, 1), (0.8, 1)])
def test_lanes_in_a_row_gain_what_a_nest_without_a_loop_gains(gain, vector):
    assert vector == probed.lane_facts([lanes(1), nests(gain)])["vector_lanes"].value


def test_a_curve_that_rises_again_is_not_clear():
    run = lanes(1)
    ragged = probe("lanes", [
        (dict(p.at), p.work, (p.host_s[1] / p.work) * (2 if p.at["block"] == 4 else 1)) for p in run.points
    ])  # fmt: skip
    assert 0 == probed.in_step([ragged], "float32")
    assert {} == probed.lane_facts([ragged])
    assert {} == probed.lane_facts([])


NUMBERS, ITEMS = (0, 2, 8, 32), (16, 64, 256)


def barriers(group_s, item_s, start_s=1e-7):
    return probe("barriers", [
        ({"barriers": b, "items": g}, 50, start_s + b * (group_s + item_s * g) + (1e-6 if b == 0 else 0.0))
        for b in NUMBERS for g in ITEMS
    ])  # fmt: skip


@pytest.mark.parametrize(("group_s", "item_s"), [(3e-9, 2e-10), (5e-8, 0.0), (0.0, 1e-9)])
def test_a_known_cost(group_s, item_s):
    """A kernel with no barrier is other code, and does not count."""
    found = probed.barrier_facts([barriers(group_s, item_s)])
    assert (pytest.approx(item_s, abs=1e-15), "s") == (found["barrier_s"].value, found["barrier_s"].unit)
    assert pytest.approx(group_s, abs=1e-15) == found["barrier_group_s"].value


def test_neither_cost_is_below_zero():
    costs = ((16, 3e-9), (64, 1e-9))
    run = probe("barriers", [({"barriers": b, "items": g}, 1, b * s) for b in (1, 3) for g, s in costs])
    found = probed.barrier_facts([run])
    assert 0.0 == found["barrier_s"].value
    assert 1e-9 < found["barrier_group_s"].value < 3e-9


def test_barriers_that_cost_nothing_or_were_not_probed():
    assert {} == probed.barrier_facts([])
    assert {} == probed.barrier_facts([barriers(0.0, 0.0)])
    assert {16: pytest.approx(7e-9)} == probed.barrier_slopes([
        probe("barriers", [({"barriers": b, "items": 16}, 1, 1e-8 + 7e-9 * b) for b in (1, 4)])
    ])  # fmt: skip


def overlap(p, computing=(0.5, 1.0, 2.0), memory=1.0):
    points = [({"part": "memory", "operations": 0}, 1, memory)]
    for n, b in enumerate(computing, start=1):
        both = (memory**p + b**p) ** (1 / p)
        points += [({"part": "compute", "operations": n}, 1, b), ({"part": "both", "operations": n}, 1, both)]
    return probe("overlap", points)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 4.0, 10.0])
def test_a_known_exponent(p):
    fact = probed.overlap_facts([overlap(p)])["overlap_exponent"]
    assert pytest.approx(p, rel=1e-4) == fact.value
    assert fact.source.startswith("measured, 3 kernels")


def test_times_beyond_the_sum_or_below_the_maximum_give_a_bound():
    assert 1.0 == probed.exponent([(1.0, 1.0, 3.0)])
    assert 16.0 == probed.exponent([(1.0, 2.0, 1.5)])
    slow = probe("overlap", [({"part": part, "operations": n}, 1, s) for part, n, s in (
        ("memory", 0, 1.0), ("compute", 4, 1.0), ("both", 4, 3.0),
    )])  # fmt: skip
    assert "1 or less" in probed.overlap_facts([slow])["overlap_exponent"].source


RUNS = (capacity(), pairs(64), conflicts(12, 4096), lanes(1), nests(8.0), barriers(1e-9, 1e-10), overlap(3.0))


def device(**facts):
    known = {key: Fact(value, KEYS[key].unit, "told") for key, value in facts.items()}
    return DeviceFacts.from_mapping("a device", "a platform", "1", known)


def test_every_fact_has_a_key_with_its_unit_and_survives_a_file():
    found = probed.probed_facts(RUNS)
    assert {"l1_bytes", "l1_ways", "lane_order", "vector_lanes", "barrier_s", "overlap_exponent"} < set(found)
    assert {key: KEYS[key].unit for key in found} == {key: fact.unit for key, fact in found.items()}
    known = with_probed_facts(device(), RUNS)
    assert known == DeviceFacts.from_json(known.to_json())


def test_ways_that_no_probe_tells_are_those_that_the_system_tells():
    known = with_probed_facts(device(l1_told_ways=8, l2_told_ways=16, l3_told_ways=11), RUNS)
    assert (12, 16) == (known.value("l1_ways"), known.value("l2_ways"))
    assert "l3_ways" not in known  # there was no third step
    assert "told" == known.fact("l2_ways").source
