"""Everything that the report of a device shows, as frozen values in the order in which it shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from perfmodel.analyses.kernel_bounds import KernelBounds
from perfmodel.analyses.report_families import FamilyLine
from perfmodel.analyses.roofline import KernelPoint
from perfmodel.compare import Comparison, Comparisons, Figures
from perfmodel.compare.figures import Verdict
from perfmodel.fitting.selection import Scatter
from perfmodel.predicting.ranking import Ranking

if TYPE_CHECKING:
    from perfmodel.fitting.cautions import Caution
    from perfmodel.models import Family

TESTS = "test kernels, none of which is in the fit"
FITTED = "the measured kernels themselves, to which the weights were fitted: no proof of anything"


@dataclass(frozen=True)
class FactLine:
    """A fact of the device: its key, its value with the unit, what it means, and where it comes from."""

    key: str
    value: str
    meaning: str
    source: str


@dataclass(frozen=True)
class WeightLine:
    """A weight in words, with its interval [its unit] where the measurements give one, and warnings about it."""

    name: str
    value: float
    unit: str
    words: str
    interval: tuple[float, float] | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Share:
    """A term of a predicted time: its seconds, and their share of the time [1]."""

    term: str
    seconds: float
    share: float


@dataclass(frozen=True)
class KernelTerms:
    """What a predicted time is made of: its terms, the largest first; they overlap where they do not add up."""

    kernel: str
    form: str  # variant, in words
    sizes: str  # in words
    seconds: float  # predicted [s]
    measured: float | None  # [s]; None where nobody measured it
    terms: tuple[Share, ...]
    adds_up: bool
    cautions: tuple[Caution, ...] = ()
    bounds: KernelBounds = KernelBounds()  # noqa: RUF009 -- frozen

    @property
    def bound_by(self) -> str:
        """The largest term; empty where there is none."""
        return self.terms[0].term if self.terms else ""


@dataclass(frozen=True)
class Unmeasured:
    """A feature that no measurement exercised, and the kernels that need it."""

    feature: str
    kernels: tuple[str, ...]


@dataclass(frozen=True)
class ReportData:
    """Everything that the report of a device shows.

    Parameters
    ----------
    device, platform, drivers
        What was measured.
    family, citation
        The model.
    level
        Probability of all intervals.
    facts, weights
        Of the device, sorted by name.
    judged_on
        :data:`TESTS` or :data:`FITTED`: which kernels the comparisons are of.
    comparisons, figures, verdict
        Predicted against measured times, what they come to, and what the model is usable for; there is no verdict
        without test kernels.
    outliers
        Cases whose error is far from that of the others, the worst first.
    unmeasured
        Features without a weight that some kernel needs.
    kernels
        The terms of each compared variant at its largest size.
    points
        The compared variants below the roofs, at their largest sizes; none where the facts do not allow it.
    ranking, own, own_points, withheld
        The user's variants, fastest first; the terms of each; their places below the roofs at their predicted times;
        and the reasons why others have no prediction, by name.
    made
        How it was made: pairs of a name and a text.
    simulated
        Whether a simulator counted the times.
    roofs
        The roofs that the facts hold, by the fact's key (:func:`perfmodel.analyses.roofline.roof_values`).
    families
        The families whose weights lie in the folder; none without test kernels.
    bound_problems
        Why a model cannot say what bounds kernels, in words.
    scatter
        How errors between variants of one kernel scatter; None where the weights do not say.
    """

    device: str
    platform: str
    drivers: tuple[str, ...]
    family: Family
    level: float
    facts: tuple[FactLine, ...]
    weights: tuple[WeightLine, ...]
    judged_on: str
    comparisons: Comparisons
    figures: Figures
    verdict: Verdict | None
    outliers: tuple[Comparison, ...]
    unmeasured: tuple[Unmeasured, ...]
    kernels: tuple[KernelTerms, ...]
    points: tuple[KernelPoint, ...]
    ranking: Ranking = Ranking()  # noqa: RUF009 -- a tuple
    own: tuple[KernelTerms, ...] = ()
    own_points: tuple[KernelPoint, ...] = ()
    withheld: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    made: tuple[tuple[str, str], ...] = ()
    simulated: bool = False
    roofs: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    families: tuple[FamilyLine, ...] = ()
    bound_problems: tuple[str, ...] = ()
    scatter: Scatter | None = None
