"""Predictions where data index arrays or decide tests: two ends, and what is said of statistics."""

import loopy as lp
import numpy as np
import pytest
from constantdict import constantdict

import perfmodel as pm
from perfmodel.counts import KernelCounts, count
from perfmodel.counts.tables import with_own_functions
from perfmodel.errors import PredictionError
from tests.corpus.kernel import make
from tests.counts.traffic.test_traffic import product_with_rows
from tests.recorded import POCL

SIZES = {"n": 1 << 20, "k": 16}


@pytest.fixture(scope="module")
def model() -> pm.FittedModel:
    return pm.load(POCL / "bottleneck.json")


@pytest.mark.parametrize("shape", ["n", None])
def test_without_a_span_the_time_is_the_geometric_mean_and_the_interval_holds_both_ends(
    model: pm.FittedModel, shape: str | None
) -> None:
    local, anywhere = (model.predict(product_with_rows(shape, **{"x:span": span}), SIZES) for span in (1, SIZES["n"]))
    made = model.predict(product_with_rows(shape), SIZES)
    assert local.seconds < anywhere.seconds
    assert pytest.approx((local.seconds * anywhere.seconds) ** 0.5) == made.seconds
    assert (pytest.approx(local.interval[0]), pytest.approx(anywhere.interval[1])) == made.interval
    factor = f"data index x, and the time differs by a factor of {anywhere.seconds / local.seconds:.1f}"
    assert any(warning.startswith(factor) for warning in made.warnings)
    assert not any("data index" in warning for end in (local, anywhere) for warning in end.warnings)


def test_wider_spans_take_no_less_time(model: pm.FittedModel) -> None:
    times = [model.predict(product_with_rows(**{"x:span": 4**step}), SIZES).seconds for step in range(11)]
    assert times == sorted(times)
    assert times[0] < times[-1]


def test_arrays_of_sizes_have_the_times_of_each_size(model: pm.FittedModel) -> None:
    counts, sizes = product_with_rows(), np.array([1 << 16, 1 << 20])
    made = model.predict(counts, n=sizes, k=16)
    assert pytest.approx([model.predict(counts, n=int(n), k=16).seconds for n in sizes]) == made.seconds
    assert [(2,), (2,)] == [np.shape(end) for end in made.interval]


def test_a_span_larger_than_the_array_is_named(model: pm.FittedModel) -> None:
    counts = product_with_rows(**{"x:span": 5000})
    expected = "statistics['x:span'] is 5000, but at most 4096 at these sizes; give a smaller number, or larger sizes"
    assert expected in model.predict(counts, n=4096, k=16).warnings
    assert not counts.outside({"n": 8192, "k": 16})


@pytest.mark.parametrize(("bound", "shape"), [("n", None), ("stop", "n")])
def test_a_trip_count_larger_than_its_loop_or_array_is_named(bound: str, shape: str | None) -> None:
    """The loop ends at n whatever the data, or data alone end it and it goes along an array of n cells."""
    limit = "0 <= j and start <= j < n" if bound == "n" else "start <= j < stop"
    unit = make(["{ [i]: 0 <= i < n }", f"{{ [j]: {limit} }}"], """
        for i
            <> start = row[i]
            <> stop = row[i+1]
            y[i] = sum(j, a[j])
        end
        """, f"int32 row: n+1; a: {shape}; y: n", assumes="n >= 1")  # fmt: skip
    counts = count(unit, statistics={"j": 12.5})
    assert ((("j", 12.5, 8.0),), ()) == (counts.outside({"n": 8}), counts.outside({"n": 13}))


def masked(test: str = "mask[i] > 0", **statistics: float) -> KernelCounts:
    unit = make("{ [i]: 0 <= i < n }", f"y[i] = log(x[i]) {{if={test}}}", "float64 x, y: n; int32 mask: n",
                assumes="n >= 64 and n mod 64 = 0")  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    return count(unit, statistics={f"mask[i_inner + i_outer*64] {key}": value for key, value in statistics.items()})


