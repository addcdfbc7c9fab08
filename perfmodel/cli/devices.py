"""A device from its listing to its weights: ``perfmodel devices``, ``doctor``, ``calibrate`` and ``fit``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from perfmodel import calibration, compare, display, fitting, measuring, predicting, report
from perfmodel.cli import options, output
from perfmodel.cli.streams import supervise_command
from perfmodel.cli.worker import run_for_each_device, target_device
from perfmodel.errors import NoDeviceError, OptionError
from perfmodel.io import file_part, is_standard_output

if TYPE_CHECKING:
    from perfmodel.facts import Fact
    from perfmodel.kernels import KernelClass
    from perfmodel.opencl import Device
    from perfmodel.store import Measurements

SCHEMA = "perfmodel.devices/1"
FACTS_SCHEMA = "perfmodel.facts/1"
DOCTOR_SCHEMA = "perfmodel.doctor/1"
CALIBRATION_SCHEMA = "perfmodel.calibration/1"
HEADER = ("", "device", "platform", "units", "memory", "local", "max group", "sub-group")
#: On a narrow terminal these are left out, the first one first.
LESS = ("local", "max group", "memory", "sub-group", "platform", "units")

# {{{ devices and doctor

Folder = Annotated[
    Path | None,
    Option("--from", metavar="FOLDER", help="Instead, print all facts of a measured device, with their sources."),
]
Picture = Annotated[
    Path | None, Option("--picture", metavar="FILE.png|.svg", help="With --from: draw the curves of its probes.")
]


def devices_command(folder: Folder = None, picture: Picture = None) -> None:
    """List the OpenCL devices, with what they report of themselves and what is assumed of them."""
    from perfmodel.facts import with_assumed_facts
    from perfmodel.opencl import devices

    if folder is not None:
        _show_folder(folder, picture)
        return
    if picture is not None:
        raise OptionError("--picture was given without --from", "name the folder of a probed device with --from")
    known = devices()

    def document() -> dict[str, Any]:
        rows = [{"index": device.index, **with_assumed_facts(device.facts).to_json()} for device in known]
        return {"schema": SCHEMA, "devices": rows}

    output.show(document, lambda: "\n".join(_device_lines(known)))


def _device_lines(known: tuple[Device, ...]) -> Iterator[str]:
    from perfmodel.facts import assumed_facts

    if not known:
        raise NoDeviceError
    rows = [HEADER]
    for device in known:
        facts = device.facts
        width = f"{facts.value('subgroup_size')}{'' if _reports_width(device) else '*'}"
        rows.append((
            str(device.index), device.name, device.platform, str(facts.value("compute_units")),
            display.bytes_text(facts.value("global_memory_bytes")),
            display.bytes_text(facts.value("local_memory_bytes")), str(facts.value("max_work_group_size")), width,
        ))  # fmt: skip
    yield display.fitted_text(rows, 3, LESS, output.table_width())
    if not all(map(_reports_width, known)):
        yield "* not reported by the device: its preferred work-group size multiple"
    for device in known:
        assumed = assumed_facts(device.facts)
        if assumed:
            values = " and ".join(f"{key} = {fact.value}" for key, fact in assumed.items())
            yield f"device {device.index}: {values}, {next(iter(assumed.values())).source}"
    for _, folder, facts in calibration.recommended.fitted_devices():
        if facts.recorded:
            yield f"not here: {facts.name} (--device {folder.name}), whose times others recorded: {facts.recorded}"


def _reports_width(device: Device) -> bool:
    """Return whether a device itself tells the size of its sub-groups."""
    return device.facts.fact("subgroup_size").source.startswith("CL_")


def _show_folder(folder: Path, picture: Path | None) -> None:
    """Print the facts of a measured device, and draw the curves of its probes if that is asked for."""
    from perfmodel.store import read
    from perfmodel.store.files import read_probes

    measured = read(folder)
    if picture is not None:
        report.probes.picture_probes(read_probes(folder), measured.facts, picture)
    show_facts(measured, folder)


def show_facts(measured: Measurements, folder: Path) -> None:
    """Print all that is known of a folder's device, and what is doubtful of it, as a table or as one document."""
    facts = measured.facts
    if facts is None:
        raise OptionError("the folder does not describe its device", "give a folder with a device.json")
    rows = [(key, value_text(fact), fact.source) for key, fact in facts.facts]
    title = f"{facts.name} ({facts.platform}, {facts.driver})"
    notes = calibration.calibrate.doubts_of(facts, folder)
    output.show(
        lambda: {**facts.to_json(), "schema": FACTS_SCHEMA, "notes": list(notes)},
        lambda: "\n".join([f"{title}\n\n{display.stacked_text(rows, 3, output.table_width())}",
                           *(f"note: {note}" for note in notes)]),
    )  # fmt: skip


