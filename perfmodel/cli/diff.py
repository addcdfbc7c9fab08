"""``perfmodel diff``: what a change of a kernel costs, by formulas and predicted times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from perfmodel import predicting, versions
from perfmodel.cli import numbers, options, output
from perfmodel.errors import OptionError, UnknownNameError, clipped, listed
from perfmodel.io import check_output_path, write_whole

SCHEMA = "perfmodel.diff/1"
SLOWER, UNDECIDED = 1, 2  # exit statuses

Sides = Annotated[list[str], Argument(
    metavar="[OLD] NEW",
    help="Two sides, each a kernel file, a revision of one in git (HEAD~1:kernel.py), counts of `count --save` or the "
    "folder of a recording. One kernel file alone is compared with its last commit.",
)]  # fmt: skip
FailAbove = Annotated[str | None, Option(
    "--fail-above", metavar="SHARE", help="Exit with status 1 if a kernel is slower by more than this: 5% or 0.05; "
    "with 2 if that is not known.",
)]  # fmt: skip
Written = Annotated[list[Path] | None, Option(
    "--write", metavar="FILE.md|.xml", help="Write a Markdown table for a pull request, or JUnit XML; repeat for both.",
)]  # fmt: skip


def diff_command(
    side: Sides, by: options.ModelOptions, variant: options.Variant = None, size: options.SizeLists = None,
    facts: options.DeviceFile = None, statistic: options.Statistics = None, fail_above: FailAbove = None,
    written: Written = None,
) -> None:  # fmt: skip
    """Compare two versions of kernels: changed formulas and, with -p, the ratio of their predicted times.

    No device is needed with --weights, --facts, or the name of a device with weights (--device titan-v).
    """
    if len(side) > 2:
        raise OptionError(f"{len(side)} sides were given", "give OLD and NEW, or one kernel file")
    old_text, new_text = side if len(side) == 2 else (versions.sides.committed(side[0]), side[0])
    limit = None if fail_above is None else share(fail_above)
    for path in written or ():
        if path.suffix not in (".md", ".xml"):
            raise OptionError(f"--write names '{clipped(path)}'", "give a name that ends with .md or .xml")
        if path.suffix == ".xml" and limit is None:
            raise OptionError("--write names an .xml file, and no limit was given", "give --fail-above too, as in 5%")
        check_output_path(path)
    points, statistics = numbers.size_points(size), numbers.statistics(statistic)
    given, recorded = bool(points[0]), Path(new_text).is_dir()  # a recording gives the sizes
    timed = given or limit is not None or by.weights or by.device or facts or recorded
    model = by.load(facts=facts) if timed else None
    lanes = model.fitted.subgroup_size if model else 32
    with output.counting():
        asked = {"statistics": statistics, "sizes": predicting.predictions.together(points)}
        read = [versions.sides.read_side(text, lanes, **asked) for text in (old_text, new_text)]
    old, new = only(variant, *read)
    if model is None:
        output.message("give sizes to predict times, as in -p n=1024")
    found = versions.difference(old, new, model, points if given else ())
    for path in written or ():
        content = versions.tables.markdown if path.suffix == ".md" else versions.tables.junit
        write_whole(path, content(found, limit or 0.0))
    slower = found.slower(limit) if limit is not None else ()
    undecided = found.undecided(limit) if limit is not None else {}
    status = SLOWER if slower else UNDECIDED if undecided else 0
    output.show(
        lambda: {
            "schema": SCHEMA, **versions.tables.document(found, limit), "status": status, "fail_above": limit,
            "slower": [each.name for each in slower], "undecided": undecided,
        },
        lambda: "\n".join([versions.tables.text(found, limit or 0.0), *_verdict(slower, undecided, limit)]),
    )  # fmt: skip
    if status:
        raise typer.Exit(status)


def _verdict(
    slower: Sequence[versions.KernelDifference], undecided: Mapping[str, str], limit: float | None
) -> list[str]:
    if limit is None:
        return []
    lines = [""]
    if slower:
        lines += [f"slower by more than {100 * limit:g} %: {listed(each.title for each in slower)}"]
    lines += [f"not decided: {name}: {reason}" for name, reason in undecided.items()]
    return lines if lines[1:] else ["", f"no kernel is slower by more than {100 * limit:g} %"]


def share(text: str) -> float:
    """Return the share that ``5%`` or ``0.05`` gives."""
    number = text.strip().removesuffix("%")
    try:
        value = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise OptionError(f"'--fail-above {clipped(text, 40)}' is not a share", "give a share from 0 up: 5% or 0.05")
    return value


def only(variants: Sequence[str] | None, *found: versions.sides.Side) -> tuple[versions.sides.Side, ...]:
    """Return sides with only the kernels of these names."""
    if not variants:
        return found
    for name in variants:
        if not any(name in side.kernels or name in side.errors for side in found):
            known = dict.fromkeys(name for side in found for name in side.kernels)
            raise UnknownNameError(f"no side has a kernel '{clipped(name, 80)}'", f"choose among {listed(known)}")
    return tuple(replace(
        side, kernels={name: each for name, each in side.kernels.items() if name in variants},
        errors={name: each for name, each in side.errors.items() if name in variants},
    ) for side in found)  # fmt: skip
