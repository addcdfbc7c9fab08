"""Pictures of predictions and models, drawn with matplotlib: ``pm.plot.terms(prediction)``, ``pm.plot.roofline(...)``.

Each function returns the matplotlib axes, and takes axes to draw into (``ax=``). They are loaded at their first use,
and matplotlib with them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfmodel.report.plots import (
        plot_families as families,
        plot_predicted_vs_measured as predicted_vs_measured,
        plot_terms as terms,
    )
    from perfmodel.report.roofline import plot_roofline as roofline
    from perfmodel.report.sizes_picture import plot_sizes as sizes

_ELSEWHERE = {"roofline": "roofline", "sizes": "sizes_picture"}
__all__ = ["families", "predicted_vs_measured", "roofline", "sizes", "terms"]

if not TYPE_CHECKING:  # a type checker would believe that every name is there

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"perfmodel.report.{_ELSEWHERE.get(name, 'plots')}"), f"plot_{name}")


def __dir__() -> list[str]:
    return [*__all__]
