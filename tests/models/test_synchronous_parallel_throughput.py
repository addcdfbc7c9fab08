"""The Synchronous Parallel Throughput model: its quantities, its expression, and Karsin's own numbers."""

import re

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.facts import published
from perfmodel.models import find_family
from perfmodel.models.model import bind, known_weights
from perfmodel.quantities.case import Case
from tests.corpus.kernel import make
from tests.standins import made_up

FAMILY = find_family("synchronous_parallel_throughput")


def facts(**known):
    return made_up(**{"compute_units": 2, "lanes_per_unit": 32, **known})


def counted(domain, text, *arguments, width=64, more=(), assumptions="n >= 1 and n mod 64 = 0"):
    t_unit = lp.make_kernel(domain, text, [*arguments, ...], assumptions=assumptions, lang_version=(2018, 2))
    t_unit = lp.add_dtypes(t_unit, dict.fromkeys(["a", *more], np.float32))
    return count(lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)


def quantities(counts, n=1024, **known):
    return FAMILY.quantities(Case(counts, {"n": n}, facts(**known), FAMILY.name))


def summed(counts, n=1024, **known):
    """The quantities with the classes of each operation added up, as ``memory_amount``."""
    found = {}
    for name, value in quantities(counts, n, **known).items():
        key = re.sub(r"_\d$", "", name)
        found[key] = found.get(key, 0.0) + value
    return found


def seconds(counts, known, **sizes):
    """The time on a published device, without its launches [s]."""
    found = FAMILY.quantities(Case(counts, sizes, known, FAMILY.name))
    model = bind(FAMILY, (), {**known_weights(FAMILY, known), "w_barrier_rate": 1e12})
    return model.value({key: found[key] for key in model.features if key != "launched"}, [])


def local(stride):
    t_unit = make("{[g, l]: 0 <= g < n/64 and 0 <= l < 64}", f"""
        for g, l
            tile[{stride}*l] = a[64*g + l] {{id=put}}
            out[64*g + l] = tile[{stride}*(63 - l)] {{dep=put}}
        end
        """, f"a, out: n; local tile: {64 * stride}", assumes="n >= 64 and n mod 64 = 0")  # fmt: skip
    return count(lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0"}), subgroup_size=32)


@pytest.mark.parametrize("name", ["gtx-770", "quadro-m4000-karsin"])
def test_time_is_that_of_section_4_8(name):
    known, counts = published(name), local(1)
    found = FAMILY.quantities(Case(counts, {"n": 2**20}, known, FAMILY.name))
    model = bind(FAMILY, (), {**known_weights(FAMILY, known), "w_barrier_rate": known.value("barriers_per_s")})
    cores = known.value("compute_units") * known.value("lanes_per_unit")
    groups = 2**20 / 64 / known.value("compute_units")
    groups = min(np.ceil(groups), known.value("local_memory_bytes") / 256)
    threads = groups * 64 / known.value("lanes_per_unit")
    inside = float(counts.flow.instruction_parallelism(n=2**20))
    uneven = np.ceil(2**14 / known.value("compute_units")) * known.value("compute_units") / 2**14
    seconds = known.value("launch_s")
    for amount, latency, rate, words, parallel in (
        (2, "memory_latency_s", "memory_bandwidth_bytes_per_s", 4, 1),
        (2, "local_latency_s", "local_bandwidth_bytes_per_s", 4, inside),
        (1, "barrier_latency_s", "barriers_per_s", 1, 1),
    ):
        each = 1 / (known.value(rate) / words / cores)
        waiting = known.value(latency) / (threads * parallel)
        seconds += uneven * amount * 2**20 / cores * max(each, waiting)
    assert seconds == pytest.approx(model.value({key: found[key] for key in model.features}, []))


def test_more_parallelism_is_never_slower():
    known = published("gtx-770")
    model = bind(FAMILY, (), {**known_weights(FAMILY, known), "w_barrier_rate": 1e10})
    found = FAMILY.quantities(Case(local(1), {"n": 2**14}, known, FAMILY.name))
    waits = {key: value for key, value in found.items() if "_waits_" in key}
    times = [
        model.value({**found, **{key: value / more for key, value in waits.items()}}, []) for more in (1, 2, 4, 64, 1e9)
    ]
    assert sorted(times, reverse=True) == times
    assert 0 < times[-1] < times[0]
