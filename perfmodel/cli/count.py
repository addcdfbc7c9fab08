"""``perfmodel count``: what a kernel executes, as expressions and as numbers at given sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from typer import Option

from perfmodel import display, predicting, report
from perfmodel.cli import numbers, options, output
from perfmodel.cli.output import sizes_text
from perfmodel.documents import MOST_LANES, json_document, json_text, read_file
from perfmodel.errors import DocumentError, OptionError, PerfModelError, SizeError
from perfmodel.io import write_whole

if TYPE_CHECKING:
    from perfmodel.counts import AccessCount, Count, KernelCounts
    from perfmodel.processes.variants import CountedVariants

SCHEMA, SWEEP_SCHEMA = "perfmodel.count/1", "perfmodel.count-sweep/1"
COLUMNS = ("variant", "feature", "value", "unit", "problem")

Points: TypeAlias = Sequence[Mapping[str, int]]
Values: TypeAlias = Mapping[str, Mapping[str, list[float]]]  #: The values of each feature at all points, by the variant
Errors: TypeAlias = Mapping[str, PerfModelError]

SubgroupSize = Annotated[int, Option(
    "--subgroup-size", min=1, max=MOST_LANES, help="Work-items in a sub-group of the device.",
)]  # fmt: skip
DataTypes = Annotated[
    list[str] | None, Option("--dtype", metavar="NAME=TYPE", help="Type of an argument that has none; repeat for more.")
]
Save = Annotated[Path | None, Option(
    "--save", metavar="FILE.JSON", help="Write the counts to a file, which `diff` reads.",
)]  # fmt: skip
DeclaredFile = Annotated[Path | None, Option(
    "--declared", metavar="FILE.JSON", help="What each C instruction does; docs/own-kernels.md.",
)]  # fmt: skip


def count_command(
    asked: options.KernelOptions, size: options.SizeLists = None, subgroup_size: SubgroupSize = 32,
    csv: options.Csv = False, dtype: DataTypes = None, declared_file: DeclaredFile = None, jobs: options.Jobs = None,
    save: Save = None,
) -> None:  # fmt: skip
    """Count what a kernel executes, as expressions in its sizes and, with -p, as numbers.

    With several sizes, a table of numbers.
    """
    points = numbers.size_points(size)
    counted = options.counted_variants(
        asked.load(), subgroup_size, jobs, dtypes=dtypes(dtype), statistics=asked.statistics,
        declared=declared(declared_file), sizes=predicting.predictions.together(points),
    )
    if save is not None:
        variants = {name: {"counts": counts.to_json()} for name, counts in counted.items()}
        write_whole(save, json_text({"schema": SCHEMA, "kernel": str(asked.kernel), "variants": variants}).encode())
    values, errors = _evaluated(counted, points, csv or len(points) > 1)
    shown, make = {name: counted[name] for name in values}, _sweep_document if len(points) > 1 else _document
    output.show(
        lambda: {
            "schema": SWEEP_SCHEMA if len(points) > 1 else SCHEMA, "kernel": str(asked.kernel),
            "variants": {name: make(counts, values[name], points) for name, counts in shown.items()},
            **output.withheld_document(errors),
        },
        lambda: "\n\n".join(
            [_text(name, counts, values[name], points) for name, counts in shown.items()]
            + report.sweeps.left_out_lines(errors)
        ),
        (lambda: _csv(values, errors, points)) if csv else None,
    )  # fmt: skip


def _evaluated(counted: CountedVariants, points: Points, needed: bool) -> tuple[Values, Errors]:
    """Return the values of the features of each variant, and the errors. If `needed`, a missing size raises an error.

    If all variants fail, the first error is raised.
    """
    values: dict[str, dict[str, list[float]]] = {}
    errors = dict(counted.errors)
    for name, counts in counted.items():
        try:
            known = needed or points[0] or not counts.parameters
            values[name] = _features_at(counts, points) if known else {}
        except SizeError:  # sizes are wrong for all of them
            with options.about(name, counted):
                raise
        except PerfModelError as error:
            errors[name] = error
    if errors and not values:
        name, first = next(iter(errors.items()))
        with options.about(name, errors):
            raise first
    return values, errors


def _features_at(counts: KernelCounts, points: Points) -> dict[str, list[float]]:
    import numpy as np

    from perfmodel import features

    at = predicting.predictions.together(points) if len(points) > 1 else points[0]
    values = features.evaluate(counts, at)
    return {name: np.broadcast_to(value, (len(points),)).tolist() for name, value in values.items()}


def dtypes(given: Iterable[str] | None) -> dict[str, str]:
    """Return the types in ``--dtype`` options."""
    types = {}
    for text in given or ():
        name, _, value = (part.strip() for part in text.partition("="))
        if not (name.isidentifier() and value):
            raise OptionError(f"--dtype '{text}' is not NAME=TYPE", "give a type, as in --dtype a=float32")
        types[name] = value
    return types


def declared(path: Path | None) -> dict[str, dict[str, Any]]:
    """Return the declarations of C instructions in a file, which names operations as ``"float32 mul"``."""
    if path is None:
        return {}
    try:
        document = json_document(read_file(path))
        if not isinstance(document, dict):
            raise DocumentError("is not a JSON object of instructions")
        return {name: _declaration(given) for name, given in document.items()}
    except DocumentError as error:
        advice = """write {"<instruction>": {"operations": {"float32 mul": 1}, "loads": {"a[i]": 1}, "stores": {}}}"""
        raise OptionError(f"--declared '{path}' cannot be used: it {error.problem}", advice) from error


def _declaration(given: Any) -> Any:
    """Return a declaration with its operations by type and kind. The function `count` checks the other fields."""
    if not isinstance(given, dict) or not isinstance(given.get("operations", {}), dict):
        return given
    named = given.get("operations", {})
    operations = {tuple(name.split()): amount for name, amount in named.items()}
    return {**given, "operations": operations if len(operations) == len(named) else named}


def _document(counts: KernelCounts, values: Mapping[str, list[float]], points: Points) -> dict[str, Any]:
    from perfmodel.features import unit

    rows = [dict(zip(("what", "detail", "count"), row, strict=True)) for row in expressions(counts)]
    features = {name: {"value": value, "unit": unit(name)} for name, (value,) in values.items()}
    return {
        "parameters": list(counts.parameters), "assumptions": counts.assumptions, "expressions": rows,
        "counts": counts.to_json(), **({"sizes": dict(points[0]), "features": features} if values else {}),
    }  # fmt: skip


def _sweep_document(counts: KernelCounts, values: Mapping[str, list[float]], points: Points) -> dict[str, Any]:
    from perfmodel.features import unit

    return {
        "units": {feature: unit(feature) for feature in values},
        "points": [
            {"sizes": dict(at), "features": {feature: column[i] for feature, column in values.items()}}
            for i, at in enumerate(points)
        ],
    }


def _csv(values: Values, errors: Errors, points: Points) -> str:
    from perfmodel.features import unit

    records: list[dict[str, Any]] = [
        {**at, **dict(zip(COLUMNS, (name, feature, column[i], unit(feature), None), strict=True))}
        for name, features in values.items() for i, at in enumerate(points) for feature, column in features.items()
    ]  # fmt: skip
    records += [{"variant": name, "problem": str(error)} for name, error in errors.items()]
    return display.csv_text((*points[0], *COLUMNS), records)


def _text(name: str, counts: KernelCounts, values: Mapping[str, list[float]], points: Points) -> str:
    from perfmodel.features import unit

    width, lines = output.table_width(), [f"{name}({', '.join(counts.parameters)})"]
    rows = [(feature, unit(feature), *(f"{x:.15g}" for x in column)) for feature, column in values.items()]
    if len(points) > 1:
        head = ("feature", "unit", *map(sizes_text, points))
        return "\n".join([*lines, display.columns_text([head, *rows], 2, width)])
    lines.append(display.columns_text(list(expressions(counts)), 3, width))
    if values:
        lines.append(f"features{' at ' * bool(points[0])}{sizes_text(points[0])}")
        lines.append(display.columns_text([(feature, value, per) for feature, per, value in rows], width=width))
    return "\n".join(lines)


def expressions(counts: KernelCounts) -> Iterable[tuple[str, str, str]]:
    """Yield the kind, the details and the expression of each count over the whole launch."""
    for operation in counts.operation_table:
        yield "operations", f"{operation.dtype} {operation.kind}", str(operation.count)
    accesses: dict[tuple[str, str], Count] = {}  # rows with equal text are added
    for row in counts.access_table:
        key = f"{row.space} {row.direction}s", _access_detail(row)
        accesses[key] = accesses[key] + row.count if key in accesses else row.count
    yield from ((*key, str(number)) for key, number in accesses.items())
    yield "barriers", "local", str(counts.barriers(scope="local"))
    yield "work-groups", "", str(counts.work_groups())
    yield "launches", "", str(counts.launches())


def _access_detail(row: AccessCount) -> str:
    detail = f"{row.array}: {row.dtype}"
    if row.space != "global":
        return detail
    if row.indirect:
        return f"{detail}, indirect"
    detail += f", lane stride {row.stride}"
    return detail if row.footprint is None else f"{detail}, {row.footprint} distinct cells"
