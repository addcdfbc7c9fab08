"""Campaigns on a real device: resumed, with failures, and with the protocol's records."""

from dataclasses import replace

import pytest

from perfmodel.kernels import Ladder
from perfmodel.progress import Silent
from tests.campaigns import SCALE, TINY, measured
from tests.machine import device

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("times_are_believed")]


def fails(*_, **__):
    raise ZeroDivisionError("on purpose")


def test_every_configuration_gets_its_record(tmp_path):
    found = measured(tmp_path, SCALE)
    assert 6 == len(found) == len(found.rows)
    row = found.rows[0]
    assert (6, 6, 2) == (len(row.samples_s), len(row.device_samples_s), row.dropped)
    assert device().name == row.device == found.device
    assert {"factor"} == set(row.variant)
    assert {"n"} == set(row.parameters)
    assert row.launch_overhead_s > 0
    assert TINY.seed == row.seed
    assert {"loopy", "pyopencl", "islpy"} <= set(row.versions)
    assert {row.counts_hash for row in found} == set(found.counts)


class StopsAfter(Silent):
    """Interrupts as a person would."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def advance(self, note: str = "", seconds: float = 0.0) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


def test_a_campaign_stopped_anywhere_ends_with_the_same_set(tmp_path):
    whole = {row.key for row in measured(tmp_path / "whole", SCALE).rows}
    path = tmp_path / "stopped"
    for steps in range(4):
        with pytest.raises(KeyboardInterrupt):
            measured(path, SCALE, progress=StopsAfter(steps))
    rows = measured(path, SCALE).rows
    assert whole == {row.key for row in rows}
    assert len(whole) == len(rows)


@pytest.mark.parametrize(
    ("status", "changes", "said"),
    [
        ("compile", {"build": fails}, "on purpose"),
        ("correctness", {"reference": lambda arguments, factor: {"out": 3 * arguments["a"] + 1}}, "out Mismatched"),
        ("correctness", {"reference": fails}, "on purpose"),
        ("constraint", {"sizes": Ladder(lambda e: ({"n": 2**e},), start=3)}, "n"),
        ("constraint", {"scalars": lambda **_: {"s": 1.0}}, "scalar arguments"),
    ],
)
def test_a_failing_class_has_a_status_and_ends_nothing(tmp_path, status, changes, said):
    bad = replace(SCALE, name="bad", **changes)
    found = measured(tmp_path, bad, SCALE)
    assert 6 == len(found)
    failures = [row for row in found.rows if row.kernel == "bad"]
    assert {status} == {row.status for row in failures}
    assert all(said in row.message and row.samples_s == () for row in failures)
    again = measured(tmp_path, bad, SCALE)
    assert found.rows == again.rows
