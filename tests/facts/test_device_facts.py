"""Facts of a device: look-up, the file-safe name, JSON, differences of devices, and assumed facts."""

import json
import re

import pytest

from perfmodel import store
from perfmodel.errors import FactsError, UnknownNameError
from perfmodel.facts import (
    KEYS,
    DeviceFacts,
    Fact,
    assumed_facts,
    differences,
    published,
    published_devices,
    read_facts,
    with_assumed_facts,
)
from tests.recorded import RECORDED, SIMULATED

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


@pytest.mark.parametrize(("platform", "name", "expected"), [
    (POCL, "pthread-skylake-avx512-AMD EPYC", "pocl-skylake-avx512-amd-epyc"),
    (POCL, "cpu-haswell-Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz", "pocl-haswell-intel-core-i7-4770"),
    ("Intel(R) OpenCL", "Intel(R) Xeon(R) Processor", "intel-xeon"),
    ("NVIDIA CUDA", "NVIDIA GeForce RTX 4090", "nvidia-geforce-rtx-4090"),
    ("AMD Accelerated Parallel Processing", "gfx90a:sramecc+:xnack-", "amd-gfx90a-sramecc-xnack"),
    ("rusticl", "AMD Radeon (radeonsi, navi21)", "rusticl-amd-radeon-radeonsi-navi21"),
    ("Ünknown", "../../etc/passwd", "nknown-etc-passwd"), ("", "", "device"),
])  # fmt: skip
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


@pytest.mark.parametrize(("known", "used", "expected"), [
    (device(), device(), ()),
    (device("A"), device("B"), ("name 'A', here 'B'",)),
    (device(platform="A", driver="2"), device(), ("platform 'A', here 'P'", "driver '2', here '1'")),
    (device(platform="", driver=""), device(), ()),  # a file that keeps only a name
    (device(compute_units=2), device(compute_units=8), ("compute_units 2, here 8",)),
    (device(compute_units=2), device(), ()),
    (device(l2_told_bytes=1, clock_mhz=5), device(l2_told_bytes=2, clock_mhz=6), ("l2_told_bytes 1, here 2",)),
])  # fmt: skip
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


PAPERS = re.compile("Ma, Chamberlain|Wang(,| and) Lou|Karsin|Stevens(,| and) Klöckner|Kim, |Kim et al|Sim, |Sim et al")
GPUS = frozenset(
    ("titan-v", "v100", "a100", "h100", "rtx-2080-ti", "rtx-3090", "rtx-a4000", "rtx-a6000", "mi210", "mi250x", "w6600")
)
EVERY_GPU = {
    "device_type", "compute_units", "subgroup_size", "lanes_per_unit", "clock_hz", "max_work_group_size",
    "max_items_per_unit", "max_groups_per_unit", "registers_per_unit", "local_memory_bytes", "banks",
    "l1_bytes", "l1_line_bytes", "l2_bytes", "l2_line_bytes", "global_transaction_bytes",
    "memory_bandwidth_bytes_per_s", "peak_flops_float32", "peak_flops_float64",
}  # fmt: skip


@pytest.mark.parametrize("name", published_devices())
def test_published_devices(name):
    device = published(name)
    assert device.name
    assert device.platform
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", device.slug)
    assert len(device.facts) > 1
    for key, fact in device.facts:
        assert key in KEYS, f"{key} is not documented"
        assert KEYS[key].unit == fact.unit
        assert name in GPUS or PAPERS.search(fact.source), f"{key}: which paper is '{fact.source}'?"
    if "lanes_per_unit" in device and "peak_flops_float32" in device and "clock_hz" in device:
        lanes = device.value("compute_units") * device.value("lanes_per_unit") * device.value("clock_hz")
        assert 0.5 < device.value("peak_flops_float32") / lanes < 2.5


@pytest.mark.parametrize("name", sorted(GPUS))
def test_gpus_have_the_same_facts_and_these_agree(name):
    device = published(name)
    assert set(device) >= EVERY_GPU
    lanes = device.value("compute_units") * device.value("lanes_per_unit")
    assert pytest.approx(2 * lanes * device.value("clock_hz"), rel=1e-4) == device.value("peak_flops_float32")
    assert round(device.value("peak_flops_float32") / device.value("peak_flops_float64")) in (1, 2, 16, 32, 64)
    assert device.value("max_items_per_unit") % device.value("subgroup_size") == 0
    rising = [device.value(key) for key in ("l1_load_s", "l2_latency_s", "memory_latency_s") if key in device]
    bandwidths = [f"{level}_bandwidth_bytes_per_s" for level in ("l1", "l2", "memory")]
    falling = [device.value(key) for key in bandwidths if key in device]
    assert sorted(rising) == rising
    assert sorted(falling, reverse=True) == falling


@pytest.mark.parametrize("folder", [SIMULATED, RECORDED], ids=lambda folder: folder.name)
def test_committed_facts(folder):
    written = read_facts(folder / "facts.yaml")
    assert set(written) <= set(KEYS)
    for fact in written.values():
        assert not re.search(r"(^|\s)/", fact.source)  # no paths of a machine


LINE = '{"schema": "perfmodel.measurement/1", "kernel": "k", "group": "g", "variant": {}, "parameters": {"n": 1}, \
"device": "%s", "platform": "p", "driver": "1", "versions": {}, "kernel_hash": "", "counts_hash": "", \
"samples_s": [1.0], "dropped": 0, "status": "ok"}\n'


