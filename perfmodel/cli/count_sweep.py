"""``perfmodel count`` at several sizes: the features of each variant as a table, CSV or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from perfmodel.cli.options import about
from perfmodel.cli.output import print_document, sizes_text
from perfmodel.cli.settings import table_width

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

SCHEMA = "perfmodel.count-sweep/1"
COLUMNS = ("variant", "feature", "value", "unit")


def show_counts(
    kernel: str, counted: Mapping[str, KernelCounts], points: Sequence[Mapping[str, int]], *, csv: bool, json: bool
) -> None:
    """Print the features of each variant at all sizes.

    Raises
    ------
    ParameterError, AssumptionError
        If a size is left out, unknown or negative, or breaks an assumption of the kernel.
    VariantError
        The same of one of several variants.
    """
    from perfmodel.features import unit
    from perfmodel.report.fitted import blocks_text
    from perfmodel.report.tables import csv_text

    found = {}
    for name, counts in counted.items():
        with about(name, counted):
            found[name] = features_at(counts, points)
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
        print_document({"schema": SCHEMA, "kernel": kernel, "variants": variants})
    elif csv:
        records = (
            {**at, **dict(zip(COLUMNS, (name, feature, column[i], unit(feature)), strict=True))}
            for name, values in found.items() for i, at in enumerate(points) for feature, column in values.items()
        )  # fmt: skip
        print(csv_text((*points[0], *COLUMNS), records), end="")
    else:
        for place, (name, values) in enumerate(found.items()):
            rows = [("feature", "unit", *map(sizes_text, points))]
            rows += [(feature, unit(feature), *(f"{x:.15g}" for x in column)) for feature, column in values.items()]
            print("\n" * (place > 0) + f"{name}({', '.join(counted[name].parameters)})")
            print(blocks_text(rows, 2, 1, table_width()))


def features_at(counts: KernelCounts, points: Sequence[Mapping[str, int]]) -> dict[str, list[float]]:
    """Return the value of each feature at each of several sizes."""
    import numpy as np

    from perfmodel import features

    at = {name: np.array([point[name] for point in points], dtype=np.int64) for name in points[0]}
    values = features.evaluate(counts, at)
    return {name: np.broadcast_to(value, (len(points),)).tolist() for name, value in values.items()}
