"""Statistics from the arrays of a call, against loops in Python that do what the kernel does."""

from itertools import pairwise

import loopy as lp
import numpy as np
import pytest

from perfmodel import count
from perfmodel.counts.reading.observed import CallData, Observed, call_data, data_needed
from perfmodel.counts.reading.schedule import schedule
from perfmodel.errors import ArgumentError, PerfModelWarning, StatisticsNeededError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import least_bytes
from tests.corpus import kernels
from tests.corpus.kernel import make
from tests.corpus.made import SUBGROUP_SIZE, executed, unit
from tests.oracle.compare import compare
from tests.sparse import spmv

RANDOM = np.random.default_rng(3)
ROWS = 3000
LENGTHS = RANDOM.integers(0, 9, ROWS)
STARTS = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int32)
COLUMNS = np.clip(np.repeat(np.arange(ROWS), LENGTHS) + RANDOM.integers(-20, 21, STARTS[-1]), 0, ROWS - 1)
MATRIX = {"starts": STARTS, "columns": COLUMNS.astype(np.int32)}


def test_a_sparse_product_has_as_many_products_as_the_matrix_has_entries() -> None:
    counts = count(spmv(), arrays=MATRIX)
    assert STARTS[-1] == counts.operations(kind="mul")(n=ROWS, entries=STARTS[-1])


def test_the_window_of_a_banded_matrix_is_at_most_its_band() -> None:
    kernel = schedule(spmv()).default_entrypoint
    observed = Observed(kernel, call_data(kernel, MATRIX))
    span = observed.span("x:span", (kernel_index("columns"),), ("i_outer", "i_inner", "k"), ("i_outer", "i_inner"))
    ends = [COLUMNS[low:high] for low, high in pairwise(STARTS) if high > low]
    own = np.mean([row.max() - row.min() + 1 for row in ends])
    assert own <= span <= 41 + 2


def test_without_work_items_an_iteration_of_the_outermost_loop_around_an_access_has_the_window() -> None:
    unit = make("{ [i, k, before]: 0 <= i < n and 0 <= k, before < 8 }",
                ["for before", "v[before] = 1 {id=first}", "end",
                 "for i, k", "out[i, k] = v[k]*x[columns[i, k]] {dep=first}", "end"],
                "out: n, 8; x: n; temporary v: 8; int32 columns: n, 8")  # fmt: skip
    columns = np.clip(np.arange(ROWS)[:, None] + RANDOM.integers(-20, 21, (ROWS, 8)), 0, ROWS - 1).astype(np.int32)
    kernel = schedule(lp.prioritize_loops(unit, "i,k")).default_entrypoint
    index = (lp.symbolic.parse("columns[i, k]"),)
    observed = Observed(kernel, call_data(kernel, {"columns": columns}))
    own = (columns.max(axis=1) - columns.min(axis=1) + 1).mean()
    assert own - 0.1 <= observed.span("x:span", index, ("i", "k"), ()) <= 41 + 2  # rounded


def kernel_index(array: str):
    return lp.symbolic.parse(f"{array}[start + k]")


PAIRS = """
for box
    <> many = around[box]
    <> n_targets = targets[box]
    for a
        <> sources = n_sources[neighbours[box, a]]
        for t
            for s
                out[box, t] = out[box, t] + 2*strengths[s]
            end
        end
    end
end
"""


def test_a_product_of_trips_is_the_mean_of_the_product() -> None:
    """Boxes with many targets have many neighbours with many sources, so separate means multiply to less."""
    boxes = 200
    around = RANDOM.integers(1, 6, boxes).astype(np.int32)
    targets = (3 * around + RANDOM.integers(0, 3, boxes)).astype(np.int32)
    sources = (2 * around + 1).astype(np.int32)
    neighbours = np.argsort(around, kind="stable")[RANDOM.integers(0, boxes, (boxes, 6))].astype(np.int32)
    kernel = make(["[boxes] -> { [box]: 0 <= box < boxes }", "[many] -> { [a]: 0 <= a < many }",
                   "[n_targets, sources] -> { [t, s]: 0 <= t < n_targets and 0 <= s < sources }"], PAIRS,
                  [lp.GlobalArg("around, targets, n_sources", np.int32, shape="boxes"),
                   lp.GlobalArg("neighbours", np.int32, shape="boxes, 6"),
                   lp.GlobalArg("strengths", np.float32, shape="100"),
                   lp.GlobalArg("out", np.float32, shape="boxes, 100"), lp.ValueArg("boxes", np.int32)], name="pairs",
                  assumes="boxes >= 1")  # fmt: skip
    executed = sum(
        int(targets[box]) * int(sources[neighbours[box, a]]) for box in range(boxes) for a in range(around[box])
    )
    arrays = {"around": around, "targets": targets, "n_sources": sources, "neighbours": neighbours}
    counts = count(kernel, arrays=arrays)
    assert executed == pytest.approx(float(counts.operations(kind="mul")(boxes=boxes)), rel=1e-6)
    separate = boxes * around.mean() * targets.mean() * np.mean(
        [sources[neighbours[box, a]] for box in range(boxes) for a in range(around[box])]
    )
    assert abs(separate / executed - 1) > 0.05  # else this test shows nothing


