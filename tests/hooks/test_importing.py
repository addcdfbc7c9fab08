"""Results of other tuners as records: kernels, counts, statuses, units and devices; errors name what does not fit."""

import gzip
import json
import random
from contextlib import suppress
from pathlib import Path

import pytest

from perfmodel import store
from perfmodel.counts import count
from perfmodel.errors import DocumentError, KernelFileError, PerfModelError, StoreError
from perfmodel.facts import DeviceFacts
from perfmodel.hooks import import_results, importing
from perfmodel.hooks.importing import kernel_source
from perfmodel.processes.pool import Pool
from perfmodel.store import t4
from perfmodel.store.exchange import TunerResults
from tests.fuzz.mutations import mutated
from tests.hooks.spaces import FILE, SIZES, build
from tests.machine import ROOT
from tests.store.test_exchange import ENTRIES, cache
from tests.store.test_files import measurement


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


def test_each_configuration_is_a_record_with_its_counts_and_a_second_import_adds_nothing():
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
    assert "A device" == read.facts.name == json.loads(Path("store/device.json").read_text())["name"]
    before = Path("store/measurements.jsonl").read_bytes()
    found = import_results("cache.json", "kernel.py", "store", SIZES)
    assert ((), 4) == (found.rows, found.known)
    assert before == Path("store/measurements.jsonl").read_bytes()


def test_t4_of_a_kernel_class_comes_back():
    from measurement_kernels.stride1 import KERNEL

    variant = dict(KERNEL.variants_on(256, 1)[0])
    sizes = dict.fromkeys(KERNEL.sizes.at(KERNEL.sizes.start)[0], 2048)
    rows = [measurement(kernel=name, variant=variant, parameters=sizes) for name in (KERNEL.name, "another")]
    Path("t4.json").write_text(json.dumps(t4(rows)))
    assert 1 == len(import_results("t4.json", KERNEL, "other", device="D").rows)
    path = ROOT / "measurement_kernels" / "stride1.py"
    found = import_results("t4.json", path, "store", device="D", platform="P", driver="1")
    (row,) = found.rows
    assert (KERNEL.group, rows[0].variant, sizes) == (row.group, row.variant, row.parameters)
    assert rows[0].kept_s == pytest.approx(row.samples_s)
    assert ("D", "P", "1") == (row.device, row.platform, row.driver)
    assert "is for the kernel 'another', not" in found.refused[0]


@pytest.mark.parametrize("own", [{}, {"n": 4096}])
def test_variants_are_found_by_the_parameter_that_names_them(own):
    with_keys(["layout", *own], entry(layout="two", **own), entry(layout="three", **own))
    found = import_results("cache.json", "named.py", "store", SIZES)
    (row,) = found.rows
    assert ({"variant": "two"}, {"n": 4096}) == (row.variant, row.parameters)
    assert "has variant='three', and the kernel file has the values one, two" in found.refused[0]
    with_keys(["group", "terms"], entry(group=1, terms=2))
    with pytest.raises(DocumentError, match="no parameter of the results names one; give results with one such"):
        import_results("cache.json", "named.py", "store", SIZES)


def test_kernel_tuners_block_sizes_are_compared_with_the_launch():
    names = ["group", "terms", "block_size_x", "block_size_y"]
    right, wrong = ({"group": 32, "terms": 1, "block_size_x": x, "block_size_y": 1} for x in (32, 64))
    with_keys(names, entry(**right), entry(**wrong))
    found = import_results("cache.json", "kernel.py", "store", SIZES)
    assert [{"group": 32, "terms": 1}] == [row.variant for row in found.rows]
    assert "was launched with block_size_x=64, and the kernel has 32" in found.refused[0]


@pytest.mark.parametrize("value", [-1, 2**60, 1.5, True, None, "x"])
def test_only_integers_are_sizes(value):
    with_keys(["group", "n"], entry(group=32, n=value))
    with pytest.raises(DocumentError, match="which is neither a parameter of the kernel file nor a size"):
        import_results("cache.json", "kernel.py", "store")


def test_sizes_may_be_in_the_configuration():
    with_keys(["group", "n"], entry(group=32, n=640))
    assert {"n": 640} == import_results("cache.json", "kernel.py", "store").rows[0].parameters
    with pytest.raises(DocumentError, match="has n=640, where n=4096 was given"):
        import_results("cache.json", "kernel.py", "store", SIZES)


