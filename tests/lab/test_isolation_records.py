"""Proofs of isolation on disk: what proves, and which line counts."""

from __future__ import annotations

from typing import Any

import pytest

from perfmodel.store import append_line
from scripts.lab.isolation import Isolation, isolation_path, read_isolations


def isolation(**changes: Any) -> Isolation:
    fields: dict[str, Any] = {
        "kernel": "adds",
        "variant": {"form": "chain", "work_group": (16, 16)},
        "feature": "op_float32_add",
        "doubles": "k",
        "raises": 0.5,
        "parameters": {"n": 64, "k": 8},
        "rounds_s": ((1e-3, 1.8e-3), (1.1e-3, 2e-3), (5e-3, 2.2e-3)),
        "device": "a device",
        "platform": "a platform",
        "driver": "1",
        "versions": {},
        "kernel_hash": "0",
        "taken_at": "2026-11-21T12:00:00+00:00",
    }
    return Isolation.model_validate({**fields, **changes})


def keep(path, *proofs: Isolation) -> None:
    for proof in proofs:
        append_line(isolation_path(path), proof.model_dump(mode="json", by_alias=True))


def test_the_rise_is_that_of_the_medians():
    assert (1.1e-3, 2e-3) == isolation().seconds
    assert pytest.approx(2 / 1.1 - 1) == isolation().rise


@pytest.mark.parametrize(("raises", "proved"), [(0.5, True), (0.81, True), (0.82, False)])
def test_proved_means_that_the_time_rose_enough(raises, proved):
    assert proved is isolation(raises=raises).proved


def test_read_back_it_is_the_same_and_the_newest_counts(tmp_path):
    first, second, other = isolation(), isolation(kernel_hash="1"), isolation(kernel="waits")
    keep(tmp_path, first, other, second)
    assert (second, other) == read_isolations(tmp_path)
    assert (first.place, second.place) == (second.place, first.place)
    assert first.key != second.key
