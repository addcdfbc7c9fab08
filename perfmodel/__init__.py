"""perfmodel: predict the run time of Loopy kernels on OpenCL devices, without running them.

Count symbolically what a kernel does, fit a device's weights once from measurements, predict any
other kernel from its counts. Names are loaded when they are first used.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from sys import modules
from typing import TYPE_CHECKING, Any

from perfmodel.caches import settle_caches
from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel import plot
    from perfmodel.calibration.recommended import fit, load
    from perfmodel.counts import Count, KernelCounts, count
    from perfmodel.errors import PerfModelError
    from perfmodel.kernels.space import Space
    from perfmodel.measuring.run import measure
    from perfmodel.models import Family, families
    from perfmodel.models.model import Weight
    from perfmodel.opencl import devices
    from perfmodel.predicting.model import FittedModel, Prediction
    from perfmodel.predicting.ranking import RankedVariant, Ranking, rank
    from perfmodel.predicting.transfer import transferred
    from perfmodel.processes.counting import count_all
    from perfmodel.processes.variants import CountedVariants
    from perfmodel.tuning import anchor
    from perfmodel.tuning.tuned import Tuned
    from perfmodel.tuning.tuning import tune

_HOMES = {
    "Count": "counts", "KernelCounts": "counts", "count": "counts",
    "CountedVariants": "processes.variants", "count_all": "processes.counting",
    "Family": "models", "Weight": "models.model", "families": "models",
    "FittedModel": "predicting.model", "fit": "calibration.recommended",
    "PerfModelError": "errors",
    "Prediction": "predicting.model",
    "RankedVariant": "predicting.ranking", "Ranking": "predicting.ranking", "rank": "predicting.ranking",
    "Space": "kernels.space",
    "Tuned": "tuning.tuned", "anchor": "tuning", "tune": "tuning.tuning",
    "devices": "opencl",
    "load": "calibration.recommended",
    "measure": "measuring",
    "transferred": "predicting.transfer",
}  # fmt: skip
"""Where each public name is defined."""

__all__ = [
    "Count", "CountedVariants", "Family", "FittedModel", "KernelCounts", "PerfModelError", "Prediction",
    "RankedVariant", "Ranking", "Space", "Tuned", "Weight", "anchor", "count", "count_all", "devices", "families",
    "fit", "load", "measure", "plot", "rank", "transferred", "tune",
]  # fmt: skip
__version__ = "0.1.0"

with suppress(OSError):  # where it fails, importing Loopy says why, and a command says what to do
    settle_caches()

_load = loader(__name__, _HOMES)

if not TYPE_CHECKING:  # a type checker would believe that every name is there

    def __getattr__(name: str) -> Any:
        """Load a public name; ``plot_terms`` and its like are earlier names of ``plot.terms``."""
        if name == "plot":
            return import_module("perfmodel.plot")
        if name.startswith("plot_") and name[5:] in dir(import_module("perfmodel.plot")):
            return getattr(import_module("perfmodel.plot"), name[5:])
        return _load(name)


def __dir__() -> list[str]:
    """Return the public names, those that are not loaded yet too, and the packages that are."""
    packages = {name for name in globals() if f"{__name__}.{name}" in modules}
    return sorted({*__all__, *packages, *(name for name in globals() if name.startswith("__"))})
