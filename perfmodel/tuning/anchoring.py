"""Runs of a user's kernel at a small size, by which its predictions are scaled: anchors.

A run is one visit of a campaign: the same choice of sizes (:mod:`perfmodel.measuring.size_plan`), the same arguments,
clock and flags (:mod:`perfmodel.measuring.bench`) as those of the measured rows that the model was fitted to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from loopy import TranslationUnit

from perfmodel.counts import KernelCounts
from perfmodel.counts.quasipoly.arguments import size_error
from perfmodel.documents import require
from perfmodel.errors import AnchorDeviceError, AnchorError, AssumptionError, PerfModelError, TrialError
from perfmodel.measuring.campaign import Campaign
from perfmodel.opencl import Device
from perfmodel.predicting.model import FittedModel
from perfmodel.predicting.predictions import Anchor, AnchoredModel, Predicting, Predictions
from perfmodel.progress import Progress, Silent, task
from perfmodel.store import Measurement
from perfmodel.tuning.trials import Trials
from perfmodel.tuning.user_kernel import Arguments

Sizes: TypeAlias = dict[str, int]

LEAST = 16
"""No parameter is made smaller: small ones count fields, taps or the points of an element, and are no sizes."""
WINDOW = 1 << 12
"""Number of sizes above the half of one that are tested against the kernels' assumptions."""


def smaller_sizes(kernels: Sequence[KernelCounts], sizes: Mapping[str, int]) -> tuple[Sizes, ...]:
    """Return sizes at which all kernels may run, from small to large; the last are those given, at which they may.

    Each has about half of each parameter of the next one. A parameter is rounded up to what the kernels assume, as
    multiples of a tile: for one of multiples of 48, ``{"n": 480}`` gives 48, 96, 144, 240 and 480. Those that are
    small, or assumed to have one value, stay. All others shrink together, so that their ratios stay: where one of them
    can go no further, as the rows of a sparse matrix, none does.
    """
    ladder, names = [dict(sizes)], tuple(name for name, size in sizes.items() if size >= 2 * LEAST)
    while smaller := _halved(kernels, ladder[-1], names):
        shrunk = tuple(name for name in names if smaller[name] < ladder[-1][name])
        if len(ladder) > 1 and shrunk != names:
            break
        ladder, names = [*ladder, smaller], shrunk
    return tuple(reversed(ladder))


