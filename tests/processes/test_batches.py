"""What a worker makes of a batch."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import cloudpickle
import pytest

from perfmodel.errors import PerfModelWarning, TrialError, VariantError
from perfmodel.processes import batches
from perfmodel.processes.batches import attempt, resident_bytes, work
from perfmodel.processes.variants import Parcel, packed
from tests.processes.variants import double


def told(kernel):
    warnings.warn("mind this", PerfModelWarning, stacklevel=2)
    warnings.warn("mind this", PerfModelWarning, stacklevel=2)
    return kernel.default_entrypoint.name


def test_a_report_has_each_outcome_and_its_warnings():
    names = {3: packed("a", lambda: double(8)), 1: packed("b", lambda: 1 / 0), 2: Parcel("c", b"no pickle")}
    report = work(cloudpickle.dumps(told), tuple(names.items()))
    assert [3, 1, 2] == [one.place for one in report.outcomes]
    first, second, third = report.outcomes
    assert ("loopy_kernel", ((PerfModelWarning, "mind this"),)) == (first.value, first.warnings)
    assert TrialError("b", "compile", "ZeroDivisionError: division by zero") == second.value
    assert "UnpicklingError" in third.value.problem
    assert "in another process" in third.value.problem


def test_an_attempt_keeps_our_errors_and_names_others():
    def refuse(kernel):
        raise VariantError("x", "no.")

    assert isinstance(attempt(refuse, "x", double(8)), VariantError)
    assert TrialError("x", "compile", "SystemExit: 3") == attempt(refuse, "x", lambda: sys.exit(3))
    assert "constraint" == attempt(lambda kernel: kernel.nothing, "x", double(8)).status
    with pytest.raises(KeyboardInterrupt):
        attempt(lambda kernel: (_ for _ in ()).throw(KeyboardInterrupt), "x", double(8))


def test_memory_that_a_process_holds(monkeypatch):
    before = resident_bytes()
    assert before > 10 * 2**20
    held = b"x" * 2**26
    assert resident_bytes() - before > len(held) / 2
    monkeypatch.setattr(batches, "STATUS", Path("/no/such/file"))  # another system
    assert 0 == resident_bytes()
