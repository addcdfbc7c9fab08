"""Campaigns on a real device: resumed, with failures, and with the protocol's records."""

import errno
import json
import os
import warnings
from dataclasses import dataclass, replace

import pytest

from perfmodel import store
from perfmodel.errors import BrokenDeviceError, OutputError
from perfmodel.kernels import KernelClass, Ladder
from perfmodel.measuring import bench, run, size_plan
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.lock import LoadWatch
from perfmodel.measuring.timing import Samples, now
from perfmodel.opencl.health import broken
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


@pytest.mark.parametrize(("status", "changes", "said"), [
    ("compile", {"build": fails}, "on purpose"),
    ("correctness", {"reference": lambda arguments, factor: {"out": 3 * arguments["a"] + 1}}, "out Mismatched"),
    ("correctness", {"reference": fails}, "on purpose"),
    ("constraint", {"sizes": Ladder(lambda e: ({"n": 2**e},), start=3)}, "n"),
    ("constraint", {"scalars": lambda **_: {"s": 1.0}}, "scalar arguments"),
])  # fmt: skip
def test_a_failing_class_has_a_status_and_ends_nothing(tmp_path, status, changes, said):
    bad = replace(SCALE, name="bad", **changes)
    found = measured(tmp_path, bad, SCALE)
    assert 6 == len(found)
    failures = [row for row in found.rows if row.kernel == "bad"]
    assert {status} == {row.status for row in failures}
    assert all(said in row.message and row.samples_s == () for row in failures)
    again = measured(tmp_path, bad, SCALE)
    assert found.rows == again.rows


OTHER = replace(SCALE, name="other")


