"""Counts of many variants as a value."""

from __future__ import annotations

import json
import pickle

import pytest

from perfmodel.counts import count
from perfmodel.errors import VariantError
from perfmodel.workers import counted
from perfmodel.workers.counted import CountedVariants
from tests.test_display import Cells
from tests.workers.variants import double

COUNTS = {str(width): count(double(width)) for width in (4, 8, 16)}


def as_text(counts):
    return json.dumps(counts.to_json()).encode()


def hashes(counted):
    return {name: counts.hash for name, counts in counted.items()}


def test_text_is_read_when_it_is_used(monkeypatch):
    monkeypatch.setattr(counted, "IN_MEMORY", 2)
    found = CountedVariants({name: as_text(one) for name, one in COUNTS.items()}, {"x": VariantError("x", "no.")})
    assert ["4", "8", "16"] == [*found]
    assert hashes(COUNTS) == hashes(found)
    assert found["8"] is found["8"]
    assert 2 == len(found._read)
    assert "<CountedVariants: 3 counted, 1 with an error: 4, 8, 16>" == repr(found)
    assert ["x", "variant 'x': no. Or leave this variant out of the file."] == Cells(found._repr_html_()).rows[-1]
    with pytest.raises(KeyError):
        found["x"]
    copied = pickle.loads(pickle.dumps(found))
    assert (hashes(found), {**found.errors}) == (hashes(copied), {**copied.errors})


def test_values_are_kept_as_they_are():
    found = CountedVariants(COUNTS, {})
    assert found["4"] is COUNTS["4"]
    assert "<CountedVariants: 3 counted: 4, 8, 16>" == repr(found)
