"""``perfmodel count``: what a kernel executes, as expressions and as numbers at given sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Option

from perfmodel import display, report
from perfmodel.cli import numbers, options, output
from perfmodel.cli.output import sizes_text
from perfmodel.documents import MOST_LANES, json_document, read_file
from perfmodel.errors import DocumentError, OptionError, PerfModelError, SizeError

if TYPE_CHECKING:
    from perfmodel.counts import AccessCount, Count, KernelCounts

SCHEMA = "perfmodel.count/1"
SWEEP_SCHEMA = "perfmodel.count-sweep/1"
COLUMNS = ("variant", "feature", "value", "unit", "problem")

Made = TypeVar("Made")

SubgroupSize = Annotated[
    int, Option("--subgroup-size", min=1, max=MOST_LANES, help="Work-items in a sub-group of the device.")
]
DataTypes = Annotated[
    list[str] | None, Option("--dtype", metavar="NAME=TYPE", help="Type of an argument that has none; repeat for more.")
]
DeclaredFile = Annotated[
    Path | None, Option("--declared", metavar="FILE.JSON", help="What each C instruction does; docs/own-kernels.md.")
]


def count_command(
    asked: options.KernelOptions,
    size: options.SizeLists = None,
    subgroup_size: SubgroupSize = 32,
    csv: options.Csv = False,
    dtype: DataTypes = None,
    declared_file: DeclaredFile = None,
    jobs: options.Jobs = None,
) -> None:
    """Count what a kernel executes, as expressions in its sizes and, with -p, as numbers.

    With several sizes, a table of numbers.
    """
    output.no_csv_with_json(csv)
    points = numbers.size_points(size)
    counted = options.counted_variants(
        asked.kernel, asked.variant, subgroup_size, jobs, dtypes=dtypes(dtype), statistics=asked.statistics,
        declared=declared(declared_file),
    )  # fmt: skip
    if len(points) > 1 or csv:
        _show_sweep(str(asked.kernel), counted, points, csv)
        return
    (at,) = points
    valued, errors = _of_each(counted, lambda counts: _feature_values(counts, at))
    shown = {name: (counted[name], values) for name, values in valued.items()}
    if output.settings().json:
        variants = {name: _variant_document(*variant, at) for name, variant in shown.items()}
        head = {"schema": SCHEMA, "kernel": str(asked.kernel), "variants": variants}
        output.print_document({**head, **output.withheld_document(errors)})
    else:
        _print_variants(shown, at, errors)


def _of_each(
    counted: Mapping[str, KernelCounts], make: Callable[[KernelCounts], Made]
) -> tuple[dict[str, Made], dict[str, PerfModelError]]:
    """Return the value of a function for the counts of each variant, and the errors of the others.

    A SizeError is raised, and the first error if all variants fail.
    """
    made, errors = {}, dict(options.errors_of(counted))
    for name, counts in counted.items():
        try:
            made[name] = make(counts)
        except SizeError:  # sizes are wrong for all of them
            with options.about(name, counted):
                raise
        except PerfModelError as error:
            errors[name] = error
    if errors and not made:
        name, first = next(iter(errors.items()))
        with options.about(name, errors):
            raise first
    return made, errors


def dtypes(given: Iterable[str] | None) -> dict[str, str]:
    """Return the types in ``--dtype`` options.

    Examples
    --------
    >>> dtypes(["a=float32", "b = int8"])
    {'a': 'float32', 'b': 'int8'}
    """
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
    """Return a declaration with its operations by type and kind; `count` checks the rest."""
    if not isinstance(given, dict) or not isinstance(given.get("operations", {}), dict):
        return given
    named = given.get("operations", {})
    operations = {tuple(name.split()): amount for name, amount in named.items()}
    return {**given, "operations": operations if len(operations) == len(named) else named}


def _feature_values(counts: KernelCounts, at: Mapping[str, int]) -> Mapping[str, float] | None:
    from perfmodel import features

    return features.evaluate(counts, at) if at or not counts.parameters else None


def _variant_document(
    counts: KernelCounts, values: Mapping[str, float] | None, at: Mapping[str, int]
) -> dict[str, Any]:
    from perfmodel.features import unit

    document: dict[str, Any] = {
        "parameters": list(counts.parameters), "assumptions": counts.assumptions,
        "expressions": _rows_document(expressions(counts)), "counts": counts.to_json(),
    }  # fmt: skip
    if values is not None:
        features = {name: {"value": value, "unit": unit(name)} for name, value in values.items()}
        document.update(sizes=dict(at), features=features)
    return document


def _rows_document(rows: Iterable[tuple[str, str, str]]) -> list[dict[str, str]]:
    return [dict(zip(("what", "detail", "count"), row, strict=True)) for row in rows]


def _print_variants(
    shown: Mapping[str, tuple[KernelCounts, Mapping[str, float] | None]], at: Mapping[str, int],
    errors: Mapping[str, PerfModelError],
) -> None:  # fmt: skip
    from perfmodel.features import unit

    width = output.table_width()
    for place, (name, (counts, values)) in enumerate(shown.items()):
        output.print_text("\n" * (place > 0) + f"{name}({', '.join(counts.parameters)})")
        output.print_text(display.columns_text(list(expressions(counts)), 3, width))
        if values is not None:
            output.print_text(f"features{' at ' * bool(at)}{sizes_text(at)}")
            rows = [(feature, f"{value:.15g}", unit(feature)) for feature, value in values.items()]
            output.print_text(display.columns_text(rows, width=width))
    for line in report.sweeps.left_out_lines(errors):
        output.print_text(f"\n{line}")


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


def _show_sweep(
    kernel: str, counted: Mapping[str, KernelCounts], points: Sequence[Mapping[str, int]], csv: bool
) -> None:
    """Print the features of each variant at all sizes, and the errors of the others."""
    from perfmodel.features import unit

    columns, errors = _of_each(counted, lambda counts: _features_at(counts, points))
    if output.settings().json:
        variants = {
            name: {
                "units": {feature: unit(feature) for feature in values},
                "points": [
                    {"sizes": dict(at), "features": {feature: column[i] for feature, column in values.items()}}
                    for i, at in enumerate(points)
                ],
            }
            for name, values in columns.items()
        }
        head = {"schema": SWEEP_SCHEMA, "kernel": kernel, "variants": variants}
        output.print_document({**head, **output.withheld_document(errors)})
    elif csv:
        records: list[dict[str, Any]] = [
            {**at, **dict(zip(COLUMNS, (name, feature, column[i], unit(feature), None), strict=True))}
            for name, values in columns.items() for i, at in enumerate(points) for feature, column in values.items()
        ]  # fmt: skip
        records += [{"variant": name, "problem": str(error)} for name, error in errors.items()]
        output.print_csv(display.csv_text((*points[0], *COLUMNS), records))
    else:
        for place, (name, values) in enumerate(columns.items()):
            rows = [("feature", "unit", *map(sizes_text, points))]
            rows += [(feature, unit(feature), *(f"{x:.15g}" for x in column)) for feature, column in values.items()]
            output.print_text("\n" * (place > 0) + f"{name}({', '.join(counted[name].parameters)})")
            output.print_text(display.columns_text(rows, 2, output.table_width()))
        for line in report.sweeps.left_out_lines(errors):
            output.print_text(f"\n{line}")


def _features_at(counts: KernelCounts, points: Sequence[Mapping[str, int]]) -> dict[str, list[float]]:
    """Return the value of each feature at each of several sizes."""
    import numpy as np

    from perfmodel import features

    at = {name: np.array([point[name] for point in points], dtype=np.int64) for name in points[0]}
    values = features.evaluate(counts, at)
    return {name: np.broadcast_to(value, (len(points),)).tolist() for name, value in values.items()}