def test_without_a_probability_a_test_counts_as_true_and_the_interval_holds_both_ends(model: pm.FittedModel) -> None:
    always, never = (model.predict(masked(**{"> 0": chance}), {"n": SIZES["n"]}) for chance in (1, 0))
    made = model.predict(masked(), n=SIZES["n"])
    assert always.seconds == made.seconds > 2 * never.seconds
    assert (pytest.approx(never.interval[0]), pytest.approx(always.interval[1])) == made.interval
    (said,) = [warning for warning in made.warnings if "data decide" in warning]
    assert said == (
        "data decide mask[i_inner + i_outer*64] > 0, counted as always true; the time differs by a factor of "
        f"{made.seconds / never.seconds:.1f} if never true, and intervals cover both; give the probability as "
        "statistics {'mask[i_inner + i_outer*64] > 0': 0.5}"
    )
    assert not any("data decide" in warning for end in (always, never) for warning in end.warnings)


def test_unknown_tests_are_named_at_arrays_of_sizes_and_in_counts_that_were_read(model: pm.FittedModel) -> None:
    counts, sizes = masked(), np.array([1 << 12, 1 << 20])
    again = KernelCounts.from_json(counts.to_json())
    assert ("mask[i_inner + i_outer*64] > 0",) == counts.unknown_tests == again.unknown_tests
    made = model.predict(again, n=sizes)
    for place, n in enumerate(sizes.tolist()):
        assert pytest.approx(model.predict(counts, n=n).interval) == (made.interval[0][place], made.interval[1][place])


def test_a_test_that_takes_no_time_has_no_caution(model: pm.FittedModel) -> None:
    assert () == masked("i >= 5").unknown_tests == masked(**{"> 0": 0.5}).unknown_tests
    assert not any("data decide" in warning for warning in model.predict(masked("i >= 5"), n=4096).warnings)


class Own(lp.ScalarCallable):
    """A function of one number, as users define it in C."""

    def with_types(self, arg_id_to_dtype, callables_table):
        (dtype,) = (dtype for at, dtype in arg_id_to_dtype.items() if at == 0)
        return self.copy(name_in_target="own", arg_id_to_dtype=constantdict({0: dtype, -1: dtype})), callables_table

    def with_descrs(self, arg_id_to_descr, callables_table):
        return self.copy(arg_id_to_descr=constantdict(arg_id_to_descr)), callables_table


def called(function: str) -> KernelCounts:
    unit = make("{ [i]: 0 <= i < n }", f"y[i] = {function}(x[i])", "float64 x, y: n",
                assumes="n >= 64 and n mod 64 = 0")  # fmt: skip
    if function == "own":
        unit = lp.register_callable(unit, "own", Own("own"))
    return count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"))


def test_the_interval_of_a_user_s_function_in_c_covers_none_and_ten_functions_of_the_library(model) -> None:
    n, counts = SIZES["n"], called("own")
    assert (("own",), ()) == (counts.own_functions, called("sinh").own_functions)
    ends = [with_own_functions(counts, times) for times in (0, 10)]
    assert [0, 10 * n] == [end.operations(kind="own")(n=n) for end in ends]
    free, dearest = (model.predict(end, n=n) for end in ends)
    made, library = model.predict(counts, n=n), model.predict(called("sinh"), n=n)
    assert library.seconds == made.seconds > free.seconds
    assert free.interval[0] == pytest.approx(made.interval[0])
    assert 5 < made.interval[1] / library.interval[1] < 10  # ten functions, but all else once
    (said,) = [warning for warning in made.warnings if "C code" in warning]
    assert said == (
        "perfmodel does not read the C code of own; a call counts as one function of OpenCL's library, and intervals "
        f"cover 0 to 10 of them, a factor of {dearest.seconds / free.seconds:.1f} in time"
    )
    assert not any("C code" in warning for warning in library.warnings)


def test_a_bound_that_cannot_be_predicted_does_not_withhold_the_prediction(model, monkeypatch) -> None:
    counts, predicted = called("own"), pm.FittedModel._with_gathers

    def refusing(self, asked, *given):
        if asked is not counts:
            raise PredictionError("negative", "fit again")
        return predicted(self, asked, *given)

    monkeypatch.setattr(pm.FittedModel, "_with_gathers", refusing)
    assert 0 < model.predict(counts, n=4096).seconds
