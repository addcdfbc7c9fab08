"""Measurements, taken and exchanged with other programs: ``perfmodel measure``, ``export`` and ``import``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from perfmodel import calibration, display, hooks, measuring, predicting, report
from perfmodel.cli import numbers, options, output
from perfmodel.cli.streams import supervise_command
from perfmodel.cli.worker import run_for_each_device, target_device
from perfmodel.documents import json_text
from perfmodel.errors import NoWeightsError, OptionError, PerfModelError
from perfmodel.io import is_standard_output, write_whole

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.kernels import KernelClass
    from perfmodel.opencl import Device
    from perfmodel.store import Measurements

# {{{ measure

SCHEMA = "perfmodel.measure/1"
#: What the flags of a record mean.
FLAGS = {
    "spread": "their runs differ widely; measure on a quieter machine",
    "clock": "the device's clock and the host's do not agree",
    "bound": "faster than the device can be: the compiler dropped work that was counted",
    "load": "others used the machine meanwhile; measure again on a quiet one",
    "visits": "their two lowest visits differ by more than 5 %; they weigh less in fits",
}

Store = Annotated[Path | None, Option("--store", help="Folder or .jsonl file; fitted_weights/<device> by default.")]
For = Annotated[
    Path | None,
    Option(
        "--for",
        help="Only what this kernel file needs (at the sizes -p) and the weights in use lack; then fit, and predict.",
    ),
]


def measure_command(
    context: typer.Context,
    asked: options.CampaignOptions,
    store: Store = None,
    classes: options.Classes = None,
    wanted: For = None,
    size: options.Sizes = None,
    statistic: options.Statistics = None,
) -> None:
    """Measure what the store does not hold yet; stopped at any time, it resumes.

    On a processor with two cores it takes about 90 seconds with --quick, 3 minutes without and 40 with --full, with
    --class samples about a minute: the random samples that ship, into the folder's samples.jsonl.
    """
    from perfmodel.kernels.samples import TAG
    from perfmodel.store import SAMPLES_FILE

    if (size or statistic) and wanted is None:
        name, what = ("-p", "sizes") if size else ("--statistics", "data")
        raise OptionError(f"{name} was given without --for", f"give --for KERNEL.PY too: {name} tells of its {what}")
    json = output.settings().json
    run_for_each_device(context, asked.scheduler, asked.device, {"--store": store is not None, "--json": json})
    supervise_command(context)

    choice, lacking = calibration.kernel_choice, calibration.lacking
    campaign = choice.chosen_campaign(asked.quick, asked.full, asked.budget)
    if wanted and not (asked.quick or asked.full):
        campaign = replace(lacking.FEW, budget_s=asked.budget)
    if classes or wanted:
        campaign = replace(campaign, tags=())
    samples = classes == [TAG] and not asked.kernels and wanted is None
    if samples:
        campaign, kernels = choice.sampling(campaign)
    else:
        kernels = choice.chosen_classes(choice.discovered(asked.kernels), classes or (), campaign.tags)
    measuring.pin_threads()
    with target_device(asked.scheduler, asked.device) as target:
        path = store or Path("fitted_weights") / target.slug
        if samples and path.suffix != ".jsonl":
            path = path / SAMPLES_FILE
        need = None
        if wanted is not None:
            need = _needed(kernels, target, wanted, numbers.sizes(size), numbers.statistics(statistic), store)
            kernels, path = need.kernels, need.store
            if not kernels:
                output.show(lambda: {"needed": []}, lambda: "everything that the kernel needs has been measured")
                return
        if asked.scheduler is None:
            output.wait_until_quiet()
        began = monotonic()
        measured = measuring.measure(kernels, target, path, output.CommandBar(), campaign)
        document = campaign_document(measured, path, campaign.name, monotonic() - began)
        following = [] if need is None else _fit_again(need, document)
        output.show(lambda: document, lambda: "\n".join([*campaign_lines(document), *following]))


@dataclass(frozen=True)
class _Need:
    """What kernels of a file need and nobody measured: classes that exercise it, and the store that gets their rows.

    `lacking` names it by the families whose weights lack it; the family `used` predicts.
    """

    kernels: tuple[KernelClass, ...]
    store: Path
    counted: Mapping[str, KernelCounts]
    sizes: Mapping[str, int]
    lacking: Mapping[str, Sequence[str]]
    used: str = ""


def _needed(
    kernels: tuple[KernelClass, ...], device: Device, file: Path, at: dict[str, int], statistics: Mapping[str, float],
    store: Path | None,
) -> _Need:  # fmt: skip
    """Return what kernels of a file need and the weights lack: those in a store, by default those in use.

    Without any weights it is what no row of the store exercises.
    """
    from perfmodel.store import paths

    recommended, lacking, weights = calibration.recommended, calibration.lacking, None
    counted = options.counted_variants(file, None, int(device.facts.value("subgroup_size")), statistics=statistics)
    path = store or recommended.data_folder() / device.slug
    if store is None:
        with suppress(NoWeightsError):
            weights = recommended.weights_of(device.facts)
            output.tell(weights.text)
            path = weights.folder
    models, problems = lacking.models_of(path), tuple[str, ...]()
    needed = lacking.lacking(models, counted.values(), at)
    if needed and not paths(path)[0].is_file():  # as in a wheel, which has no measured rows
        problem = f"'{path}' has weights, and not the measurements that a new fit needs too"
        raise OptionError(problem, "calibrate the device first (perfmodel calibrate), then measure again")
    if needed:
        chosen, problems = lacking.rows_for(needed, models, kernels, int(device.facts.value("max_work_group_size")))
        missing = [f"{', '.join(names)} ({family})" for family, names in needed.items()]
    else:
        missing = [] if models else [*calibration.kernel_choice.missing_features(counted.values(), at, path)]
        chosen = calibration.kernel_choice.classes_for(missing, kernels)
    if missing:
        output.tell(f"not measured yet: {', '.join(missing)}", beside_json=True)
    for problem in problems:
        output.tell(problem, beside_json=True)
    if problems and not chosen:
        raise OptionError(problems[0], "give a folder with a kernel class that does (--kernels)")
    best = recommended.recommended_weights(path) if models else None
    own = recommended.own_folder(weights) if weights and chosen else path
    return _Need(chosen, own, counted, at, needed, best.stem if best else next(iter(needed), ""))


def _fit_again(need: _Need, document: dict[str, Any]) -> list[str]:
    """Fit the families again whose weights lacked something, and return lines with the new predictions.

    Both are added to the document.
    """
    if not need.lacking:
        return [f"now fit again: perfmodel fit --all --from {need.store} --out {need.store}"]
    before = predicting.load(need.store / f"{need.used}.json")
    began = monotonic()
    output.tell(f"fitting again: {', '.join(need.lacking)}")
    models = calibration.lacking.refitted(need.store, need.lacking)
    model = models.get(need.used, before)
    made = [
        predicting.Predicting(each, spared=PerfModelError).predicted(need.counted, need.sizes)
        for each in (before, model)
    ]
    (old, ranking) = (predicting.rankings(each)[0] if each.variants else () for each in made)
    document["fitted"] = [*need.lacking]
    document["predictions"] = [output.variant_document(variant) for variant in ranking]
    earlier, lines = {variant.name: _time_text(variant) for variant in old}, []
    for variant in ranking:
        was = f"; before: {earlier[variant.name]}" if variant.name in earlier else ""
        lines.append(f"{variant.name}: {_time_text(variant)}{was}")
    done = f"fitted again in {monotonic() - began:.0f} s: {', '.join(need.lacking)}"
    return [done, *lines, *report.sweeps.left_out_lines(made[1].errors)]


def _time_text(variant: predicting.RankedVariant) -> str:
    """Return a predicted time with its interval, where it has one."""
    interval = f" ({display.interval_text(variant.interval)} at 90%)" if variant.interval else ""
    return display.seconds_text(variant.seconds) + interval


def campaign_document(measured: Measurements, path: Path, campaign: str, seconds: float) -> dict[str, Any]:
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
        "schema": SCHEMA,
        "device": measured.device,
        "campaign": campaign,
        "store": str(path),
        "seconds": seconds,
        "statuses": dict(Counter(row.status for row in measured.current)),
        "flags": dict(Counter(flag for row in measured for flag in row.flags)),
        "visits": sum(len(row.every_visit) for row in measured),
        "set_aside": [*measured.set_aside, *measured.notes],
        "rows": rows,
    }


def campaign_lines(document: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of its summary."""
    counted = [f"{number} {status}" for status, number in sorted(document["statuses"].items()) if status != "ok"]
    failed = f" ({', '.join(counted)})" if counted else ""
    yield (
        f"{document['device']}: {document['statuses'].get('ok', 0)} configurations measured{failed} "
        f"in {document['visits']} visits, in {document['store']}, after {document['seconds']:.0f} s"
    )
    for row in document["rows"]:
        if row["status"] != "ok":
            yield f"{row['status']}: {row['kernel']} {row['variant']} {row['parameters']}: {row['message']}"
    for flag, number in sorted(document["flags"].items()):
        yield f"note: {number} flagged '{flag}': {FLAGS.get(flag, 'see docs/measuring.md')}"

