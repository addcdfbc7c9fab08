"""The cases of the battery: which file a command reads, and what it may accept of a damaged one.

A case is a command's arguments and the files that it reads; ``accepted`` gets the folder and the output
of a command that ended with status 0; it raises ``InvalidError`` if the command accepted something invalid.
"""

import csv
import io
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz import documented
from tests.fuzz.documented import rule
from tests.fuzz.workspace import FEATURES, pristine

Check = Callable[[Path, str], None]
STORE = ("store/measurements.jsonl", "store/counts.jsonl")
SIZE = 1024


def nothing_more(folder: Path, printed: str) -> None:
    """Accept: the command's text holds nothing to check."""


def json_printed(folder: Path, printed: str) -> None:
    documented.strict_json(printed.encode())


def fitted(folder: Path, printed: str) -> None:
    """Check the weights that were written, and that only valid rows and counts went into them."""
    weights = documented.check_weights((folder / "out.json").read_bytes())
    rows = documented.newest((folder / "store/measurements.jsonl").read_bytes())
    hashes = set(documented.valid_lines((folder / "store/counts.jsonl").read_bytes(), documented.check_counts))
    usable = [row for row in rows.values() if row["status"] == "ok" and row["counts_hash"] in hashes]
    rule(0 < weights["rows"] <= len(usable), f"{weights['rows']} rows were fitted, {len(usable)} can be used")


def exported(folder: Path, printed: str) -> None:
    """Check that each exported row is a valid record, with its time, and that no valid untouched record is lost."""
    content = (folder / "store/measurements.jsonl").read_bytes()
    valid, rows = documented.newest(content), list(csv.DictReader(io.StringIO(printed, newline="")))
    whole = set(pristine()["store/measurements.jsonl"].split(b"\n")) & set(content.split(b"\n"))
    rule(len(rows) <= len(valid), f"{len(rows)} rows, {len(valid)} are valid")
    rule(len(rows) >= len(documented.newest(b"\n".join(whole))), "a record was lost")
    times = {min(row["samples_s"][row["dropped"] :]) for row in valid.values() if row["status"] == "ok"}
    rule({float(row["seconds"]) for row in rows if row["status"] == "ok"} <= times, "a time that was not measured")


def exported_t4(folder: Path, printed: str) -> None:
    documented.strict_json((folder / "t4.json").read_bytes())


def predicted(folder: Path, printed: str) -> None:
    """Check a prediction against the sum of the weights in the file times the features by hand."""
    weights = documented.check_weights((folder / "weights.json").read_bytes())["weights"]
    (one,) = documented.strict_json(printed.encode())["predictions"]
    expected = sum(weights[name]["value"] * feature(SIZE) for name, feature in FEATURES.items())
    rule(math.isclose(expected, one["seconds"], rel_tol=1e-9), f"{one['seconds']} s, expected {expected} s")


def predicted_by_expression(folder: Path, printed: str) -> None:
    """Check that a prediction is finite, and that its weights file keeps the rules."""
    documented.check_weights((folder / "expression.json").read_bytes())
    for one in documented.strict_json(printed.encode())["predictions"]:
        rule(math.isfinite(one["seconds"]), "seconds")


def counted(folder: Path, printed: str) -> None:
    """Check that features of printed counts are finite, and zero or more."""
    for one in documented.strict_json(printed.encode())["variants"].values():
        for name, feature in one.get("features", {}).items():
            rule(documented.number(feature["value"]) and feature["value"] >= 0, f"{name} = {feature['value']}")


def declared(folder: Path, printed: str) -> None:
    """Check that counts are what the declaration says, in whole numbers from zero up."""
    counted(folder, printed)
    given = documented.strict_json((folder / "declared.json").read_bytes())["square"]
    parts = given if set(given) <= {"operations", "loads", "stores"} else {"operations": given}
    for part in parts.values():
        rule(all(documented.whole(amount, 0) for amount in part.values()), f"{part}")
    rule(all(len(name.split()) == 2 for name in parts.get("operations", {})), "operations")


def facts_read(folder: Path, printed: str) -> None:
    for key, fact in (documented.strict_json(printed.encode()) or {}).get("facts", {}).items():
        documented.check_fact(key, fact)


