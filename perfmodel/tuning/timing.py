"""Timing of a kernel's variants in the visits of a campaign, and what that takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic, sleep

from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.order import SETUP_S
from perfmodel.progress import FailedStep, Progress, Silent, task
from perfmodel.store import canonical
from perfmodel.tuning.trials import Trials, runs_of

Sizes = Mapping[str, int]


def time_variants(
    trials: Trials,
    points: Sequence[Sizes],
    progress: Progress | None = None,
    run_s: Mapping[tuple[str, str], float] = {},
) -> None:
    """Visit every variant at every point as often as the campaign says, and again those whose visits disagree.

    Each pass has the same order, so that all others lie between two visits to a variant at a point. A variant that
    failed at a point is not visited there again, nor is one whose output is wrong once all have run.
    ``trials.judged`` tells what was found.

    Parameters
    ----------
    trials
        The variants and the device, entered.
    points
        Sizes.
    progress
        It is informed of each visit.
    run_s
        Expected time of a run by variant and point (:func:`place_of`), where it is known [s].
    """
    progress, campaign = progress or Silent(), trials.campaign
    places = [(name, point) for point in points for name in trials.variants]
    ended: dict[tuple[str, str], float] = {}
    expected = {place_of(*place): visit_s(run_s.get(place_of(*place), 0.0), campaign) for place in places}
    with task(progress, "timing", len(places) * campaign.visits, campaign.visits * sum(expected.values())):
        for visit in range(campaign.visits):
            for name, point in places:
                place = place_of(name, point)
                if visit and not _good(trials, name, point):
                    progress.advance(name, expected[place])
                    continue
                progress.advance(_visited(trials, name, point, ended), expected[place])
    for _ in range(campaign.visits, campaign.most_visits):
        again = [(name, point) for name, point in places if _disagrees(trials, name, point)]
        if not again:
            return
        with task(progress, "timing again what disagrees", len(again)):
            for name, point in again:
                progress.advance(_visited(trials, name, point, ended))


def expected_s(run_s: Sequence[float], campaign: Campaign) -> float:
    """Return about how long it takes to time configurations whose runs take so long, building left out [s]."""
    passes = sum(visit_s(one, campaign) for one in run_s)
    return passes + (campaign.visits - 1) * max(passes, campaign.apart_s)


def visit_s(run_s: float, campaign: Campaign) -> float:
    """Return about how long one visit takes [s]."""
    return SETUP_S + runs_of(run_s, campaign) * run_s


def place_of(name: str, point: Sizes) -> tuple[str, str]:
    """Return the key of a variant at a point, as in ``Trials.rows``."""
    return name, canonical(dict(point))


def _visited(trials: Trials, name: str, point: Sizes, ended: dict[tuple[str, str], float]) -> str:
    """Visit a variant, not too soon after its last visit; return its name, with the status of a failure."""
    place = place_of(name, point)
    if place in ended:
        sleep(max(0.0, ended[place] + trials.campaign.apart_s - monotonic()))
    row = trials.visit(name, point)
    ended[place] = monotonic()
    return name if row.status == "ok" else FailedStep(name, row.status)


def _disagrees(trials: Trials, name: str, point: Sizes) -> bool:
    return _good(trials, name, point) and trials.rows[place_of(name, point)].disagrees


def _good(trials: Trials, name: str, point: Sizes) -> bool:
    row = trials.judged(name, point)
    return row is not None and row.status == "ok"
