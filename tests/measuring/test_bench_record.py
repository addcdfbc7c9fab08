"""Records: what they hold of the kernel, the device and the campaign."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace

import pytest

from perfmodel.kernels import KernelClass, Ladder
from perfmodel.measuring.bench import outcome, record
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.timing import Samples

KERNEL = KernelClass(
    "copy", "vector", build=lambda **_: None, sizes=Ladder(lambda e: ({"n": 2**e},), 1), reference=lambda **_: {},
    tags=("paper",), isolates=lambda a, **_: f"feature_{a}",
)  # fmt: skip
SUBJECT = SimpleNamespace(kernel=KERNEL, variant={"a": 1, "work_group": (16, 16)}, hash="h")
FACTS = SimpleNamespace(name="D", platform="P", driver="1")
CAMPAIGN = Campaign("test", dropped=1, seed=7)
BENCH = SimpleNamespace(device=SimpleNamespace(facts=FACTS), campaign=CAMPAIGN, versions={"loopy": "9"})


def test_a_record_describes_kernel_device_and_campaign():
    row = record(BENCH, SUBJECT, {"n": 8}, Samples((3.0, 2.0), (1.0, 1.0)), counts_hash="c", place_in_order=4)
    assert ("copy", "vector", ("paper",), "feature_1") == (row.kernel, row.group, row.tags, row.isolates)
    assert ({"a": 1, "work_group": [16, 16]}, {"n": 8}) == (row.variant, row.parameters)
    assert ("D", "P", "1", "h", "c") == (row.device, row.platform, row.driver, row.kernel_hash, row.counts_hash)
    assert ((3.0, 2.0), (1.0, 1.0), 1, 7, 4) == (
        row.samples_s, row.device_samples_s, row.dropped, row.seed, row.place_in_order
    )  # fmt: skip
    assert ("ok", {"loopy": "9"}) == (row.status, row.versions)
    assert datetime.fromisoformat(row.taken_at).utcoffset().total_seconds() == 0


@pytest.mark.parametrize(
    ("status", "message", "expected"), [("ok", "", "copy"), ("timeout", "too long", "copy: timeout (too long)")]
)
def test_the_outcome_names_the_class_and_the_failure(status, message, expected):
    assert expected == outcome(record(BENCH, SUBJECT, {"n": 8}, status=status, message=message))