def folder_of(tmp_path, device="d", reported=True):
    (tmp_path / "measurements.jsonl").write_text(LINE % device)
    (tmp_path / "facts.yaml").write_text("facts: {banks: {value: 32, unit: '', source: by hand}}")
    facts = DeviceFacts("d", "p", "1", (("banks", Fact(16, "", "CL")), ("compute_units", Fact(4, "", "CL"))))
    if reported:
        (tmp_path / "device.json").write_text(json.dumps(facts.to_json()))
    return tmp_path


def test_a_store_s_facts_are_those_of_the_device_and_the_file(tmp_path):
    found = store.read(folder_of(tmp_path)).facts
    assert (("banks", Fact(32, "", "by hand")), ("compute_units", Fact(4, "", "CL"))) == found.facts


def test_a_file_may_begin_with_a_published_device(tmp_path):
    path = tmp_path / "facts.yaml"
    path.write_text("published: gtx-480\nfacts: {banks: {value: 16, unit: '', source: x}}")
    assert dict(published("gtx-480").facts) | {"banks": Fact(16, "", "x")} == read_facts(path)
    path.write_text("published: gtx-481\nfacts: {}")
    with pytest.raises(UnknownNameError):
        read_facts(path)


def test_times_that_others_recorded_say_so(tmp_path):
    folder = folder_of(tmp_path)
    assert "" == store.read(folder).facts.recorded
    (folder / "facts.yaml").write_text("facts: {recorded: {value: 1, unit: '', source: their archive}}")
    measured = store.read(folder)
    assert "their archive" == measured.facts.recorded
    assert ("others recorded these times: their archive",) == measured.notes


def test_numbers_without_a_point_are_numbers(tmp_path):
    """YAML 1.1 reads 1e-7 as a string."""
    path = tmp_path / "facts.yaml"
    path.write_text("facts: {issue_s: {value: 1e-7, unit: s, source: x}, mine: {value: word, unit: '', source: x}}")
    assert {"issue_s": Fact(1e-7, "s", "x"), "mine": Fact("word", "", "x")} == read_facts(path)


DEVICE = {"schema": "perfmodel.device/1", "name": "d", "platform": "p", "driver": "1"}
FULL = {"value": 32, "unit": "", "source": "x"}


@pytest.mark.parametrize(("key", "row", "problem"), [
    ("banks", 32, "must have exactly value, unit, source for 'banks'"),
    ("banks", {"value": 32, "unit": ""}, "must have exactly value, unit, source for 'banks'"),
    ("banks", {**FULL, "more": 1}, "must have exactly value, unit, source for 'banks'"),
    ("banks", {**FULL, "source": ""}, "has 'banks' without a source"),
    ("clock_hz", {**FULL, "unit": "MHz"}, "has 'clock_hz' in 'MHz', not in 'Hz'"),
    ("mine", {**FULL, "unit": "furlong"}, "has 'mine' in 'furlong'; units are share, B, s"),
    ("banks", {**FULL, "value": "many"}, "has 'many' for 'banks', not a number"),
    ("banks", {**FULL, "value": None}, "has None for 'banks', not a number"),
    ("banks", {**FULL, "value": True}, "has True for 'banks', not a number"),
    ("mine", {**FULL, "value": ["a"]}, "has ['a'] for 'mine', not a number"),
    ("banks", {**FULL, "value": -1}, "has -1 for 'banks', not a finite number from 0 up"),
    ("l2_miss_ratio", {**FULL, "value": 1.5, "unit": "share"}, "has 1.5 for 'l2_miss_ratio', not a share from 0 to 1"),
    ("subgroup_size", {**FULL, "value": 0, "unit": "work-items"}, "has 0 for 'subgroup_size', not an integer"),
    ("subgroup_size", {**FULL, "value": 2.5, "unit": "work-items"}, "not an integer from 1 to 1024"),
    ("subgroup_size", {**FULL, "value": 4096, "unit": "work-items"}, "not an integer from 1 to 1024"),
    ("compute_units", {**FULL, "value": 0}, "has 0 for 'compute_units', not an integer from 1 up"),
    ("vector_registers", {**FULL, "value": "many", "unit": "registers"}, "'vector_registers', not a number"),
])  # fmt: skip
def test_facts_that_are_refused(tmp_path, key, row, problem):
    path = tmp_path / "facts.yaml"
    path.write_text(json.dumps({"facts": {key: row}}))
    with pytest.raises(FactsError, match=re.escape(problem)) as caught:
        read_facts(path)
    assert str(path) in str(caught.value)
    assert "docs/facts.md" in str(caught.value)
    with pytest.raises(FactsError, match=re.escape(problem)):
        DeviceFacts.from_json({**DEVICE, "facts": {key: row}})


@pytest.mark.parametrize(("text", "problem"), [
    ("facts: [", "is not valid YAML"), ("- facts", "has no mapping 'facts'"), ("facts: 3", "has no mapping 'facts'"),
    ("facts: {banks: {value: .nan, unit: '', source: x}}", "has nan for 'banks', not a finite number"),
])  # fmt: skip
def test_files_that_are_refused(tmp_path, text, problem):
    path = tmp_path / "facts.yaml"
    path.write_text(text)
    with pytest.raises(FactsError, match=problem):
        read_facts(path)
