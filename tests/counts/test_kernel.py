"""``count`` and what ``KernelCounts`` answers, by hand counts."""

import json
import pickle
import re
from types import SimpleNamespace

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.errors import ArgumentError, CountError, DocumentError, KernelError, UnknownNameError
from perfmodel.facts import DeviceFacts, Fact
from tests.corpus.kernel import make

GROUP = 16


def kernel(
    domain: str, code: str, group: int = GROUP, assumptions: str = "n >= 1", **dtypes: type
) -> lp.TranslationUnit:
    t_unit = make(domain, code, assumes=assumptions, name="made_up")
    t_unit = lp.add_dtypes(t_unit, dtypes)
    return lp.split_iname(t_unit, "i", group, outer_tag="g.0", inner_tag="l.0")


def axpy(assumptions: str = "n >= 1") -> lp.TranslationUnit:
    return kernel("{[i]: 0 <= i < n}", "c[i] = 2*a[i] + b[i]", assumptions=assumptions, a=np.float32, b=np.float32)


def test_axpy_by_hand() -> None:
    counts = count(axpy(), subgroup_size=8)
    n = 37  # three groups of 16, the last with 5 of its work-items at work
    assert (n, n) == (counts.operations(kind="add")(n=n), counts.operations(kind="mul")(n=n))
    assert 2 * n == counts.operations("float32")(n=n)
    assert 3 * n == counts.accesses(space="global")(n=n)
    assert 5 == counts.accesses(array="a", granularity="subgroup")(n=n)
    assert 3 == counts.accesses(array="a", granularity="workgroup")(n=n)
    assert (3, 48, 6, 1) == (
        counts.work_groups()(n=n), counts.work_items()(n=n), counts.sub_groups()(n=n), counts.launches()(n=n),
    )
    assert 48 - 37 == counts.idle_lanes()(n=n)
    assert 0 == counts.barriers()(n=n)
    assert 37 == counts.footprint("a")(n=n)
    assert 1 == counts.utilization("a")(n=n)


def skewed_tiles() -> lp.TranslationUnit:
    """A time-skewed stencil, tiled in both directions of space."""
    t_unit = make("{[t, i, j]: 0 <= t < steps and t <= i < n + t and t <= j < m + t and i + j <= 2*n}",
                  "z[t, i, j] = 0.5*(u[t, i, j] + u[t, i+1, j])", assumes="steps, n, m >= 1")  # fmt: skip
    t_unit = lp.split_iname(lp.add_dtypes(t_unit, {"u": np.float32}), "i", 32, outer_tag="g.1", inner_tag="l.1")
    return lp.split_iname(t_unit, "j", 32, outer_tag="g.0", inner_tag="l.0")


def test_skewed_tiles_are_counted_over_their_loops() -> None:
    """They took 12 s: Barvinok's algorithm saw five variables, and its answer had 27 floors in each of 13 pieces."""
    counts = count(skewed_tiles(), cache=False)
    for steps, n, m in ((3, 35, 20), (2, 7, 40)):
        points = sum(i + j <= 2 * n for t in range(steps) for i in range(t, n + t) for j in range(t, m + t))
        assert 2 * points == counts.accesses(array="u")(steps=steps, n=n, m=m)
        assert points == counts.operations(kind="mul")(steps=steps, n=n, m=m)
    assert 5000 > len(counts.accesses(array="u").to_json()["polynomial"])


def test_reading_what_was_written() -> None:
    counts = count(axpy(), subgroup_size=8, cache=False)
    again = KernelCounts.from_json(json.loads(json.dumps(counts.to_json())))
    assert counts.hash == again.hash
    assert counts.lines("a", 64, per="subgroup")(n=37) == again.lines("a", per="subgroup")(n=37)
    assert counts.schedule == again.schedule
    assert counts.hash == pickle.loads(pickle.dumps(counts)).hash


