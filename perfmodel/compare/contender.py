"""A model family on a device, beside others on the same cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perfmodel.compare.comparison import kernels
from perfmodel.compare.figures import Figures, summarise
from perfmodel.compare.protocols import Evaluation
from perfmodel.display import data_frame, finite, html_table, one_line, percent

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = (
    "device", "family", "protocol", "kernel", "cases", "error", "factor", "regret", "top1", "tau", "weights",
    "fit_s", "predict_s", "withheld", "problem",
)  # fmt: skip
"""What :func:`records` has of a family."""
HEADER = ("family", "error, A", "error, B", "factor - 1, A", "regret, A", "tau, A", "weights")
#: Protocols by which families are compared; the third one needs a fit for each size.
COMPARED = ("A", "B")


@dataclass(frozen=True, repr=False)
class Contender:
    """A family on a device, compared with others on the same cases.

    Parameters
    ----------
    family, device
        Their names.
    weights
        Number of fitted weights; those that a fact gives do not count.
    fit_s
        Time of one fit to all measurement kernels, their features evaluated [s].
    predict_s
        Time of one prediction of a counted kernel: its features, quantities and expression [s].
    evaluations
        One for each of :data:`COMPARED`, with the cases that every contender predicts.
    withheld
        Cases that this family withheld, by protocol A.
    problem
        Reason why it could not be fitted; it has no figures then.
    """

    family: str
    device: str
    weights: int = 0
    fit_s: float = float("nan")
    predict_s: float = float("nan")
    evaluations: tuple[Evaluation, ...] = field(default=(), repr=False)
    withheld: int = 0
    problem: str = ""

    def by(self, protocol: str) -> Evaluation:
        """Return the evaluation by one protocol."""
        return next(one for one in self.evaluations if one.protocol == protocol)

    def figures(self, protocol: str, kernel: str | None = None) -> Figures:
        """Return the figures of one kernel, or of all."""
        return summarise([row for row in self.by(protocol).rows if kernel in (None, row.kernel)])

    def __repr__(self) -> str:
        if self.problem:
            return one_line(f"<Contender {self.family} on {self.device}: not fitted: {self.problem}>")
        errors = ", ".join(f"{percent(self.figures(one.protocol).error)} by {one.protocol}" for one in self.evaluations)
        return one_line(f"<Contender {self.family} on {self.device}: error {errors}>")

    @property
    def cells(self) -> tuple[str, ...]:
        """Its figures as text, in the order of :data:`HEADER`."""
        a, b = self.figures("A"), self.figures("B")
        errors = map(percent, (a.error, b.error, a.factor))
        return (self.family, *errors, f"{a.regret:.2f}", f"{a.tau:.2f}", str(self.weights))


class Contenders(tuple[Contender, ...]):
    """Families side by side: a tuple that shows itself as a table, the best by protocol B first."""

    __slots__ = ()

    def __repr__(self) -> str:
        return one_line(f"<Contenders: {', '.join(one.family for one in self)}>")

    @property
    def judged(self) -> tuple[Contender, ...]:
        """Those that could be fitted, the one with the smallest error by protocol B first."""
        return tuple(sorted((one for one in self if one.evaluations), key=lambda one: one.figures("B").error))

    def _repr_html_(self) -> str:
        """Return the figures as a table for a notebook, families that could not be fitted below it."""
        judged, devices = self.judged, ", ".join(dict.fromkeys(one.device for one in self))
        notes = [f"not fitted: {one.family}: {one.problem}" for one in self if one.problem]
        cases = f"{len(judged[0].by('A').rows)} cases that every family predicts" if judged else "no family was fitted"
        return html_table([HEADER, *(one.cells for one in judged)], f"{devices}: {cases}", notes)

    def to_frame(self) -> DataFrame:
        """Return a row for each family, protocol and kernel as a pandas table of :data:`COLUMNS`.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        return data_frame(records(self), COLUMNS)


def records(contenders: Iterable[Contender]) -> Iterator[dict[str, Any]]:
    """Yield the figures as rows of :data:`COLUMNS`: of each device, family, protocol and kernel, and over all.

    A family that could not be fitted has one row with its problem; a figure that is not known is None.
    """
    for one in contenders:
        own: dict[str, Any] = {**dict.fromkeys(COLUMNS), "device": one.device, "family": one.family}
        if one.problem:
            yield {**own, "problem": one.problem}
        for each in one.evaluations:
            for kernel in (*kernels(each.rows), None):
                f = one.figures(each.protocol, kernel)
                yield {
                    **own, "protocol": each.protocol, "kernel": kernel or "all", "cases": f.cases,
                    **{name: finite(getattr(f, name)) for name in ("error", "factor", "regret", "top1", "tau")},
                    "weights": one.weights, "fit_s": one.fit_s, "predict_s": one.predict_s, "withheld": one.withheld,
                }  # fmt: skip