def plans_read(folder: Path, printed: str) -> None:
    for sizes, seconds in documented.strict_json(printed.encode()):
        rule(len(sizes) == len(seconds), "sizes and times")
        rule(all(documented.whole(size, 0, documented.EXACT) for point in sizes for size in point.values()), "sizes")
        rule(all(documented.number(one) and one > 0 for one in seconds), "times")


def entry_read(folder: Path, printed: str) -> None:
    """Check that an entry of the cache was accepted only with the content of the undamaged one."""
    rule(printed.strip() in ("", json.loads(pristine()["cache/entry.json"])["sha256"]), "another entry")


def made(folder: Path, printed: str) -> None:
    """Check that a class made for a feature says that it isolates it."""
    rule(printed.strip() in (folder / "feature.txt").read_text(errors="surrogateescape"), f"made for {printed}")


@dataclass(frozen=True)
class Case:
    name: str
    damaged: tuple[str, ...]
    arguments: tuple[str, ...]
    accepted: Check = nothing_more


def _case(name: str, damaged: Iterable[str], arguments: str, accepted: Check = nothing_more) -> Case:
    return Case(name, tuple(damaged), tuple(arguments.split()), accepted)


FIT = "fit --from store -o out.json --family expr:w_a*launches+w_b*global_load_32_stride1"
PREDICT = f"predict kernel.py -p n={SIZE} --json"
#: Damaged files. The words after ``read`` name a reader of the library that no command reaches without a device.
FILES = (
    _case("fit", (*STORE, "store/device.json", "store/facts.yaml"), FIT, fitted),
    _case("fit with a file", ("family.py", *STORE),
          "fit --from store -o out.json --family family.py", fitted),
    _case("predict", ("weights.json",), f"{PREDICT} -w weights.json", predicted),
    _case("predict by an expression", ("expression.json",), f"{PREDICT} -w expression.json", predicted_by_expression),
    _case("rank", ("variants.py", "weights.json"),
          f"rank variants.py -w weights.json -p n={SIZE} --json", json_printed),
    _case("count", ("kernel.py",), f"count kernel.py -p n={SIZE} --json", counted),
    _case("count declared", ("declared.json",),
          f"count opaque.py -p n={SIZE} --declared declared.json --json", declared),
    _case("export", ("store/measurements.jsonl",), "data export store -o -", exported),
    _case("export T4", (*STORE, "store/device.json"), "data export store -o t4.json", exported_t4),
    _case("compare", ("store/test.jsonl", *STORE),
          "compare --from store --family stevens_kloeckner_2016 --json", json_printed),
    _case("roofline", ("store/test.jsonl", "store/facts.yaml"), "compare --roofline --from store --json", json_printed),
    _case("facts", ("store/device.json", "store/facts.yaml"), "read facts store", facts_read),
    _case("plans", ("store/measurements.plan.jsonl",), "read plans store/measurements.plan.jsonl", plans_read),
    _case("cache", ("cache/entry.json",), "read entry cache/entry.json", entry_read),
    _case("made", ("feature.txt",), "read made feature.txt", made),
)
#: Commands whose options get odd values.
OPTIONS = (
    _case("fit", (), FIT), _case("predict", (), f"{PREDICT} -w weights.json"),
    _case("rank", (), f"rank variants.py -w weights.json -p n={SIZE}"),
    _case("count", (), f"count kernel.py -p n={SIZE}"), _case("export", (), "data export store -o out.csv"),
    _case("compare", (), "compare --from store --family stevens_kloeckner_2016"),
    _case("roofline", (), "compare --roofline --from store"),
    _case("time", (), f"time kernel.py -w weights.json -p n={SIZE}"),
    _case("tune", (), f"tune variants.py -w weights.json -p n={SIZE}"),
    _case("report", (), "report --from store --out report.html"),
    _case("import", (), f"data import results.json --kernel kernel.py --store imported -p n={SIZE}"),
    _case("measure", (), "measure --kernels classes --store new"), _case("calibrate", (), "calibrate --out new"),
    _case("doctor", (), "doctor"), _case("devices", (), "devices"),
)  # fmt: skip
