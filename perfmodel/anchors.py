"""Anchors: one run of a kernel at a small size, by which its predictions at other sizes are scaled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from perfmodel.lazy import Lazy

if TYPE_CHECKING:
    from perfmodel.predict import FittedModel
    from perfmodel.prediction import Prediction


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
        Measured time [s]: the minimum of one visit, or of some where the first was suspicious.
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

    def applied(self, found: Prediction) -> Prediction:
        """Scale a prediction of the same kernel, by the model that :func:`to_be_anchored` gives."""
        interval = found.interval and (self.factor * found.interval[0], self.factor * found.interval[1])
        terms = {name: self.factor * part for name, part in found.terms.items()}
        warnings = (*found.warnings, *self.warnings)
        return replace(found, seconds=self.factor * found.seconds, terms=terms, interval=interval, warnings=warnings)


@dataclass(frozen=True)
class AnchoredModel(Lazy):
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
        found = self._model.predict(kernel, at, level=level, allow_unmeasured=allow_unmeasured)
        return self.anchor.applied(found)

    @cached_property
    def _model(self) -> FittedModel:
        return to_be_anchored(self.model)


def to_be_anchored(model: FittedModel) -> FittedModel:
    """Return a model with the intervals of anchored predictions; without any where its weights keep no such errors."""
    errors = model.fitted.anchored
    update = {"conformal": errors.conformal if errors else None}
    return replace(model, fitted=model.fitted.model_copy(update=update))