@pytest.mark.parametrize(("names", "values", "sizes", "text"), [
    (["terms"], {"terms": 1}, SIZES, "has no value for group, which the kernel file needs"),
    (["group", "x"], {"group": 32, "x": "fast"}, SIZES, "has x='fast', which is neither a parameter"),
    (["group"], {"group": 32}, {}, "lacks the size n (-p NAME=SIZE)"),
    (["group"], {"group": 32}, {"n": 100}, "cannot be evaluated at these sizes: n=100 breaks"),
    (["group"], {"group": "wide"}, SIZES, "the kernel (group=wide) cannot be built: KernelFileError"),
])  # fmt: skip
def test_invalid_configurations_are_refused(names, values, sizes, text):
    with_keys(names, entry(**values))
    with pytest.raises(DocumentError, match="none of its 1 results can be used") as caught:
        import_results("cache.json", "kernel.py", "store", sizes)
    assert text in str(caught.value)
    assert not Path("store").exists()


def test_valid_results_are_kept_if_others_are_refused():
    with_keys(["group"], entry(group=32), entry(group=0))
    found = import_results("cache.json", "kernel.py", "store", SIZES)
    assert (1, 1) == (len(found.rows), len(found.refused))
    assert "(group=0" in found.refused[0]


def test_damaged_files_end_in_one_error():
    whole = Path("cache.json").read_bytes()
    exported = json.dumps(t4([measurement(kernel="kernel", variant={"group": 32}, parameters={"n": 64})])).encode()
    for seed in range(60):
        rng = random.Random(seed)
        _, content = mutated("cache.json", (whole, exported)[seed % 2], rng)
        Path("damaged.json").write_bytes(content)
        with suppress(PerfModelError):
            import_results("damaged.json", build, f"store{seed}", {} if seed % 2 else SIZES, device="A device")


def test_an_empty_cache_and_one_of_another_kernel_are_refused_before_anything_is_counted():
    Path("cache.json").write_text(cache())
    with pytest.raises(DocumentError, match="none of its 0 results can be used, the first because there is"):
        import_results("cache.json", "kernel.py", "store", SIZES)
    Path("cache.json").write_text(cache(*ENTRIES))
    Path("spaced.py").write_text(
        "def kernel(MWG):\n    raise AssertionError\n\n\ndef space():\n    return {'MWG': (16, 32)}\n"
    )
    with pytest.raises(DocumentError, match="has group=32, which is neither a parameter of the kernel"):
        import_results("cache.json", "spaced.py", "store", SIZES)
    assert not Path("store").exists()


def test_platform_and_driver_come_from_the_store_and_the_name_of_a_function_from_the_cache():
    store.prepare("store", DeviceFacts("A device", "P", "7", ()))
    store.append("store", measurement(device="A device", platform="P", driver="7"))
    row = import_results("cache.json", "kernel.py", "store", SIZES).rows[0]
    assert ("A device", "P", "7") == (row.device, row.platform, row.driver)
    assert "summed" == import_results("cache.json", build, "other", SIZES).rows[0].kernel


def test_the_device_must_be_known_and_that_of_the_store():
    with pytest.raises(DocumentError, match="the results are of 'A device', and 'B' was given"):
        import_results("cache.json", "kernel.py", "store", SIZES, device="B")
    Path("t4.json").write_text(json.dumps(t4([measurement(variant={"group": 32})])))
    with pytest.raises(DocumentError, match="give it"):
        import_results("t4.json", "kernel.py", "store", SIZES)
    store.append("store", measurement())
    before = Path("store/measurements.jsonl").read_bytes()
    with pytest.raises(StoreError, match=r"holds records of 'D' \(P\), not of 'A device'"):
        import_results("cache.json", "kernel.py", "store", SIZES)
    assert before == Path("store/measurements.jsonl").read_bytes()


def test_a_kernel_file_without_kernels_is_refused():
    Path("empty.py").write_text("")
    with pytest.raises(KernelFileError, match="build"):
        import_results("cache.json", "empty.py", "store", SIZES)
    with pytest.raises(KernelFileError):
        import_results("cache.json", "none.py", "store", SIZES)


TABLE = "group,terms,min_ms,median_ms,runs,invalid\n32,1,1.5,2.0,3,\n64,2,,,0,RuntimeFailedConfig\n64,one,1.0,1.0,3,\n"


