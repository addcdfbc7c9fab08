"""perfmodel: predict the run time of Loopy kernels on OpenCL devices, without running them.

Count symbolically what a kernel does, fit a device's weights once from measurements, predict any
other kernel from its counts. Names are loaded when they are first used.
"""

from __future__ import annotations

from contextlib import suppress
from sys import modules
from typing import TYPE_CHECKING

from perfmodel.caches import settle_caches
from perfmodel.lazy import loader

if TYPE_CHECKING:
    from perfmodel.calibration.recommended import load
    from perfmodel.counts import Count, KernelCounts, count
    from perfmodel.errors import PerfModelError
    from perfmodel.kernels.space import Space
    from perfmodel.measuring.run import measure
    from perfmodel.models import Family, families
    from perfmodel.models.model import Weight
    from perfmodel.opencl import devices
    from perfmodel.predicting.model import FittedModel, fit
    from perfmodel.predicting.prediction import Prediction
    from perfmodel.predicting.ranking import RankedVariant, Ranking, rank
    from perfmodel.processes.counting import count_all
    from perfmodel.processes.variants import CountedVariants
    from perfmodel.report.families_picture import plot_families
    from perfmodel.report.picture import plot_predicted_vs_measured
    from perfmodel.report.roofline import plot_roofline
    from perfmodel.report.sizes_picture import plot_sizes
    from perfmodel.report.terms_picture import plot_terms
    from perfmodel.tuning import anchor
    from perfmodel.tuning.tuned import Tuned
    from perfmodel.tuning.tuning import tune

_HOMES = {
    "Count": "counts",
    "CountedVariants": "processes.variants",
    "Family": "models",
    "FittedModel": "predicting.model",
    "KernelCounts": "counts",
    "PerfModelError": "errors",
    "Prediction": "predicting.prediction",
    "RankedVariant": "predicting.ranking",
    "Ranking": "predicting.ranking",
    "Space": "kernels.space",
    "Tuned": "tuning.tuned",
    "Weight": "models.model",
    "anchor": "tuning",
    "count": "counts",
    "count_all": "processes.counting",
    "devices": "opencl",
    "families": "models",
    "fit": "predicting.model",
    "load": "calibration.recommended",
    "measure": "measuring",
    "plot_families": "report.families_picture",
    "plot_predicted_vs_measured": "report.picture",
    "plot_roofline": "report.roofline",
    "plot_sizes": "report.sizes_picture",
    "plot_terms": "report.terms_picture",
    "rank": "predicting.ranking",
    "tune": "tuning.tuning",
}

__all__ = [
    "Count",
    "CountedVariants",
    "Family",
    "FittedModel",
    "KernelCounts",
    "PerfModelError",
    "Prediction",
    "RankedVariant",
    "Ranking",
    "Space",
    "Tuned",
    "Weight",
    "anchor",
    "count",
    "count_all",
    "devices",
    "families",
    "fit",
    "load",
    "measure",
    "plot_families",
    "plot_predicted_vs_measured",
    "plot_roofline",
    "plot_sizes",
    "plot_terms",
    "rank",
    "tune",
]
__version__ = "0.1.0"

with suppress(OSError):  # where it fails, importing Loopy says why, and a command says what to do
    settle_caches()

__getattr__ = loader(__name__, _HOMES)


def __dir__() -> list[str]:
    """Return the public names, those that are not loaded yet too, and the packages that are."""
    packages = {name for name in globals() if f"{__name__}.{name}" in modules}
    return sorted({*__all__, *packages, *(name for name in globals() if name.startswith("__"))})
