"""A check for tests: a kernel is predicted to be not slower than another one."""

from collections.abc import Mapping
from typing import Any

from perfmodel.calibration.recommended import load
from perfmodel.counts import KernelCounts
from perfmodel.documents import is_number, require
from perfmodel.errors import PredictionError, SlowerError
from perfmodel.predicting import FittedModel
from perfmodel.predicting.predictions import columns_of
from perfmodel.versions.differences import Difference, difference
from perfmodel.versions.sides import Side, Version, read_side
from perfmodel.versions.tables import text


def assert_not_slower(
    new: Any, old: Any, sizes: Mapping[str, Any] | None = None, /, *, tolerance: float = 0.05,
    model: FittedModel | None = None, **more_sizes: Any
) -> Difference:  # fmt: skip
    """Check that a new version of a kernel is predicted to be not slower than an old one, and return the comparison.

    Parameters
    ----------
    new, old
        Each version: a Loopy ``TranslationUnit``, its counts, or a side of ``perfmodel diff`` as text, such as
        ``"kernel.py"`` or ``"HEAD:kernel.py"``.
    sizes, **more_sizes
        Every size parameter: an integer, or several integers.
    tolerance
        The share by which the new version may be slower [1].
    model
        The model of the times. By default its weights are found as by :func:`perfmodel.load`, for the device in use.

    Raises
    ------
    SlowerError
        If the new version takes more than ``1 + tolerance`` times as long at one of the sizes, with a probability of at
        least one half. It is an AssertionError too, and its text shows the changed formulas.
    PredictionError
        If the times cannot be predicted, or kernels cannot be counted.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test, not this function
    require(is_number(tolerance) and tolerance >= 0, "assert_not_slower: tolerance", tolerance, "a share from 0 up")
    at = {**(sizes or {}), **more_sizes}
    columns = {name: values.tolist() for name, values in columns_of(at).items()}
    points = tuple(dict(zip(columns, point, strict=True)) for point in zip(*columns.values(), strict=True))
    model = load() if model is None else model
    found = difference(_side("old", old, model, at), _side("new", new, model, at), model, points)
    if slower := found.slower(tolerance):
        problem = f"{slower[0].title} is slower by more than {tolerance:.0%}\n{text(found, tolerance)}"
        raise SlowerError(problem, difference=found)
    if reasons := {each.title: each.problem for each in found.kernels if each.problem} | dict(found.errors):
        name, reason = next(iter(reasons.items()))
        raise PredictionError(f"{name} has no predicted time: {reason}", "give all sizes, or another model")
    return found


def _side(label: str, given: Any, model: FittedModel, at: Mapping[str, Any]) -> Side:
    if isinstance(given, str):
        return read_side(given, model.fitted.subgroup_size, sizes=at)
    counted = isinstance(given, KernelCounts) or hasattr(given, "callables_table")
    require(counted, f"assert_not_slower: {label}", given, "a TranslationUnit, its counts, or the text of a side")
    return Side(label, {"kernel": Version(model.counted(given, at))})