class Hears(Silent):
    """Keeps all reports."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.notes: list[str] = []
        self.expected: list[float] = []

    def start(self, task: str, total: int, seconds: float = 0.0) -> None:
        self.expected.append(seconds)

    def advance(self, note: str = "", seconds: float = 0.0) -> None:
        self.notes.append(note)
        self.expected.append(-seconds)

    def report(self, message: str) -> None:
        self.messages.append(message)


def test_a_device_that_dies_ends_the_campaign_and_keeps_what_was_measured(tmp_path, monkeypatch):
    measured(tmp_path, SCALE)
    rows = (tmp_path / "measurements.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "measurements.jsonl").write_text("".join(rows[:2]))
    overheads = iter((1e-6,))

    def works_once(self):
        try:
            return next(overheads)
        except StopIteration:
            raise broken(self.device.name, "out of resources") from None

    def dies(*_):
        raise bench.FailedError("runtime", "out of resources")

    monkeypatch.setattr(Bench, "launch_overhead", works_once)
    monkeypatch.setattr(Bench, "ready", dies)
    with pytest.raises(BrokenDeviceError, match="out of resources"):
        measured(tmp_path, SCALE)
    assert 2 == len(store.read(tmp_path).rows)


def test_a_device_that_can_be_opened_anew_goes_on(monkeypatch):
    bench = Bench(device(), TINY)
    first = bench.queue
    real, calls = Bench.launch_overhead, []

    def fails_once(self):
        calls.append(1)
        if len(calls) == 1:
            raise broken(self.device.name, "lost")
        return real(self)

    monkeypatch.setattr(Bench, "launch_overhead", fails_once)
    bench.see_that_it_works()
    assert first != bench.queue


def test_a_full_disk_ends_the_campaign_and_later_it_goes_on(tmp_path, monkeypatch):
    real, written = os.fsync, []

    def full_after_five(number):
        written.append(number)
        if len(written) > 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(number)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_after_five)
        with pytest.raises(OutputError, match="No space left"):
            measured(tmp_path, SCALE)
    kept = store.read(tmp_path).rows
    found = measured(tmp_path, SCALE)
    assert kept == found.rows[: len(kept)]
    assert 6 == len(found) == len(found.rows)


def test_changed_code_is_told_of(tmp_path):
    measured(tmp_path, SCALE)
    hears = Hears()
    changed = replace(SCALE, variants=({"factor": 2}, {"factor": 3}, {"factor": 5}))
    measured(tmp_path, changed, progress=hears)
    assert [] == hears.messages  # a new variant changes nothing
    old = SCALE.build
    changed = replace(
        SCALE, build=lambda factor: old(factor + 5),
        reference=lambda arguments, factor: {"out": (factor + 5) * arguments["a"]},
    )  # fmt: skip
    measured(tmp_path, changed, progress=hears)
    (message,) = hears.messages
    assert "6 configurations are measured again" in message


def test_what_was_measured_under_load_is_measured_again(tmp_path, monkeypatch):
    """Another call of the same campaign keeps the better visits, and finds nothing to do a third time."""
    slow = [2.0]

    def timed(bench, subject, parameters):
        seconds = slow[0] * 1e-6 * parameters["n"]
        return now("milliseconds"), Samples((seconds,) * 6, (seconds,) * 6)

    monkeypatch.setattr(Bench, "timed", timed)
    monkeypatch.setattr(LoadWatch, "look", lambda self: None)
    monkeypatch.setattr(LoadWatch, "busy", True)
    assert all("load" in row.flags for row in measured(tmp_path, SCALE))
    monkeypatch.setattr(LoadWatch, "busy", False)
    slow[0] = 1.0
    again = measured(tmp_path, SCALE)
    assert {2} == {len(row.every_visit) for row in again}
    assert not any("load" in row.flags for row in again)
    assert again.rows == measured(tmp_path, SCALE).rows


def test_a_budget_that_ends_amidst_is_taken_up_again(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(run, "monotonic", lambda: clock[0])

    class Ticks(Hears):
        def advance(self, note: str = "", seconds: float = 0.0) -> None:
            super().advance(note, seconds)
            clock[0] += 1.0

    hears, campaign = Ticks(), replace(TINY, budget_s=9.5)
    found = measured(tmp_path, SCALE, OTHER, campaign=campaign, progress=hears)
    assert 10 - 4 == len(found.rows)  # four steps found sizes, six measured
    assert {"scale", "other"} == {row.kernel for row in found.rows[:2]}
    assert "6 configurations and all sizes of 0 variants are left out" in hears.messages[0]
    assert 12 == len(measured(tmp_path, SCALE, OTHER, campaign=replace(campaign, budget_s=60.0)))


@dataclass(frozen=True, eq=False)
class Ranked(KernelClass):
    """A class whose variants are to be ranked."""

    ranked: bool = True


def ranked(**changes) -> KernelClass:
    return Ranked(**{**vars(SCALE), **changes, "ranked": True})


def test_ranked_variants_share_their_sizes(tmp_path, monkeypatch):
    factor = {2: 1.0, 3: 4.0}
    monkeypatch.setattr(Bench, "trial", lambda self, s, p: p["n"] * 1e-5 * factor[s.variant["factor"]])
    campaign = replace(TINY, longest_s=0.011)

    def sizes(kernel, folder):
        found = measured(tmp_path / folder, kernel, campaign=campaign).rows
        return {f: sorted(row.parameters["n"] for row in found if row.variant["factor"] == f) for f in factor}

    assert {2: [256, 512, 1024], 3: [256]} == sizes(SCALE, "alone")
    assert {2: [256], 3: [256]} == sizes(ranked(), "ranked")


def test_a_ranked_variant_that_fails_leaves_the_others_their_ladder(tmp_path):
    old = SCALE.build

    def build(factor):
        if factor == 3:
            raise ZeroDivisionError("on purpose")
        return old(factor)

    found = measured(tmp_path, ranked(build=build))
    assert 3 == len(found)
    assert ["compile"] == [row.status for row in found.rows if row.status != "ok"]


def rewritten(path, **changes):
    """Change fields of each record of a store."""
    texts = [json.dumps({**json.loads(line), **changes}) for line in path.read_text().splitlines()]
    path.write_text("".join(f"{text}\n" for text in texts))


@pytest.mark.parametrize(("changes", "rows"), [({}, 6), ({"counts_hash": "of others"}, 12)])
def test_records_of_code_that_another_loopy_writes_are_found_by_their_counts(tmp_path, monkeypatch, changes, rows):
    """The OpenCL code has its terms in another order; counts and launch are the same."""
    path = tmp_path / "m.jsonl"
    store.prepare(path, device().facts)
    measured(path, SCALE)
    rewritten(size_plan.plan_path(path), key="of the same in other words")
    monkeypatch.delattr(size_plan, "plan_sizes")  # the sizes are taken from the file
    rewritten(path, kernel_hash="of the same in other words", **changes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # counts of others are not in the store
        found = measured(path, SCALE)
    assert (rows, 6) == (len(found.rows), len(found.current))
    assert rows - 6 == len(found.outdated)