def test_tests_of_data_have_the_share_of_points_where_they_are_true() -> None:
    kernel = make("[n] -> { [i]: 0 <= i < n }", """
        if mask[i] > 0 and i >= 10
            out[i] = a[i] * scale {id=first}
        end
        if mask[i] > limit
            out[i] = 3 + out[i] {dep=first}
        end
        """, "int32 mask: n; a, out: n; float32 scale; int8 limit", name="masked", assumes="n >= 11")  # fmt: skip
    mask = RANDOM.integers(-2, 3, 4000).astype(np.int32)
    mask[:10] = 1  # the first ten differ from the rest, which the other half of the condition leaves out
    counts = count(kernel, arrays={"mask": mask, "limit": 1})
    sizes = {"n": 4000, "limit": 1}
    at = {name: sizes[name] for name in counts.parameters}
    assert (mask[10:] > 0).sum() == pytest.approx(float(counts.operations(kind="mul")(**at)), rel=1e-4)
    assert (mask > 1).sum() == pytest.approx(float(counts.operations(kind="add")(**at)), rel=1e-4)


def test_the_cells_that_data_index_are_counted_in_the_data() -> None:
    some = COLUMNS // 3 * 3  # a third of the cells of x
    counts = count(spmv("thirds", kind="float32"), arrays={"starts": STARTS, "columns": some.astype(np.int32)})
    at = {"n": ROWS, "entries": int(STARTS[-1])}
    cells = {row.array: row.footprint(**at) for row in counts.access_table if row.direction == "load"}
    assert {"x": len(np.unique(some)), "values": STARTS[-1], "columns": STARTS[-1], "starts": ROWS + 1} == cells
    facts = DeviceFacts.from_mapping("", "", "", {"cache_line_bytes": Fact(64, "B", "a test")})
    case = Case(counts, at, facts, "roofline")
    bytes_of = 4 * (len(np.unique(some)) + 2 * STARTS[-1] + 2 * ROWS + 1)
    assert least_bytes(case) == bytes_of  # x, values, columns, starts and y


@pytest.mark.parametrize(("n", "m"), [(700, 500), (3, 200_000), (0, 5), (5000, 5000)])
def test_pairs_of_indices_in_many_blocks_are_counted_once(n: int, m: int) -> None:
    kernel = make("{ [i, j]: 0 <= i < n and 0 <= j < m }", "out[i, j] = a[rows[i], columns[j]]",
                  "int32 rows: n; int32 columns: m; a: 50, 900", name="pairs", assumes="n >= 0 and m >= 0")  # fmt: skip
    rows, columns = RANDOM.integers(0, 40, n).astype(np.int32), RANDOM.integers(0, 800, m).astype(np.int32)
    scheduled = schedule(lp.add_dtypes(kernel, {"n": np.int32, "m": np.int32})).default_entrypoint
    observed = Observed(scheduled, CallData({"n": n, "m": m}, {"rows": rows, "columns": columns}))
    many = n * m > 2**22
    expected = None if many else len(set(rows.tolist())) * len(set(columns.tolist()))
    assert observed.cells((lp.symbolic.parse("rows[i]"), lp.symbolic.parse("columns[j]")), ("i", "j")) == expected


def test_an_array_that_is_not_given_is_named_in_a_warning() -> None:
    with pytest.warns(PerfModelWarning, match="the values of 'columns' were not given"):
        count(spmv("unknown_columns"), arrays={"starts": STARTS, "entries": int(STARTS[-1])})


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no argument 'rows'; its arguments are columns, "):
        count(spmv(), arrays={"rows": STARTS})


def test_only_arguments_that_decide_something_are_needed() -> None:
    assert {"starts", "columns"} == data_needed(schedule(spmv()).default_entrypoint)


