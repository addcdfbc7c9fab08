"""Anchors: runs of a user's kernel at a small size that scale predictions. Anchors are timed as measured rows are."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from loopy import TranslationUnit

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.quasipoly.arguments import size_error
from perfmodel.documents import require
from perfmodel.errors import AnchorError, AssumptionError, PerfModelError, TrialError, WeightsError, not_anchored
from perfmodel.measuring.campaign import Campaign
from perfmodel.opencl import Device, devices, find
from perfmodel.predicting.model import FittedModel
from perfmodel.predicting.prediction import Anchor
from perfmodel.predicting.predictions import Predicting, Predictions
from perfmodel.progress import Progress, Silent, task
from perfmodel.store import Measurement
from perfmodel.tuning.trials import Trials, index_of_device
from perfmodel.tuning.user_kernel import Arguments

Sizes: TypeAlias = dict[str, int]

LEAST = 16  # smaller parameters count as numbers of fields or taps, not as problem sizes
WINDOW = 1 << 12  # number of sizes, from half of a size upwards, that are tested against the kernels' assumptions
# One visit at the first size where a run takes 20 launch overheads and all units have work-groups. A suspicious
# visit is repeated after all others, at most twice.
ANCHOR = Campaign("anchor", rungs=1, over_launch=20.0, visits=1, most_visits=3, apart_s=0.0, wait_s=600.0, enough_s=3.0)
"""The campaign of an anchor's run."""


