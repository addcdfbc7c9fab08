"""The claims of chapter 4, on times that are known by hand."""

from __future__ import annotations

from scripts.lab.studies.throughput_claims import measured_claims, printed_claim
from tests.lab.studies.test_throughput import run

GROUPS = (1, 2, 4, 8, 16, 32)


def device(latency=8.0, bandwidth=1.0, launch=3.0, fixed=1.0):
    """Times of a device whose copies and local accesses reach the bandwidth at M = 8, and barriers with 16 groups."""
    points = [
        run(operation, ilp, groups, seconds=max(groups / 2 / bandwidth, latency / ilp))
        for operation in ("copy", "local") for ilp in (1, 2, 4, 8) for groups in GROUPS
    ]  # fmt: skip
    points += [run("register", ilp, 1, seconds=max(latency, ilp), amount=ilp) for ilp in (1, 2, 4)]
    points += [run("barrier", 1, groups, seconds=max(latency, groups / 2)) for groups in GROUPS]
    points += [run("launch", 1, g, k, fixed + launch * k, amount=k) for g in (1, 16) for k in (1, 4, 16, 64, 256)]
    return points


def verdicts(points, hides=True):
    return {one.source: one.agrees for one in measured_claims(points, hides)}


def test_table_4_2_has_the_products_of_the_text():
    claim = printed_claim()
    assert claim.agrees
    assert "8.1 (g), 20.0 (s), 6.0 (r)" in claim.found


def test_a_device_as_the_chapter_describes_it():
    figures = ("4.1", "4.2", "4.3", "4.4", "4.5", "4.6")
    assert dict.fromkeys((f"Figure {one}" for one in figures), True) == verdicts(device())


def test_where_nothing_is_hidden_only_chains_and_launches_decide():
    found = verdicts(device(), hides=False)
    assert [None, None, True, None, True, True] == list(found.values())


def test_what_differs_does_not_agree():
    points = device()
    slow = [run("register", ilp, 1, seconds=ilp, amount=ilp) for ilp in (1, 2)]
    more = [run("launch", 1, g, k, k * g, amount=k) for g in (1, 16) for k in (1, 4, 16)]
    found = verdicts([one for one in points if one.operation not in ("register", "launch")] + slow + more)
    assert (False, False) == (found["Figure 4.3"], found["Figure 4.5"])
    assert found["Figure 4.6"]
    assert all(one.agrees is None for one in measured_claims([], hides=True))
