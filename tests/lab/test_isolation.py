"""Isolation on a device whose times are made up, and its records: a time that rises proves, another does not."""

from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from perfmodel.measuring.bench import Bench
from perfmodel.measuring.timing import Samples
from perfmodel.opencl import Device
from perfmodel.progress import Silent
from perfmodel.store import append_line
from scripts.lab import isolation
from scripts.lab.isolation import ROUNDS, Isolation, isolation_path, prove_isolation, read_isolations
from tests.campaigns import SCALE
from tests.standins import made_up

FACTS = made_up(
    max_work_group_size=256, compute_units=2, subgroup_size=16, global_memory_bytes=2**30, max_alloc_bytes=2**28
)
KERNEL = replace(SCALE, isolates="op_float32_mul", doubles="n")


class Hears(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def advance(self, note: str = "", seconds: float = 0.0) -> None:
        self.notes.append(note)


@pytest.fixture
def runs(monkeypatch) -> list[tuple[int, int]]:
    """Variant and size of each series of runs: twice the size takes twice as long with factor 2, else 10 % more."""
    done: list[tuple[int, int]] = []

    @contextmanager
    def ready(self, subject, parameters):
        yield subject.variant["factor"], parameters["n"]

    def sample(queue, launches, runs, timeout_s):
        factor, n = launches
        done.append(launches)
        seconds = 1e-6 * n if factor == 2 else 1e-6 * 1.1 ** (n.bit_length())
        return Samples((seconds,) * runs, ())

    monkeypatch.setattr(Bench, "launch_overhead", lambda self: 1e-6)
    monkeypatch.setattr(Bench, "trial", lambda self, subject, parameters: 1e-6 * parameters["n"])
    monkeypatch.setattr(Bench, "check", lambda self, subject: None)
    monkeypatch.setattr(Bench, "ready", ready)
    monkeypatch.setattr(Bench, "queue", None)
    monkeypatch.setattr(isolation, "sample", sample)
    return done


def prove(path, kernel=KERNEL, progress=None, facts=FACTS):
    return prove_isolation([kernel], Device(0, facts), path, progress)


def test_a_time_that_follows_the_count_is_proved_and_another_is_not(tmp_path, runs):
    heard = Hears()
    proofs = prove(tmp_path, progress=heard)
    assert [True, False] == [row.proved for row in proofs]
    assert [pytest.approx(1.0), pytest.approx(0.1)] == [row.rise for row in proofs]
    assert "not proved (time rose by 10%)" in heard.notes[1]
    assert ROUNDS == len(proofs[0].rounds_s)
    assert 2 * ROUNDS == len(proofs[1].rounds_s)  # of two visits


def test_what_does_not_rise_is_visited_again_after_all_others(tmp_path, runs):
    prove(tmp_path, replace(KERNEL, variants=({"factor": 3}, {"factor": 2})))
    turn = 2 * (ROUNDS + 1)
    assert [3] * turn + [2] * turn + [3] * turn == [factor for factor, _ in runs]


def test_both_sizes_take_turns_and_the_first_turn_does_not_count(tmp_path, runs):
    (first, _) = prove(tmp_path)
    n = first.parameters["n"]
    assert [(2, n), (2, 2 * n)] * (ROUNDS + 1) == runs[: 2 * (ROUNDS + 1)]


def test_what_is_proved_is_not_measured_again_but_changed_code_is(tmp_path, runs):
    proofs = prove(tmp_path)
    runs.clear()
    assert proofs == prove(tmp_path)
    assert [] == runs
    prove(tmp_path, replace(KERNEL, build=lambda factor: SCALE.build(factor + 2)))
    assert runs


def proof_of(**changes: Any) -> Isolation:
    fields: dict[str, Any] = {
        "kernel": "adds", "variant": {"form": "chain", "work_group": (16, 16)}, "feature": "op_float32_add",
        "doubles": "k", "raises": 0.5, "parameters": {"n": 64, "k": 8}, "device": "a device", "platform": "a platform",
        "driver": "1", "versions": {}, "kernel_hash": "0", "taken_at": "2026-11-21T12:00:00+00:00",
        "rounds_s": ((1e-3, 1.8e-3), (1.1e-3, 2e-3), (5e-3, 2.2e-3)),
    }  # fmt: skip
    return Isolation.model_validate({**fields, **changes})


def test_the_rise_is_that_of_the_medians():
    assert (1.1e-3, 2e-3) == proof_of().seconds
    assert pytest.approx(2 / 1.1 - 1) == proof_of().rise


@pytest.mark.parametrize(("raises", "proved"), [(0.5, True), (0.81, True), (0.82, False)])
def test_proved_means_that_the_time_rose_enough(raises, proved):
    assert proved is proof_of(raises=raises).proved


def test_read_back_it_is_the_same_and_the_newest_counts(tmp_path):
    first, second, other = proof_of(), proof_of(kernel_hash="1"), proof_of(kernel="waits")
    for proof in (first, other, second):
        append_line(isolation_path(tmp_path), proof.model_dump(mode="json", by_alias=True))
    assert (second, other) == read_isolations(tmp_path)
    assert (first.place, second.place) == (second.place, first.place)
    assert first.key != second.key
