"""The store: whole records or none, and nothing lost in silence."""

import hashlib
import json
import lzma
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from perfmodel import errors, store
from perfmodel.documents import canonical
from perfmodel.errors import SetAsideWarning
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.store import Measurement
from perfmodel.store.files import append_probe, probes_path, read_probes
from tests.facts.test_probed import L1, capacity
from tests.probed import chase


def digest(content) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest()


class Counts:
    """Has of KernelCounts what the store needs."""

    def __init__(self):
        self.content: dict[str, object] = {"a": 1}

    @property
    def hash(self):
        return digest(self.content)

    def to_json(self):
        return self.content


def counts_line(content) -> str:
    return json.dumps({"hash": digest(content), "counts": content}) + "\n"


def measurement(**changes) -> Measurement:
    values = {
        "kernel": "copy", "group": "vector", "variant": {"work_group": (16, 16)}, "parameters": {"n": 8}, "device": "D",
        "platform": "P", "driver": "1", "versions": {}, "kernel_hash": "h", "counts_hash": "abc",
        "samples_s": (9.0, 8.0, 3.0, 2.0, 4.0), "dropped": 2, "status": "ok",
    }  # fmt: skip
    return Measurement(**{**values, **changes})


def keep(folder, *sizes) -> Path:
    """Append a record for each size; return the file."""
    for n in sizes:
        store.append(folder, measurement(parameters={"n": n}))
    return folder / "measurements.jsonl"


def sizes_of(found) -> list[int]:
    return [row.parameters["n"] for row in found.rows]


def test_what_is_read_is_what_was_written_and_iteration_gives_the_newest_ok_record(tmp_path):
    row = measurement()
    store.append(tmp_path, row, Counts())
    found = store.read(tmp_path)
    assert (row,) == found.rows
    assert {digest({"a": 1}): {"a": 1}} == found.counts_documents
    assert () == found.set_aside
    rows = [
        measurement(samples_s=(1.0,) * 5), measurement(samples_s=(2.0,) * 5, kernel_hash="new", counts_hash="new"),
        measurement(parameters={"n": 9}, status="runtime", samples_s=()),
    ]  # fmt: skip
    for row in rows:
        store.append(tmp_path / "newest", row)
    found = store.read(tmp_path / "newest")
    assert 3 == len(found.rows)
    assert [2.0] == [row.seconds for row in found]


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_last_line_is_left_out_and_told(tmp_path, cut):
    path = keep(tmp_path, 1, 2)
    path.write_bytes(path.read_bytes()[: -cut - 1])
    with pytest.warns(errors.SetAsideWarning, match="line 2 is torn") as recorded_warnings:
        found = store.read(tmp_path)
    assert [1] == sizes_of(found)
    assert found.set_aside == tuple(str(one.message) for one in recorded_warnings)
    assert 1 == len(recorded_warnings)


@pytest.mark.filterwarnings("ignore::perfmodel.errors.SetAsideWarning")
def test_every_cut_of_the_file_leaves_the_whole_records(tmp_path):
    path = keep(tmp_path, 1, 2, 3)
    whole = path.read_bytes()
    for cut in range(1, len(whole), 7):
        path.write_bytes(whole[:cut])
        kept = whole[:cut].count(b"\n")
        assert kept <= len(store.read(tmp_path).rows) <= kept + 1


