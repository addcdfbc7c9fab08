"""The exceptions keep their text and their data wherever Python copies, pickles or raises them again."""

import copy
import inspect
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from perfmodel import errors
from perfmodel.errors import PerfModelError, SizeError, clipped, listed

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, PerfModelError)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_copied_and_pickled_with_its_data(kind):
    error = kind("n is -4", "give a number above 0.", name="n")
    for other in (error, copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert "n is -4; give a number above 0." == str(other)
        assert (kind, "n", "n is -4") == (type(other), other.name, other.problem)
    assert kind is getattr(errors, kind.__name__)
    assert "perfmodel.errors" == kind.__module__


def raise_one():
    raise SizeError("n is -4", "give a number above 0", name="n")


def test_a_kind_crosses_processes():
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(SizeError, match="n is -4; give a number above 0") as caught,
    ):
        pool.submit(raise_one).result()
    assert "n" == caught.value.name


def test_long_values_and_lists_are_shortened():
    assert "a" * 500 + " ... " + "b" * 500 == clipped("a" * 2000 + "b" * 2000)
    names = [f"name{number:05}" for number in range(5000)]
    text = listed(names)
    assert text.startswith("name00000, name00001")
    assert text.endswith("more")
    assert len(text) < 6000
    assert "x or y" == listed(["x", "y"], " or ")
    assert "x, y and 2 more" == listed(["x", "y", "zzz", "w"], most=3)
    assert "none" == listed([])
