"""``perfmodel devices``, as a program."""

from __future__ import annotations

import json

import pytest

from perfmodel.opencl import devices
from tests.cli.program import perfmodel
from tests.shadow import NO_DRIVERS, shadow


@pytest.mark.device
def test_devices_as_json():
    done = perfmodel("devices", "--json")
    document = json.loads(done.stdout)
    assert 0 == done.returncode
    assert "perfmodel.devices/1" == document["schema"]
    expected = [(device.index, device.slug) for device in devices()]
    assert expected == [(row["index"], row["slug"]) for row in document["devices"]]
    assert all(row["facts"]["max_groups_per_unit"]["source"].startswith("assumed") for row in document["devices"])


@pytest.mark.device
def test_devices_as_a_table():
    done = perfmodel("devices")
    assert 0 == done.returncode
    for device in devices():
        assert device.name in done.stdout
        assert str(device.facts.value("max_work_group_size")) in done.stdout
        assert f"device {device.index}: max_groups_per_unit = " in done.stdout
    titan = "not here: NVIDIA TITAN V (--device nvidia-titan-v); others recorded its times: feinsum's archive"
    assert titan in done.stdout


def test_devices_where_there_are_none(tmp_path):
    path = shadow(tmp_path, "pyopencl", NO_DRIVERS)
    done = perfmodel("devices", PYTHONPATH=path)
    assert 2 == done.returncode
    assert "" == done.stdout
    assert done.stderr.startswith("perfmodel: error: no OpenCL device was found; run scripts/setup")
    assert 1 == done.stderr.count("\n")
    done = perfmodel("devices", "--json", PYTHONPATH=path)
    assert [] == json.loads(done.stdout)["devices"]