DAMAGE = {
    "cut": lambda line: line[:40], "no samples": lambda line: line.replace("[9.0, 8.0, 3.0, 2.0, 4.0]", "[9.0, 8.0]"),
    "a negative time": lambda line: line.replace("3.0", "-3.0"), "no number": lambda line: line.replace("3.0", "NaN"),
    "a key twice": lambda line: line.replace('"dropped": 2', '"dropped": 2, "dropped": 3'),
    "an older schema": lambda line: line.replace("measurement/1", "measurement/0"),
    "a size beyond doubles": lambda line: line.replace('{"n": 2}', f'{{"n": {2**53 + 1}}}'),
    "5000 digits": lambda line: line.replace('{"n": 2}', f'{{"n": {"9" * 5000}}}'),
    "deep": lambda line: line.replace('{"work_group"', '{"deep": ' + 5000 * "[" + 5000 * "]" + ', "work_group"'),
    "device times of other runs": lambda line: line.replace('"device_samples_s": []', '"device_samples_s": [1.0]'),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_line_in_the_middle_is_left_out_and_told_with_its_number(tmp_path, damage):
    path = keep(tmp_path, 1, 2, 3)
    lines = path.read_text().splitlines()
    changed = DAMAGE[damage](lines[1])
    assert changed != lines[1]
    path.write_text("\n".join([lines[0], changed, lines[2]]) + "\n")
    with pytest.warns(errors.SetAsideWarning, match=r"1 line .*\(line 2 .*; fix or remove") as recorded_warnings:
        found = store.read(tmp_path)
    assert [1, 3] == sizes_of(found)
    assert 1 == len(recorded_warnings)
    assert len(str(recorded_warnings[0].message)) < 600


def test_counts_that_were_changed_are_left_out_and_told(tmp_path):
    store.append(tmp_path, measurement(), Counts())
    path = tmp_path / "counts.jsonl"
    whole = path.read_text()
    for changed, said in (
        (whole.replace('"a"', '"b"'), "line 1 was changed"),
        (counts_line({"name": "sum"}).replace("sum", "max"), r"counts.jsonl.*line 1 \(kernel 'max'\) was changed"),
    ):
        path.write_text(changed + counts_line({"c": 2}))
        with pytest.warns(errors.SetAsideWarning, match=said):
            found = store.read(tmp_path)
        assert {digest({"c": 2}): {"c": 2}} == found.counts_documents


def test_a_store_whose_first_record_is_damaged_still_has_its_owner(tmp_path):
    path = keep(tmp_path, 1, 2)
    path.write_text(path.read_text()[30:])
    with pytest.raises(errors.StoreError):
        store.append(tmp_path, measurement(device="E"))
    store.append(tmp_path, measurement(parameters={"n": 3}))
    with pytest.warns(errors.SetAsideWarning, match="line 1"):
        assert [2, 3] == sizes_of(store.read(tmp_path))


@pytest.mark.parametrize(("changes", "said"), [
    ({"schema": "perfmodel.measurement/0"}, "older schema .*; measure again: perfmodel measure"),
    ({"schema": "perfmodel.plan/1"}, "perfmodel.plan/1"), ({"schema": None}, "no schema"),
    ({"status": "fine"}, "status"), ({"surprise": 1}, "surprise"),
    ({"visits": [{"runs": 4, "dropped": 1}]}, "field 'visits': .*4 runs together, and it has 5 samples_s"),
])  # fmt: skip
def test_a_record_of_another_schema_is_an_error(tmp_path, changes, said):
    document = {**measurement().model_dump(mode="json", by_alias=True), **changes}
    (tmp_path / "measurements.jsonl").write_text(json.dumps(document) + "\n")
    with pytest.raises(errors.StoreError, match=said):
        store.read(tmp_path)


def device_facts(name="D", driver="1", memory=100, units=2) -> DeviceFacts:
    facts = {"compute_units": Fact(units, "", "s"), "global_memory_bytes": Fact(memory, "B", "s")}
    return DeviceFacts.from_mapping(name, "P", driver, facts)


def test_records_and_stores_of_another_device_are_refused_and_nothing_is_written(tmp_path):
    store.append(tmp_path, measurement())
    before = (tmp_path / "measurements.jsonl").read_bytes()
    for other in (measurement(device="E"), measurement(platform="Q")):
        with pytest.raises(errors.StoreError, match=r"holds records of 'D' \(P\), not of") as caught:
            store.append(tmp_path, other)
        assert isinstance(caught.value, ValueError)
    assert before == (tmp_path / "measurements.jsonl").read_bytes()
    store.append(tmp_path / "with_rows", measurement())
    store.prepare(tmp_path / "empty", device_facts())
    for name in ("with_rows", "empty"):
        with pytest.raises(errors.StoreError, match="--store"):
            store.prepare(tmp_path / name, device_facts("E"))
    assert device_facts() == store.read(tmp_path / "empty").facts


def test_a_newer_schema_is_an_error_of_its_own_and_is_not_appended_to(tmp_path):
    document = {**measurement().model_dump(mode="json", by_alias=True), "schema": "perfmodel.measurement/12"}
    path = tmp_path / "measurements.jsonl"
    path.write_text(json.dumps(document) + "\n")
    for attempt in (lambda: store.read(tmp_path), lambda: store.append(tmp_path, measurement())):
        with pytest.raises(errors.StoreError, match=r"measurement/12.*measurement/1'; update"):
            attempt()
    assert 1 == len(path.read_text().splitlines())


class Numbered(Counts):
    def __init__(self, number):
        self.content = {"number": number}


def numbers(folder):
    return [json.loads(line)["counts"]["number"] for line in (folder / "counts.jsonl").read_text().splitlines()]


def test_counts_of_another_process_are_not_written_again(tmp_path):
    store.append_counts(tmp_path, Numbered(1))
    with (tmp_path / "counts.jsonl").open("a") as file:
        file.write(counts_line({"number": 2}))
    for number in (2, 1, 3):
        store.append_counts(tmp_path, Numbered(number))
    assert [1, 2, 3] == numbers(tmp_path)


def append_many(folder, first):
    for n in range(20):
        store.append(folder, measurement(parameters={"n": first + n}), Numbered(n))


def test_two_processes_write_whole_lines_and_counts_once(tmp_path):
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(append_many, (tmp_path, tmp_path), (0, 100)))
    found = store.read(tmp_path)
    assert {*range(20), *range(100, 120)} == {row.parameters["n"] for row in found.rows}
    assert 40 == len(found.rows)
    assert [*range(20)] == sorted(numbers(tmp_path))


