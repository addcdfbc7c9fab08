"""The U-list of the fast multipole method: every combination of six optimisations, measured and predicted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import nan

from perfmodel import count, load
from perfmodel.analyses.benefits import FAMILY
from perfmodel.display import values_text
from scripts.lab.curves import Panel, Series, curves_figure
from scripts.lab.studies import Findings, Study, StudyData, fmm as own
from scripts.lab.studies.choices import choice_records
from scripts.lab.studies.fmm_claims import fmm_claims
from scripts.lab.study_runs import kernels_of

GPU, LANES = "gpgpu-sim-gtx480", 32


def examine(data: StudyData) -> Findings:
    families = tuple(dict.fromkeys([*({FAMILY} & {*data.families}), data.recommended]))
    found, sizes = own.combinations(data.measured, {name: data.model(name) for name in families})
    ratios, pairs, line = own.speedups(found), own.added(found, "shmem"), own.steps(found)
    order, title = sorted(ratios, key=ratios.__getitem__), f"{data.facts.name}: {values_text(sizes)}"
    predicted = {f"{name}, predicted": own.speedups(found, name) for name in families}
    other = _on_a_gpu(data, line, sizes)
    lines = {title: line, **({f"simulated GTX 480: {values_text(sizes)}": other} if other else {})}
    speeds = {name: [of.get(one, nan) for one in order] for name, of in {"measured": ratios, **predicted}.items()}
    gains = {"gain of shmem": [own.gain(*pair) for pair in pairs],
             "B_itilp before": [own.share(one, "itilp") for one, _ in pairs]}  # fmt: skip
    path = {name: [of.get(one.taken, nan) for one in line] for name, of in {"measured": ratios, **predicted}.items()}
    return Findings(
        fmm_claims(found, families, own.operations_each(data.measured), other, is_cpu=data.is_cpu),
        {"": own.records(found, families), "toggles": own.toggle_records(found, families),
         "choices": choice_records(data)},
        {
            "fig4-2": curves_figure([_named(speeds, map(own.named, order), "speedup over the baseline", title)]),
            "fig4-3": curves_figure([_costs(of, name) for name, of in lines.items()]),
            "fig4-4": curves_figure([_named(gains, (one.name for one, _ in pairs), "over the time before", title)]),
            "fig4-5": curves_figure([
                _named(path, own.step_names(line), "speedup over the baseline", title),
                *(_named({f"B_{one}": [own.share(at, one, of[0]) for at in of] for one in own.METRICS},
                         own.step_names(of), "over the baseline's predicted time", name) for name, of in lines.items()),
            ]),
        },
    )  # fmt: skip


def _named(values: Mapping[str, Sequence[float]], names: Iterable[str], y: str, title: str) -> Panel:
    kinds = ("points" if name.endswith("predicted") else "measured" for name in values)
    series = (Series(name, range(len(of)), of, kind) for kind, (name, of) in zip(kinds, values.items(), strict=True))
    return Panel(tuple(series), "", y, title, names=tuple(names))


def _costs(line: Sequence[own.Combination], title: str) -> Panel:
    benefits = [(name, one.benefits) for name, one in zip(own.step_names(line), line, strict=True) if one.benefits]
    points = [Series(name, *own.costs(of), "measured") for name, of in benefits]
    most = max((max(one.x[0], one.y[0]) for one in points), default=1.0)
    return Panel((*points, Series("equal", [0, most], [0, most], "fit")), "memory [ms]", "computation [ms]", title)


def _on_a_gpu(data: StudyData, line: Sequence[own.Combination], sizes: Mapping[str, int]) -> list[own.Combination]:
    path = data.folder.parent / GPU / f"{FAMILY}.json"
    (kernel,), model = kernels_of(STUDY), load(path) if path.is_file() else None
    return [
        own.combination(one.taken, count(kernel.build(**dict.fromkeys(one.taken, True)), subgroup_size=LANES), sizes,
                        {FAMILY: model}) for one in line
    ] if model else []  # fmt: skip


STUDY = Study(
    "fmm", "Direct evaluation of the fast multipole method: 48 combinations of six optimisations",
    "H. Kim, R. Vuduc, S. Baghsorkhi, J. Choi, W.-m. Hwu, Performance Analysis and Tuning for General Purpose Graphics "
    "Processing Units, 2012, chapters 3 and 4.1, figures 3.5 and 4.2 to 4.5", "kim-2012", ("fmm",), examine,
)  # fmt: skip
