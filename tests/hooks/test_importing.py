"""Results of other tuners become records: variants, counts, statuses, units and devices; what does not fit is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfmodel import store
from perfmodel.counts import count
from perfmodel.errors import (
    ForeignDeviceError,
    HookError,
    ImportedDeviceError,
    KernelFileContentError,
    KernelFileMissingError,
    UnmappedResultsError,
)
from perfmodel.facts import DeviceFacts
from perfmodel.hooks import import_results
from perfmodel.predict import fit
from perfmodel.store import t4
from tests.hooks.spaces import FILE, SIZES, build
from tests.store.test_files import measurement
from tests.store.test_tuner_files import ENTRIES, cache


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("kernel.py").write_text(FILE)
    Path("named.py").write_text(
        "from tests.hooks.spaces import build as made\n\n\n"
        'def variants():\n    return {"one": made(32, 1), "two": made(32, 2)}\n'
    )
    Path("cache.json").write_text(cache(*ENTRIES))
    return tmp_path


def entry(**values) -> str:
    return f'"{",".join(map(str, values.values()))}": {json.dumps({**values, "time": 2.0})},'


def with_keys(names: list[str], *entries: str, device: str = "A device") -> None:
    """Write a cache with these parameters."""
    document = json.loads("{" + "".join(entries)[:-1] + "}")
    head = {"device_name": device, "kernel_name": "k", "tune_params_keys": names, "cache": document}
    Path("cache.json").write_text(json.dumps(head))


def test_each_configuration_is_a_record_with_its_counts():
    found = import_results("cache.json", "kernel.py", "store", SIZES)
    assert ({"ok": 1, "compile": 1, "runtime": 1, "constraint": 1}, 0, ()) == (
        found.statuses, found.known, found.refused
    )  # fmt: skip
    read = store.read("store")
    assert ["ok", "compile", "runtime", "constraint"] == [row.status for row in read.rows]
    row = read.rows[0]
    assert ("kernel", "kernel", ("imported",)) == (row.kernel, row.group, row.tags)
    assert ({"group": 32, "terms": 1}, {"n": 4096}) == (row.variant, row.parameters)
    assert ("A device", "", "") == (row.device, row.platform, row.driver)
    assert 1.5e-3 == row.seconds
    assert 4096 == read.counts[row.counts_hash].operations(dtype="float32", kind="add")(n=4096)
    assert count(build(32, 1), subgroup_size=32).hash == row.counts_hash
    assert "Kernel Tuner cache" == row.versions["results"]


def test_records_can_be_fitted():
    with_keys(["group", "terms"], *(entry(group=g, terms=t) for g in (32, 64) for t in (1, 2, 3, 4)))
    import_results("cache.json", "kernel.py", "store", SIZES)
    model = fit(store.read("store"), "expr: w_add*op_float32_add")
    assert 8 == model.fitted.rows
    assert "A device" == model.device


def test_a_second_import_adds_nothing():
    import_results("cache.json", "kernel.py", "store", SIZES)
    before = Path("store/measurements.jsonl").read_bytes()
    found = import_results("cache.json", "kernel.py", "store", SIZES)
    assert ((), 4) == (found.rows, found.known)
    assert before == Path("store/measurements.jsonl").read_bytes()


def test_the_file_may_be_a_function_or_a_class_of_kernels():
    found = import_results("cache.json", build, "store", SIZES)
    assert "summed" == found.rows[0].kernel  # the cache's name of it
    found = import_results("cache.json", build, "other", SIZES, name="mine")
    assert "mine" == found.rows[0].kernel


def test_t4_of_a_kernel_class_comes_back():
    from measurement_kernels.stride1 import KERNEL

    variant = dict(KERNEL.variants_on(256, 1)[0])
    rows = [
        measurement(kernel=KERNEL.name, variant=variant, parameters={"n": 2048}),
        measurement(kernel="another", variant=variant, parameters={"n": 2048}),
    ]
    sizes = dict.fromkeys(KERNEL.sizes.at(KERNEL.sizes.start)[0], 2048)
    rows[0] = measurement(kernel=KERNEL.name, variant=variant, parameters=sizes)
    Path("t4.json").write_text(json.dumps(t4(rows)))
    found = import_results("t4.json", KERNEL, "store", device="D", platform="P", driver="1")
    (row,) = found.rows
    assert (KERNEL.group, rows[0].variant, sizes) == (row.group, row.variant, row.parameters)
    assert rows[0].kept_s == pytest.approx(row.samples_s)
    assert ("D", "P", "1") == (row.device, row.platform, row.driver)
    assert "is of the kernel 'another', and not of" in found.refused[0]


@pytest.mark.parametrize(("names", "by"), [(["variant"], None), (["layout"], None), (["layout", "n"], "layout")])
def test_variants_are_found_by_name(names, by):
    key = by or names[0]
    own = {name: 4096 for name in names if name == "n"}
    with_keys(names, entry(**{key: "two"}, **own), entry(**{key: "three"}, **own))
    found = import_results("cache.json", "named.py", "store", SIZES, by=by)
    (row,) = found.rows
    assert ({"variant": "two"}, {"n": 4096}) == (row.variant, row.parameters)
    assert "is the variant 'three', and the kernel file has one, two" in found.refused[0]


def test_which_parameter_names_the_variant_must_be_clear():
    with pytest.raises(HookError, match=r"the configurations have group, terms; say which .*--by NAME"):
        import_results("cache.json", "named.py", "store", SIZES)


def test_kernel_tuners_block_sizes_are_compared_with_the_launch():
    names = ["group", "terms", "block_size_x", "block_size_y"]
    right, wrong = ({"group": 32, "terms": 1, "block_size_x": x, "block_size_y": 1} for x in (32, 64))
    with_keys(names, entry(**right), entry(**wrong))
    found = import_results("cache.json", "kernel.py", "store", SIZES)
    assert [{"group": 32, "terms": 1}] == [row.variant for row in found.rows]
    assert "was launched with block_size_x=64, and the kernel has 32" in found.refused[0]


def test_sizes_may_be_in_the_configuration():
    with_keys(["group", "n"], entry(group=32, n=640))
    assert {"n": 640} == import_results("cache.json", "kernel.py", "store").rows[0].parameters
    with pytest.raises(UnmappedResultsError, match="has n=640, where n=4096 was given"):
        import_results("cache.json", "kernel.py", "store", SIZES)


@pytest.mark.parametrize(
    ("names", "values", "sizes", "said"),
    [
        (["terms"], {"terms": 1}, SIZES, "has no value for group, which the kernel file needs"),
        (["group", "x"], {"group": 32, "x": "fast"}, SIZES, "has x='fast', which the kernel file does not take"),
        (["group"], {"group": 32}, {}, "cannot be evaluated at these sizes"),
        (["group"], {"group": 32}, {"n": 100}, "cannot be evaluated at these sizes: n=100 breaks"),
        (["group"], {"group": "wide"}, SIZES, "the kernel (group=wide) cannot be built: KernelFileExecutionError"),
    ],
)
def test_what_cannot_be_mapped_is_refused(names, values, sizes, said):
    with_keys(names, entry(**values))
    with pytest.raises(UnmappedResultsError, match="none of its 1 results can be used") as caught:
        import_results("cache.json", "kernel.py", "store", sizes)
    assert said in str(caught.value)
    assert not Path("store").exists()


def test_what_can_be_mapped_is_kept_beside_what_cannot():
    with_keys(["group"], entry(group=32), entry(group=0))
    found = import_results("cache.json", "kernel.py", "store", SIZES)
    assert (1, 1) == (len(found.rows), len(found.refused))
    assert "(group=0" in found.refused[0]


def test_an_empty_cache_is_refused():
    Path("cache.json").write_text(cache())
    with pytest.raises(UnmappedResultsError, match="none of its 0 results can be used, the first because there is"):
        import_results("cache.json", "kernel.py", "store", SIZES)


def test_the_store_says_more_of_its_device():
    store.prepare("store", DeviceFacts("A device", "P", "7", ()))
    store.append("store", measurement(device="A device", platform="P", driver="7"))
    row = import_results("cache.json", "kernel.py", "store", SIZES).rows[0]
    assert ("A device", "P", "7") == (row.device, row.platform, row.driver)


def test_another_devices_store_is_refused_and_stays_as_it_was():
    store.append("store", measurement())
    before = Path("store/measurements.jsonl").read_bytes()
    with pytest.raises(ForeignDeviceError, match=r"holds records of 'D' \(P\), not of 'A device'"):
        import_results("cache.json", "kernel.py", "store", SIZES)
    assert before == Path("store/measurements.jsonl").read_bytes()


def test_a_device_that_the_file_does_not_name_is_refused():
    with pytest.raises(HookError, match="the results are of 'A device', and 'B' was given"):
        import_results("cache.json", "kernel.py", "store", SIZES, device="B")


def test_results_without_a_device_need_one():
    Path("t4.json").write_text(json.dumps(t4([measurement(variant={"group": 32})])))
    with pytest.raises(ImportedDeviceError, match="give it"):
        import_results("t4.json", "kernel.py", "store", SIZES)


def test_a_kernel_file_without_kernels_is_refused():
    Path("empty.py").write_text("")
    with pytest.raises(KernelFileContentError, match="build"):
        import_results("cache.json", "empty.py", "store", SIZES)
    with pytest.raises(KernelFileMissingError):
        import_results("cache.json", "none.py", "store", SIZES)
