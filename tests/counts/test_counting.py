"""The arguments of ``count``: what each of them changes, by hand."""

from fractions import Fraction
from typing import Any

import loopy as lp
import numpy as np
import pytest

from perfmodel import errors
from perfmodel.counts import count
from perfmodel.features import evaluate
from tests.corpus.kernel import make
from tests.oracle import execute

LANGUAGE = (2018, 2)
pytestmark = [
    pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of Loopy and islpy, about each other
]


def saxpy(width: int = 64) -> lp.TranslationUnit:
    unit = make("{ [i]: 0 <= i < n }", "y[i] = 3*x[2*i] + y[i]", "x: 2*n", assumes="n >= 1")
    return lp.split_iname(lp.add_dtypes(unit, {"y": np.float32}), "i", width, outer_tag="g.0", inner_tag="l.0")


def rows_until() -> lp.TranslationUnit:
    """Sums of as many terms as data say, where data let it."""
    unit = make(["{ [i]: 0 <= i < n }", "{ [j]: 0 <= j < last }"], """
        for i
            <int32> last = ends[i] {id=last}
            if a[i] > 0
                out[i] = sum(j, a[i] + j) {dep=last}
            end
        end
        """, "int32 ends: n; a, out: n", assumes="n >= 1")  # fmt: skip
    return unit


def operations(**options: bool) -> dict[tuple[str, str], int]:
    return {(row.dtype, row.kind): row.count(n=640) for row in count(saxpy(), cache=False, **options).operation_table}


def test_what_is_counted_beside_the_default() -> None:
    assert {("float32", "mul"): 640, ("float32", "add"): 640} == operations()
    assert {("float32", "madd"): 640} == operations(group_multiply_add=True)
    with_index = operations(include_index_arithmetic=True)
    # 2*i is 2*(i_outer*64 + i_inner), or the same simplified: a product at least for each work-item
    assert with_index["int32", "mul"] >= 640
    assert (640, 640) == (with_index["float32", "mul"], with_index["float32", "add"])


@pytest.mark.parametrize("size", [0, -1, 1025, 10**400, 2.5, "32", None])
def test_a_sub_group_of_no_device_is_refused(size: Any) -> None:
    t_unit = make("{[i]: 0 <= i < 8}", "out[i] = 1")
    with pytest.raises(errors.OptionError, match=r"give an integer from 1 to 1024"):
        count(t_unit, subgroup_size=size)


def test_statistics_are_exact_fractions_of_what_is_written() -> None:
    # 0.1 as a text is a tenth; as binary it is a little more
    counts = count(rows_until(), statistics={"j": 0.1, "a[i] > 0": "1/2"}, cache=False)
    (additions,) = [row for row in counts.operation_table if row.kind == "add" and row.dtype == "float32"]
    # two additions a term (that of the sum too), a tenth of a term on average, in half of the rows
    assert 1000 * Fraction(1, 10) * Fraction(1, 2) * 2 == additions.count(n=1000)


@pytest.mark.parametrize("value", [-1, "often", float("nan"), float("inf")])
def test_statistics_that_are_no_natural_share(value: object) -> None:
    with pytest.raises(errors.ArgumentError, match="'j'"):
        count(rows_until(), statistics={"j": value}, cache=False)


@pytest.mark.parametrize("value", [0, 0.5, -3, float("nan"), "wide"])
def test_spans_below_an_index(value: object) -> None:
    gathered = make("{[i]: 0 <= i < 8}", "out[i] = x[index[i]]")
    gathered = lp.add_dtypes(gathered, {"x": np.float32, "index": np.int32})
    with pytest.raises(errors.ArgumentError, match=r"statistics\['x:span'\] is .*; give "):
        count(gathered, statistics={"x:span": value}, cache=False)


