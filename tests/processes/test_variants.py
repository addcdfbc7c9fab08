"""Variants as pickles: what travels, what is run first, what cannot travel, and what a process does with them."""

import json
import pickle
import sys
import threading
import warnings
from functools import partial

import cloudpickle
import pytest

import perfmodel as pm
from perfmodel.counts import count
from perfmodel.errors import KernelError, PerfModelWarning, VariantError, failed
from perfmodel.kernels import files
from perfmodel.kernels.files import built, load_kernel_file
from perfmodel.processes import variants
from tests.processes.variants import double, write_file


@pytest.fixture(autouse=True)
def no_other_files(monkeypatch):
    """Kernel files that other tests ran here are forgotten: their names may be in any pickle."""
    for name in [*files._executed, *files._neighbours, "widths"]:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(files, "_executed", {})
    monkeypatch.setattr(files, "_neighbours", {})


def test_units_and_functions_arrive_as_they_were():
    unit = double(8)
    assert unit == variants.unpacked(variants.packed("unit", unit))
    assert unit == built("function", variants.unpacked(variants.packed("function", partial(double, 8))))
    assert unit == built("lambda", variants.unpacked(variants.packed("lambda", lambda: double(8))))
    assert () == variants.packed("unit", unit).sources


def test_a_kernel_file_goes_along_and_runs_where_it_is_not_known(tmp_path, monkeypatch):
    loaded = load_kernel_file(write_file(tmp_path, (8, 16)))
    parcel = variants.packed("width=8", loaded.builders["width=8"])
    (source,) = parcel.sources
    assert tmp_path / "doubles.py" == source.path
    for name in [*files._executed]:  # as in a new process, which has no such module
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(files, "_executed", {})
    assert loaded.builders["width=8"]() == built("width=8", variants.unpacked(parcel))


def test_counts_travel_as_their_json():
    counts = pm.count(double(8))
    counted = variants.CountedVariants({"here": counts, "there": variants.counts_as_json(counts)}, {})
    for name in counted:
        parcel = variants.packed(name, counted.stored(name))
        assert counts.to_json() == built(name, variants.unpacked(parcel)).to_json()
    assert 0 == counted._read.cache_info().currsize  # nothing was read here for it
    assert variants.packed("here", counts) == variants.packed("here", variants.counts_as_json(counts))


def test_what_cannot_be_pickled_is_named_with_advice():
    lock = threading.Lock()
    with pytest.raises(KernelError, match=r"variant 'held' .*lock.*; give a function that builds it"):
        variants.packed("held", lambda: lock)


COUNTS = {str(width): count(double(width)) for width in (4, 8, 16)}


def as_text(counts):
    return json.dumps(counts.to_json()).encode()


def hashes(counted):
    return {name: counts.hash for name, counts in counted.items()}


def test_text_is_read_when_it_is_used(monkeypatch):
    monkeypatch.setattr(variants, "IN_MEMORY", 2)
    texts, errors = {name: as_text(one) for name, one in COUNTS.items()}, {"x": VariantError("no", name="x")}
    found = variants.CountedVariants(texts, errors)
    assert ["4", "8", "16"] == [*found]
    assert hashes(COUNTS) == hashes(found)
    assert found["8"] is found["8"]
    assert 2 == found._read.cache_info().currsize
    assert "<CountedVariants: 3 counted, 1 with an error: 4, 8, 16>" == repr(found)
    with pytest.raises(KeyError):
        found["x"]
    copied = pickle.loads(pickle.dumps(found))
    assert (hashes(found), {**found.errors}) == (hashes(copied), {**copied.errors})


def told(kernel):
    warnings.warn("mind this", PerfModelWarning, stacklevel=2)
    warnings.warn("mind this", PerfModelWarning, stacklevel=2)
    return kernel.default_entrypoint.name


def test_an_outcome_is_a_value_or_an_error_with_its_warnings():
    task = cloudpickle.dumps(told)
    first = variants.received("a", variants.work(task, variants.packed("a", lambda: double(8))))
    assert ("loopy_kernel", ((PerfModelWarning, "mind this"),)) == first
    second, _ = variants.received("b", variants.work(task, variants.packed("b", lambda: 1 / 0)))
    assert str(failed("b", "compile", "ZeroDivisionError: division by zero")) == str(second)
    third, _ = variants.received("c", variants.work(task, variants.Parcel("c", b"no pickle")))
    assert "UnpicklingError" in third.problem
    assert "in another process" in third.problem


class Held(VariantError):
    """An error that cannot be pickled, or not unpickled."""

    def __reduce__(self):
        return (divmod, (1, 0)) if self.problem == "unpickled" else threading.Lock().__reduce__()


@pytest.mark.parametrize("problem", ["pickled", "unpickled"])
def test_an_error_that_cannot_travel_is_one_of_its_variant(problem):
    def fails():
        raise Held(problem)

    error, warned = variants.received("a", variants.work(cloudpickle.dumps(told), variants.packed("a", fails)))
    assert ("a", "constraint", ()) == (error.variant, error.status, warned)
    assert error.reason.startswith(f"Held: {problem}")


def test_an_attempt_keeps_our_errors_and_names_others():
    def refuse(kernel):
        raise VariantError("no", name="x")

    assert isinstance(variants.attempt(refuse, "x", double(8)), VariantError)
    assert str(failed("x", "compile", "SystemExit: 3")) == str(variants.attempt(refuse, "x", lambda: sys.exit(3)))
    assert "constraint" == variants.attempt(lambda kernel: kernel.nothing, "x", double(8)).status
    with pytest.raises(KeyboardInterrupt):
        variants.attempt(lambda kernel: (_ for _ in ()).throw(KeyboardInterrupt), "x", double(8))
