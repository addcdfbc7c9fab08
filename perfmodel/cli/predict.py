"""``perfmodel predict`` and ``rank``: predicted times of a kernel's variants, and the fastest variant."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from perfmodel import analyses, calibration, display, fitting, kernels, measuring, predicting, processes, report, tuning
from perfmodel.cli import numbers, options, output
from perfmodel.errors import OptionError, PerfModelError
from perfmodel.values import FrozenValue

SCHEMA, RANKING_SCHEMA, SWEEP_SCHEMA = "perfmodel.prediction/1", "perfmodel.ranking/1", "perfmodel.sweep/1"
MOST_PANELS = 6  # combinations of the other sizes in a picture
LEVEL = 0.9  # probability of the intervals
MANY = 8  # from this number of variants on, a bar shows the progress

Why = Annotated[bool, Option("--why", help="Print what bounds each variant, and what to try.")]
Picture = Annotated[Path | None, Option(
    "--picture", metavar="FILE.png|.svg", help="Draw time against size, if -p gives several sizes.",
)]  # fmt: skip
Crossover = Annotated[str | None, Option(
    "--crossover", metavar="NAME=LOW:HIGH", help="Print the fastest variant by ranges of a size.",
)]  # fmt: skip


@dataclass(frozen=True)
class PredictionOptions(options.KernelOptions):
    """Variants of a kernel file, sizes, a model, and how the model is used."""

    weights: options.WeightsFile = None
    family: options.OwnFamily = None
    device: options.DeviceName = None
    size: options.SizeLists = None
    paired: options.Paired = False
    strict: options.Strict = False
    anchor: options.Anchored = False
    csv: options.Csv = False
    jobs: options.Jobs = None

    def model(self, facts: str | None = None, judged: bool = False) -> predicting.FittedModel:
        """Find the model, apply options that replace its facts or transfer it, and print its verdict if `judged`."""
        return options.model_with_facts(facts, self.weights, self.family, self.device, output.message, judged)


@dataclass(frozen=True)
class _Request(FrozenValue):
    asked: PredictionOptions
    level: float
    model: predicting.FittedModel
    points: tuple[Mapping[str, int], ...]
    keep: Path | None  # store of the runs that scale predictions

    @cached_property
    def file(self) -> kernels.files.KernelFile:
        """The kernel file with the requested variants. Anchor runs are refused if only statistics describe its data."""
        loaded = self.asked.load(self.points)
        if self.asked.anchor and self.asked.statistics and loaded.arguments is None:
            problem = "--anchor and --statistics were both given, and the run needs the data themselves"
            raise OptionError(problem, "give one, or add arguments(**sizes) to the kernel file: a dict of arrays")
        return loaded

    @cached_property
    def verdict(self) -> str:
        return calibration.recommended.verdict_of(self.model.path)

    @property
    def verdict_lines(self) -> list[str]:
        return [f"these weights are {self.verdict}"] if self.verdict else []

    def with_command(self, text: str) -> str:
        """Return text whose `perfmodel measure` commands name the kernel file, its first sizes and statistics."""
        sizes = [word for name, size in self.points[0].items() for word in ("-p", f"{name}={size}")]
        data = [word for key, value in self.asked.statistics.items() for word in ("--statistics", f"{key}={value}")]
        command = fitting.cautions.MISSING
        return text.replace(command, command.replace("KERNEL.PY", shlex.join([str(self.asked.kernel), *sizes, *data])))

    def counted(self, file: kernels.files.KernelFile) -> processes.variants.CountedVariants:
        width, sizes = self.model.fitted.subgroup_size, predicting.predictions.together(self.points)
        return options.counted_variants(file, width, self.asked.jobs, statistics=self.asked.statistics, sizes=sizes)

    def predicted(self, sizes: Mapping[str, Any]) -> tuple[predicting.Predictions, tuple[predicting.Ranking, ...]]:
        alone = self.asked.jobs is None and len(self.file.builders) < MANY
        bar = output.CommandBar(failures=False)
        data = options.data_at(self.file, self.points, self.asked.jobs)
        asked = predicting.Predicting(
            self.model, self.level, jobs=self.asked.jobs, skipped=PerfModelError,
            progress=None if alone else bar, options={"check": True, "statistics": self.asked.statistics, **data},
        )  # fmt: skip
        with output.counting(shown=alone):
            plain = asked.predicted(self.file.builders, sizes)
        with options.about(next(iter(plain.errors), ""), plain.errors):
            plain.required()
        if not self.asked.anchor:
            return plain, predicting.rankings(plain)

        measuring.pin_threads()
        output.wait_until_quiet()
        kept = self.file.only(plain.variants)
        anchored = tuning.anchoring.predict_anchored(
            asked, kept.variants, plain, arguments=kept.arguments, progress=bar, keep=self.keep
        )
        return anchored, predicting.rankings(anchored)

    def document(self, schema: str, made: predicting.Predictions | None = None, **parts: Any) -> dict[str, Any]:
        at = {"sizes": dict(self.points[0])} if len(self.points) == 1 else {}
        model = {**output.model_document(self.asked.kernel, self.model), "verdict": self.verdict}
        if made is not None:
            parts |= output.withheld_document(made.errors)
            parts["anchors"] = [{
                "variant": anchor.kernel, "sizes": dict(anchor.sizes), "measured": anchor.measured,
                "predicted": anchor.predicted, "factor": anchor.factor, "flags": list(anchor.flags),
            } for anchor in made.anchors.values()]  # fmt: skip
        return {"schema": schema, **model, **at, **parts}


def predict_command(
    context: typer.Context, asked: PredictionOptions, *, facts: options.DeviceFile = None, level: options.Level = LEVEL,
    clock: options.ClockName = "host", why: Why = False, picture: Picture = None,
) -> None:  # fmt: skip
    """Predict a kernel's run time and the share of each term; several variants are ranked.

    With several sizes, a table of times.
    """
    report.drawing.check_format(picture)
    if why and asked.jobs is not None:
        raise OptionError("--why and --jobs were both given", "give one of them: --why needs the counts in one process")
    points = numbers.size_points(asked.size, asked.paired)
    keep = options.supervised_store(context, None) if asked.anchor else None
    model = replace(asked.model(facts, judged=asked.csv).by_clock(clock), strict=asked.strict)
    request = _Request(asked, level, model, points, keep)
    if len(points) == 1 and not asked.csv and picture is None:
        _show_prediction(request, ranked=False, why=why)
    elif why:
        raise OptionError("--why was given with several sizes, --picture or --csv", "give one size, and --why alone")
    else:
        _show_sweep(request, winners=False, picture=picture)


def rank_command(context: typer.Context, asked: PredictionOptions, *, crossover: Crossover = None) -> None:
    """Rank a kernel's variants by their predicted times, or find the sizes at which their order changes.

    With several sizes, the fastest variant at each.
    """
    points = numbers.size_points(asked.size, asked.paired)
    span = None
    if crossover is not None:
        if asked.anchor or asked.csv:
            other = "--anchor" if asked.anchor else "--csv"
            raise OptionError(f"{other} and --crossover were both given", "give one of them")
        span = numbers.parse_span(crossover, "--crossover")
        if len(points) > 1:
            raise OptionError("--crossover was given with several sizes", "give one size of each other name")
    keep = options.supervised_store(context, None) if asked.anchor else None
    model = replace(asked.model(judged=asked.csv or span is not None), strict=asked.strict)
    request = _Request(asked, LEVEL, model, points, keep)
    if span is not None:
        _show_leads(request, *span)
    elif len(points) > 1 or asked.csv:
        _show_sweep(request, winners=True)
    else:
        _show_prediction(request, ranked=True)


def _show_prediction(request: _Request, *, ranked: bool, why: bool = False) -> None:
    predictions, (ranking,) = request.predicted(request.points[0])
    facts = analyses.roofline.facts_with_roofs(request.model)
    times = {variant.name: variant.seconds for variant in ranking}
    rates = analyses.roofline.points_of(facts, predictions.counts, request.points[0], times)
    bounds = _bounds(request, predictions, ranking, rates) if why else {}

    def document() -> dict[str, Any]:
        rows = [report.sweeps.variant_document(variant, rates.get(variant.name)) for variant in ranking]
        return request.document(
            RANKING_SCHEMA if ranked else SCHEMA, predictions, level=request.level, notes=list(request.model.notes),
            ties=report.sweeps.ties_document(ranking, predictions.scatter, request.level),
            **{"variants" if ranked else "predictions": rows}, **({"why": bounds} if why else {}),
        )  # fmt: skip

    def text() -> str:
        model, at = request.model, output.sizes_text(request.points[0])
        lines = [", ".join(filter(None, [model.name, at, model.clock_text])), *request.verdict_lines]
        if model.fitted.transferred_from:
            lines += [f"note: {note}" for note in model.notes]
        lines += anchor_lines(predictions.anchors) if not ranked else ()
        if ranked:
            lines += [report.sweeps.ranking_text(ranking, output.table_width(), rates)]
            lines += [*anchor_lines(predictions.anchors), *_ties(request, predictions, ranking)]
            lines += [*_notes(len(ranking), [ranking]), *analyses.roofline.above_lines(rates.values())]
        else:
            shared = set.intersection(*(set(variant.warnings) for variant in ranking)) if len(ranking) > 1 else set()
            lines += [f"note: {warning}" for warning in ranking[0].warnings if warning in shared]
            for variant in ranking:
                lines += ["", *_variant_lines(request, variant, rates.get(variant.name), shared)]
            if len(ranking) > 1:
                lines += ["", "fastest first: " + ", ".join(variant.name for variant in ranking)]
                lines += _ties(request, predictions, ranking)
        left_out = report.sweeps.left_out_lines(predictions.errors)
        lines += left_out if ranked else [f"\n{line}" for line in left_out]
        return request.with_command("\n".join([*lines, *_why_lines(bounds)]))

    output.show(document, text)


def _variant_lines(
    request: _Request, variant: predicting.RankedVariant, point: analyses.roofline.KernelPoint | None, shared: set[str]
) -> Iterator[str]:
    yield f"{variant.name}: {output.time_text(variant, request.level)}"
    if variant.device_s is not None:
        yield f"by the device's clock: {display.seconds_text(variant.device_s)}"
    if point is not None:
        yield report.bounds.rates_text(point)
    yield from (f"note: {warning}" for warning in variant.warnings if warning not in shared)
    if variant.unmeasured:
        yield f"note: counted as free, never measured: {', '.join(variant.unmeasured)}"
    yield from filter(None, [output.terms_text(variant)])
    if point is not None and request.model.fitted.transferred_from:
        yield f"a roofline by facts alone: {display.seconds_text(point.bound_s)} ({point.bound})"


def _ties(request: _Request, predictions: predicting.Predictions, ranking: predicting.Ranking) -> list[str]:
    return [*filter(None, [report.sweeps.ties_text(ranking, predictions.scatter, request.level)])]


def _why_lines(bounds: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    advice = [(name, f"try: {line}") for name, bound in bounds.items() for line in bound.get("advice", ())]
    shared = len(bounds) > 1 and bool(advice)
    for name, bound in bounds.items():
        yield f"\n{name}: " + ("\n".join(bound["bounds"]) if shared else bound["text"])
    yield from ("\n" + line for line in report.sweeps.noted_lines(advice, len(bounds)) if shared)


def anchor_lines(anchors: Mapping[str, predicting.Anchor]) -> Iterator[str]:
    """Yield the sizes of the anchor runs and the factors of the predictions: the smallest and the largest."""
    ordered = sorted(anchors.values(), key=lambda anchor: anchor.scale)
    if not ordered:
        return
    least, most = ordered[0], ordered[-1]
    where = f" at {output.sizes_text(least.sizes)}" if least.sizes else ""
    if least is not most:
        scales = f"{least.scale:.3g} ({least.kernel}) to {most.scale:.3g} ({most.kernel})"
        yield f"anchors: each variant ran once{where}; its predictions at other sizes are multiplied by {scales}"
        return
    took, predicted = display.seconds_text(least.measured), display.seconds_text(least.predicted)
    then = f"predictions at other sizes are multiplied by {least.scale:.3g}"
    yield f"anchor: {least.kernel} took {took}{where}, predicted {predicted}: {then}"


def _bounds(
    request: _Request, predictions: predicting.Predictions, ranking: predicting.Ranking,
    rates: Mapping[str, analyses.roofline.KernelPoint],
) -> dict[str, dict[str, Any]]:  # fmt: skip
    model, at, texts = request.model, request.points[0], report.bounds
    others = analyses.report_data.bound_models(model.path and model.path.parent, model.device)
    documents: dict[str, dict[str, Any]] = {}
    judges: dict[str, tuple[Any, Any]] = {
        analyses.balance.FAMILY: (analyses.balance.judge_balance, texts.balance_text),
        analyses.benefits.FAMILY: (analyses.benefits.potential_benefits, texts.benefits_text),
    }
    for variant in ranking:
        name, counts = variant.name, predictions.counts[variant.name]
        if model.family.name in judges:
            judge, text_of = judges[model.family.name]
            found = judge(model, counts, at)
            documents[name] = {"text": text_of(found), **asdict(found)}
            continue
        terms = analyses.report_data.kernel_terms(name, "", "", variant, None, others.bounds(counts, at))
        lines, advice = texts.bound_texts(model.family, terms, rates.get(name))
        text = "\n".join([*lines, *(f"Try: {line}" for line in advice)])
        documents[name] = {"text": text, "bounds": lines, "advice": advice}
    return documents


def _notes(every: int, rankings: Sequence[predicting.Ranking]) -> list[str]:
    warned = [(variant.name, note) for ranking in rankings for variant in ranking for note in variant.warnings]
    return [f"note: {line}" for line in report.sweeps.noted_lines(warned, every)]


def _show_sweep(request: _Request, *, winners: bool, picture: Path | None = None) -> None:
    if picture is not None:
        _check_picture(request.points)
    predictions, points = request.predicted(predicting.predictions.together(request.points))
    facts = analyses.roofline.facts_with_roofs(request.model)
    kernel_points = analyses.roofline.points_at(facts, predictions.counts, points)
    if picture is not None:
        _draw(request, predictions, points, picture)
    def document() -> dict[str, Any]:
        records = report.sweeps.sweep_records(points, kernel_points)
        notes = list(request.model.notes)
        return request.document(SWEEP_SCHEMA, predictions, level=request.level, points=records, notes=notes)

    def text() -> str:
        table = (report.sweeps.winners_table if winners else report.sweeps.sweep_table)(points, kernel_points)
        lines = [f"{request.model.name}, {request.model.clock_text}", *request.verdict_lines]
        lines += [*anchor_lines(predictions.anchors), table.text(output.table_width())]
        lines += _notes(len(predictions.variants), points)
        lines += analyses.roofline.above_lines(point for here in kernel_points for point in here.values())
        return request.with_command("\n".join([*lines, *report.sweeps.left_out_lines(predictions.errors)]))

    def csv() -> str:
        withheld = {name: str(error) for name, error in predictions.errors.items()}
        return report.sweeps.sweep_table(points, kernel_points, withheld).csv()

    output.show(document, text, csv if request.asked.csv else None)


def _check_picture(points: Sequence[Mapping[str, int]]) -> None:
    if not report.sizes.varying(points):
        raise OptionError("--picture was given with one size", "give several sizes, as -p n=256..4096")
    _, *others = report.sizes.varying(points)
    if (count := len(report.sizes.combinations(points))) > MOST_PANELS:
        problem = f"--picture would show {count} combinations of {', '.join(others)}"
        raise OptionError(problem, f"give at most {MOST_PANELS}, or --zip to pair the sizes")


def _draw(
    request: _Request, predictions: predicting.Predictions, points: Sequence[predicting.Ranking], picture: Path
) -> None:
    def leads(panel: Sequence[predicting.Ranking], across: str) -> tuple[predicting.Lead, ...]:
        if predictions.anchors:
            return predicting.crossovers.leads_at(panel, across)
        return predicting.crossovers.leads_between(panel, across, counts, request.model)

    counts = predictions.counts or request.counted(request.file.only(predictions.variants))
    figure = report.sizes.sweep_figure(report.sizes.panels_of(points, leads), request.model.name)
    report.drawing.write_figure(figure, picture)


def _show_leads(request: _Request, parameter: str, low: int, high: int) -> None:
    model, at = request.model, request.points[0]
    counted = request.counted(request.file)
    if len(request.file.builders) < 2:
        only = next(iter(counted))
        raise OptionError(f"--crossover compares variants, and there is only '{only}'", "give a file with 2 or more")
    leads, others = predicting.leads_of(counted, model, parameter, low, high, at, progress=output.CommandBar())
    withheld = {**counted.errors, **others}
    ends = dict.fromkeys(end for lead in leads for end in (lead.low, lead.high))
    again = predicting.Predicting(model, request.level).predicted(
        {name: counted[name] for name in counted if name not in withheld},
        predicting.predictions.together([{**at, parameter: end} for end in ends]),
    )
    tied = {
        ranking.sizes[parameter]: [variant.name for variant in ranking if variant.tied]
        for ranking in predicting.rankings(again)
    }

    def document() -> dict[str, Any]:
        rows = [
            {"variant": lead.name, "low": lead.low, "high": lead.high, "tied": [tied[lead.low], tied[lead.high]]}
            for lead in leads
        ]
        return request.document(RANKING_SCHEMA, parameter=parameter, leads=rows, **output.withheld_document(withheld))

    def text() -> str:
        lines = report.sweeps.leads_lines(leads, parameter, tied)
        return "\n".join([*lines, *report.sweeps.left_out_lines(withheld)])

    output.show(document, text)
