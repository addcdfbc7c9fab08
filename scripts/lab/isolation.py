"""Test whether a kernel class isolates a feature: when the feature's count doubles, the time must rise.

A kernel class names the feature that dominates its time (``isolates``), the size parameter that doubles
this feature's count (``doubles``), and the fraction by which the time must rise then (``raises``). If
the time does not rise, the compiler removed the work or something else dominates, and the fitted weight
is not the one of the feature. ``python -m scripts.lab.isolation`` runs the tests; docs/lab/isolation.md shows results.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from perfmodel import store
from perfmodel.calibration.kernel_choice import chosen_classes, discovered
from perfmodel.cli.output import CommandBar
from perfmodel.display import csv_text, seconds_text, values_text
from perfmodel.documents import Schema, canonical, value_of
from perfmodel.errors import PerfModelError
from perfmodel.io import write_whole
from perfmodel.kernels import KernelClass, Parameters
from perfmodel.measuring.bench import Bench, Timekeeper, origin
from perfmodel.measuring.campaign import SHORT_S, Campaign
from perfmodel.measuring.lock import locked, pin_threads
from perfmodel.measuring.size_plan import PlanError, plan_sizes
from perfmodel.measuring.subject import FailedError, Subject
from perfmodel.measuring.timing import sample
from perfmodel.opencl import Device, find
from perfmodel.progress import FailedStep, Progress, Silent, task
from perfmodel.report.drawing import empty_figure, write_figure
from perfmodel.store.files import no_store, other_device
from perfmodel.store.measurement import JsonObject, Seconds, Size, Status
from scripts.lab.markdown import below_marker, markdown_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: One size of each variant, at which the launch is a small part of the time; each minimum is of 8 runs.
#: A variant is visited once, and once more after all others if its time does not rise.
ISOLATION = Campaign(
    "isolation", shapes=1, rungs=1, over_launch=20.0, longest_s=SHORT_S, visits=2, runs=8, timeout_s=2.0
)

#: Pairs of minima in each visit, after a first pair that is not used.
ROUNDS = 5
ISOLATION_FILE = "isolation.jsonl"
PROOF = Schema("perfmodel.isolation/1", "prove it again: python -m scripts.lab.isolation --out FOLDER")


class Isolation(BaseModel):
    """Times of one variant on one device, before and after its isolated count doubled.

    ``rounds_s`` are pairs of times [s], each the minimum of several runs: at `parameters`, and with the parameter
    `doubles` doubled. ``raises`` is the least rise that proves isolation [1].
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["perfmodel.isolation/1"] = Field(default="perfmodel.isolation/1", alias="schema")
    kernel: str
    variant: JsonObject
    feature: str
    doubles: str | None
    raises: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    parameters: dict[str, Size] = {}
    rounds_s: tuple[tuple[Seconds, Seconds], ...] = ()
    device: str
    platform: str
    driver: str
    versions: dict[str, str]
    kernel_hash: str
    taken_at: str
    status: Status = "ok"
    message: str = ""

    @property
    def seconds(self) -> tuple[float, float]:
        """Median times at the parameters and with the one doubled [s]; NaN without times."""
        if not self.rounds_s:
            return float("nan"), float("nan")
        single, double = zip(*self.rounds_s, strict=True)
        return median(single), median(double)

    @property
    def rise(self) -> float:
        """The ratio of those times, minus 1 [1]."""
        single, double = self.seconds
        return double / single - 1

    @property
    def proved(self) -> bool:
        """Whether the time rose enough."""
        return self.rise >= self.raises

    @property
    def place(self) -> tuple[str, str]:
        """Kernel and variant."""
        return self.kernel, canonical(self.variant)

    @property
    def key(self) -> tuple[str, ...]:
        """The values on which a proof depends."""
        return (*self.place, self.driver, self.kernel_hash, str(self.doubles), self.feature)


