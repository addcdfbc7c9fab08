"""What other programs get: a table, CSV, pandas, and the auto-tuning community's T4."""

import csv
import json
from io import StringIO
from pathlib import Path

import pytest

from perfmodel import store
from perfmodel.errors import DocumentError
from perfmodel.store import Measurements, t4
from perfmodel.store.exchange import TunerResults, read_results
from tests.store.test_files import measurement


# The T4 results schema 1.0.0 as Kernel Tuner publishes it (kernel_tuner/schema/T4/1.0.0), in the parts that say
# anything, and stricter: an object has no other keys than those described, and each of them has its type.
def _object(required=(), **properties):
    return {"type": "object", "required": [*required], "additionalProperties": False, "properties": properties}


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
TIMES = _object(
    compilation_time=NUMBER, runtimes={"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}},
    framework=NUMBER, search_algorithm=NUMBER, validation=NUMBER,
)  # fmt: skip
RESULT = _object(
    ("configuration", "times", "invalidity", "correctness"),
    timestamp=TEXT, configuration={"type": "object"}, objectives={"type": "array", "items": TEXT}, times=TIMES,
    invalidity={"enum": ["timeout", "compile", "runtime", "correctness", "constraints", "correct"]}, correctness=NUMBER,
    measurements={"type": "array", "items": _object(
        ("name", "value", "unit"), name=TEXT, value={"type": ["number", "string", "array"]}, unit=TEXT,
    )},
)  # fmt: skip
T4 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_object(
        ("schema_version", "results"), schema_version={"type": "string", "pattern": r"^[0-9]{1,}.[0-9]{1,}.[0-9]{1,}$"},
        results={"type": "array", "items": RESULT},
    ),
}  # fmt: skip

STATUSES = ("ok", "compile", "runtime", "timeout", "correctness", "constraint")


def examples() -> Measurements:
    rows = [
        measurement(
            parameters={"n": place}, status=status, launch_overhead_s=1e-5, taken_at="2026-11-21T07:00:00+00:00",
            samples_s=(9.0, 9.0, 0.003, 0.002, 0.004) if status == "ok" else (),
        )
        for place, status in enumerate(STATUSES)
    ]  # fmt: skip
    return Measurements((*rows, measurement(kernel="add", variant={"kind": "mul"}, parameters={"m": 1})), {})


def test_a_t4_result_is_the_record_in_milliseconds():
    document = store.t4(examples().current)
    result, *_ = results = document["results"]
    assert "1.0.0" == document["schema_version"]
    expected = ["correct", "compile", "runtime", "timeout", "correctness", "constraints", "correct"]
    assert expected == [one["invalidity"] for one in results]
    assert {"kernel": "copy", "work_group": [16, 16], "n": 0} == result["configuration"]
    assert pytest.approx([3.0, 2.0, 4.0]) == result["times"]["runtimes"]
    figures = {row["name"]: (row["value"], row["unit"]) for row in result["measurements"]}
    assert (pytest.approx(2.0), "ms") == figures["time"]
    assert (pytest.approx(3.0), "ms") == figures["time_median"]
    assert (pytest.approx(0.01), "ms") == figures["time_launch_overhead"]
    assert (["time"], 1) == (result["objectives"], result["correctness"])


def test_visits_are_one_row():
    first = measurement(samples_s=(9.0, 9.0, 3.0, 4.0))
    found = Measurements((first, measurement(samples_s=(9.0, 9.0, 2.0, 2.0))), {})
    (row,) = store.table(found.current)
    assert (2.0, 2, 0.5, 8, 4) == tuple(row[n] for n in ("seconds", "visits", "disagreement", "runs", "dropped"))
    assert "visits" == row["flags"]
    (result,) = store.t4(found.current)["results"]
    assert pytest.approx([3e3, 4e3, 2e3, 2e3]) == result["times"]["runtimes"]
    (alone,) = store.table((first,))
    assert (1, None, 2) == (alone["visits"], alone["disagreement"], alone["dropped"])