def value_text(fact: Fact) -> str:
    """Write a fact's value with its unit.

    >>> from perfmodel.facts import Fact
    >>> value_text(Fact(1.3344e-9, "s", "measured")), value_text(Fact("serial", "", "measured"))
    ('1.334e-09 s', 'serial')
    """
    value: Any = fact.value
    number = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{number} {fact.unit}".strip()


def doctor_command() -> None:
    """Check Python, the libraries and the OpenCL devices; print the command that repairs what is wrong.

    The exit status is 1 if the main job (count, measure, fit, predict) cannot run.
    """
    parts, json = [], output.settings().json
    for part in calibration.installation.diagnose():
        parts.append(part)
        if not json:
            output.print_text(_part_line(part))
            sys.stdout.flush()
    runs = all(part.status != calibration.installation.WRONG for part in parts)
    if json:
        output.print_document({"schema": DOCTOR_SCHEMA, "ok": runs, "parts": [asdict(part) for part in parts]})
    if not runs:
        raise typer.Exit(1)


def _part_line(part: calibration.installation.Part) -> str:
    comment = f" ({part.message})" if part.message and part.status == "ok" else ""
    if part.status == "ok":
        return f"{part.name:<17} {part.found + ' ' if part.found else ''}ok{comment}"
    found = f"{part.found}: " if part.found else ""
    return f"{part.name:<17} {part.status}: {found}{part.message}; mend it with: {part.mend}"

# }}}


# {{{ calibrate

Folders = Annotated[
    Path | None,
    Option("--out", metavar="FOLDER", help="Folder of the devices' folders; the user's data folder by default."),
]

TestKernels = Annotated[list[Path] | None, Option("--tests", help="Folder of test kernel classes; repeat for more.")]

Probes = Annotated[
    bool, Option("--probes", help="Only probe the device again (caches, lanes, barriers, overlap); fit nothing.")
]


AllFamilies = Annotated[bool, Option("--all", help="Fit every family, not only those that can be recommended.")]


def calibrate_command(
    context: typer.Context,
    asked: options.CampaignOptions,
    out: Folders = None,
    tests: TestKernels = None,
    probes: Probes = False,
    every: AllFamilies = False,
) -> None:
    """Check a device, probe and measure it, fit model families, and say what the fits are good for.

    On a processor with two cores it takes under 3 minutes with --quick, under 8 without and about 45 with --full.
    Stopped at any time, the same command goes on.
    """
    single = {"--probes": probes, "--json": output.settings().json}
    run_for_each_device(context, asked.scheduler, asked.device, single)
    supervise_command(context)

    module, choice, here = calibration.calibrate, calibration.kernel_choice, asked.scheduler is None
    # A user's budget is for all, and any kernel of a user's may fail.
    own = not (asked.budget is not None or asked.kernels or tests)
    budget = asked.budget
    if budget is None and asked.quick:
        budget = module.QUICK_S
    elif own and here and not asked.full:
        budget = module.DEFAULT_S
    began, campaign = monotonic(), choice.chosen_campaign(asked.quick, asked.full, budget)
    given = (choice.discovered(folders) if folders else None for folders in (asked.kernels, tests))
    measuring.pin_threads()
    with target_device(asked.scheduler, asked.device) as target:
        _calibrate_device(target, campaign, out, tuple(given), probes, began, own and here, every, here)


def _calibrate_device(
    target: Device, campaign: measuring.Campaign, out: Path | None,
    kernels: tuple[tuple[KernelClass, ...] | None, ...], probes: bool, began: float, made_first: bool, every: bool,
    here: bool,
) -> None:  # fmt: skip
    """Calibrate one device, or only probe it, and print what came out."""
    from perfmodel.store import read

    folder, json = (out or calibration.recommended.data_folder()) / target.slug, output.settings().json
    if here:
        output.wait_until_quiet()
    output.announce(f"device that builds and runs a kernel: {target.name} ({target.platform})")
    if probes:
        calibration.calibrate.probe_device(target, folder, campaign, output.CommandBar(), again=True)
        show_facts(read(folder), folder)
        return
    phases = calibration.calibrate.expected_phases(campaign, target, made_first, every)
    each = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in phases.items() if seconds)
    output.announce(
        f"campaign '{campaign.name}' into {folder}: about {sum(phases.values()) / 60:.1f} min on a processor with two "
        f"cores ({each}), less if it goes on from an earlier call"
    )
    fitted = calibration.calibrate.calibrate(
        target, folder, campaign, output.CommandBar(), *kernels, made_first=made_first, every=every
    )
    seconds = monotonic() - began
    if json:
        output.print_document({
            **fitted_document(fitted), "campaign": campaign.name, "seconds": seconds, "expected_s": phases,
            "phases": [asdict(phase) for phase in fitted.phases],
        })  # fmt: skip
    else:
        output.print_text(f"\ntest kernels, none of them in the fit:\n\n{fitted.core}")
        took = "; ".join(f"{phase.name} {phase.seconds:.0f} s" for phase in fitted.phases)
        print(f"wrote {folder} in {seconds:.0f} s, {sum(phases.values()):.0f} s expected ({took})")
        print(f"{calibration.calibrate.VERDICT_FILE} has the families side by side")