def test_the_device_is_described_beside_its_records(tmp_path):
    store.prepare(tmp_path, device_facts())
    store.prepare(tmp_path / "m.jsonl", device_facts("E"))
    found = {path.name for path in tmp_path.iterdir()}
    assert {".lock", "measurements.jsonl", "device.json", "m.jsonl", "m.device.json"} == found
    assert device_facts() == store.read(tmp_path).facts
    assert device_facts("E") == store.read(tmp_path / "m.jsonl").of_device("E").facts
    store.prepare(tmp_path, device_facts(memory=99))
    assert 100 == store.read(tmp_path).facts.value("global_memory_bytes")
    store.prepare(tmp_path, device_facts(driver="2", memory=98))
    assert ("2", 98) == (store.read(tmp_path).facts.driver, store.read(tmp_path).facts.value("global_memory_bytes"))


def test_one_description_serves_all_stores_of_a_folder_on_its_device(tmp_path):
    store.prepare(tmp_path, device_facts())
    store.prepare(tmp_path / "test.jsonl", device_facts(memory=3))
    store.append(tmp_path / "test.jsonl", measurement())
    store.append(tmp_path / "other.jsonl", measurement(device="E"))
    assert not (tmp_path / "test.device.json").exists()
    assert device_facts() == store.read(tmp_path / "test.jsonl").facts
    assert store.read(tmp_path / "other.jsonl").facts is None


@pytest.fixture
def packed(tmp_path):
    """A store with the counts 1 and 2, packed."""
    for number in (1, 2):
        store.append(tmp_path, measurement(parameters={"n": number}), Numbered(number))
    store.pack(tmp_path)
    return tmp_path


def read_numbers(folder):
    return [document["number"] for document in store.read(folder).counts_documents.values()]


