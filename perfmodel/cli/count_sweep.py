"""``perfmodel count`` at several sizes: the features of each variant as a table, CSV or JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from perfmodel.cli.options import about, errors_of
from perfmodel.cli.output import print_document, print_text, sizes_text, withheld_document
from perfmodel.cli.settings import table_width
from perfmodel.errors import ParameterError, PerfModelError

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

Made = TypeVar("Made")

SCHEMA = "perfmodel.count-sweep/1"
COLUMNS = ("variant", "feature", "value", "unit", "problem")


def show_counts(
    kernel: str,
    counted: Mapping[str, KernelCounts],
    points: Sequence[Mapping[str, int]],
    *,
    csv: bool,
    json: bool,
    leave_out: bool = False,
) -> None:
    """Print the features of each variant at all sizes; with `leave_out`, the errors of those that have none.

    Raises
    ------
    ParameterError, AssumptionError
        If a size is left out, unknown or negative, or breaks an assumption of the kernel.
    VariantError
        The same of one of several variants.
    """
    from perfmodel.features import unit
    from perfmodel.report.fitted import blocks_text
    from perfmodel.report.layout import csv_text

    found, errors = of_each(counted, lambda counts: features_at(counts, points), leave_out)
    if json:
        variants = {
            name: {
                "units": {feature: unit(feature) for feature in values},
                "points": [
                    {"sizes": dict(at), "features": {feature: column[i] for feature, column in values.items()}}
                    for i, at in enumerate(points)
                ],
            }
            for name, values in found.items()
        }
        print_document({"schema": SCHEMA, "kernel": kernel, "variants": variants, **withheld_document(errors)})
    elif csv:
        records: list[dict[str, Any]] = [
            {**at, **dict(zip(COLUMNS, (name, feature, column[i], unit(feature), None), strict=True))}
            for name, values in found.items() for i, at in enumerate(points) for feature, column in values.items()
        ]  # fmt: skip
        records += [{"variant": name, "problem": str(error)} for name, error in errors.items()]
        print(csv_text((*points[0], *COLUMNS), records), end="")
    else:
        for place, (name, values) in enumerate(found.items()):
            rows = [("feature", "unit", *map(sizes_text, points))]
            rows += [(feature, unit(feature), *(f"{x:.15g}" for x in column)) for feature, column in values.items()]
            print("\n" * (place > 0) + f"{name}({', '.join(counted[name].parameters)})")
            print(blocks_text(rows, 2, 1, table_width()))
        for name, error in errors.items():
            print_text(f"\n{name}: {error}")


def of_each(
    counted: Mapping[str, KernelCounts], make: Callable[[KernelCounts], Made], leave_out: bool
) -> tuple[dict[str, Made], dict[str, PerfModelError]]:
    """Return what a function makes of each variant's counts, and by name why there is nothing of the others.

    Raises
    ------
    PerfModelError
        The first error; with `leave_out` only a ParameterError, or where there is nothing of any variant.
    VariantError
        The same of one of several variants.
    """
    found, errors = {}, dict(errors_of(counted))
    for name, counts in counted.items():
        try:
            found[name] = make(counts)
        except PerfModelError as error:
            if not leave_out or isinstance(error, ParameterError):  # sizes are wrong for all of them
                with about(name, counted):
                    raise
            errors[name] = error
    if errors and not found:
        name, first = next(iter(errors.items()))
        with about(name, errors):
            raise first
    return found, errors


def features_at(counts: KernelCounts, points: Sequence[Mapping[str, int]]) -> dict[str, list[float]]:
    """Return the value of each feature at each of several sizes."""
    import numpy as np

    from perfmodel import features

    at = {name: np.array([point[name] for point in points], dtype=np.int64) for name in points[0]}
    values = features.evaluate(counts, at)
    return {name: np.broadcast_to(value, (len(points),)).tolist() for name, value in values.items()}
