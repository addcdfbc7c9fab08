"""Do two checkouts give the same results? Counts, predictions and weights of both, number by number.

Record in each checkout, then compare the two files::

    PYTHONHASHSEED=0 python -m scripts.lab.same_results record new.json [--refit] [--captured FOLDER]
    python -m scripts.lab.same_results compare old.json new.json

``--captured`` names a folder of kernels that :mod:`scripts.lab.capturing.capture` kept, such as
``.venv/others/captured/loopy``: 400 of them, evenly chosen, are counted too, each in a separate process and in limited
time.

A checkout without this file is recorded by the file of another one, with PYTHONPATH=/path/to/old before the command.
So nothing of perfmodel is used here but ``pm.*``, ``store.read`` and what these return.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from importlib import import_module
from itertools import chain, product
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import perfmodel as pm
from perfmodel import store
from scripts.lab.capturing.captured import captured
from scripts.lab.capturing.sizes import candidates

TOLERANCE = 1e-12  # Relative difference from which on two numbers differ [1]
SUBGROUP_SIZE = 32  # Work-items in a sub-group, as tests of the corpus have it [1]
ROWS = 38  # Measured test kernels that each model predicts: about 2,500 predictions of all models together
UNITS = ("instance", "subgroup", "workgroup", "launch")  # Of which lines are counted
CAPTURED, CAPTURED_S = 400, 20  # Kernels of others, and CPU time of each [s]
FORK = get_context("fork")
CACHES = (512, 32768)  # Capacities of the caches whose traffic is recorded [B]
Numbers = dict[str, Any]
Results = dict[str, dict[str, Numbers]]
Question = Callable[[], Any]


def record_counts(kernel: Any) -> Iterator[tuple[str, Numbers]]:
    """Yield the counts of a kernel of the corpus at each of its sizes."""
    counts = None
    for sizes in kernel.cases:
        if counts is None or kernel.statistics:
            known = kernel.statistics(sizes) if kernel.statistics else None
            counts = pm.count(kernel.build(), subgroup_size=SUBGROUP_SIZE, statistics=known, cache=False)
        values = {name: _answer(question, sizes) for name, question in _questions(counts, sizes)}
        yield f"{kernel.name} {dict(sizes)}", {"hash": counts.hash, **values}


def record_captured(folder: Path) -> Iterator[Iterator[tuple[str, Numbers]]]:
    """Yield the counts of kernels that others wrote; one that takes too long or ends its process has no numbers."""
    kernels = list(captured(folder))
    for kernel in kernels[:: max(1, len(kernels) // CAPTURED)][:CAPTURED]:
        receiver, sender = FORK.Pipe(duplex=False)
        child = FORK.Process(target=_send_captured, args=(kernel.unit, sender))
        child.start()
        sender.close()
        with suppress(EOFError):
            yield iter([(f"{folder.name} {kernel.name}", receiver.recv())])
        child.join()


def _send_captured(unit: Any, sender: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CAPTURED_S, resource.RLIM_INFINITY))
    try:
        counts = pm.count(unit, subgroup_size=SUBGROUP_SIZE, cache=False)
        sizes = next(candidates(counts, counts.parameters))
        values = {name: _answer(question, sizes) for name, question in _questions(counts, sizes)}
        sender.send({"hash": counts.hash, **values})
    except Exception as error:  # refused kernels shall be refused by both
        sender.send({"refused": f"{type(error).__name__}: {error}"})


def _questions(counts: pm.KernelCounts, sizes: Mapping[str, int]) -> Iterator[tuple[str, Question]]:
    """Yield every question to a kernel's counts, by name; its answer is a count or a number."""
    for name in ("launches", "work_groups", "work_items", "sub_groups", "idle_lanes"):
        yield name, getattr(counts, name)
    for scope in ("local", "global"):
        yield f"barriers {scope}", partial(counts.barriers, scope)
    for row in counts.operation_table:
        yield f"operations {row.dtype} {row.kind}", partial(getattr, row, "count")
    yield "depth", lambda: sum(row.count(**sizes) for row in counts.depth())
    for place, access in enumerate(counts.access_table):
        for part in ("count", "stride", "footprint", "filled"):
            yield f"access {place} {access.direction} {access.array} {part}", partial(getattr, access, part)
    for space, array, direction in sorted({(row.space, row.array, row.direction) for row in counts.access_table}):
        for name, question in _array_questions(counts, space, array, direction, sizes):
            yield f"{array} {direction} {name}", question
    for order, capacity in product(("serial", "lockstep"), CACHES):
        for part in ("fetched", "loads", "stores", "streams", "jumps", "stored_jumps"):
            yield f"traffic {order} {capacity} {part}", partial(_lines_moved, counts, order, capacity, part, sizes)


