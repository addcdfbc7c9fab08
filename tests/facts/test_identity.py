"""What tells one device from another."""

from __future__ import annotations

import pytest

from perfmodel.facts import DeviceFacts, Fact, differences


def device(name="D", platform="P", driver="1", **facts):
    return DeviceFacts.from_mapping(name, platform, driver, {key: Fact(v, "", "told") for key, v in facts.items()})


@pytest.mark.parametrize(
    ("known", "used", "expected"),
    [
        (device(), device(), ()),
        (device("A"), device("B"), ("name 'A', here 'B'",)),
        (device(platform="A", driver="2"), device(), ("platform 'A', here 'P'", "driver '2', here '1'")),
        (device(platform="", driver=""), device(), ()),  # a file that keeps only a name
        (device(compute_units=2), device(compute_units=8), ("compute_units 2, here 8",)),
        (device(compute_units=2), device(), ()),
        (device(l2_told_bytes=1, clock_mhz=5), device(l2_told_bytes=2, clock_mhz=6), ("l2_told_bytes 1, here 2",)),
    ],
)
def test_differences(known, used, expected):
    assert expected == differences(known, used)
