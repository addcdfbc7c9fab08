"""What Karsin (2018) prints of mergesort, from the closed forms."""

from __future__ import annotations

import pytest

from scripts.lab.studies import karsin_tables as spt


def test_mergesort_s_printed_formulas_do_not_give_the_printed_claims():
    device = spt.gpu("ALGOPARC")
    assert 12 == spt.best_each(device)  # printed: 31
    parts = spt.mergesort(device, 31)
    assert 0.35 == pytest.approx(parts["g"] / sum(parts.values()), abs=0.005)  # printed: 65 to 80 %
    assert sum(parts.values()) > 1.4 * sum(spt.mergesort(device, 12).values())


def test_a_reading_recovers_mergesort_s_claims():
    device = spt.gpu("ALGOPARC")
    # Odd, as threads at an odd stride share no bank, and no more than a warp.
    assert 31 == spt.best_each(device, recovered=True, choices=range(3, 33, 2))
    for n in (3e6, 1e7, 1e8, 1e9):
        parts = spt.mergesort(device, 31, n, recovered=True)
        assert 0.645 < parts["g"] / sum(parts.values()) < 0.80, n
    # "The remaining portion of execution time is attributed to shared memory."
    parts = spt.mergesort(device, 31, recovered=True)
    assert parts["s"] > 8 * max(parts["r"], parts["y"], parts["sync"])


def test_the_page_shows_what_the_script_computes():
    assert "\n".join(spt.lines()) in (spt.PAGE).read_text(encoding="utf-8")