@pytest.mark.parametrize(("place", "value", "said"), [
    (("subgroup_size",), None, "subgroup_size = None; it must be an integer from 1 to 1024"),
    (("subgroup_size",), 0, "subgroup_size = 0"), (("subgroup_size",), 2000, "subgroup_size = 2000"),
    (("subgroup_size",), "32", "subgroup_size = '32'"), (("parameters",), [1], "parameters = "),
    (("name",), 7, "name = 7"), (("operation_table", 0, "kind"), 3, "kind is 3, not of type str"),
    (("operation_table", 0, "surprise"), 3, "surprise"),
    (("operation_table", 0, "count"), 3, "count is 3, not of type Count"),
    (("operation_table", 0, "count", "exact"), 1, "exact = 1"),
    (("operation_table", 0, "count", "polynomial"), "{ what }", "not a count"),
    (("access_table", 0, "bits"), -32, "bits is -32"), (("launch", "group_shape"), ["8"], "group_shape is"),
    (("launch_table",), None, "not a count"),
])  # fmt: skip
def test_a_part_that_counts_cannot_have_is_named(place, value, said) -> None:
    document = json.loads(json.dumps(count(axpy()).to_json()))
    inside = document
    for name in place[:-1]:
        inside = inside[name]
    inside[place[-1]] = value
    with pytest.raises(DocumentError, match=re.escape(said)):
        KernelCounts.from_json(document)


def test_unknown_array_lists_those_there_are() -> None:
    counts = count(axpy())
    for ask in (lambda: counts.accesses(array="q"), lambda: counts.footprint("q"),
                lambda: counts.lines("q"), lambda: counts.bank_conflicts("q")):
        with pytest.raises(UnknownNameError, match=r"'q'.*a, b, c"):
            ask()


def test_granularities_do_not_mix() -> None:
    counts = count(axpy())
    with pytest.raises(CountError, match="granularity="):
        counts.accesses() + counts.accesses(granularity="subgroup")
    with pytest.raises(ArgumentError, match="wavefront"):
        counts.accesses(granularity="wavefront")
    with pytest.raises(ArgumentError, match="wavefront"):
        counts.lines("a", per="wavefront")

def test_an_offset_is_no_size_and_zero_unless_given() -> None:
    t_unit = make("{[i]: 0 <= i < n}", "c[i] = a[i]",
                  [lp.GlobalArg("a, c", np.float32, shape="n", offset=lp.auto), lp.ValueArg("n", np.int32),
                   lp.ValueArg("scale", np.float64)], assumes="n >= 1")  # fmt: skip
    counts = count(t_unit)
    for found in (counts, KernelCounts.from_json(json.loads(json.dumps(counts.to_json())))):
        assert (("n",), ("a_offset", "c_offset")) == (found.parameters, found.offsets)
        assert (37, 37) == (found.accesses(array="a")(n=37), found.accesses(array="a")(n=37, a_offset=5))
        for lines in (found.lines("a", 64, per="launch"), found.lines("a", 64, per="launch", n=37)):
            assert (3, True) == (lines(n=37), lines.exact)
        # cells 15 to 51 of lines of 16
        assert 4 == found.lines("a", 64, per="launch", n=37, a_offset=15)()


COUNTS = SimpleNamespace(name="work", launch=SimpleNamespace(group_shape=(16, 16), local_bytes=4096))


def device(**known):
    return DeviceFacts("D", "P", "1", tuple((key, Fact(value, "", "by hand")) for key, value in known.items()))


@pytest.mark.parametrize(("known", "words"), [
    ({"max_work_group_size": 255}, "needs 256 work-items, and 'D' has 255"),
    ({"local_memory_bytes": 4095}, "needs 4096 bytes of local memory, and 'D' has 4095"),
])  # fmt: skip
def test_what_is_too_large_is_refused(known, words):
    with pytest.raises(KernelError, match=words):
        KernelCounts.check_launch(COUNTS, device(**known))