def isolation_path(path: Path | str) -> Path:
    """Return the file of proofs of the store at `path` (a folder, or the ``.jsonl`` of records itself)."""
    rows, _ = store.paths(path)
    return rows.with_name(ISOLATION_FILE if Path(path).suffix != ".jsonl" else f"{rows.stem}.{ISOLATION_FILE}")


def read_isolations(path: Path | str) -> tuple[Isolation, ...]:
    """Return the newest proof of each variant in the store at `path`, by name, or raise StoreError."""
    file = isolation_path(path)
    if not file.is_file():
        raise no_store(file)
    proofs, _ = store.read_lines(file, lambda line: value_of(Isolation, line, PROOF))
    newest = {proof.place: proof for _, proof in proofs}
    return tuple(newest[place] for place in sorted(newest))


def prove_isolation(
    kernel_classes: Iterable[KernelClass],
    device: Device,
    path: Path | str,
    progress: Progress | None = None,
    campaign: Campaign = ISOLATION,
) -> tuple[Isolation, ...]:
    """Prove what `path` does not hold yet, and give the newest proof of each variant.

    Raises StoreError where the store belongs to another device, DeviceBusyError where another campaign on the
    device does not end within `campaign.wait_s`, and BrokenDeviceError or OutputError where device or store do not
    work.
    """
    progress, file, facts = progress or Silent(), isolation_path(path), device.facts
    known = read_isolations(path) if file.is_file() else ()
    for proof in known:
        if (proof.device, proof.platform) != (facts.name, facts.platform):
            raise other_device(file, f"'{proof.device}' ({proof.platform})", f"'{facts.name}' ({facts.platform})")
    proofs = {proof.key: proof for proof in known}
    with locked(facts, progress, campaign.wait_s):
        prover = _Prover(Bench(device, campaign))
        todo = prover.subjects(kernel_classes)
        for visit in range(campaign.visits):
            with task(progress, "visiting again what did not rise" if visit else "proving isolation", len(todo)):
                for subject in todo:
                    key, problem = prover.described(subject).key, ""
                    if key not in proofs or _may_rise(proofs[key], visit):
                        proof = proofs[key] = prover.proof(subject, proofs.get(key))
                        store.append_line(file, proof.model_dump(mode="json", by_alias=True))
                        problem = _problem(proof)
                    name = f"{subject.kernel.name} {canonical(subject.variant).replace(':', '=')}"
                    progress.advance(FailedStep(name, problem) if problem else name)
            todo = [subject for subject in todo if _may_rise(proofs[prover.described(subject).key], visit + 1)]
            if not todo:
                break
    return read_isolations(path) if file.is_file() else ()


def _problem(proof: Isolation) -> str:
    return "" if proof.proved else f"not proved ({proof.message or f'time rose by {proof.rise:.0%}'})"


def _may_rise(proof: Isolation, visits: int) -> bool:
    """Whether a proof of at most so many visits failed only because the time did not rise."""
    return proof.status == "ok" and not proof.proved and len(proof.rounds_s) <= visits * ROUNDS


