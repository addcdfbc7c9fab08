"""What a measured merge step says, on times made up by hand; and its counts, against a merge in plain Python."""

import math
from dataclasses import replace
from functools import cache

import pytest

from perfmodel.counts import count
from scripts.lab.experiments.sort import STUDY
from scripts.lab.studies.merge_step_claims import accesses
from scripts.lab.study_runs import study_data
from test_kernels.papers import merge_step
from tests.recorded import SIMULATED
from tests.standins import Row, Rows

pytestmark = pytest.mark.nightly  # research code, and long


@cache
def counted(form, each):
    return count(merge_step.build(form, each), subgroup_size=32)


def merged_by_item(left, right, d, each):
    """Merge `each` elements from place d on as the kernel does; return them, and the elements that were read."""
    low, high, reads = max(0, d - len(right)), min(d, len(left)), 0
    for _ in range(len(left).bit_length()):
        middle = (low + high) // 2
        reads += 2
        if middle < high and left[middle] <= right[d - 1 - middle]:
            low = middle + 1
        else:
            high = middle
    both, i, j, out = [*left, *right], low, len(left) + d - low, []
    keys = [both[i], both[j] if j < len(both) else both[0]]
    reads += 2
    for _ in range(each):
        take_left = j >= len(both) or (i < len(left) and keys[0] <= keys[1])
        out.append(keys[0 if take_left else 1])
        i, j = (i + 1, j) if take_left else (i, j + 1)
        place = i if take_left else j
        keys[0 if take_left else 1] = both[place] if place < len(both) else both[0]
        reads += 1
    return out, reads


@pytest.mark.parametrize("each", [1, 3, 5])
def test_merge_path_and_its_reads_in_plain_python(each):
    """The reads of each work-item are the kernel's: two for each step of the search, two keys, and one an element."""
    run = 60
    left, right = sorted((7 * i) % 61 for i in range(run)), sorted((11 * i) % 53 for i in range(run))
    parts = [merged_by_item(left, right, d, each) for d in range(0, 2 * run, each)]
    assert sorted(left + right) == [key for part, _ in parts for key in part]
    reads = sum(part[1] for part in parts)
    parameters = {"pairs": 1, "run": merge_step.SHORTEST, "levels": 6}
    loads = counted("direct", each).accesses(array="a")(**parameters)
    assert reads / (2 * run) == pytest.approx(loads / (2 * merge_step.SHORTEST))


@pytest.mark.parametrize("each", [5, 15])
def test_accesses_of_the_staged_kernel_by_hand(each):
    parameters = merge_step.rounds(1)[0]
    block = 128 * each
    searching = 2 * 2 * parameters["levels"] / block  # two work-items of a group search, two reads a step
    steps = math.floor(math.log2(block)) + 1
    # part: stored and read twice, two keys, two reads a step; splits: two stores a group, four reads a work-item
    local = 2 + 1 + (each + 2) / each + 2 * steps / each + 2 / block + 4 / each
    assert (2 + searching, local) == pytest.approx(accesses(counted("staged", each), parameters), rel=1e-9)


def made_up(variants, exponent=1):
    """Times in seconds: 1 ns for each element of a round, and 10 ns for each work-item."""
    counts = {f"{form}{each}": counted(form, each) for form, each in variants}
    rows = tuple(
        Row(
            "merge_step", parameters, 2 * parameters["run"] * parameters["pairs"] * (1e-9 + 1e-8 / each),
            f"{form}{each}", {"form": form, "each": each}, "sorting",
        )
        for form, each in variants for parameters in (*merge_step.rounds(0), *merge_step.rounds(exponent))
    )  # fmt: skip
    return Rows(rows, counts)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    class Unmeasured:
        name, kernels = "sort", ()

    return study_data(Unmeasured, tmp_path_factory.mktemp("sort"), SIMULATED)


def test_a_study_of_made_up_times(data):
    """Times of 1 + 10/15 and 1 + 10/30 ns for an element differ by 25 %; all rounds take the same."""
    rows = made_up((("staged", 15), ("staged", 30), ("direct", 5)))
    found = STUDY.examine(replace(data, measured=Rows(rows.rows, rows.counts, facts=data.facts)))
    own = found.claims[-7:-1]
    assert all(one.agrees is not None for one in own)
    assert "measured +25%" in own[2].found
    assert "1.00 times the shortest" in own[3].found
    assert own[3].agrees
    chapter = {"fig7-2", "fig7-3", "fig7-5", "fig7-8"}
    assert {"platforms-E", "platforms-K", "here", "shares", "merge-step"} | chapter == found.pictures.keys()
    assert 9 == len(found.tables[""])  # three variants in the only round of the least size, and in two of the next
    assert 3 == len(found.tables["rounds"])
