"""What docs/store.md and docs/facts.md say of valid documents, written again in plain Python, without the readers."""

import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any

TEXTS = ("kernel", "group", "device", "platform", "driver", "kernel_hash", "counts_hash")
STATUSES = ("ok", "compile", "runtime", "timeout", "correctness", "constraint")
LEVELS, DIGITS, EXACT = 64, 100, 2**53


class InvalidError(Exception):
    """A document breaks a rule."""


def rule(holds: object, what: str) -> None:
    if not holds:
        raise InvalidError(what)


def strict_json(content: bytes) -> Any:
    """Return a JSON document that has one meaning."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        rule(len({key for key, _ in pairs}) == len(pairs), "a key twice")
        return dict(pairs)

    def whole(text: str) -> int:
        rule(len(text) <= DIGITS, "too many digits")
        return int(text)

    def real(text: str) -> float:
        rule(math.isfinite(float(text)), "beyond doubles")
        return float(text)

    def constant(text: str) -> float:
        raise InvalidError(text)

    try:
        found = json.loads(
            content.decode(), object_pairs_hook=unique, parse_int=whole, parse_float=real, parse_constant=constant
        )
    except (ValueError, RecursionError) as error:
        raise InvalidError(str(error)) from error
    rule(depth(found) <= LEVELS, "too deep")
    return found


def depth(document: Any) -> int:
    if not isinstance(document, dict | list):
        return 0
    return 1 + max(map(depth, document.values() if isinstance(document, dict) else document), default=0)


def number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def whole(value: Any, low: int, high: float = math.inf) -> bool:
    return type(value) is int and low <= value <= high


def check_row(line: bytes) -> dict[str, Any]:
    """Return a record of ``measurements.jsonl`` that keeps the rules of docs/store.md."""
    row = strict_json(line)
    rule(isinstance(row, dict) and row.get("schema") == "perfmodel.measurement/1", "schema")
    rule(all(isinstance(row.get(name), str) for name in TEXTS), "texts")
    rule(row.get("status") in STATUSES, "status")
    rule(isinstance(row.get("variant"), dict), "variant")
    sizes = row.get("parameters")
    rule(isinstance(sizes, dict) and all(whole(size, 0, EXACT) for size in sizes.values()), "sizes")
    samples = row.get("samples_s")
    rule(isinstance(samples, list) and all(number(s) and s > 0 for s in samples), "samples")
    rule(whole(row.get("dropped"), 0), "dropped")
    rule(row["status"] != "ok" or len(samples) > row["dropped"], "samples after the drop")
    own = row.get("device_samples_s", [])
    rule(isinstance(own, list) and all(number(s) and s >= 0 for s in own), "the device's times")
    rule(len(own) in (0, len(samples)), "as many times of the device")
    return row


def check_counts(line: bytes) -> str:
    """Return the hash of a line of ``counts.jsonl`` that belongs to its counts."""
    found = strict_json(line)
    rule(isinstance(found, dict) and isinstance(found.get("counts"), dict), "counts")
    text = json.dumps(found["counts"], sort_keys=True, separators=(",", ":"))
    rule(hashlib.sha256(text.encode()).hexdigest() == found.get("hash"), "hash")
    return found["hash"]


def valid_lines(content: bytes, check: Any) -> Iterator[Any]:
    """Yield what a check returns for the lines that pass it."""
    for line in content.split(b"\n"):
        try:
            yield check(line)
        except InvalidError:
            continue


def configuration(row: dict[str, Any]) -> tuple[str, ...]:
    names = ("device", "platform", "kernel", "variant", "parameters")
    return tuple(json.dumps(row[name], sort_keys=True) for name in names)


def newest(content: bytes) -> dict[tuple[str, ...], dict[str, Any]]:
    return {configuration(row): row for row in valid_lines(content, check_row)}


def check_weights(content: bytes) -> dict[str, Any]:
    found = strict_json(content)
    rule(isinstance(found, dict) and found.get("schema") == "perfmodel.weights/2", "schema")
    rule(whole(found.get("subgroup_size"), 1, 1024), "sub-group")
    rule(whole(found.get("rows"), 0) and whole(found.get("rank"), 0), "rows")
    weights = found.get("weights")
    rule(isinstance(weights, dict) and sorted(weights) == sorted(set(found.get("features", ()))), "features")
    for weight in weights.values():
        rule(number(weight.get("value")) and isinstance(weight.get("unit"), str), "weight")
        error = weight.get("standard_error")
        rule(error is None or (number(error) and error >= 0), "standard error")
    return found


def check_fact(key: str, fact: Any) -> None:
    value = fact["value"]
    rule(isinstance(fact["source"], str) and fact["source"].strip(), "source")
    if type(value) in (int, float):
        rule(math.isfinite(value) and value >= 0, f"{key}={value}")
    if fact["unit"] == "share":
        rule(0 <= value <= 1, "share")
    if key in ("subgroup_size", "compute_units"):
        rule(value % 1 == 0 and 1 <= value <= (1024 if key == "subgroup_size" else math.inf), f"{key}={value}")