class _Prover:
    """Proves variants on a device, one after another."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.timekeeper = Timekeeper(bench, bench.launch_overhead())

    def subjects(self, kernel_classes: Iterable[KernelClass]) -> list[Subject]:
        """Variants that isolate a feature, each in one work-group shape."""
        limit, campaign = self.bench.fact("max_work_group_size"), self.bench.campaign
        # Without tags: a class of tag "overhead" may be measured at any size, but proved only where runs are long.
        untagged = [replace(kernel, tags=()) for kernel in kernel_classes]
        every = [Subject(kernel, v) for kernel in untagged for v in campaign.variants_of(kernel, limit)]
        return [subject for subject in every if subject.kernel.isolated(subject.variant)]

    def described(self, subject: Subject, **others: Any) -> Isolation:
        """Make a record of the variant; `others` are what was found."""
        kernel = subject.kernel
        fields = {
            **origin(self.bench, subject),
            "feature": kernel.isolated(subject.variant),
            "doubles": kernel.doubles,
            "raises": kernel.raises,
        }
        return Isolation.model_validate({**fields, **others})

    def proof(self, subject: Subject, before: Isolation | None = None) -> Isolation:
        """Visit one variant, and add what was found before; a failure is a record too."""
        try:
            return self._proof(subject, before)
        except FailedError as failure:
            if failure.status == "runtime":
                self.bench.see_that_it_works()
            return self.described(subject, status=failure.status, message=failure.message)

    def _proof(self, subject: Subject, before: Isolation | None) -> Isolation:
        single, double = self._sizes(subject)
        self.bench.check(subject)
        rounds = [(self._quickest(subject, single), self._quickest(subject, double)) for _ in range(ROUNDS + 1)][1:]
        if before and before.parameters == single:
            rounds = [*before.rounds_s, *rounds]
        return self.described(subject, parameters=dict(single), rounds_s=tuple(rounds))

    def _quickest(self, subject: Subject, parameters: Parameters) -> float:
        """Minimum of several runs [s].  Both sizes share one kernel, so that only one can have its arguments set."""
        campaign = self.bench.campaign
        with self.bench.ready(subject, parameters) as enqueues:
            return min(sample(self.bench.queue, enqueues, campaign.runs, campaign.timeout_s).host_s)

    def _sizes(self, subject: Subject) -> tuple[Parameters, Parameters]:
        """Parameters of the lowest rung taken, the largest that fit when doubled, and the same doubled."""
        name = subject.kernel.doubles
        if name is None:
            raise FailedError("constraint", "its class names no parameter to double")
        try:
            chosen = plan_sizes(self.timekeeper, (subject,))
        except PlanError as error:
            raise error.failure from error
        for single in reversed(chosen.parameters):
            double = {**single, name: 2 * single[name]}
            if self.bench.fits(subject, double):
                self.timekeeper.work_groups(subject, double)  # fails where an assumption does
                return single, double
        raise FailedError("constraint", "no size fits into the device's memory when it is doubled")


HEADER = ("class", "variant", "isolates", "doubled", "from", "to", "rise", "needed", "")


def isolation_table(proofs: Sequence[Isolation]) -> str:
    """Return proofs as a table in Markdown."""
    return markdown_table([HEADER, ("---",) * 3 + ("---:",) * 5 + ("---",), *map(_cells, proofs)])


def isolation_summary(proofs: Sequence[Isolation]) -> str:
    """Return how many proofs succeeded, and the kernels of the others."""
    failing = sorted({proof.kernel for proof in proofs if not proof.proved})
    names = f"; not all proved: {', '.join(failing)}" if failing else ""
    return f"{sum(proof.proved for proof in proofs)} of {len(proofs)} variants proved{names}."


def _cells(proof: Isolation) -> tuple[str, ...]:
    variant = values_text({name: value for name, value in proof.variant.items() if name != "work_group"})
    start = (proof.kernel, variant, proof.feature)
    if not proof.rounds_s:
        return (*start, proof.doubles or "-", "-", "-", "-", f"{proof.raises:.0%}", f"**not proved**: {proof.message}")
    single, double = map(seconds_text, proof.seconds)
    doubled = f"{proof.doubles} = {proof.parameters[str(proof.doubles)]}"
    word = "proved" if proof.proved else "**not proved**"
    return (*start, doubled, single, double, f"{proof.rise:.0%}", f"{proof.raises:.0%}", word)


BEGIN = "<!-- what follows is drawn by scripts/redraw isolation -->"
COLUMNS = ("folder", "kernel", "variant", "feature", "doubles", "parameters", "single_s", "double_s", "rise", "raises",
           "proved", "message")  # fmt: skip


def draw_isolation(devices: Path, page: Path, table: Path, picture: Path) -> None:
    """Write the table and the picture of all proofs in a folder of devices, and a line for each device on the page."""
    found = {path.parent.name: read_isolations(path.parent) for path in sorted(devices.glob(f"*/{ISOLATION_FILE}"))}
    rows = (_csv_record(name, proof) for name, proofs in found.items() for proof in proofs)
    write_whole(table, csv_text(COLUMNS, rows).encode())
    write_figure(isolation_figure(list(found.values())), picture)
    lines = [f"- {own[0].device}, {own[0].platform}: {isolation_summary(own)}" for own in found.values()]
    text = below_marker(page.read_text(encoding="utf-8"), BEGIN, ["\n".join(lines) + "\n"])
    write_whole(page, text.encode())


def isolation_figure(devices: Sequence[Sequence[Isolation]]) -> Figure:
    """Return the rise of the time of each variant by class, with a panel for each device."""
    from matplotlib.ticker import NullFormatter

    figure = empty_figure(4.5 * max(len(devices), 1), 6.5)
    panels = figure.subplots(1, max(len(devices), 1), squeeze=False, sharey=True)[0]
    for axes, proofs in zip(panels, devices, strict=False):
        classes = [name for name, _ in groupby(sorted(proof.kernel for proof in proofs))]
        for word, marker, colour in (("proved", "o", "#0072B2"), ("not proved", "D", "#D55E00")):
            own = [one for one in proofs if one.proved == (word == "proved") and not math.isnan(one.rise)]
            heights = [classes.index(one.kernel) for one in own]
            rises = [100 * one.rise for one in own]
            axes.plot(rises, heights, marker, color=colour, label=word, alpha=0.7, markersize=5)
        axes.axvline(100, color="0.8", linewidth=1, zorder=0)
        axes.set_yticks(range(len(classes)), classes, fontsize="x-small")
        axes.set(xlabel="rise of the time [%]", xscale="log", xlim=(20, 1000))
        axes.set_xticks([20, 50, 100, 200, 500, 1000], ["20", "50", "100", "200", "500", "1000"])
        axes.xaxis.set_minor_formatter(NullFormatter())  # its formulas would be shown as text
        axes.set_title(f"{proofs[0].device}\n{proofs[0].platform}", fontsize="small")
        axes.grid(True, color="0.93")
        axes.legend(fontsize="small")
    return figure


def _csv_record(folder: str, proof: Isolation) -> dict[str, object]:
    single, double = ("" if math.isnan(value) else f"{value:.4g}" for value in proof.seconds)
    return {
        "folder": folder, "kernel": proof.kernel, "variant": canonical(proof.variant), "feature": proof.feature,
        "doubles": proof.doubles or "", "parameters": canonical(proof.parameters), "single_s": single,
        "double_s": double, "rise": "" if math.isnan(proof.rise) else f"{proof.rise:.3g}", "raises": proof.raises,
        "proved": int(proof.proved), "message": proof.message,
    }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m scripts.lab.isolation", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", help="name, platform or index; PoCL by default")
    parser.add_argument("--kernels", type=Path, action="append", help="folder of kernel classes; repeat for more")
    parser.add_argument("--class", dest="classes", action="append", default=[], help="only this class or tag")
    parser.add_argument("--out", type=Path, help="store that keeps the proofs; fitted_weights/<device> by default")
    asked = parser.parse_args(argv)
    try:
        chosen = chosen_classes(discovered(asked.kernels), asked.classes)
        pin_threads()
        device = find(asked.device)
        path = asked.out or Path("fitted_weights") / device.slug
        proofs = prove_isolation(chosen, device, path, CommandBar())
    except PerfModelError as error:
        print(f"isolation: error: {error}", file=sys.stderr)
        return 2
    print(f"{isolation_table(proofs)}\n\n{isolation_summary(proofs)}\n\nproofs are in {isolation_path(path)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