# }}}


# {{{ export and import

EXPORT_SCHEMA = "perfmodel.export/1"
IMPORT_SCHEMA = "perfmodel.import/1"
#: Sentences on refused results that are shown without ``--json``.
SHOWN = 5

Exported = Annotated[
    Path,
    Option(
        "--out", "--output", "-o", metavar="FILE",
        help="A CSV table, one line for each configuration, or where the name ends in .json the auto-tuning "
        "community's T4 JSON; - prints the table.",
    ),
]  # fmt: skip
File = Annotated[Path, Argument(metavar="FILE", help="A cache file of Kernel Tuner, T4 results, or a CSV table.")]
TunedKernel = Annotated[
    Path, Option("--kernel", metavar="KERNEL.PY", help="The kernel that was tuned: kernel() and space(), or build().")
]
Target = Annotated[Path, Option("--store", metavar="FOLDER", help="Folder or .jsonl file for the records.")]
Named = Annotated[str | None, Option("--device", help="Name of the device; by default what the file says.")]
By = Annotated[str | None, Option("--by", metavar="NAME", help="The parameter that names one of variants().")]


def export_command(source: options.Source, out: Exported) -> None:
    """Write the newest record of each configuration for other programs."""
    from perfmodel import store

    output.one_output(out=out)
    measured, form = store.read(source), "t4" if out.suffix == ".json" else "csv"
    text = store.csv_text(measured.current) if form == "csv" else json_text(measured.to_t4(), indent=1) + "\n"
    write_whole(out, text.encode())
    count = len(measured.current)
    if output.settings().json:
        output.print_document({"schema": EXPORT_SCHEMA, "rows": count, "files": {form: str(out)}})
    elif not is_standard_output(out):
        print(f"wrote {count} configurations to {out}")