def smaller_sizes(kernels: Sequence[KernelCounts], sizes: Mapping[str, int]) -> tuple[Sizes, ...]:
    """Return sizes at which all kernels may run, from small to large. The given sizes are last.

    Each parameter is about half of the next one, rounded up as the kernels assume. For multiples of 48, ``{"n": 480}``
    gives 48, 96, 144, 240 and 480. Small parameters, and parameters with one assumed value, stay. All others shrink
    together, so that their ratios stay. If one of them cannot shrink further, none does.
    """
    ladder, names = [dict(sizes)], tuple(name for name, size in sizes.items() if size >= 2 * LEAST)
    while names and min(ladder[-1][name] for name in names) >= 2 * LEAST:
        last = ladder[-1]
        halves = {name: -(-last[name] // 2) for name in names}
        if not _allowed(kernels, {**last, **halves}):
            halves = {name: half for name in names if (half := _rounded(kernels, last, name))}
        shrunk = tuple(halves)
        if not halves or (len(ladder) > 1 and shrunk != names) or not _allowed(kernels, {**last, **halves}):
            break
        ladder, names = [*ladder, {**last, **halves}], shrunk
    return tuple(reversed(ladder))


def _rounded(kernels: Sequence[KernelCounts], sizes: Sizes, name: str) -> int | None:
    half = -(-sizes[name] // 2)
    tried = np.arange(half, min(half + WINDOW, sizes[name]), dtype=np.int64)
    for kernel in kernels:
        while len(tried):
            try:
                kernel.work_groups().evaluate({**sizes, name: tried})
                break
            except AssumptionError as error:
                tried = np.delete(tried, error.indices) if error.indices else tried[:0]
    return int(tried[0]) if len(tried) else None


def _allowed(kernels: Sequence[KernelCounts], sizes: Sizes) -> bool:
    try:
        for kernel in kernels:
            kernel.work_groups()(**sizes)
    except AssumptionError:
        return False
    return True


def anchor(
    model: FittedModel, kernel: TranslationUnit, sizes: Mapping[str, int] | None = None, /, *,
    allow_unmeasured: bool = False, campaign: Campaign = ANCHOR, **more_sizes: int,
) -> FittedModel:  # fmt: skip
    r"""Run a kernel once at a small size, and return a model whose predictions of it are scaled by the measured time.

    At the small size, the measured time is :math:`t_a` and the predicted time :math:`p_a`. The prediction :math:`p` at
    another size becomes :math:`p \, (t_a / p_a)^b`. The exponent b is the share of the anchor's error that other sizes
    have too (:mod:`perfmodel.fitting.anchored`).

    Parameters
    ----------
    model, kernel
        A fitted model of a device of this machine, and the kernel to run. Arrays of the kernel hold numbers in [0.5,
        2), converted to their types. Scalar arguments other than sizes are 1.
    sizes, **more_sizes
        The largest size parameters of interest, integers. Candidates are about their halves, quarters and so on. The
        run has the smallest candidate that takes 20 launch overheads and gives each compute unit two work-groups.
    allow_unmeasured
        As of :meth:`perfmodel.predicting.model.FittedModel.predict`, which may raise other errors.
    campaign
        Settings of the run. By default one visit has ten runs, and up to two visits follow if the first is suspicious.

    Raises
    ------
    AnchorError, WeightsError
        If the kernel cannot run, its predicted time is not positive, or this machine lacks the model's device.
    BrokenDeviceError, DeviceBusyError
        If the device does not work, or stays in use.
    """
    require(hasattr(model, "counted"), "anchor: model", model, "a fitted model, as pm.fit and pm.load return")
    require(sizes is None or isinstance(sizes, Mapping), "anchor: sizes", sizes, "a mapping of names to sizes")
    name = str(getattr(getattr(kernel, "default_entrypoint", None), "name", None) or "kernel")
    at = {**(sizes or {}), **more_sizes}
    anchors = anchor_variants(model, {name: kernel}, at, allow_unmeasured=allow_unmeasured, campaign=campaign)
    return model.anchored_by(anchors[name])


def anchor_variants(
    model: FittedModel, variants: Mapping[str, TranslationUnit], sizes: Mapping[str, int], /, *,
    allow_unmeasured: bool = False, campaign: Campaign = ANCHOR, progress: Progress | None = None,
    arguments: Arguments | None = None, statistics: Mapping[str, float] | None = None, keep: Path | None = None,
) -> dict[str, Anchor]:  # fmt: skip
    """Run each variant once, all at the same small size, and return the anchors by name.

    The statistics must hold at all sizes. If `keep` is given, a process that is started again uses earlier runs.
    """
    for name, kernel in variants.items():
        if not isinstance(kernel, TranslationUnit):
            given = type(kernel).__name__
            raise not_anchored(name, f"it was given as {given}, and only a loopy.TranslationUnit can be run")
    options: dict[str, Any] = {"statistics": statistics, "sizes": sizes, "check": True}
    counted = {name: count(kernel, model.fitted.subgroup_size, **options) for name, kernel in variants.items()}
    for name, value in sizes.items():
        if np.ndim(value):
            raise size_error(name, "is an array; a kernel is anchored for one size", tuple(sizes))
    for counts in counted.values():  # before anything runs, raise if a variant cannot be predicted
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
            raise not_anchored(name, f"its predicted time there is {seconds:g} s, not above zero")
        measured = row.seconds_by(model.clock)
        anchors[name] = Anchor(name, device.name, dict(row.parameters), measured, seconds, row.flags, errors)
    return anchors


def predict_anchored(
    predicting: Predicting, variants: Mapping[str, TranslationUnit], plain: Predictions, *,
    arguments: Arguments | None = None, progress: Progress | None = None, keep: Path | None = None,
) -> Predictions:  # fmt: skip
    """Run each predicted variant once at a small size, and predict the variant again, scaled by this run.

    The small size is chosen below the largest of the predictions' sizes that all variants allow. A variant whose run
    fails is left out. Raise an AnchorError if the variants allow no common size, or no variant runs.
    """
    allowed = np.all([variant.allowed for variant in plain.variants.values()], axis=0)
    points = [point for point, all_allow in zip(plain.points, allowed, strict=True) if all_allow]
    if not points:
        problem = "all variants run at one size, and each of the sizes breaks an assumption of one of them"
        raise not_anchored(next(iter(plain.variants)), problem)
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
    """Return the device of a model's weights. Raise WeightsError if it is missing, BrokenDeviceError if it fails."""
    if (index := index_of_device(model)) is not None:
        return find(index)
    present = "; ".join(f"{device.name} ({device.platform})" for device in devices())
    problem = f"kernels run on the device of the weights, '{model.device}', and this machine has: {present}"
    advice = "give weights of one of these (perfmodel calibrate), or only predict (without --anchor, or with runs=0)"
    raise WeightsError(problem, advice)


def _visit(trials: Trials, progress: Progress) -> dict[str, Measurement]:
    rows: dict[str, Measurement] = {}
    with task(progress, "running anchors", len(trials.variants)):
        try:
            trials.settle()
        except TrialError as error:
            raise not_anchored(error.variant, f"its run failed ({error.status}: {error.reason})") from error
        for visit in range(trials.campaign.most_visits):
            for name in trials.variants:
                if visit == 0 or rows[name].flags:
                    row = trials.visit(name)
                    if row.status != "ok":
                        raise not_anchored(name, f"its run failed ({row.status}: {row.message})")
                    rows[name] = row.after(rows.get(name))
                if visit == 0:
                    progress.advance(name)
    return rows
