"""Pictures of predictions and models. Each function returns matplotlib axes, and takes axes to draw on (``ax=``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfmodel.report.plots import (
        plot_families as families,
        plot_predicted_vs_measured as predicted_vs_measured,
        plot_roofline as roofline,
        plot_sizes as sizes,
        plot_terms as terms,
    )

__all__ = ["families", "predicted_vs_measured", "roofline", "sizes", "terms"]

if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from perfmodel.report import plots

        return getattr(plots, f"plot_{name}")


def __dir__() -> list[str]:
    return [*__all__]