def message(error: pytest.ExceptionInfo[Exception]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


def untyped() -> lp.TranslationUnit:
    return make("{[i]: 0 <= i < n}", "c[i] = alpha*a[i] + b[i]", assumes="n >= 1")


def test_types_at_call_time() -> None:
    counts = count(untyped(), dtypes={"a": np.float32, "b": "float64", "alpha": np.dtype("float32")})
    assert (1, 1) == (counts.operations("float32", "mul")(n=1), counts.operations("float64", "add")(n=1))
    assert 64 * 9 == sum(row.bits * row.count(n=9) for row in counts.access_table if row.array == "b")


def test_types_that_are_missing_are_named_together() -> None:
    with pytest.raises(errors.KernelError, match=r"dtypes=\{'alpha': numpy.float32, 'b'") as error:
        count(untyped(), dtypes={"a": np.float32})
    assert {"b", "alpha"} <= set(error.value.names)
    message(error)


@pytest.mark.parametrize(("dtypes", "expected"), [
    ({"q": np.float32}, "which is not an argument"), ({"a": "quite long"}, "is 'quite long'; give a NumPy type"),
    ({"d": np.float64}, "is float64, and the kernel has float32"),
])  # fmt: skip
def test_types_that_do_not_fit(dtypes: dict[str, Any], expected: str) -> None:
    t_unit = lp.add_dtypes(
        lp.make_kernel("{[i]: 0 <= i < n}", "c[i] = a[i] + d[i]", lang_version=LANGUAGE), {"d": np.float32}
    )
    with pytest.raises(errors.KernelError, match=expected):
        count(t_unit, dtypes=dtypes)


def two_ragged_loops() -> lp.TranslationUnit:
    return make(["{[i]: 0 <= i < n}", "{[j]: 0 <= j < first}", "{[k]: 0 <= k < second}"], """
        for i
            <> first = lengths[i]
            <> second = more[i]
            b[i] = sum(j, a[j])
            c[i] = sum(k, 2*a[k]) if a[i] > 1 else 0
        end
        """, "a: 1000; b, c: n; int32 lengths, more: n", assumes="n >= 1")  # fmt: skip


def test_all_missing_statistics_in_one_error() -> None:
    with pytest.raises(errors.StatisticsNeededError) as error:
        count(two_ragged_loops())
    assert {"j", "k"} == set(error.value.inames)
    assert all(f"'{name}': <its mean trip count>" in message(error) for name in "jk")
    counts = count(two_ragged_loops(), statistics={"j": 2, "k": Fraction(7, 2)})
    assert 10 * Fraction(7, 2) == counts.operations(kind="mul")(n=10)


def test_a_probability_is_at_most_one() -> None:
    t_unit = make("{[i]: 0 <= i < n}", "c[i] = a[i] if flag[i] > 0 else 0", "a, c: n; int32 flag: n", assumes="n >= 1")
    assert 8 == count(t_unit, statistics={"flag[i] > 0": 1}).accesses(array="a")(n=8)
    with pytest.raises(errors.ArgumentError, match=r"is 1\.5; give the probability of a test, from 0 to 1") as error:
        count(t_unit, statistics={"flag[i] > 0": 1.5})
    message(error)


def test_a_stride_on_which_only_lines_depend_is_a_parameter() -> None:
    t_unit = make("{[i, j]: 0 <= i < n and 0 <= j < 8}", "c[i, j] = 2*a[i, j]",
                  [lp.GlobalArg("a", np.float32, shape=("n", 8), dim_tags="stride:pitch, stride:1"),
                   lp.GlobalArg("c", np.float32, shape=("n", 8)), lp.ValueArg("n, pitch", np.int32)],
                  assumes="n >= 1")  # fmt: skip
    counts = count(t_unit)
    assert ("n", "pitch") == counts.parameters
    # three rows of 8 floats (32 bytes), 40 floats (160 bytes) apart: at bytes 0, 160 and 320
    assert 3 == counts.lines("a", 64, per="launch", n=3, pitch=40)(n=3, pitch=40)
    assert ("n", "pitch") == type(counts).from_json(counts.to_json()).parameters


def three_steps() -> lp.TranslationUnit:
    t_unit = make("{[i, k]: 0 <= i < n and 0 <= k < 5}", """
        <> t = 3*a$left[i] + a$right[n-1-i] {id=compute_first, tags=early}
        out[i] = t*t*t {id=compute_second, dep=compute_first}
        s[i] = sum(k, a[k]*w[k]) {id=total, dep=compute_second}
        """, "a, out, s: n; w: 5", assumes="n >= 8 and n mod 8 = 0")  # fmt: skip
    return lp.split_iname(t_unit, "i", 8, outer_tag="g.0", inner_tag="l.0")


# By hand, for each i: 1 mul and 1 add with 2 loads; 2 mul with 1 store; 5 mul, 5 add, 10 loads and 1 store.
@pytest.mark.parametrize(("within", "mul", "add", "loads", "stores"), [
    ("", 8, 6, 12, 2), ("id:compute*", 3, 1, 2, 1), ("tag:early", 1, 1, 2, 0), ("writes:out", 2, 0, 0, 1),
    ("id:total*", 5, 5, 10, 1), ("not id:compute* and not reads:w", 0, 0, 0, 1),
])  # fmt: skip
def test_a_part_of_a_kernel(within: str, mul: int, add: int, loads: int, stores: int) -> None:
    counts = count(three_steps(), within=within)
    found = (
        counts.operations(kind="mul")(n=16), counts.operations(kind="add")(n=16),
        counts.accesses("global", "load")(n=16), counts.accesses("global", "store")(n=16),
    )
    assert tuple(16 * each for each in (mul, add, loads, stores)) == found
    assert (2, 16, 1) == (counts.work_groups()(n=16), counts.work_items()(n=16), counts.launches()(n=16))


def guarded() -> lp.TranslationUnit:
    t_unit = make("{[i]: 0 <= i < n}", """
        b[i] = a[i] + 1 {id=free}
        if f[i] + g[i] > 0.5
            c[i] = 2*a[i] {id=inner_one, dep=free}
            d[i] = 3*a[i] {id=inner_two, dep=inner_one}
        end
        """, "a, b, c, d, f, g: n", assumes="n >= 1")  # fmt: skip
    return t_unit


@pytest.mark.parametrize(
    ("within", "adds"), [("id:free", 1), ("id:inner_one", 1), ("id:inner_two", 1), ("id:inner_*", 1), ("", 2)]
)
def test_a_shared_test_belongs_to_each_part_below_it(within: str, adds: int) -> None:
    """`free` adds once; the test adds once, however many of the instructions below it are counted."""
    assert 7 * adds == count(guarded(), within=within).operations(kind="add")(n=7)


def test_accesses_by_their_tags() -> None:
    assert 16 == count(three_steps(), access_tags=["left"]).accesses()(n=16)
    assert 32 == count(three_steps(), access_tags=("right", "left")).accesses("global")(n=16)
    assert 8 * 16 == count(three_steps(), access_tags="left").operations(kind="mul")(n=16)


@pytest.mark.parametrize("within", ["id:nothing*", "id compute", "id:compute* and", "writes:nowhere"])
def test_a_part_that_is_not_there(within: str) -> None:
    with pytest.raises(errors.OptionError, match=r"within=.*compute_first, compute_second, total") as error:
        count(three_steps(), within=within)
    message(error)


def test_an_access_tag_that_is_not_there() -> None:
    with pytest.raises(errors.OptionError, match=r"^access_tags='middle' is not a tag of an.*left, right") as error:
        count(three_steps(), access_tags={"left", "middle"})
    message(error)


def test_two_entry_points() -> None:
    one, two = (
        lp.make_kernel("{[i]: 0 <= i < 16}", f"{name}[i] = 1.0f", name=name, lang_version=LANGUAGE) for name in "pq"
    )
    both = lp.merge([one, two])
    with pytest.raises(errors.KernelError, match=r"2 entry points, not one; name the kernel"):
        count(both)


def test_a_segmented_sum_by_its_name() -> None:
    t_unit = make("{[i]: 0 <= i < 16}", "out, flag = reduce(segmented(sum), i, (a[i], segment[i]))",
                  "a: 16; int32 segment: 16; out: (); int32 flag: ()")  # fmt: skip
    with pytest.raises(errors.CountError, match=r"operations in a step of the reduction segmented\(sum\)") as error:
        count(t_unit)
    assert "ResolvedFunction" not in message(error)


def in_slabs(increments: tuple[int, int]) -> lp.TranslationUnit:
    t_unit = make("{[i]: 0 <= i < n}",
                  ["<> t[i] = 2*a[i] {id=first}", "... lbarrier {id=wait, dep=first}", "out[i] = t[i] + 1 {dep=wait}"],
                  "a, out: n", assumes="n >= 1", seq_dependencies=True)  # fmt: skip
    t_unit = lp.set_temporary_address_space(t_unit, "t", "local")
    return lp.split_iname(t_unit, "i", 8, outer_tag="g.0", inner_tag="l.0", slabs=increments)


@pytest.mark.parametrize(("increments", "copies"), [((0, 0), 1), ((0, 1), 2), ((1, 1), 3)])
def test_every_slab_of_a_hardware_axis_has_a_barrier(increments: tuple[int, int], copies: int) -> None:
    """Loopy writes the kernel's body once for each slab; a guard excludes its instructions, but no barrier."""
    executed = execute(in_slabs(increments), {"n": 40})
    assert 40 * copies == executed.barriers == count(in_slabs(increments)).barriers()(n=40)

def test_constant_memory_is_a_space_with_the_features_of_global_memory() -> None:
    unit = make("{ [i, j]: 0 <= i < n and 0 <= j < 8 }", "out[i] = sum(j, weights[j]*a[i + j])",
                [lp.ConstantArg("weights", np.float32, shape=8), lp.GlobalArg("a", np.float32, shape="n + 8"),
                 lp.GlobalArg("out", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
                assumes="n >= 1 and n mod 32 = 0")  # fmt: skip
    counts = count(lp.split_iname(unit, "i", 32, outer_tag="g.0", inner_tag="l.0"))
    assert [8 * 64, 8 * 64] == [counts.accesses(space, "load")(n=64) for space in ("constant", "global")]
    assert 8 * 64 == counts.accesses(array="weights")(n=64)
    assert 8 * 64 == evaluate(counts, {"n": 64})["global_load_32_uniform"]


def test_atomic_updates_are_told():
    unit = lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = out[i] + a[i] {atomic}", [
        lp.GlobalArg("out", np.float32, shape="n", for_atomic=True), lp.GlobalArg("a", np.float32, shape="n"), ...,
    ], lang_version=(2018, 2), assumptions="n >= 1")  # fmt: skip
    with pytest.warns(errors.PerfModelWarning, match="out: atomic updates are counted as loads and stores"):
        assert 7 == count(unit).accesses(array="out", direction="store")(n=7)
