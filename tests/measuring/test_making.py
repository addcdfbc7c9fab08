"""Kernels that other processes make before a campaign."""

from dataclasses import replace

import pytest

from perfmodel.measuring import measure, run
from perfmodel.measuring.campaign import Campaign, teams
from perfmodel.measuring.run import make_kernels, name_of
from perfmodel.measuring.subject import GeneratedCode
from tests.campaigns import SCALE, TINY
from tests.machine import device
from tests.measuring.test_run import Hears


def refused(**variant):
    raise ValueError("on purpose")


def dies(**variant):
    import os

    os._exit(3)


@pytest.fixture
def two_processes(monkeypatch):
    monkeypatch.setattr(run, "FEWEST", 1)
    monkeypatch.setattr(run, "MOST", 2)


@pytest.mark.device
@pytest.mark.usefixtures("two_processes", "times_are_believed")
def test_what_was_made_is_not_made_again_and_failures_are_left_to_the_campaign(tmp_path, monkeypatch):
    kept, bad = replace(SCALE, name="kept"), replace(SCALE, name="bad", build=refused)
    wrong = replace(SCALE, name="wrong", reference=lambda arguments, **_: {"out": 5 * arguments["a"]})
    kernels, listener = (kept, bad, wrong), Hears()
    made = make_kernels([(kernels, TINY)], device(), listener)
    assert {"kept": 2, "bad": 2, "wrong": 2} == {name: listener.notes.count(name) for name in set(listener.notes)}
    assert {name_of(team[0]) for team in teams([kept], TINY, 64)} == set(made)
    whole = measure(kernels, device(), tmp_path / "alone", campaign=TINY, made={})
    generated = []
    code = GeneratedCode._generated.func
    monkeypatch.setattr(GeneratedCode, "_generated", property(lambda self: generated.append(1) or code(self)))
    found = measure(kernels, device(), tmp_path / "made", campaign=TINY, made=made)
    assert {row.key for row in whole.rows} == {row.key for row in found.rows}
    assert {"ok": 6, "compile": 2, "correctness": 6} == {
        status: sum(row.status == status for row in found.rows) for status in ("ok", "compile", "correctness")
    }
    assert generated  # of "wrong" alone
    generated.clear()
    measure([kept], device(), tmp_path / "kept", campaign=TINY, made=made)
    assert not generated


@pytest.mark.device
@pytest.mark.usefixtures("two_processes")
def test_a_process_that_dies_leaves_the_rest_to_the_campaign():
    listener = Hears()
    make_kernels([((replace(SCALE, name="deadly", build=dies),), TINY)], device(), listener)
    assert ["a process died while it made kernels; the others are made one after the other"] == listener.messages


def test_a_campaign_of_few_variants_covers_what_others_do_alone():
    """Three of six variants are measured at all sizes; of the rest one of each name, at one size."""
    names = ("exp", "sin", "exp", "log", "log", None)
    kernel = replace(SCALE, variants=tuple({"factor": i} for i in range(6)), covers=lambda factor, **_: names[factor])
    brief = Campaign("c", variants=2, shapes=1).covering(kernel)
    assert [{"factor": 1}, {"factor": 3}] == list(brief.variants)
    assert 1 == brief.sizes.rungs
    assert () == Campaign("c").covering(kernel).variants
    found = teams([kernel], Campaign("c", variants=2, shapes=1), 256)
    assert [(0, 3), (5, 3), (1, 1), (3, 1)] == [(t[0].variant["factor"], t[0].kernel.sizes.rungs) for t in found]
