"""What other programs get: a table, CSV, pandas, and the auto-tuning community's T4."""

from __future__ import annotations

import csv
import json
from io import StringIO

import jsonschema
import pytest

from perfmodel import store
from perfmodel.store import Measurements
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
        ("schema_version", "results"),
        schema_version={"type": "string", "pattern": r"^[0-9]{1,}.[0-9]{1,}.[0-9]{1,}$"},
        results={"type": "array", "items": RESULT},
    ),
}

STATUSES = ("ok", "compile", "runtime", "timeout", "correctness", "constraint")


def examples() -> Measurements:
    rows = [
        measurement(
            parameters={"n": place},
            status=status,
            samples_s=(9.0, 9.0, 0.003, 0.002, 0.004) if status == "ok" else (),
            launch_overhead_s=1e-5,
            taken_at="2026-11-21T07:00:00+00:00",
        )
        for place, status in enumerate(STATUSES)
    ]
    return Measurements((*rows, measurement(kernel="add", variant={"kind": "mul"}, parameters={"m": 1})), {})


def test_t4_fits_its_schema():
    document = json.loads(json.dumps(store.t4(examples().current)))
    jsonschema.Draft202012Validator.check_schema(T4)
    jsonschema.validate(document, T4)
    assert "1.0.0" == document["schema_version"]
    expected = ["correct", "compile", "runtime", "timeout", "correctness", "constraints", "correct"]
    assert expected == [result["invalidity"] for result in document["results"]]


def test_a_t4_result_is_the_record_in_milliseconds():
    result = store.t4(examples().current)["results"][0]
    assert {"kernel": "copy", "work_group": [16, 16], "n": 0} == result["configuration"]
    assert pytest.approx([3.0, 2.0, 4.0]) == result["times"]["runtimes"]
    figures = {row["name"]: (row["value"], row["unit"]) for row in result["measurements"]}
    assert (pytest.approx(2.0), "ms") == figures["time"]
    assert (pytest.approx(3.0), "ms") == figures["time_median"]
    assert (pytest.approx(0.01), "ms") == figures["time_launch_overhead"]
    assert (["time"], 1) == (result["objectives"], result["correctness"])


def test_a_size_named_as_a_key_of_the_variant_stays_apart():
    (result,) = store.t4([measurement(variant={"n": 3}, parameters={"n": 8})])["results"]
    assert {"kernel": "copy", "n": 3, "parameters.n": 8} == result["configuration"]


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


def test_csv_can_be_read_back():
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


def test_frame_is_the_table_in_pandas():
    frame = examples().to_frame()
    assert (7, list(store.table(examples().current)[0])) == (len(frame), list(frame.columns))
    assert pytest.approx([0.002]) == list(frame[frame.kernel == "copy"].seconds.dropna())