def fitted_document(fitted: calibration.calibrate.FittedDevice) -> dict[str, Any]:
    """Return what was fitted to a device, and how good it is, as one document."""
    return {
        "schema": CALIBRATION_SCHEMA,
        "device": fitted.device,
        "folder": str(fitted.folder),
        "weights_files": {name: str(path) for name, path in fitted.weights_files.items()},
        "problems": dict(fitted.problems),
        "notes": list(fitted.notes),
        "family": fitted.chosen,
        "verdict": {"text": fitted.verdict.text, **asdict(fitted.verdict)},
        "comparison": compare.contenders.families_document(fitted.contenders)["rows"],
    }

# }}}


# {{{ fit

All = Annotated[bool, Option("--all", help="Fit every family, write all weights files and the verdict.")]
Out = Annotated[
    Path | None,
    Option(
        "--out", "--output", "-o", metavar="FILE|FOLDER",
        help="Weights file to write (- prints it), with --all the folder for all of them; beside the measurements "
        "by default.",
    ),
]  # fmt: skip
Nonnegative = Annotated[bool, Option("--nonnegative", help="Rule out weights below zero.")]
Driver = Annotated[
    str | None, Option("--driver", metavar="NAME", help="Fit only what was measured with this driver version.")
]


def fit_command(
    source: options.Source,
    family: options.FamilyName = "stevens_kloeckner_2016",
    every: All = False,
    out: Out = None,
    nonnegative: Nonnegative = False,
    given_facts: options.GivenFacts = False,
    measured_facts: options.MeasuredFacts = False,
    facts: options.DeviceFile = None,
    driver: Driver = None,
) -> None:
    """Fit a model family, or all of them, to measurements and save the weights.

    The linear model takes seconds, bottleneck half a minute, and --all about two minutes.
    """
    from perfmodel.models import find_family

    if every:
        if family != calibration.calibrate.CORE or nonnegative or given_facts or measured_facts or driver is not None:
            advice = "give --all with --from, --out and --facts only"
            raise OptionError("--all was given with an option of a single fit", advice)
        _fit_all(source, out, options.given_facts_of(facts))
        return
    chosen = find_family(family)
    path = out or (source if source.is_dir() else source.parent) / f"{file_part(chosen.name)}.json"
    if out is None:
        _check_new([path], "--out FILE")
    fit_options = fitting.FitOptions(nonnegative=nonnegative, fit_facts=not given_facts)
    given = options.given_facts_of(facts)
    model = calibration.calibrate.fit_family(source, chosen, fit_options, measured_facts, given, driver)
    model.save(path)
    if not output.settings().json:
        with redirect_stdout(output.text_stream(path)):
            output.print_text("\n".join(_model_lines(model, path)))
    elif not is_standard_output(path):
        output.print_document(model.fitted.model_dump(mode="json", by_alias=True))


def _fit_all(folder: Path, out: Path | None, given: Mapping[str, Fact]) -> None:

    if not folder.is_dir():
        raise OptionError(f"--all was given with '{folder}', which is no folder", "give a device's folder with --from")
    if out is None:
        _check_new(calibration.calibrate.files_of_all(folder), "--out FOLDER")
    fitted = calibration.calibrate.fit_device(folder, out, output.CommandBar(), given=given)
    if output.settings().json:
        output.print_document(fitted_document(fitted))
    else:
        print(f"{fitted.text}\nwrote {fitted.folder}")


def _check_new(paths: Iterable[Path], option: str) -> None:
    """Refuse to replace a file that no option names."""
    for path in paths:
        if path.exists():
            raise OptionError(f"'{path}' exists already", f"give {option}, which may replace it")


def _model_lines(model: predicting.FittedModel, path: Path) -> Iterator[str]:

    fitted, residuals = model.fitted, model.fitted.residuals
    yield f"{model.family.name} on {model.device}, {fitted.rows} measurements"
    yield report.weights_table(model.weights, model.units, width=output.table_width())
    if fitted.launch_s is None:
        yield "times by the host's clock"
    else:
        yield f"times by the device's clock; the host's adds {display.seconds_text(fitted.launch_s)}"
    yield (
        f"relative error of the fit: geometric mean {100 * residuals.geometric_mean:.1f} %, "
        f"median {100 * residuals.median:.1f} %, largest {100 * residuals.largest:.0f} %"
    )
    yield from (f"note: {note}" for note in fitted.notes)
    yield f"wrote {path}"

# }}}