def import_command(
    file: File,
    kernel: TunedKernel,
    target: Target,
    size: options.Sizes = None,
    device: Named = None,
    by: By = None,
    jobs: options.Jobs = None,
) -> None:
    """Add the results of Kernel Tuner, or of a T4 file, to a store of measurements; each kernel is counted.

    Stopped at any time, it goes on where it was when it is run again.
    """
    imported = hooks.import_results(
        file, kernel, target, numbers.sizes(size), device=device, by=by, jobs=jobs, progress=output.CommandBar()
    )

    def document() -> dict[str, Any]:
        return {
            "schema": IMPORT_SCHEMA, "file": imported.path, "form": imported.form, "device": imported.device,
            "store": str(target), "added": len(imported.rows), "statuses": imported.statuses, "known": imported.known,
            "refused": list(imported.refused), "notes": list(imported.notes),
        }  # fmt: skip

    output.show(document, lambda: "\n".join(_import_lines(imported, target)))


def _import_lines(imported: hooks.Imported, target: Path) -> list[str]:
    each = ", ".join(f"{count} {status}" for status, count in imported.statuses.items())
    lines = [f"{imported.path}: {imported.form}, {imported.device}"]
    lines += [f"added {len(imported.rows)} records to {target}" + (f" ({each})" if each else "")]
    if imported.known:
        lines.append(f"{imported.known} results were in it before")
    lines += imported.notes
    if refused := imported.refused:
        lines.append(f"{len(refused)} results were refused:")
        lines += [f"  {sentence}" for sentence in refused[:SHOWN]]
        lines += [f"  and {len(refused) - SHOWN} more (--json names all)"] * (len(refused) > SHOWN)
    return lines

# }}}