def test_csv_can_be_read_back_and_a_frame_is_the_table_in_pandas():
    text = store.csv_text(examples().current)
    rows = list(csv.DictReader(StringIO(text)))
    assert 7 == len(rows)
    first, last = rows[0], rows[-1]
    assert ("copy", "ok", "0.002", "0.003", "0", "") == tuple(
        first[key] for key in ("kernel", "status", "seconds", "median_s", "parameters.n", "parameters.m")
    )
    assert [16, 16] == json.loads(first["variant.work_group"])
    assert ("add", "mul", "") == (last["kernel"], last["variant.kind"], last["variant.work_group"])
    assert "" == rows[1]["seconds"]
    assert "" == store.csv_text(())
    frame = examples().to_frame()
    assert (7, list(store.table(examples().current)[0])) == (len(frame), list(frame.columns))
    assert pytest.approx([0.002]) == list(frame[frame.kernel == "copy"].seconds.dropna())


# As Kernel Tuner 1.5 writes it: a header in lines, and a line for each configuration.
HEAD = """{
"device_name": "A device",
"kernel_name": "summed",
"problem_size": "callable",
"tune_params_keys": [
"group",
"terms"
],
"tune_params": {"group": [32, 64], "terms": [1, 2]},
"objective": [
"time"
],
"cache": {"""
ENTRIES = (
    '"32,1": {"group": 32, "terms": 1, "time": 2.0, "times": [3.0, 1.5, 1.5], "compile_time": 90.0, '
    '"timestamp": "2026-11-22 20:25:01+00:00"},',
    '"32,2": {"group": 32, "terms": 2, "__error__": "CompilationFailedConfig", "compile_time": 9.0},',
    '"64,1": {"group": 64, "terms": 1, "__error__": "RuntimeFailedConfig"},',
    '"64,2": {"group": 64, "terms": 2, "__error__": "InvalidConfig"},',
)


def read(folder: Path, text: str) -> TunerResults:
    (folder / "results.json").write_text(text)
    return read_results(folder / "results.json")


def cache(*entries: str) -> str:
    return "\n".join((HEAD, *entries))[: -1 if entries else None] + "}\n}"


def test_a_cache_of_kernel_tuner(tmp_path):
    found = read(tmp_path, cache(*ENTRIES))
    assert ("Kernel Tuner cache", "A device", "summed", (), ()) == (
        found.form, found.device, found.kernel, found.refused, found.notes
    )  # fmt: skip
    first, *failed = found.results
    assert {"group": 32, "terms": 1} == first.configuration
    assert ((3e-3, 1.5e-3, 1.5e-3), "2026-11-22 20:25:01+00:00") == (first.samples_s, first.taken_at)
    assert ["ok", "compile", "runtime", "constraint"] == [one.status for one in found.results]
    assert {()} == {one.samples_s for one in failed}
    assert "Kernel Tuner: CompilationFailedConfig" == failed[0].message


def test_a_torn_line_is_left_out_and_older_caches_have_the_error_as_a_time(tmp_path):
    for length in (1, 40, len(ENTRIES[3]) - 3):
        found = read(tmp_path, "\n".join((HEAD, *ENTRIES[:3], ENTRIES[3][:length])))
        assert 3 == len(found.results)
        (note,) = found.notes
        assert "its last line is torn" in note
    entries = (
        '"32,1": {"group": 32, "terms": 1, "time": 2.5},', '"32,2": {"group": 32, "terms": 2, "time": "InvalidConfig"},'
    )  # fmt: skip
    found = read(tmp_path, cache(*entries))
    assert [("ok", (2.5e-3,)), ("constraint", ())] == [(one.status, one.samples_s) for one in found.results]


