"""Pictures of predictions and models, drawn with matplotlib: ``pm.plot.terms(prediction)``, ``pm.plot.roofline(...)``.

Each function returns the matplotlib axes, and takes axes to draw into (``ax=``). They are loaded at their first use,
and matplotlib with them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfmodel.report.families_picture import plot_families as families
    from perfmodel.report.picture import plot_predicted_vs_measured as predicted_vs_measured
    from perfmodel.report.roofline import plot_roofline as roofline
    from perfmodel.report.sizes_picture import plot_sizes as sizes
    from perfmodel.report.terms_picture import plot_terms as terms

_HOMES = {
    "families": "families_picture", "predicted_vs_measured": "picture", "roofline": "roofline",
    "sizes": "sizes_picture", "terms": "terms_picture",
}  # fmt: skip

__all__ = ["families", "predicted_vs_measured", "roofline", "sizes", "terms"]

if not TYPE_CHECKING:  # a type checker would believe that every name is there

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"perfmodel.report.{_HOMES[name]}"), f"plot_{name}")


def __dir__() -> list[str]:
    return [*__all__]