@pytest.mark.parametrize("packed", [False, True])
def test_a_table_of_times(packed):
    Path("times.csv").write_bytes(gzip.compress(TABLE.encode()) if packed else TABLE.encode())
    found = import_results("times.csv", "kernel.py", "store", SIZES, device="A card")
    assert ("table of times", {"ok": 1, "runtime": 1}) == (found.form, found.statuses)
    assert (1.5e-3, "A card") == (found.rows[0].seconds, found.rows[0].device)
    assert "table: RuntimeFailedConfig" == found.rows[1].message
    assert "line 4 does not have integers and a time" in found.refused[0]


def eight() -> None:
    with_keys(["group", "terms"], *(entry(group=g, terms=t) for g in (32, 64) for t in (1, 2, 3, 4)))


def test_a_stopped_import_continues(monkeypatch):
    eight()
    written = []

    def dying(*given):
        if len(written) == 5:
            raise KeyboardInterrupt
        written.append(given)
        store.files.append(*given)

    with monkeypatch.context() as patches:
        patches.setattr(store, "append", dying)
        with pytest.raises(KeyboardInterrupt):
            import_results("cache.json", build, "store", SIZES)
    assert 5 == len(store.read("store").rows)
    counted = []

    def build_and_note(group, terms):
        counted.append((group, terms))
        return build(group, terms)

    found = import_results("cache.json", build_and_note, "store", SIZES)
    assert (3, 5) == (len(found.rows), found.known)
    assert [(64, 2), (64, 3), (64, 4)] == counted
    assert 8 == len({row.case_key for row in store.read("store").rows})


def test_many_counts_are_packed(monkeypatch):
    eight()
    import_results("cache.json", "kernel.py", "few", SIZES)
    monkeypatch.setattr(importing, "MANY", 8)
    monkeypatch.setattr(importing, "Pool", lambda _, progress: Pool(1, progress))
    import_results("cache.json", "kernel.py", "many", SIZES)
    few, many = (store.read(name) for name in ("few", "many"))
    assert (few.rows, few.counts_documents) == (many.rows, many.counts_documents)
    assert [True, False] == [(Path(name) / "counts.jsonl").is_file() for name in ("few", "many")]


SPACE = """
from tests.hooks.spaces import build


def kernel(group, terms, repeats=1):
    if repeats != 1:
        raise ValueError("repeats must be 1")
    return build(group, terms)


def space():
    return {"group": (32, 64), "terms": (1, 2)}
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "spaced.py"
    path.write_text(SPACE)
    return kernel_source(path, TunerResults("results.json", "T4", None, None, ()))


def test_a_configuration_of_the_space(source):
    variant = {"group": 32, "terms": 2, "repeats": 1}
    assert (variant, SIZES) == source.mapped({**variant, "block_size_x": 32}, SIZES)
    assert (variant, SIZES) == source.mapped({**variant, **SIZES}, SIZES)
    assert "summed" == source.build(**variant).default_entrypoint.name


@pytest.mark.parametrize(("given", "text"), [
    ({"group": 128, "terms": 1}, "has group=128, and the kernel file has the values 32, 64"),
    ({"group": "32", "terms": 1}, "has group='32', and the kernel file has the values 32, 64"),
    ({"group": 32}, "has no value for terms, which the kernel file needs"),
    ({"group": 32, "terms": 1, "MWG": 16}, "has MWG=16, which is neither a parameter of the kernel file"),
    ({"group": 32, "terms": 1, "n": 64}, "has n=64, where n=4096 was given"),
    ({"group": 32, "terms": 1, "kernel": "other"}, "is for the kernel 'other', not 'spaced'"),
])  # fmt: skip
def test_names_and_values_that_the_space_does_not_have_are_refused(source, given, text):
    with pytest.raises(DocumentError) as caught:
        source.mapped(given, SIZES)
    assert text in caught.value.problem


def test_a_recorded_space_takes_the_names_of_its_cache():
    path = Path(__file__).parents[2] / "test_kernels" / "recorded" / "convolution.py"
    recorded = kernel_source(path, TunerResults("results.json", "T4", None, None, ()))
    given = {"block_size_x": 16, "block_size_y": 4, "tile_size_x": 1, "tile_size_y": 2, "use_padding": 0}
    given |= {"read_only": 0, "use_shmem": 1, "use_cmem": 1, "filter_width": 15, "filter_height": 15}
    assert given == recorded.mapped(given, {"n": 4096})[0]
    with pytest.raises(DocumentError, match="has tile_size_x=5, and the kernel file has the values 1, 2, 3, 4"):
        recorded.mapped({**given, "tile_size_x": 5}, {"n": 4096})
    with pytest.raises(Exception, match="the filter has 15 rows"):
        recorded.build(**{**given, "filter_width": 17})


