"""``perfmodel measure``: run kernels on a device and store their times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from perfmodel import calibration, measuring, opencl, predicting, report, store as stored
from perfmodel.cli import numbers, options, output
from perfmodel.errors import OptionError, PerfModelError, WeightsError, clipped
from perfmodel.values import grouped

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.kernels import KernelClass

SCHEMA = "perfmodel.measure/1"
Store = Annotated[Path | None, Option("--store", help="Folder or .jsonl file; fitted_weights/<device> by default.")]
For = Annotated[Path | None, Option(
    "--for",
    help="Measure only the features that this kernel file needs at the sizes -p and the weights lack; then fit, "
    "and predict.",
)]  # fmt: skip


def measure_command(
    context: typer.Context, asked: options.CampaignOptions, store: Store = None, classes: options.Classes = None,
    wanted: For = None, size: options.Sizes = None, statistic: options.Statistics = None,
) -> None:  # fmt: skip
    """Measure the kernels that the store does not hold yet; if interrupted, run it again: it continues.

    On a processor with two cores it takes about 3 minutes, 90 seconds with --quick, and 40 minutes with --full. With
    --class samples it measures perfmodel's random samples into the folder's samples.jsonl, in about a minute.
    """
    from perfmodel.kernels.samples import TAG

    if (size or statistic) and wanted is None:
        name, what = ("-p", "sizes") if size else ("--statistics", "data")
        problem = f"{name} was given without --for"
        raise OptionError(problem, f"give --for KERNEL.PY too, since {name} describes its {what}")
    options.supervise_command(context)

    choice = calibration.kernel_choice
    campaign = choice.chosen_campaign(asked.quick, asked.full, asked.budget)
    if wanted and not (asked.quick or asked.full):
        campaign = replace(choice.FEW, budget_s=asked.budget)
    samples = classes == [TAG] and not asked.kernels and wanted is None
    if samples:
        campaign, kernels = choice.sampling(campaign)
    else:
        kernels = choice.chosen_classes(choice.discovered(asked.kernels), classes or ())
    measuring.pin_threads()
    target = opencl.find(asked.device)
    path = store or Path("fitted_weights") / target.slug
    if samples and path.suffix != ".jsonl":
        path = path / stored.SAMPLES_FILE
    need = None
    if wanted is not None:
        need = _needed(kernels, target, wanted, numbers.sizes(size), numbers.statistics(statistic), store)
        kernels, path = need.kernels, need.store
        if not kernels:
            output.show(lambda: {"needed": []}, lambda: "all features that the kernel needs are measured")
            return
    output.wait_until_quiet()
    began = monotonic()
    measured = measuring.measure(kernels, target, path, output.CommandBar(), campaign)
    document = campaign_document(measured, path, campaign.name, monotonic() - began)
    following = [] if need is None else _fit_again(need, document)
    output.show(lambda: document, lambda: "\n".join([*campaign_lines(document), *following]))
    if need is None and not document["statuses"].get("ok"):
        raise PerfModelError("no configuration was measured", "correct the kernels, or give a larger --budget")


@dataclass(frozen=True)
class _Need:
    """The unmeasured features that a file needs (`lacking`, by family), kernel classes for these, and the store."""

    kernels: tuple[KernelClass, ...]
    store: Path
    counted: Mapping[str, KernelCounts]
    sizes: Mapping[str, int]
    lacking: Mapping[str, Sequence[str]]
    used: str = ""


def _needed(
    kernels: tuple[KernelClass, ...], device: opencl.Device, file: Path, at: dict[str, int],
    statistics: Mapping[str, float], store: Path | None,
) -> _Need:  # fmt: skip
    recommended, choice, weights = calibration.recommended, calibration.kernel_choice, None
    subgroup_size = int(device.facts.value("subgroup_size"))
    counted = options.counted_variants(options.KernelOptions(file).load(), subgroup_size, statistics=statistics)
    path = store or recommended.data_folder() / device.slug
    if store is None:
        with suppress(WeightsError):
            weights = recommended.weights_of(device.facts)
            output.message(weights.text)
            path = weights.folder
    models, problems = choice.models_of(path), tuple[str, ...]()
    needed = choice.lacking(models, counted.values(), at)
    if needed and not stored.paths(path)[0].is_file():  # as in a wheel, which has no measured rows
        problem = f"'{path}' has weights, but not the measurements for a new fit"
        raise OptionError(problem, "calibrate the device first (perfmodel calibrate), then measure again")
    if needed:
        chosen, problems = choice.rows_for(needed, models, kernels, int(device.facts.value("max_work_group_size")))
        missing = [f"{', '.join(names)} ({family})" for family, names in needed.items()]
    else:
        missing = [] if models else [*choice.missing_features(counted.values(), at, path)]
        chosen = choice.classes_for(missing, kernels)
    if missing:
        output.message(f"not measured yet: {', '.join(missing)}", with_json=True)
    for problem in problems:
        output.message(problem, with_json=True)
    if problems and not chosen:
        raise OptionError(problems[0], "give a folder with a kernel class that does (--kernels)")
    best = recommended.recommended_weights(path) if models else None
    own = recommended.own_folder(weights) if weights and chosen else path
    return _Need(chosen, own, counted, at, needed, best.stem if best else next(iter(needed), ""))


def _fit_again(need: _Need, document: dict[str, Any]) -> list[str]:
    """Fit again families whose weights lacked a feature. Add new predictions to the document, and return them."""
    if not need.lacking:
        return [f"now fit again: perfmodel fit --all --from {need.store} --out {need.store}"]
    before = predicting.load(need.store / f"{need.used}.json")
    began = monotonic()
    output.message(f"fitting again: {', '.join(need.lacking)}")
    model = calibration.kernel_choice.refitted(need.store, need.lacking).get(need.used, before)
    made = [
        predicting.Predicting(each, skipped=PerfModelError).predicted(need.counted, need.sizes)
        for each in (before, model)
    ]
    (old, ranking) = (predicting.rankings(each)[0] if each.variants else () for each in made)
    document["fitted"] = [*need.lacking]
    document["predictions"] = [report.sweeps.variant_document(variant) for variant in ranking]
    earlier = {variant.name: f"; before: {output.time_text(variant)}" for variant in old}
    lines = [f"{variant.name}: {output.time_text(variant)}{earlier.get(variant.name, '')}" for variant in ranking]
    done = f"fitted again in {monotonic() - began:.0f} s: {', '.join(need.lacking)}"
    return [done, *lines, *report.sweeps.left_out_lines(made[1].errors)]


def campaign_document(measured: stored.Measurements, path: Path, campaign: str, seconds: float) -> dict[str, Any]:
    """Return the results of a campaign as one document."""
    rows = []
    for row in measured.current:
        ok = row.status == "ok"
        rows.append({
            "kernel": row.kernel, "variant": row.variant, "parameters": row.parameters, "status": row.status,
            "message": row.message, "seconds": row.seconds if ok else None, "spread": row.spread if ok else None,
            "visits": len(row.every_visit) if ok else 0, "flags": list(row.flags),
        })  # fmt: skip
    return {
        "schema": SCHEMA, "device": measured.device, "campaign": campaign, "store": str(path), "seconds": seconds,
        "statuses": dict(Counter(row.status for row in measured.current)),
        "flags": dict(Counter(flag for row in measured for flag in row.flags)),
        "visits": sum(len(row.every_visit) for row in measured),
        "set_aside": [*measured.set_aside, *measured.notes], "rows": rows,
    }  # fmt: skip


def campaign_lines(document: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the summary of :func:`campaign_document`."""
    counted = [f"{number} {status}" for status, number in sorted(document["statuses"].items()) if status != "ok"]
    failed = f" ({', '.join(counted)})" if counted else ""
    yield (
        f"{document['device']}: {document['statuses'].get('ok', 0)} configurations measured{failed} "
        f"in {document['visits']} visits, in {document['store']}, after {document['seconds']:.0f} s"
    )
    rows = (row for row in document["rows"] if row["status"] != "ok")
    failures = grouped(((row["status"], row["kernel"], str(row["variant"])), row) for row in rows)
    for (status, kernel, variant), (first, *others) in failures.items():
        more = f" and {len(others)} more sizes" if others else ""
        yield f"{status}: {kernel} {variant} {first['parameters']}{more}: {clipped(first['message'])}"
    for flag, number in sorted(document["flags"].items()):
        yield f"note: {number} flagged '{flag}': {output.FLAGS.get(flag, 'see docs/measuring.md')}"