def test_nests_of_many_points_are_sampled_without_bias() -> None:
    """A triangular nest of 18 million points: the sampled probability is within four standard errors."""
    kernel = make("[n] -> { [i, j]: 0 <= i < n and 0 <= j <= i }", "out[i, j] = 2*a[i] if mask[j] > 0 else 0",
                  "int32 mask: n; a: n", name="triangle", assumes="n >= 1")  # fmt: skip
    n = 6000
    mask = (np.arange(n) < n // 3).astype(np.int32)
    scheduled = schedule(lp.add_dtypes(kernel, {"n": np.int32})).default_entrypoint
    observed = Observed(scheduled, CallData({"n": n}, {"mask": mask}))
    test = lp.symbolic.parse("mask[j] > 0")
    true = sum(n - j for j in range(n // 3))  # a small j has more values of i
    assert float(observed.probability(test, ("i", "j"), ())) == pytest.approx(true / (n * (n + 1) / 2), abs=4e-3)


@pytest.mark.filterwarnings("ignore::perfmodel.errors.PerfModelWarning")
@pytest.mark.parametrize(("dtype", "known"), [("uint8", 75), ("uint32", None)])
def test_bytes_are_widened_as_in_c_and_unsigned_numbers_join_no_negative_ones(dtype: str, known: int | None) -> None:
    code = "out[i] = 2.5 if a[i] - 100 < -90 else exp(x[i])"
    kernel = lp.tag_inames(make("{ [i]: 0 <= i < n }", code, f"{dtype} a: n; out, x: n"), "i:g.0")
    counts = count(kernel, arrays={"a": np.array([5, 250, 100, 16] * 25, dtype), "n": 100})
    found = {row.kind: row.count for row in counts.operation_table}["exp"]
    assert (known or 100, known is not None) == (found(n=100), found.exact)


@pytest.mark.filterwarnings("ignore::perfmodel.errors.PerfModelWarning", "ignore::loopy.diagnostic.LoopyWarning")
@pytest.mark.parametrize("kernel", [
    pytest.param(kernel, id=kernel.name) for kernel in kernels() if kernel.arrays is not None
])  # fmt: skip
def test_counts_from_arrays_agree_with_an_execution(kernel) -> None:
    """The corpus' kernels whose data decide something, without the statistics that the corpus gives by hand."""
    for sizes in kernel.cases:
        given, known = {**sizes, **kernel.contents(sizes)}, unit(kernel).default_entrypoint.arg_dict
        arrays = {name: value for name, value in given.items() if name in known}
        counts = count(unit(kernel), SUBGROUP_SIZE, arrays=arrays)
        assert [] == compare(executed(kernel, sizes)[0], counts, sizes)


def some_rows() -> lp.TranslationUnit:
    return make(["[n] -> { [i]: 0 <= i < n }", "[many] -> { [k]: 0 <= k < many }"], """
        for i
            <> length = lengths[i]
            if length > 4
                <> many = length - around[length - 5]
                for k
                    y[i] = y[i] + 2*x[k]
                end
            end
        end
        """, "int32 lengths: n; int32 around: 4; x, y: n", name="some_rows", assumes="n >= 1")  # fmt: skip


def test_a_loop_whose_bound_has_a_value_only_under_a_condition_is_counted_there() -> None:
    around = np.array([0, 1, 1, 3], np.int32)
    executed = sum(length - around[length - 5] for length in LENGTHS if length > 4)
    counts = count(some_rows(), arrays={"lengths": LENGTHS.astype(np.int32), "around": around})
    assert executed == pytest.approx(float(counts.operations(kind="mul")(n=ROWS)), rel=1e-5)


def test_a_refusal_says_why_the_arrays_do_not_give_a_trip_count() -> None:
    with pytest.raises(StatisticsNeededError, match=r"depends on data \(.*the values of 'around' were not given\)"):
        count(some_rows(), arrays={"lengths": LENGTHS.astype(np.int32)})


def test_scalars_that_use_each_other_many_times_are_evaluated_once() -> None:
    lines = "\n".join(f"<> s{n + 1} = s{n} + s{n} - s{n} {{id=a{n + 1}, dep=a{n}}}" for n in range(40))
    kernel = make(["[n] -> { [i]: 0 <= i < n }", "[s40] -> { [k]: 0 <= k < s40 }"],
                  f"for i\n<> s0 = lengths[i] {{id=a0}}\n{lines}\ny[i] = sum(k, 2*x[k])\nend",
                  "int32 lengths: n; x, y: n", name="chain", assumes="n >= 1")  # fmt: skip
    counts = count(kernel, arrays={"lengths": LENGTHS.astype(np.int32)})
    assert LENGTHS.sum() == pytest.approx(float(counts.operations(dtype="float32", kind="mul")(n=ROWS)), rel=1e-5)


def test_a_time_limit_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfmodel.counts.reading.observed.LONGEST_S", 0.0)
    with pytest.raises(StatisticsNeededError, match=r"trip count of .* was not found from the arrays: 0 s were over"):
        count(spmv("limited"), arrays=MATRIX)


def masked(statements: str) -> lp.TranslationUnit:
    return make(["{ [i]: 0 <= i < n }", *(["{ [k]: 0 <= k < 3 }"] if "for k" in statements else [])], statements,
                "int32 mask, other: n; a, out: n", name="masked", assumes="n >= 1")  # fmt: skip


MASK, OTHER = RANDOM.integers(-2, 4, 3000).astype(np.int32), RANDOM.integers(0, 5, 3000).astype(np.int32)
IN_TURN = """
for i
    <int32> flag = 0 {id=none}
    if mask[i] > 0
        flag = 1 {id=first, dep=none}
        if other[i] == 2
            flag = 2 {id=second, dep=first}
        end
    end
    if mask[i] > 1
        flag = flag + other[i] {id=third, dep=second}
    end
    if flag > 3
        out[i] = 2*a[i] {dep=third}
    end
end
"""
EITHER = """
for i
    if mask[i] > 0
        if other[i] > 1
            <int32> flag = 1 {id=first}
        else
            flag = 2 {id=second}
        end
        if flag == 2
            out[i] = 2*a[i] {dep=first:second}
        end
    end
end
"""
LENGTHS_IN_TURN = """
for i
    <int32> chosen = other[i] {id=first}
    if mask[i] < 0
        chosen = 1 {id=second, dep=first}
    end
    <int32> length = chosen {id=length, dep=second}
    out[i] = sum(j, 2*a[j]) {dep=length}
end
"""


def test_a_condition_that_several_instructions_assign() -> None:
    executed = 0
    for mask, other in zip(MASK, OTHER, strict=True):
        flag = 0
        if mask > 0:
            flag = 1
            if other == 2:
                flag = 2
        if mask > 1:
            flag += other
        executed += flag > 3
    counts = count(masked(IN_TURN), arrays={"mask": MASK, "other": OTHER})
    assert executed == pytest.approx(float(counts.operations(kind="mul")(n=3000)), rel=1e-5)


def test_a_condition_that_one_of_two_branches_assigns() -> None:
    executed = ((MASK > 0) & (OTHER <= 1)).sum()
    counts = count(masked(EITHER), arrays={"mask": MASK, "other": OTHER})
    assert executed == pytest.approx(float(counts.operations(kind="mul")(n=3000)), rel=1e-5)


def test_a_trip_count_that_several_instructions_assign() -> None:
    kernel = make(["{ [i]: 0 <= i < n }", "[length] -> { [j]: 0 <= j < length }"], LENGTHS_IN_TURN,
                  "int32 mask, other: n; a, out: n", name="lengths", assumes="n >= 5")  # fmt: skip
    counts = count(kernel, arrays={"mask": MASK, "other": OTHER})
    executed = np.where(MASK < 0, 1, OTHER).sum()
    assert executed == pytest.approx(float(counts.operations(kind="mul")(n=3000)), rel=1e-5)


@pytest.mark.parametrize(("statements", "reason"), [
    ("""
     for i
         <int32> flag = 0 {id=none}
         for k
             if mask[i] > k
                 flag = flag + 1 {id=first, dep=none}
             end
         end
         if flag > 1
             out[i] = 2*a[i] {dep=first}
         end
     end
     """, "'flag' is assigned in different loops"),
    ("""
     for i
         <int32> flag = mask[i] {id=none}
         if flag > 2
             out[i] = 2*a[i] {id=used, dep=none}
         end
         flag = other[i] {id=last, dep=used}
         if flag > 2
             out[i] = 3 + a[i] {dep=last}
         end
     end
     """, "'flag' is used before it is assigned for the last time"),
    ("""
     for i
         if mask[i] > 1
             <int32> flag = 1 {id=first}
         end
         if mask[i] < 0
             flag = 2 {id=second, dep=first}
         end
         if flag == 2
             out[i] = 2*a[i] {dep=second}
         end
     end
     """, "'flag' has a value of another iteration at some points"),
], ids=["a loop", "between", "not everywhere"])
def test_conditions_that_the_data_of_one_iteration_do_not_decide(statements: str, reason: str) -> None:
    with pytest.warns(PerfModelWarning, match=reason):
        count(masked(statements), arrays={"mask": MASK, "other": OTHER})
