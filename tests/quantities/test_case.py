"""A kernel at given sizes: its features, counts and facts."""

import sys

import numpy as np
import pytest

from perfmodel.errors import FactsError, FamilyError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.quantities.case import Case, computed
from tests.fitting.test_weights_file import KERNELS
from tests.standins import Counts, Operation, count

COUNTS = Counts(operation_table=(Operation("float32", "add", count("2*n")), Operation("float64", "mul", count("n"))))
FACTS = DeviceFacts.from_mapping("toy", "none", "0", {"banks": Fact(32, "", "made up")})


def test_features_are_summed_by_patterns():
    case = Case(COUNTS, {"n": 10})
    assert 20 == case.features["op_float32_add"]
    assert (30, 10, 0) == (case.total("op_*"), case.total("op_float64_*", "none_*"), case.total("none_*"))


def test_counts_at_a_number_and_at_arrays():
    assert 20.0 == Case(COUNTS, {"n": 10}).value(count("2*n"))
    assert [2.0, 4.0] == Case(COUNTS, {"n": np.array([1, 2])}).value(count("2*n")).tolist()
    # A constant has the shape of the sizes too.
    assert [7.0, 7.0] == Case(COUNTS, {"n": [1, 2]}).value(count("7")).tolist()


def test_facts_are_known_or_named_in_an_error():
    case = Case(COUNTS, {"n": 10}, FACTS, "toy_family")
    assert (32, True, False) == (case.fact("banks"), case.knows("banks"), case.knows("banks", "clock_hz"))
    assert (32, 5, None) == (case.known("banks"), case.known("clock_hz", 5), case.known("clock_hz"))
    with pytest.raises(FactsError) as caught:
        case.fact("clock_hz")
    assert ("clock_hz", "toy_family") == (caught.value.key, caught.value.family)


SIZES = np.array([[64], [128]])
ONE, MANY = Case(KERNELS["add"], {"n": 64}, None, "mine"), Case(KERNELS["add"], {"n": SIZES}, None, "mine")


def leave(_):
    sys.exit(0)


def divide(_):
    return {"waits": 1 // 0}


class NoExceptionError(BaseException):
    """What a user's file may raise too."""


def refuse(_):
    raise NoExceptionError("so\nthere")


@pytest.mark.parametrize("value", [2.5, np.array(2.5), np.ones(SIZES.shape), SIZES, np.ones(1)])
def test_a_number_or_an_array_of_the_sizes_shape(value):
    assert value is computed(lambda _: {"waits": value}, ["waits"], MANY)["waits"]


@pytest.mark.parametrize(("quantities", "said"), [
    (leave, "raised SystemExit (0)"), (divide, "raised ZeroDivisionError (integer division or modulo by zero)"),
    (refuse, "raised NoExceptionError (so there)"),
    (lambda _: None, "returned a value of type NoneType, not a mapping"),
    (lambda _: "waits", "returned a value of type str, not a mapping"),
    (lambda _: {}, "did not return 'waits', which the family declares"),
    (lambda _: {"waits": "3"}, "returned 'waits' as a value of type str, neither a number nor an array"),
    (lambda _: {"waits": None}, "returned 'waits' as a value of type NoneType, neither"),
    (lambda _: {"waits": np.array(["3"])}, "neither a number nor"), (lambda _: {"waits": 2j}, "neither a number nor"),
    (lambda _: {"waits": -1}, "as -1, not finite, zero or more"),
    (lambda _: {"waits": float("nan")}, "not finite, zero or more"),
    (lambda _: {"waits": float("inf")}, "not finite, zero or more"),
    (lambda _: {"waits": np.ones(2)}, "returned 'waits' of shape (2,) where the sizes have ()"),
])  # fmt: skip
def test_anything_else_is_one_error(quantities, said):
    with pytest.raises(FamilyError) as caught:
        computed(quantities, ["waits"], ONE)
    assert "quantities() of the family 'mine' r" in str(caught.value) or "did not return" in said
    assert said in str(caught.value)
    assert "docs/add-a-family.md" in str(caught.value)


class LimitReached(BaseException):
    """What a time limit raises, without a message."""


@pytest.mark.parametrize("kind", [LimitReached, TimeoutError, SystemExit])
def test_exceptions_without_a_message(kind):
    def stopped(_):
        raise kind

    with pytest.raises(FamilyError) as caught:
        computed(stopped, ["waits"], ONE)
    raised = f"quantities() of the family 'mine' raised {kind.__name__} without a message"
    assert str(caught.value).startswith(f"{raised}, for the kernel '{ONE.counts.name}' at n=64; ")
    assert isinstance(caught.value.__cause__, kind)


def test_errors_of_perfmodel_and_an_interrupt_stay_what_they_are():
    with pytest.raises(FactsError):
        computed(lambda case: {"waits": case.fact("banks")}, ["waits"], ONE)

    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        computed(interrupted, ["waits"], ONE)