def _array_questions(
    counts: pm.KernelCounts, space: str, array: str, direction: str, sizes: Mapping[str, int]
) -> Iterator[tuple[str, Question]]:
    for unit in ("subgroup", "workgroup"):
        yield f"by {unit}", partial(counts.accesses, array=array, direction=direction, granularity=unit)
    yield "utilization", lambda: counts.utilization(array, direction)(**sizes)
    if space == "local":
        yield "bank conflicts", partial(counts.bank_conflicts, array, 32, direction)
    for unit in UNITS if space == "global" else ():
        yield f"lines {unit}", partial(counts.lines, array, 64, unit, direction)
        yield f"lines {unit} at sizes", partial(counts.lines, array, 64, unit, direction, **sizes)


def _lines_moved(counts: pm.KernelCounts, order: str, capacity: int, part: str, sizes: Mapping[str, int]) -> float:
    return float(getattr(counts.traffic(capacity=capacity, order=order)(**sizes), part))


def _answer(question: Question, sizes: Mapping[str, int]) -> Any:
    """Return a number, None, or the name of an error; a bound is marked."""
    try:
        count = question()
        value = _plain(count(**sizes) if callable(count) else count)
        return value if getattr(count, "exact", True) else f"at most {value}"
    except Exception as error:  # a defect of isl in one count shall not hide the others
        return f"{type(error).__name__}: {error}"


