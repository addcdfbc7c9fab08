"""Descriptions of pictures: accuracy, roofline, families and rankings."""

import math
from dataclasses import replace

import pytest

from perfmodel.analyses.roofline import KernelPoint
from perfmodel.compare import Comparison
from perfmodel.predicting.ranking import RankedVariant, Ranking
from perfmodel.report.drawing import write_figure
from perfmodel.report.pictures import accuracy, families, families_figure, ranking, roofline
from tests.compare.test_comparison import ROWS
from tests.compare.test_contenders import contenders
from tests.fitting.test_throughput_roofs import BANDWIDTH, LOCAL, PEAK

ROOFS = {
    "peak_flops_float32": PEAK, "peak_flops_float64": PEAK / 4, "memory_bandwidth_bytes_per_s": BANDWIDTH,
    "local_bandwidth_bytes_per_s": LOCAL,
}  # fmt: skip


def point(
    kernel="product", form="naive", sizes="n=8", operations=1e9, moved=1e8, seconds=1e-2, bound=5e-3, by="memory"
):
    return KernelPoint(kernel, form, sizes, operations, moved, seconds, bound, by)


POINTS = (
    point(), point(form="tiled", seconds=7e-3), point("sum", "", operations=1e8, moved=4e8),
    point("move", "", operations=0.0),
)  # fmt: skip


def points(picture):
    return {one.label: list(zip(one.x, one.y, strict=True)) for one in picture.series if one.marker and one.filled}


def test_accuracy_by_kernel_has_errors_and_the_number_of_cases_that_are_not_drawn():
    picture = accuracy(ROWS)
    # The geometric mean of 20 % and 5 % is 10 %; an exact prediction counts as 0.1 %.
    expected = {"stencil (10 %)": [(1e-3, 1.2e-3), (4e-3, 3.8e-3)], "matmul (0 %), 1 not drawn": [(2e-3, 2e-3)]}
    assert expected == points(picture)
    assert (5e-4, 8e-3) == picture.x.limits == picture.y.limits  # half the shortest and twice the longest time
    assert {"matmul, 1 not drawn": []} == points(accuracy(ROWS[3:]))
    assert {} == points(accuracy(()))


def test_accuracy_by_grade_has_a_series_for_each_range_of_errors_and_a_text_for_each_case():
    times = {"within 10 % (2)": [1.1, 1 / 1.1], "within 25 % (1)": [1.2], "within a factor of 2 (1)": [0.5],
             "larger (1)": [2.1]}  # fmt: skip
    cases = [Comparison("k", {"n": 1}, 1.0, value) for values in times.values() for value in values]
    withheld, negative = Comparison("k", {"n": 1}, 1.0, None, ("f",)), Comparison("k", {"n": 1}, 1.0, -1.0)
    found = points(accuracy([*cases, withheld, negative], by_kernel=False))
    assert times == {label: [y for _, y in places] for label, places in found.items()}
    case = Comparison("<k>", {"n": 8}, 2e-3, 1e-3, variant={"form": "a"}, interval=(5e-4, 2.5e-3))
    (series,) = (one for one in accuracy([case]).series if one.marker)
    text = "<k>\nform=a\nn=8\nmeasured: 2 ms\npredicted: 1 ms\nerror: 50.0 %\n90 % interval: 500 us to 2.5 ms"
    assert ([text], ["<k>"]) == (list(series.texts), list(series.groups))


def test_roofs_meet_and_kernels_are_below_them():
    """1e9 operations in 10 and 7 ms at 10 op/B, 1e8 operations in 10 ms at 1/4 op/B; each could take 5 ms."""
    picture = roofline(POINTS, ROOFS)
    found = points(picture)
    assert [(10, 1e11), (10, pytest.approx(1e9 / 7e-3))] == found["product"]
    assert ([(0.25, 1e10)], []) == (found["sum"], found["move (no operations)"])
    (attainable,) = (one for one in picture.series if not one.filled)
    assert [(10, 2e11), (10, 2e11), (0.25, 2e10)] == list(zip(attainable.x, attainable.y, strict=True))
    lines = {one.label: one for one in picture.series if one.line}
    assert {"float32 peak: 4 Top/s", "float64 peak: 1 Top/s", "memory bandwidth: 200 GB/s",
            "bandwidth of local memory: 3 TB/s (no line)"} == set(lines)  # fmt: skip
    memory = lines["memory bandwidth: 200 GB/s"]
    assert all(y == pytest.approx(BANDWIDTH * x) for x, y in zip(memory.x, memory.y, strict=True))
    assert pytest.approx(PEAK / BANDWIDTH) == max(memory.x)  # where the roofs meet
    assert {PEAK} == set(lines["float32 peak: 4 Top/s"].y)
    assert "50.0 % of what the roofs allow" in picture.series[4].texts[0]
    assert ["kernel, lowest roof: memory bandwidth"] == list(points(roofline(POINTS, ROOFS, by_kernel=False)))


@pytest.mark.parametrize(("shown", "roofs"), [(POINTS, {}), ((), ROOFS), (POINTS[3:], ROOFS)])
def test_a_roofline_without_roofs_or_without_points(shown, roofs):
    assert len(roofs) == sum(bool(one.line) for one in roofline(shown, roofs).series)
    assert roofline((), {}) is None


def test_families_have_a_row_each_and_the_best_of_a_column_is_known(tmp_path):
    found = contenders()
    grid = families([one for one in found if one.evaluations], "A")
    assert (("stevens_kloeckner_2016", "blind"), ("adding", "copying", "other", "all")) == (grid.rows, grid.columns)
    assert [grid.values[0][column] for column in range(4)] == [grid.best(column) for column in range(4)]
    figure = families_figure([found])
    by_a, by_b = figure.axes
    assert [[], 4] == [by_a.get_xticklabels(), len(by_b.get_xticklabels())]  # the lower axes have the names
    write_figure(figure, tmp_path / "families.png")
    assert b"\x89PNG" == (tmp_path / "families.png").read_bytes()[:4]


def test_ranked_variants_have_their_intervals():
    ranked = Ranking((
        RankedVariant("a", 1.0, (0.5, 3.0), tied=True, fastest=0.6),
        RankedVariant("b", 1.5, None, tied=True, fastest=0.3),
        RankedVariant("c", 4.0, (2.0, math.inf), tied=False, fastest=0.1),
    ))  # fmt: skip
    picture = ranking(ranked, 0.9)
    tied, other = picture.series
    assert ("c", "b", "a") == picture.y.names
    assert ([1.5, 1.0], [1, 2], ([1.5, 0.5], [1.5, 3.0])) == (tied.x, tied.y, tied.band)
    assert ([4.0], ([4.0], [4.0])) == (other.x, other.band)  # an infinite bound is not drawn
    assert "the fastest with 60.0 %" in tied.texts[1]
    assert ranking(Ranking((replace(ranked[0], seconds=-1.0),)), 0.9) is None
