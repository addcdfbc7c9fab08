"""The times of one probe: what was timed, how often, and the seconds for each unit of work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

SCHEMA: Final = "perfmodel.probe/1"

Setting: TypeAlias = int | float | str


@dataclass(frozen=True)
class Point:
    """Runs of one configuration of a probe; one with no work gives the cost of the launch."""

    at: Mapping[str, Setting]  # the settings by name: a footprint in bytes, a number of barriers
    work: float  # units of work in one run: loads, iterations
    host_s: tuple[float, ...]  # times of all runs in order, by the host's clock [s]


@dataclass(frozen=True)
class ProbeRun:
    """One visit of a probe to a device: a line of ``probes.jsonl``.

    Parameters
    ----------
    probe, campaign
        Names of the probe and of the settings that it ran with.
    series, visit
        The visits of one series belong together; a later series replaces an earlier one.
    dropped
        How many of the first runs of each configuration do not count.
    status, message
        ``failed``, with the reason, where the device could not run it.
    """

    probe: str
    campaign: str
    series: int
    visit: int
    device: str
    platform: str
    driver: str
    versions: dict[str, str]
    taken_at: str
    took_s: float
    dropped: int
    points: tuple[Point, ...] = ()
    status: Literal["ok", "failed"] = "ok"
    message: str = ""
    schema: Literal["perfmodel.probe/1"] = field(default=SCHEMA)

    def seconds(self) -> dict[tuple[tuple[str, Setting], ...], float]:
        r"""Return the time for a unit of work at each setting [s], :math:`(\min t - \min t_0) / w`.

        :math:`t_0` are the times of configurations with no work; without them it is zero.
        """
        quickest = [(point, min(point.host_s[self.dropped :], default=float("inf"))) for point in self.points]
        launch = min((seconds for point, seconds in quickest if point.work == 0), default=0.0)
        return {
            tuple(sorted(point.at.items())): max(seconds - launch, 0.0) / point.work
            for point, seconds in quickest if point.work > 0
        }  # fmt: skip


def newest(runs: Iterable[ProbeRun], probe: str) -> tuple[ProbeRun, ...]:
    """Return the visits of a probe's newest series that could be run."""
    visits = [run for run in runs if run.probe == probe and run.status == "ok"]
    last = max((run.series for run in visits), default=0)
    return tuple(run for run in visits if run.series == last)


def times(runs: Iterable[ProbeRun], *names: str, **where: Setting) -> Mapping[tuple[Setting, ...], float]:
    """Return the seconds for a unit of work by the values of the named settings, the lowest of all visits.

    Only configurations with the settings `where` count, and with a time above zero.

    Examples
    --------
    >>> run = ProbeRun("chase", "quick", 0, 0, "d", "p", "1", {}, "", 1.0, 0, (Point({"bytes": 64}, 10, (2e-8,)),))
    >>> dict(times([run], "bytes"))
    {(64,): 2e-09}
    """
    lowest: dict[tuple[Setting, ...], float] = {}
    for run in runs:
        for settings, seconds in run.seconds().items():
            at = dict(settings)
            if all(at.get(name) == value for name, value in where.items()) and seconds > 0 and set(names) <= set(at):
                key = tuple(at[name] for name in names)
                lowest[key] = min(seconds, lowest.get(key, seconds))

    def order(key: tuple[Setting, ...]) -> tuple[Setting, ...]:
        return tuple(map(str, key)) if any(isinstance(part, str) for part in key) else key

    return {key: lowest[key] for key in sorted(lowest, key=order)}
