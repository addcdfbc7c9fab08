"""Variants as pickles: what travels, what is run first, and what cannot travel."""

from __future__ import annotations

import pickle
import sys
import threading
from functools import partial

import pytest

import perfmodel as pm
from perfmodel.errors import TrialError, UnpicklableVariantError
from perfmodel.kernels import execution
from perfmodel.kernels.files import load_kernel_file
from perfmodel.workers.counted import CountedVariants
from perfmodel.workers.parcels import counts_as_json, made, packed, packed_counts, unpacked
from tests.workers.variants import double, write_file


@pytest.fixture(autouse=True)
def no_other_files(monkeypatch):
    """Kernel files that other tests ran here are forgotten: their names may be in any pickle."""
    monkeypatch.setattr(execution, "_executed", {})
    monkeypatch.setattr(execution, "_beside", {})


def test_units_and_functions_arrive_as_they_were():
    unit = double(8)
    assert unit == unpacked(packed("unit", unit))
    assert unit == made("function", unpacked(packed("function", partial(double, 8))))
    assert unit == made("lambda", unpacked(packed("lambda", lambda: double(8))))
    assert () == packed("unit", unit).sources


def test_a_kernel_file_goes_along_and_runs_where_it_is_not_known(tmp_path, monkeypatch):
    loaded = load_kernel_file(write_file(tmp_path, (8, 16)))
    parcel = packed("width=8", loaded.builders["width=8"])
    (source,) = parcel.sources
    assert tmp_path / "doubles.py" == source.path
    for name in [*execution._executed]:  # as in a new process, which has no such module
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(execution, "_executed", {})
    assert loaded.builders["width=8"]() == made("width=8", unpacked(parcel))


def test_a_file_that_changed_runs_again(tmp_path):
    path = write_file(tmp_path, (8,))
    before = packed("width=8", load_kernel_file(path).builders["width=8"])
    path.write_text(path.read_text().replace("2*a[i]", "3*a[i]"))
    after = packed("width=8", load_kernel_file(path).builders["width=8"])
    assert made("x", unpacked(before)) != made("x", unpacked(after))
    assert made("x", unpacked(before)) == double(8)


def test_counts_travel_as_their_json():
    counts = pm.count(double(8))
    counted = CountedVariants({"here": counts, "there": counts_as_json(counts)}, {})
    for name in counted:
        parcel = packed_counts(name, counted.stored(name))
        assert counts.to_json() == made(name, unpacked(parcel)).to_json()
    assert {} == counted._read  # nothing was read here for it
    assert packed("here", counts) == packed_counts("here", counts)


def test_a_file_is_sent_for_its_own_name_only(monkeypatch, tmp_path):
    monkeypatch.setattr(execution, "_beside", {"a": tmp_path})
    monkeypatch.setattr(execution, "_executed", {"file": execution.Source(tmp_path / "kernels.py", b"")})
    assert () == execution.sources_in(pickle.dumps(["aa", "many letters a"]))
    assert ("kernels.py",) == tuple(one.path.name for one in execution.sources_in(pickle.dumps("a")))


def test_what_cannot_be_pickled_is_named_with_advice():
    lock = threading.Lock()
    with pytest.raises(UnpicklableVariantError, match=r"variant 'held' .*lock.*; give a function that builds it"):
        packed("held", lambda: lock)


def test_a_function_that_returns_something_else():
    with pytest.raises(TrialError, match=r"its function returns int, and not a loopy\.TranslationUnit"):
        made("odd", lambda: 3)