@pytest.mark.parametrize(("entry", "said"), [
    ('"32,1": {"group": 32, "time": 2.0},', "the entry '32,1' has no value for terms"),
    ('"32,1": {"group": 32, "terms": 1, "time": -2.0},', "has the time -2.0, which is not a number above 0"),
    ('"32,1": {"group": 32, "terms": 1, "times": [1.0, true]},', "the time True, which is not a number above 0"),
    ('"32,1": {"group": 32, "terms": 1},', "has the time None, which is not a number above 0"),
    ('"32,1": 2.0,', "the entry '32,1' is float, not an object"),
    ('"32,1": {"group": 32, "terms": 1, "time": 1e-150},', "the entry '32,1' has the time"),
    ('"32,1": {"group": 32, "terms": 1, "time": 5e-324},', "a record holds times from 1e-12 to 1e+09 s"),
    ('"32,1": {"group": 32, "terms": 1, "time": 1e300},', "a record holds times from 1e-12 to 1e+09 s"),
])  # fmt: skip
def test_an_entry_that_is_no_result_is_refused_and_the_others_are_read(tmp_path, entry, said):
    found = read(tmp_path, cache(entry, *ENTRIES[1:]))
    assert 3 == len(found.results)
    (sentence,) = found.refused
    assert said in sentence


@pytest.mark.parametrize(("text", "said"), [
    ("", "is not valid JSON"), ("no JSON", "is not valid JSON"), ('{"cache": {"1": {"time": NaN', "has NaN"),
    ("[1, 2]", "is list: it has neither 'cache' nor 'results'"),
    ('{"schema": "other/1", "rows": []}', "is an object with 'schema', 'rows': it has neither"),
    ('{"cache": {}}', "'tune_params_keys' must be a list of names"),
    ('{"results": []}', "has results of the schema version None, and version 1 is known here"),
    ('{"results": [], "schema_version": "2.0.0"}', "has results of the schema version '2.0.0'"),
])  # fmt: skip
def test_a_file_that_is_neither_is_refused(tmp_path, text, said):
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)
    assert "give a cache file of Kernel Tuner" in str(caught.value)


def test_what_is_exported_as_t4_comes_back(tmp_path):
    rows = examples().rows
    found = read(tmp_path, json.dumps(t4(rows)))
    assert ("T4", None, ()) == (found.form, found.device, found.refused)
    assert [row.status for row in rows] == [one.status for one in found.results]
    for row, one in zip(rows, found.results, strict=True):
        assert {"kernel": row.kernel, **row.variant, **row.parameters} == dict(one.configuration)
        if row.status == "ok":
            assert row.kept_s == pytest.approx(one.samples_s, rel=1e-12)


def result(**changes) -> str:
    one = {"configuration": {"group": 32}, "times": {"runtimes": [2.0]}, "invalidity": "correct", "correctness": 1}
    return json.dumps({"schema_version": "1.0.0", "results": [one | changes]})


def test_a_result_without_runtimes_has_its_objective(tmp_path):
    measured = [{"name": "GFLOP/s", "value": 3.0, "unit": ""}, {"name": "time", "value": 5.0, "unit": "us"}]
    (one,) = read(tmp_path, result(times={}, measurements=measured)).results
    assert (5e-6,) == pytest.approx(one.samples_s)


@pytest.mark.parametrize(("changes", "said"), [
    ({"configuration": None}, "result 1 has no 'configuration' that is an object"),
    ({"invalidity": "slow"}, "has the invalidity 'slow'; allowed are correct, constraints, compile"),
    ({"times": {}}, "has neither runtimes nor a measurement 'time'"),
    ({"times": {}, "measurements": [{"name": "time", "value": 2, "unit": "h"}]}, "has times in 'h'; allowed are"),
    ({"times": {}, "measurements": [{"name": "time", "value": 2, "unit": ["s"]}]}, "has times in ['s']"),
    ({"times": {}, "measurements": [{"name": "time", "value": 2, "unit": {"s": 1}}]}, "has times in {'s'"),
    ({"times": {"runtimes": [0]}}, "has the time 0, which is not a number above 0"),
])  # fmt: skip
def test_a_result_that_cannot_be_read_is_refused(tmp_path, changes, said):
    found = read(tmp_path, result(**changes))
    assert () == found.results
    assert said in found.refused[0]