def _halved(kernels: Sequence[KernelCounts], sizes: Sizes, names: Sequence[str]) -> Sizes | None:
    """Return sizes of which those with such names are about half as large; None where there are none."""
    if not names or min(sizes[name] for name in names) < 2 * LEAST:
        return None
    halves = {**sizes, **{name: -(-sizes[name] // 2) for name in names}}
    if _meets(kernels, halves):
        return halves
    rounded = {name: half for name in names if (half := _rounded(kernels, sizes, name))}
    return {**sizes, **rounded} if rounded and _meets(kernels, {**sizes, **rounded}) else None


def _rounded(kernels: Sequence[KernelCounts], sizes: Sizes, name: str) -> int | None:
    """Return the least value of a parameter from its half on, below its value, that all kernels may have."""
    half = -(-sizes[name] // 2)
    tried = np.arange(half, min(half + WINDOW, sizes[name]), dtype=np.int64)
    for kernel in kernels:
        tried = _valid(kernel, sizes, name, tried)
    return int(tried[0]) if len(tried) else None


def _valid(kernel: KernelCounts, sizes: Sizes, name: str, tried: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return those of some values of a parameter that meet a kernel's assumptions."""
    while len(tried):
        try:
            kernel.work_groups().evaluate({**sizes, name: tried})
            break
        except AssumptionError as error:
            if not error.indices:
                return tried[:0]
            tried = np.delete(tried, error.indices)
    return tried


def _meets(kernels: Sequence[KernelCounts], sizes: Sizes) -> bool:
    try:
        for kernel in kernels:
            kernel.work_groups()(**sizes)
    except AssumptionError:
        return False
    return True


#: One visit to one size: the first at which a run takes 20 launch overheads and all units have work-groups. A
#: suspicious visit is made again after all others, twice at most.
ANCHOR = Campaign("anchor", rungs=1, over_launch=20.0, visits=1, most_visits=3, apart_s=0.0, wait_s=600.0)


def anchor(
    model: FittedModel,
    kernel: TranslationUnit,
    sizes: Mapping[str, int] | None = None,
    /,
    *,
    allow_unmeasured: bool = False,
    campaign: Campaign = ANCHOR,
    **more_sizes: int,
) -> AnchoredModel:
    r"""Run a kernel once at a small size, and return a model whose predictions of it are scaled by that.

    With the time :math:`t_a` measured and :math:`p_a` predicted at the small size, the prediction :math:`p` at any
    other one becomes :math:`p \, (t_a / p_a)^b`, with the share b of the anchor's error that other sizes have too
    (:mod:`perfmodel.fitting.anchored`): the counts carry it from one size to the other.

    Parameters
    ----------
    model
        A fitted model of a device of this machine.
    kernel
        The kernel as it is to be run.
    sizes, **more_sizes
        The largest size parameters of interest, integers. The run is at the smallest of about their halves, quarters
        and so on (:func:`perfmodel.tuning.anchoring.smaller_sizes`) that takes 20 launch overheads and gives
        each compute unit two work-groups; at these sizes themselves if no smaller ones do.
    allow_unmeasured
        As of :meth:`perfmodel.predicting.model.FittedModel.predict`.
    campaign
        How the run is made; by default one visit of ten runs, and up to two more where it is suspicious.

    Notes
    -----
    Arrays hold numbers in [0.5, 2), converted to their types; scalar arguments that are no sizes are 1. To measure as
    the campaigns do, call :func:`perfmodel.measuring.pin_threads` before the first use of a device.

    Raises
    ------
    UnmeasuredFeatureError, KernelError, SizeError, AssumptionError
        As of :meth:`perfmodel.predicting.model.FittedModel.predict`.
    AnchorDeviceError
        If the model's device is not one of this machine's.
    AnchorError
        If the kernel cannot be run, or its predicted time there is not above zero.
    BrokenDeviceError, DeviceBusyError
        If the device runs nothing, or a campaign on it does not end in time.
    """
    require(hasattr(model, "counted"), "anchor: model", model, "a fitted model, as pm.fit and pm.load return")
    known = hasattr(kernel, "callables_table") or hasattr(kernel, "access_table")  # of counts the reason is told below
    require(known, "anchor: kernel", kernel, "a translation unit of Loopy")
    require(sizes is None or isinstance(sizes, Mapping), "anchor: sizes", sizes, "a mapping of names to sizes")
    name = str(getattr(getattr(kernel, "default_entrypoint", None), "name", None) or "kernel")
    at = {**(sizes or {}), **more_sizes}
    anchors = anchor_variants(model, {name: kernel}, at, allow_unmeasured=allow_unmeasured, campaign=campaign)
    return AnchoredModel(model, anchors[name])


def anchor_variants(
    model: FittedModel,
    variants: Mapping[str, TranslationUnit],
    sizes: Mapping[str, int],
    /,
    *,
    allow_unmeasured: bool = False,
    campaign: Campaign = ANCHOR,
    progress: Progress | None = None,
    arguments: Arguments | None = None,
    statistics: Mapping[str, float] | None = None,
    keep: Path | None = None,
) -> dict[str, Anchor]:
    """Run each variant of a kernel once, all at the same small size, and return the anchors by name.

    At that size the quickest variant stands out from the launch overhead. For the rest see :func:`anchor`.

    Parameters
    ----------
    model, variants, sizes, allow_unmeasured, campaign, progress
        As of :func:`anchor`; variants by name.
    arguments
        ``arguments(**sizes)`` gives the kernel's arguments by name, as of :class:`perfmodel.tuning.trials.Trials`.
    statistics
        Of what depends on data, as of :func:`perfmodel.counts.count`; they must hold for the arguments at all sizes.
    keep
        A store for the runs, as of :class:`perfmodel.tuning.trials.Trials`: a supervised process, which a kernel ended,
        finds there what was known before.
    """
    counted = {name: _counted(model, name, unit, statistics) for name, unit in variants.items()}
    for name, value in sizes.items():
        if np.ndim(value):
            raise size_error(name, "is an array; a kernel is anchored for one size", tuple(sizes))
    for counts in counted.values():  # refuses what cannot be predicted, before anything is run
        model.predict(counts, sizes, allow_unmeasured=allow_unmeasured)
    device = device_of(model)
    for counts in counted.values():
        counts.check_launch(device.facts)
    points = smaller_sizes(tuple(counted.values()), sizes)
    asked: dict[str, Any] = {"compare": False, "progress": progress, "ladder": points, "statistics": statistics}
    with Trials(device, variants, sizes, campaign, arguments, kernel="anchor", keep=keep, **asked) as trials:
        rows = _visit(trials, progress or Silent())
    anchors, errors = {}, model.fitted.anchored
    for name, row in rows.items():
        seconds = model.predict(counted[name], row.parameters, allow_unmeasured=allow_unmeasured).seconds
        if not seconds > 0:
            raise AnchorError(name, f"its predicted time there is {seconds:g} s, not above zero")
        measured = row.seconds_by(model.clock)
        anchors[name] = Anchor(name, device.name, dict(row.parameters), measured, seconds, row.flags, errors)
    return anchors


def predict_anchored(
    predicting: Predicting,
    variants: Mapping[str, TranslationUnit],
    plain: Predictions,
    *,
    arguments: Arguments | None = None,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> Predictions:
    """Run each variant that could be predicted once at a small size, and predict it again, scaled by its run.

    Of the sizes of the predictions without anchors, the largest that all variants allow is the one of interest. A
    variant whose run fails is left out. It raises an AnchorError if the variants allow no size, or none runs.
    """
    allowed = np.all([variant.allowed for variant in plain.variants.values()], axis=0)
    points = [point for point, all_allow in zip(plain.points, allowed, strict=True) if all_allow]
    if not points:
        problem = "all variants run at one size, and each of the sizes breaks an assumption of one of them"
        raise AnchorError(next(iter(plain.variants)), problem)
    largest = max(points, key=lambda point: math.prod(point.values()))
    left, errors = dict(variants), dict[str, PerfModelError](plain.errors)
    while True:
        try:
            anchors = anchor_variants(
                predicting.model, left, largest, allow_unmeasured=predicting.allow_unmeasured, progress=progress,
                arguments=arguments, statistics=predicting.options.get("statistics"), keep=keep,
            )  # fmt: skip
            break
        except AnchorError as error:
            errors[error.kernel] = error
            del left[error.kernel]
            if not left:
                raise
    known = plain.counts or variants
    again = replace(predicting, anchors=anchors).predicted({name: known[name] for name in left}, plain.sizes)
    return replace(again, errors={**errors, **again.errors})


def device_of(model: FittedModel) -> Device:
    """Return the device that a model's weights belong to, checked to work.

    It raises AnchorDeviceError if this machine has none of that name, on that platform where it is known, and
    BrokenDeviceError if it does not build and run a kernel.
    """
    from perfmodel.opencl import devices, find

    listed, platform = devices(), model.facts.platform if model.facts else None
    for device in listed:
        if device.name == model.device and platform in (None, device.platform):
            return find(str(device.index))
    raise AnchorDeviceError(model.device, tuple(f"{device.name} ({device.platform})" for device in listed))


def _visit(trials: Trials, progress: Progress) -> dict[str, Measurement]:
    """Choose the size of the variants, and visit each there once; those that are flagged again."""
    rows: dict[str, Measurement] = {}
    with task(progress, "running anchors", len(trials.variants)):
        try:
            trials.settle()
        except TrialError as error:
            raise AnchorError(error.variant, f"its run failed ({error.status}: {error.problem})") from error
        for visit in range(trials.campaign.most_visits):
            for name in trials.variants:
                if visit == 0 or rows[name].flags:
                    row = trials.visit(name)
                    if row.status != "ok":
                        raise AnchorError(name, f"its run failed ({row.status}: {row.message})")
                    rows[name] = row.after(rows.get(name))
                if visit == 0:
                    progress.advance(name)
    return rows


def _counted(model: FittedModel, name: str, kernel: Any, statistics: Mapping[str, float] | None) -> KernelCounts:
    from perfmodel.counts import count

    if not isinstance(kernel, TranslationUnit):
        given = type(kernel).__name__
        raise AnchorError(name, f"it was given as {given}, and only a loopy.TranslationUnit can be run")
    if statistics:
        return count(kernel, model.fitted.subgroup_size, statistics=statistics, check=True)
    return model.counted(kernel)

