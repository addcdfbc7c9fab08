"""``perfmodel evaluate``: a model held against measured test kernels; needs no device."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from perfmodel.cli.options import (
    DeviceFile,
    DeviceName,
    GivenFacts,
    Json,
    Level,
    MeasuredFacts,
    given_facts_of,
    weights_in_use,
)
from perfmodel.cli.output import print_document, print_text
from perfmodel.cli.settings import table_width
from perfmodel.errors import OptionError

Sources = Annotated[
    list[Path] | None,
    typer.Option(
        "--from", metavar="FOLDER",
        help="Folder with measurements.jsonl and test.jsonl; repeat for more devices. By default that of the device's "
        "weights.",
    ),
]  # fmt: skip
Family = Annotated[
    str | None,
    typer.Option(
        "--family",
        help="Its name, 'expr:' and seconds from features and weights w_*, or a .py file; by default "
        "stevens_kloeckner_2016, without --from the family that is recommended for the device.",
    ),
]
Csv = Annotated[str, typer.Option("--csv", metavar="TABLE", help="Print one table as CSV: predictions or weights.")]
Tests = Annotated[
    str, typer.Option("--tests", metavar="FILE", help="File of the folder with the kernels that are predicted.")
]
Protocols = Annotated[
    list[str] | None,
    typer.Option(
        "--protocol", metavar="NAME", help="A, B, sizes or C (one cheap run of each variant); repeat for more."
    ),
]


def command(
    source: Sources = None,
    tests: Tests = "test.jsonl",
    family: Family = None,
    device: DeviceName = None,
    protocol: Protocols = None,
    level: Level = 0.9,
    given_facts: GivenFacts = False,
    measured_facts: MeasuredFacts = False,
    facts: DeviceFile = None,
    csv: Csv = "",
    json: Json = False,
) -> None:
    """Print predicted and measured times of the test kernels, the weights, and how good the model is.

    The linear model takes seconds, and bottleneck half a minute for each folder.
    """
    from perfmodel.calibration.calibrate import CORE, judge_family
    from perfmodel.fitting import FitOptions
    from perfmodel.fitting.device_folder import refuse_mixture
    from perfmodel.models import find_family
    from perfmodel.report import document, evaluation_text, predictions_csv, weights_csv

    if csv not in ("", "predictions", "weights"):
        raise OptionError(f"--csv is '{csv}'", "give predictions or weights")
    if not source:
        found = weights_in_use(device, told=not json)
        source, family = [found.folder], family or found.path.stem
    refuse_mixture(source)
    chosen, options = find_family(family or CORE), FitOptions(fit_facts=not given_facts)
    asked, given = protocols(protocol), given_facts_of(facts)
    judged = [judge_family(folder, chosen, options, measured_facts, level, asked, given, tests) for folder in source]
    if json:
        print_document(document(judged))
    elif csv == "predictions":
        print(predictions_csv([one for each in judged for one in each.evaluations]), end="")
    elif csv:
        print(weights_csv([each.model for each in judged]), end="")
    else:
        print_text(evaluation_text(judged, table_width()))


def protocols(names: Iterable[str] | None) -> tuple[str, ...]:
    """Return the protocols that ``--protocol`` options name; with C, A and B over its cases follow it.

    Raises
    ------
    OptionError
        If there is no such protocol.
    """
    from perfmodel.compare.protocols import PROTOCOLS, UNASKED

    asked: dict[str, None] = {}
    for name in names or UNASKED:
        if name not in PROTOCOLS:
            raise OptionError(f"--protocol is '{name}'", f"give one of {', '.join(PROTOCOLS)}")
        asked |= dict.fromkeys((name, "A/C", "B/C") if name == "C" else (name,))
    return tuple(asked)