def record_predictions(folder: Path) -> Iterator[tuple[str, Numbers]]:
    """Yield the predictions of test kernels by every model of a device, with terms and intervals."""
    tests = store.read(folder / "test.jsonl")
    rows = [row for row in tests.current if row.counts_hash in tests.counts_documents]
    rows = rows[:: max(1, len(rows) // ROWS)][:ROWS]
    for path in weights_files(folder):
        model = pm.load(path)
        for row in rows:
            name = f"{folder.name} {path.stem} {row.kernel} {dict(row.variant)} {dict(row.parameters)}"
            yield name, _prediction(model, tests.counts[row.counts_hash], row.parameters)


def _prediction(model: pm.FittedModel, counts: pm.KernelCounts, sizes: Mapping[str, int]) -> Numbers:
    try:
        predicted = model.predict(counts, sizes, allow_unmeasured=True)
    except pm.PerfModelError as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    times = {f"term {term}": _plain(seconds) for term, seconds in predicted.terms.items()}
    times |= {"seconds": predicted.seconds, **dict(zip(("low", "high"), predicted.interval or (), strict=False))}
    return {**times, "unmeasured": " ".join(predicted.unmeasured), "warnings": " ".join(predicted.warnings)}


def record_fits(folder: Path) -> Iterator[tuple[str, Numbers]]:
    """Yield the weights of every family of a device, fitted again: all that the weights file holds."""
    measured, tests = store.read(folder), store.read(folder / "test.jsonl")
    for path in weights_files(folder):
        with tempfile.TemporaryDirectory() as temporary:
            target = Path(temporary) / path.name
            pm.fit(measured, family=path.stem, others=tests).save(target)
            yield f"{folder.name} {path.stem}", dict(_flat(json.loads(target.read_text())))


def weights_files(folder: Path) -> list[Path]:
    """Return the files of fitted weights in a device's folder."""
    return [path for path in sorted(folder.glob("*.json")) if '"perfmodel.weights/' in path.read_text()[:200]]


def _flat(document: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(document, (dict, list)):
        for key, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from _flat(value, f"{name}.{key}".lstrip("."))
    else:
        yield name, document


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) or hasattr(value, "dtype") else value


def record(wanted: Sequence[str], captured: Path | None = None) -> Results:
    """Return the wanted parts of the results of the checkout whose perfmodel was imported."""
    folders = sorted(path.parent for path in (Path(pm.__file__).parents[1] / "fitted_weights").glob("*/test.jsonl"))
    parts: dict[str, Callable[[], Iterable[Iterable[tuple[str, Numbers]]]]] = {
        "counts": lambda: map(record_counts, import_module("tests.corpus").kernels()),
        "predictions": lambda: map(record_predictions, folders),
        "weights": lambda: map(record_fits, folders),
        "captured": lambda: record_captured(captured) if captured else (),
    }
    return {part: dict(chain.from_iterable(parts[part]())) for part in wanted}


def differs(old: Any, new: Any) -> bool:
    """Whether two values differ, numbers by more than :data:`TOLERANCE`."""
    if old == new or not all(isinstance(value, (int, float)) for value in (old, new)):
        return bool(old != new)
    return not (math.isclose(old, new, rel_tol=TOLERANCE) or (old != old and new != new))


def compare(old: Results, new: Results) -> Iterator[str]:
    """Yield, for each part, a line with its figures and an indented line for each difference."""
    for part in (name for name in old if name in new):
        first, second = old[part], new[part]
        both = first.keys() & second.keys()
        pairs = [
            (f"{name}: {key}", first[name].get(key, "absent"), second[name].get(key, "absent"))
            for name in sorted(both) for key in {**first[name], **second[name]}
        ]  # fmt: skip
        different = [pair for pair in pairs if differs(*pair[1:])]
        equal = sum(a == b for _, a, b in pairs)
        yield (
            f"{part}: {len(both)} in both files, with {len(pairs)} values: {equal} equal, "
            f"{len(pairs) - equal - len(different)} equal to {TOLERANCE:g}, {len(different)} different"
        )
        for where, items in (("first", first), ("second", second)):
            yield from (f"  only in the {where}: {name}" for name in sorted(items.keys() - both))
        yield from (f"  {name}: {a} and {b}" for name, a, b in different)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="same_results", description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recorded, compared = commands.add_parser("record"), commands.add_parser("compare")
    recorded.add_argument("out", type=Path)
    recorded.add_argument("--refit", action="store_true", help="fit all weights again too, which takes minutes")
    recorded.add_argument("--captured", type=Path, metavar="FOLDER", help="count 400 kernels of this folder too")
    recorded.add_argument(
        "--only", choices=("counts", "predictions", "weights", "captured"), help="record this part alone"
    )
    compared.add_argument("files", type=Path, nargs=2)
    options = parser.parse_args(argv)
    if options.command == "compare":
        print("\n".join(lines := [*compare(*(json.loads(path.read_text()) for path in options.files))]))
        return int(any(line.startswith(" ") for line in lines))
    if os.environ.get("PYTHONHASHSEED") != "0":
        parser.error("set PYTHONHASHSEED=0: Loopy's code, and so the hash of counts, depends on it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = ["counts", "predictions", *["weights"] * options.refit, *["captured"] * bool(options.captured)]
        results = record([options.only] if options.only else parts, options.captured)
    options.out.write_text(json.dumps(results, indent=0))
    print(f"{Path(pm.__file__).parent}: " + ", ".join(f"{len(items)} {part}" for part, items in results.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
