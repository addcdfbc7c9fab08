"""Anchors: one run of a kernel at a small size, by which its predictions at other sizes are scaled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from perfmodel.fitting.uncertainty.conformal import check_level, scaled
from perfmodel.predict import Prediction

if TYPE_CHECKING:
    from perfmodel.predict import FittedModel


@dataclass(frozen=True)
class Anchor:
    """A kernel's measured and predicted time at one size.

    Parameters
    ----------
    kernel
        Name of the kernel, or of its variant.
    device
        Name of the device on which it ran.
    sizes
        Its size parameters.
    measured
        Measured time [s]: the minimum of one visit.
    predicted
        Predicted time [s], above zero.
    flags
        Words for what is suspicious about the measured time (:mod:`perfmodel.measuring.suspicion`).
    """

    kernel: str
    device: str
    sizes: Mapping[str, int] = field(hash=False)
    measured: float
    predicted: float
    flags: tuple[str, ...] = ()

    @property
    def factor(self) -> float:
        """Measured over predicted time [1]."""
        return self.measured / self.predicted

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons not to trust it, one sentence each."""
        if not self.flags:
            return ()
        return (f"the run that anchors it is suspicious ({', '.join(self.flags)}): run it again",)

    def applied(self, found: Prediction, model: FittedModel, level: float = 0.9) -> Prediction:
        """Scale a prediction of the same kernel by the factor: its time, and each of its terms.

        The interval is that of anchored predictions; None where the model's weights keep no errors of such.
        """
        seconds = found.seconds * self.factor
        interval: tuple[Any, Any] | None = None
        if (half_width := anchored_half_width(model, level)) is not None:
            interval = scaled(seconds, half_width)
            if isinstance(seconds, float):
                interval = float(interval[0]), float(interval[1])
        terms = {name: self.factor * part for name, part in found.terms.items()}
        warnings = (*found.warnings, *self.warnings)
        return replace(found, seconds=seconds, terms=terms, interval=interval, warnings=warnings)


@dataclass(frozen=True)
class AnchoredModel:
    """A fitted model for one kernel, scaled by what the kernel takes at a small size.

    Parameters
    ----------
    model
        The fitted model.
    anchor
        The kernel's run.
    """

    model: FittedModel
    anchor: Anchor

    def predict(
        self,
        kernel: Any,
        sizes: Mapping[str, Any] | None = None,
        /,
        *,
        level: float = 0.9,
        allow_unmeasured: bool = False,
        **more_sizes: Any,
    ) -> Prediction:
        r"""Predict the run time of the anchored kernel at other sizes: :math:`p \, t_a / p_a`.

        For the arguments and errors see :meth:`perfmodel.predict.FittedModel.predict`. `kernel` must be the one
        that was run: the factor of another kernel says nothing about it.
        """
        at = {**(sizes or {}), **more_sizes}
        found = self.model.predict(kernel, at, level=level, allow_unmeasured=allow_unmeasured)
        return self.anchor.applied(found, self.model, level)


def anchored_half_width(model: FittedModel, level: float) -> float | None:
    """Return q of the intervals of anchored predictions; None where the weights keep no errors of such."""
    check_level(level)
    errors = model.fitted.anchored
    if errors is None:
        return None
    return errors.conformal.quantile(level)