def test_a_campaign_appends_what_is_not_packed_to_a_plain_file(packed):
    before = (packed / "counts.jsonl.xz").read_bytes()
    for number in (2, 3, 1, 3):
        store.append(packed, measurement(parameters={"n": number}), Numbered(number))
    assert [3] == numbers(packed)
    assert before == (packed / "counts.jsonl.xz").read_bytes()
    assert [1, 2, 3] == read_numbers(packed)
    store.pack(packed)
    assert not (packed / "counts.jsonl").exists()
    assert [1, 2, 3] == read_numbers(packed)


def test_the_same_counts_give_the_same_bytes(packed):
    before = (packed / "counts.jsonl.xz").read_bytes()
    store.pack(packed)
    assert before == (packed / "counts.jsonl.xz").read_bytes()
    assert counts_line({"number": 1}) + counts_line({"number": 2}) == lzma.decompress(before).decode()


def test_a_kill_while_packing_loses_nothing(packed, monkeypatch):
    store.append_counts(packed, Numbered(3))
    monkeypatch.setattr("pathlib.Path.unlink", lambda path: pytest.fail("killed"))
    with pytest.raises(pytest.fail.Exception, match="killed"):
        store.pack(packed)
    monkeypatch.undo()
    assert [3] == numbers(packed)
    assert [1, 2, 3] == read_numbers(packed)


def test_nothing_is_packed_while_a_line_is_damaged(packed):
    before = (packed / "counts.jsonl.xz").read_bytes()
    damaged = counts_line({"number": 3}).replace("3}", "4}")
    (packed / "counts.jsonl").write_text(damaged)
    with pytest.warns(errors.SetAsideWarning, match="line 1 was changed"):
        store.pack(packed)
    assert (damaged, before) == ((packed / "counts.jsonl").read_text(), (packed / "counts.jsonl.xz").read_bytes())


@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda content: b"no pack", lambda content: b""])
def test_a_damaged_pack_says_what_to_do(tmp_path, damage):
    store.append(tmp_path, measurement())
    packed = lzma.compress(counts_line({"number": 4}).encode())
    (tmp_path / "counts.jsonl.xz").write_bytes(damage(packed))
    with pytest.raises(errors.StoreError, match=r"cannot be unpacked .*git checkout .*measure again"):
        store.read(tmp_path)


CPU = DeviceFacts.from_mapping(
    "a device", "a platform", "1",
    {"device_type": Fact("cpu", "", "CL_DEVICE_TYPE"), "max_work_group_size": Fact(64, "work-items", "CL")},
)  # fmt: skip


def test_probes_are_read_back_the_same_and_a_damaged_line_is_left_out(tmp_path):
    first, second = capacity(), chase({64: 1e-9}, visit=1, status="failed", message="no memory")
    append_probe(tmp_path, first)
    append_probe(tmp_path / "test.jsonl", second)
    assert (first, second) == read_probes(tmp_path) == read_probes(tmp_path / "measurements.jsonl")
    assert () == read_probes(tmp_path / "none")
    with probes_path(tmp_path).open("a") as file:
        file.write('{"schema": "perfmodel.probe/1", "probe": 3}\n')
    with pytest.warns(SetAsideWarning, match="line 3 is not valid"):
        assert (first, second) == read_probes(tmp_path)


def test_a_store_has_assumed_measured_told_and_written_facts(tmp_path):
    store.prepare(tmp_path, CPU)
    assert {"max_groups_per_unit", "max_items_per_unit"} == set(store.read(tmp_path).facts) - set(CPU)
    append_probe(tmp_path, capacity())
    known = store.read(tmp_path).facts
    assert (L1, 64) == (known.value("l1_bytes"), known.value("max_items_per_unit"))
    rows = [("l1_bytes", 1, "B"), ("max_groups_per_unit", 2, '""')]
    text = [f"  {key}: {{value: {value}, unit: {unit}, source: mine}}" for key, value, unit in rows]
    (tmp_path / "facts.yaml").write_text("\n".join(["facts:", *text]) + "\n")
    known = store.read(tmp_path).facts
    assert (1, "mine") == (known.value("l1_bytes"), known.fact("l1_bytes").source)
    assert 2 == known.value("max_groups_per_unit")
