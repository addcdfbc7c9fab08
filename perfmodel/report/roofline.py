"""The roofline of a device with kernels below it, as a table and as a document (:mod:`perfmodel.analyses.roofline`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from perfmodel.analyses.roofline import KernelPoint, roof_values
from perfmodel.report.fitted import fitted_text
from perfmodel.report.tables import finite, percent

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts

SCHEMA = "perfmodel.roofline/1"
LESS = ("attainable", "op/B", "Gop/s", "bound by", "sizes")


def roofline_table(points: Iterable[KernelPoint], facts: DeviceFacts, width: int | None = None) -> str:
    """Return the roofs with their sources, and each point in a row, as plain text.

    On a narrow terminal the columns of :data:`LESS` are left out, the first one first.
    """
    roofs = [(key, f"{value:.3g}", facts.fact(key).unit, facts.fact(key).source)
             for key, value in roof_values(facts).items()]  # fmt: skip
    rows = [("kernel", "variant", "sizes", "op/B", "Gop/s", "attainable", "share", "bound by")]
    rows += [
        (point.kernel, point.form, point.sizes, f"{point.intensity:.3g}", f"{point.rate / 1e9:.3g}",
         f"{point.attainable / 1e9:.3g}", percent(point.share), point.bound)
        for point in points
    ]  # fmt: skip
    known = [(key, value, unit) for key, value, unit, _ in roofs]
    lines = [fitted_text(known, width=width)] if known else ["no roofs are known"]
    lines += [f"{key}: {source}" for key, _, _, source in roofs]
    return "\n".join([*lines, "", fitted_text(rows, 3, LESS, width)])


def roofline_document(points: Iterable[KernelPoint], facts: DeviceFacts) -> dict[str, Any]:
    """Return the same as one document for programs; NaN and infinity become null."""
    return {
        "schema": SCHEMA,
        "device": facts.name,
        "roofs": {
            key: {"value": value, "unit": facts.fact(key).unit, "source": facts.fact(key).source}
            for key, value in roof_values(facts).items()
        },
        "kernels": [
            {
                "kernel": point.kernel, "variant": point.form, "sizes": point.sizes, "seconds": point.seconds,
                "operations": point.operations, "bytes": point.bytes, "bound": point.bound,
                "operations_per_byte": finite(point.intensity), "attainable": finite(point.attainable),
                "share": finite(point.share),
            }
            for point in points
        ],
    }  # fmt: skip
