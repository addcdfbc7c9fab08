"""What Stevens and Klöckner (2016) say of their fit, and what is found of it on a device."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from perfmodel.display import percent
from scripts.lab.studies.claim import Claim
from scripts.lab.studies.nine_classes import NINE, PRINTED, Fit, kept, mean_over_least, over_groups

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts
    from perfmodel.store import Measurement

#: A time of so many launches exceeds the launch "significantly" (4.2) [1].
BEYOND = 10.0
CLOSE, LIMIT = 0.05, 0.30
#: Share of cases from which on something holds "generally", or is consistent [1].
MOST = 0.75
ON_CPU = "; the paper's claim is about GPUs; CPUs need a model of caches first (6.2)"


def claims(measured: Sequence[Measurement], fit: Fit | None, facts: DeviceFacts) -> tuple[Claim, ...]:
    """Return all claims; `fit` is None if not every class was measured."""
    nine = [row for row in measured if row.kernel in NINE]
    gpu = "device_type" in facts and facts.value("device_type") == "gpu"
    return (errors_claim(fit, gpu), order_claim(fit, gpu), mean_claim(nine), groups_claim(nine), launch_claim(nine))


def errors_claim(fit: Fit | None, gpu: bool) -> Claim:
    """Table 1: the error of each card."""
    cards = ", ".join(f"{errors['']:.0%} on the {card}" for card, errors in PRINTED.items())
    paper = f"the test kernels are predicted with a mean error of {cards}"
    if fit is None:
        return Claim("Table 1", paper, "not every class was measured", None)
    said = f"{_errors(fit)}, by {sum(fit.rows.values())} rows of nine classes"
    if fit.withheld:
        lacking = "; ".join(f"{kernel} is not predicted, since {', '.join(names)} was never measured"
                            for kernel, names in fit.withheld.items())  # fmt: skip
        said += f"; {lacking}"
    if not gpu:
        return Claim("Table 1", paper, said + ON_CPU, None)
    worst = max(errors[""] for card, errors in PRINTED.items() if card.startswith("Nvidia"))
    return Claim("Table 1", paper, f"{said} (to agree: at most {worst:.0%})", fit.errors[""] <= worst)


def order_claim(fit: Fit | None, gpu: bool) -> Claim:
    """Section 5: which kernel is the hardest."""
    paper = "n-body is the hardest to predict (43 % over cards), the other three have less than 13 %"
    if fit is None or "nbody" not in fit.errors:
        return Claim("Section 5", paper, "n-body was not predicted", None)
    errors = {kernel: error for kernel, error in fit.errors.items() if kernel}
    said = f"n-body has {percent(errors.pop('nbody'))}, the others up to {percent(max(errors.values()))}"
    agrees = fit.errors["nbody"] > max(errors.values()) if gpu else None
    return Claim("Section 5", paper, said + ("" if gpu else ON_CPU), agrees)


def mean_claim(rows: Sequence[Measurement]) -> Claim:
    """Section 4.2: the mean of the runs is as good as the least."""
    paper = "the least and the mean of the runs differ by less than 5 % where times exceed the launch significantly"
    far = [excess for longer, excess in mean_over_least(row for row in rows if len(kept(row)) > 1) if longer >= BEYOND]
    if not far:
        return Claim("Section 4.2", paper, "no row has several runs and a time beyond the launch's", None)
    rows_of = f"rows of {BEYOND:g} launches and more; the median is {median(far):.1%}"
    return _mostly("Section 4.2", paper, far, CLOSE, "they do", rows_of)


def groups_claim(rows: Sequence[Measurement]) -> Claim:
    """Section 5: the size of work-groups hardly matters."""
    paper = "times generally vary by less than 30 % with the work-group"
    spreads = over_groups(rows)
    if not spreads:
        return Claim("Section 5, work-groups", paper, "no kernel was measured with several work-groups", None)
    kernels = f"kernels and sizes, by {median(spreads):.0%} in the median"
    return _mostly("Section 5, work-groups", paper, spreads, LIMIT, "by less", kernels)


def _mostly(source: str, paper: str, shares: Sequence[float], limit: float, verb: str, of_what: str) -> Claim:
    """The claim that most of some shares are below a limit."""
    below = sum(share < limit for share in shares) / len(shares)
    said = f"{verb} in {below:.0%} of {len(shares)} {of_what} (to agree: {MOST:.0%})"
    return Claim(source, paper, said, below >= MOST)


def launch_claim(rows: Sequence[Measurement]) -> Claim:
    """Section 2.4: a launch takes longer with more work-groups."""
    paper = "the time of an empty kernel grows with the number of its work-groups"
    empty = sorted(((_items(row), min(kept(row))) for row in rows if row.kernel == "empty"), key=lambda pair: pair[0])
    if len(empty) < 2:
        return Claim("Section 2.4", paper, "the empty kernel was measured at fewer than two sizes", None)
    (few, short), (many, long) = empty[0], empty[-1]
    said = f"by a factor of {long / short:.2f} from {few} work-items to {many}"
    return Claim("Section 2.4", paper, said, long > short)


def _items(row: Any) -> int:
    return int(row.parameters["m"] * row.parameters["n"])


def _errors(fit: Fit) -> str:
    *kernels, (_, mean) = fit.errors.items()
    return f"{percent(mean)}: " + ", ".join(f"{kernel} {percent(error)}" for kernel, error in kernels)


