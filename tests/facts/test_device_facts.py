"""Facts of a device: look-up, the file-safe name, JSON, differences of devices, and assumed facts."""

import re

import pytest

from perfmodel.errors import FactsError
from perfmodel.facts import KEYS, DeviceFacts, Fact, assumed_facts, differences, with_assumed_facts

POCL = "Portable Computing Language"


def example() -> DeviceFacts:
    return DeviceFacts.from_mapping(
        "NVIDIA H200", "NVIDIA CUDA", "570.124",
        {
            "max_work_item_sizes": Fact((1024, 1024, 64), "work-items", "CL_DEVICE_MAX_WORK_ITEM_SIZES"),
            "compute_units": Fact(132, "", "CL_DEVICE_MAX_COMPUTE_UNITS"),
        },
    )


def test_unknown_fact_says_what_is_known():
    with pytest.raises(FactsError, match=r"'speed'.*compute_units, max_work_item_sizes"):
        example().value("speed")


@pytest.mark.parametrize("change", [
    {"schema": "perfmodel.device/99"}, {"schema": None}, {"name": 3}, {"platform": None}, {"driver": None},
    {"facts": []}, {"facts": {"banks": 32}},
])  # fmt: skip
def test_documents_of_another_form_are_refused(change):
    with pytest.raises(FactsError, match=r"perfmodel\.device/1"):
        DeviceFacts.from_json({**example().to_json(), **change})


@pytest.mark.parametrize(
    ("platform", "name", "expected"),
    [
        (POCL, "pthread-skylake-avx512-AMD EPYC", "pocl-skylake-avx512-amd-epyc"),
        (POCL, "cpu-haswell-Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz", "pocl-haswell-intel-core-i7-4770"),
        ("Intel(R) OpenCL", "Intel(R) Xeon(R) Processor", "intel-xeon"),
        ("NVIDIA CUDA", "NVIDIA GeForce RTX 4090", "nvidia-geforce-rtx-4090"),
        ("AMD Accelerated Parallel Processing", "gfx90a:sramecc+:xnack-", "amd-gfx90a-sramecc-xnack"),
        ("rusticl", "AMD Radeon (radeonsi, navi21)", "rusticl-amd-radeon-radeonsi-navi21"),
        ("Ünknown", "../../etc/passwd", "nknown-etc-passwd"), ("", "", "device"),
    ],
)
def test_slug(platform, name, expected):
    slug = DeviceFacts(name, platform, "1", ()).slug
    assert expected == slug
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", slug)


def test_hash_leaves_out_what_varies_from_run_to_run():
    facts = example()
    assert re.fullmatch("[0-9a-f]{64}", facts.hash)
    for key in ("clock_mhz", "global_memory_bytes", "max_alloc_bytes"):
        assert facts.hash == facts.updated({key: Fact(1, "", "CL")}).hash
    assert facts.hash != facts.updated({"compute_units": Fact(131, "", "CL")}).hash
    assert facts.hash != DeviceFacts(facts.name, facts.platform, "570.125", facts.facts).hash


def device(name="D", platform="P", driver="1", **facts):
    return DeviceFacts.from_mapping(name, platform, driver, {key: Fact(v, "", "x") for key, v in facts.items()})


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


def typed_device(**facts):
    return DeviceFacts.from_mapping("d", "p", "1", {key: Fact(value, "", "x") for key, value in facts.items()})


@pytest.mark.parametrize(("kind", "groups", "items"), [("cpu", 1, 1024), ("gpu", 16, 2048), ("accelerator", 16, 2048)])
def test_what_a_compute_unit_holds(kind, groups, items):
    known = with_assumed_facts(typed_device(device_type=kind, max_work_group_size=1024))
    assert (groups, items) == (known.value("max_groups_per_unit"), known.value("max_items_per_unit"))
    for key in ("max_groups_per_unit", "max_items_per_unit"):
        assert known.fact(key).source.startswith("assumed: ")
        assert KEYS[key].unit == known.fact(key).unit


def test_what_is_known_is_not_assumed():
    known = typed_device(device_type="cpu", max_groups_per_unit=2, max_work_group_size=8)
    assert {"max_items_per_unit"} == set(assumed_facts(known))
    assert {"max_groups_per_unit"} == set(assumed_facts(typed_device(device_type="cpu")))
