"""One row of the scoreboard: a model on a device, by one protocol, over one set of kernels, at one commit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from perfmodel.compare.comparison import summarise
from perfmodel.compare.contenders import timed
from perfmodel.compare.protocols import FOLDS, PROTOCOLS, RECORDED, TESTLESS, Evaluation, evaluate_fits
from perfmodel.errors import PerfModelError
from scripts.lab.scoreboard.ideas import Idea
from scripts.lab.scoreboard.oracle import oracle_error
from scripts.lab.scoreboard.scored_device import ALL, MEASURED, OTHERS, PAPER, TESTS, ScoredDevice
from scripts.lab.scoreboard.top_choices import Case, noise_of, top1_within_noise

LEVEL = 0.9
"""Probability that the intervals are meant to have [1]."""
SCORED = tuple(name for name in PROTOCOLS if name not in TESTLESS)
"""Protocols by which test kernels are predicted."""
GROUPS = "groups"
"""Measurement kernels, each predicted by a fit without any kernel of its group: protocol B over them. Models are chosen
by it, so that no test kernel is used for a choice."""


@dataclass(frozen=True)
class Stamp:
    """When something was scored (ISO 8601), and at which commit."""

    date: str
    commit: str


@dataclass(frozen=True)
class Scoring:
    """A model on a device by one protocol; NaN without such a figure."""

    # date, commit: when it was scored (ISO 8601), and of which commit.
    date: str
    commit: str
    # device, simulated: name of the device's folder, and whether it is a simulation.
    device: str
    simulated: bool
    model: str  # name of a family, an idea or a black box
    protocol: str = ""  # one of :data:`~perfmodel.compare.PROTOCOLS`, or :data:`GROUPS`
    # Which kernels were predicted: ``tests`` (test kernels that are not the 2016 paper's), ``paper`` (that paper's
    # four), ``all`` (both), ``measured`` (measurement kernels) or ``recorded`` (by others).
    kernels: str = ""
    # cases, withheld, error, factor, choices, regret, top1, tau, inside, width: as of
    # :class:`~perfmodel.compare.Figures`.
    cases: int = 0
    withheld: int = 0
    error: float = math.nan
    factor: float = math.nan
    choices: int = 0
    regret: float = math.nan
    top1: float = math.nan
    # As `top1`, where ties within the noise count (:func:`~scripts.lab.scoreboard.top_choices.top1_within_noise`).
    top1_tied: float = math.nan
    tau: float = math.nan
    inside: float = math.nan
    width: float = math.nan
    # Error that one factor for each variant leaves [1] (:func:`~scripts.lab.scoreboard.oracle.oracle_error`).
    oracle: float = math.nan
    # weights, fit_s, predict_s: number of fitted weights, and seconds of one fit and of one prediction of a counted
    # kernel.
    weights: int = 0
    fit_s: float = math.nan
    predict_s: float = math.nan
    score_s: float = math.nan  # seconds that all scorings of this model on this device took together
    problem: str = ""  # reason why it could not be fitted; it has no figures then


def score(
    device: ScoredDevice, idea: Idea, stamp: Stamp, protocols: Sequence[str] = SCORED, paper: bool = False
) -> tuple[Scoring, ...]:
    """Score a model on a device.

    Without `paper`, no fit, interval or figure sees a time of the paper's test kernels. A model that cannot be fitted
    has one row with its problem.

    Test kernels are predicted by `protocols`; without any only measurement kernels are used. With `paper` the paper's
    test kernels and all test kernels are predicted, instead of the others.
    """
    own = Scoring(stamp.date, stamp.commit, device.name, device.simulated, idea.name)
    begin = perf_counter()
    try:
        found = [*(_score_paper if paper else _score)(device, idea, own, protocols)]
    except PerfModelError as error:
        found = [replace(own, problem=" ".join(str(error).split()))]
    spent = perf_counter() - begin
    return tuple(replace(one, score_s=spent) for one in found)


def _score(device: ScoredDevice, idea: Idea, own: Scoring, protocols: Sequence[str]) -> Iterator[Scoring]:
    measured = device.rows(idea)
    fits = idea.fits(measured)
    if device.recorded:
        fits = replace(fits, folds=FOLDS)
    weights, fit_s, predict_s = timed(fits, measured)
    own = replace(own, weights=0 if idea.black_box else weights, fit_s=fit_s, predict_s=predict_s)
    if device.recorded:
        noise = noise_of(measured)
        yield from (_row(own, OTHERS, each, noise) for each in evaluate_fits(fits, LEVEL, RECORDED))
        return
    groups = evaluate_fits(fits.with_tests(measured), LEVEL, ("B",))[0]
    yield _without_choices(_row(own, MEASURED, replace(groups, protocol=GROUPS), {}))
    tests = device.tests_of(idea, TESTS)
    if protocols and len(tests):
        noise = noise_of(tests)
        for each in evaluate_fits(fits.with_tests(tests), LEVEL, protocols):
            yield _row(own, TESTS, each, noise)


def _score_paper(device: ScoredDevice, idea: Idea, own: Scoring, protocols: Sequence[str]) -> Iterator[Scoring]:
    tests = device.tests_of(idea, ALL)
    noise, paper = noise_of(tests), device.kernels_of(PAPER)
    fits = idea.fits(device.rows(idea)).with_tests(tests)
    for each in evaluate_fits(fits, LEVEL, protocols):
        rows = tuple(row for row in each.rows if row.kernel in paper)
        yield _row(own, PAPER, replace(each, rows=rows), noise)
        yield _row(own, ALL, each, noise)


def _row(own: Scoring, kernels: str, judged: Evaluation, noise: Mapping[Case, float]) -> Scoring:
    found = summarise(judged.rows)
    return replace(
        own, protocol=judged.protocol, kernels=kernels, cases=found.cases, withheld=found.withheld, error=found.error,
        factor=found.factor, choices=found.choices, regret=found.regret, top1=found.top1,
        top1_tied=top1_within_noise(judged.rows, noise), tau=found.tau, inside=found.inside, width=found.width,
        oracle=oracle_error(judged.rows),
    )  # fmt: skip


def _without_choices(one: Scoring) -> Scoring:
    """Return a row without figures of choices: measurement kernels are not alternatives for one job."""
    return replace(one, choices=0, regret=math.nan, top1=math.nan, top1_tied=math.nan, tau=math.nan)
