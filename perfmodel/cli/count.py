"""``perfmodel count``: what a kernel executes, as expressions and at given sizes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from perfmodel.cli.count_options import (
    AccessTags,
    DataTypes,
    DeclaredFile,
    Within,
    Work,
    declared,
)
from perfmodel.cli.count_sweep import of_each, show_counts
from perfmodel.cli.drawings import (
    Graph,
    Groups,
    Memory,
    check_pictures,
    draw_graph,
    draw_memory,
    of_variant,
)
from perfmodel.cli.options import (
    Csv,
    DeviceFile,
    Jobs,
    Json,
    KernelFile,
    Paired,
    SizeLists,
    Statistics,
    Variant,
    counted_variants,
    dtypes,
    facts_of,
    size_points,
    statistics,
)
from perfmodel.cli.output import print_document, print_text, sizes_text, withheld_document
from perfmodel.cli.settings import table_width
from perfmodel.documents import MOST_LANES
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.counts import AccessCount, KernelCounts
    from perfmodel.counts.nests.nest import Nest
    from perfmodel.errors import PerfModelError

SCHEMA = "perfmodel.count/1"

SubgroupSize = Annotated[
    int, typer.Option("--subgroup-size", min=1, max=MOST_LANES, help="Work-items in a sub-group of the device.")
]

Nests = Annotated[
    bool, typer.Option("--nests", help="Also show what is executed in each nest of loops between two barriers.")
]

#: The counts of each variant by its name, with the values of its features where the sizes are known.
Counted: TypeAlias = "Mapping[str, tuple[KernelCounts, Mapping[str, float] | None]]"


def command(
    kernel: KernelFile,
    variant: Variant = None,
    size: SizeLists = None,
    paired: Paired = False,
    subgroup_size: SubgroupSize = 32,
    csv: Csv = False,
    json: Json = False,
    nests: Nests = False,
    graph: Graph = None,
    memory: Memory = None,
    facts: DeviceFile = None,
    groups: Groups = 8,
    within: Within = "",
    access_tag: AccessTags = None,
    dtype: DataTypes = None,
    statistic: Statistics = None,
    declared_file: DeclaredFile = None,
    budget: Work = 1.0,
    jobs: Jobs = None,
) -> None:
    """Count what a kernel executes, as expressions in its sizes and, with -p, as numbers.

    With several sizes, a table of numbers.
    """
    check_pictures(graph, memory)
    points, device = size_points(size, paired), facts_of(facts)
    several = len(points) > 1 or csv
    if several and (graph is not None or memory is not None):
        raise OptionError("a picture was asked for with several sizes or --csv", "give one size, without --csv")
    if json and csv:
        raise OptionError("--json and --csv both write to standard output", "give one of them")
    counted = counted_variants(
        kernel, variant, subgroup_size, jobs, within=within, access_tags=access_tag or (), dtypes=dtypes(dtype),
        statistics=statistics(statistic), declared=declared(declared_file), budget=budget,
    )  # fmt: skip
    if several:
        show_counts(str(kernel), counted, points, csv=csv, json=json, leave_out=jobs is not None)
        return
    (at,) = points
    found, errors = of_each(counted, lambda counts: (counts, _feature_values(counts, at)), jobs is not None)
    if json:
        _print_document(str(kernel), found, at, nests, errors)
    else:
        _print_variants(found, at, nests)
        for name, error in errors.items():
            print_text(f"\n{name}: {error}")
    for name, (counts, _) in found.items():
        with redirect_stdout(sys.stderr if json else sys.stdout):
            if graph is not None:
                draw_graph(counts, at, of_variant(graph, name, len(found) > 1), device)
            if memory is not None:
                draw_memory(counts, at, of_variant(memory, name, len(found) > 1), device, groups)


def _print_variants(found: Counted, at: Mapping[str, int], nests: bool) -> None:
    for place, (name, (counts, values)) in enumerate(found.items()):
        print("\n" * (place > 0) + f"{name}({', '.join(counts.parameters)})")
        _print_variant(counts, values, at)
        if nests:
            _print_nests(counts)


def _print_nests(counts: KernelCounts) -> None:
    from perfmodel.report.fitted import stacked_text

    for nest in nests_shown(counts):
        print(nest["nest"])
        rows = [(row["what"], row["detail"], row["count"]) for row in nest["expressions"]]
        print(stacked_text(rows, 3, table_width()))


def _feature_values(counts: KernelCounts, at: Mapping[str, int]) -> Mapping[str, float] | None:
    from perfmodel import features

    return features.evaluate(counts, at) if at or not counts.parameters else None


def _print_document(
    kernel: str, found: Counted, at: Mapping[str, int], nests: bool, errors: Mapping[str, PerfModelError]
) -> None:
    from perfmodel.features import unit

    variants: dict[str, Any] = {}
    for name, (counts, values) in found.items():
        variants[name] = {
            "parameters": list(counts.parameters),
            "assumptions": counts.assumptions,
            "expressions": [dict(zip(("what", "detail", "count"), row, strict=True)) for row in expressions(counts)],
            "counts": counts.to_json(),
        }
        if nests:
            variants[name]["nests"] = nests_shown(counts)
        if values is not None:
            variants[name]["sizes"] = dict(at)
            variants[name]["features"] = {key: {"value": value, "unit": unit(key)} for key, value in values.items()}
    print_document({"schema": SCHEMA, "kernel": kernel, "variants": variants, **withheld_document(errors)})


def _print_variant(counts: KernelCounts, values: Mapping[str, float] | None, at: Mapping[str, int]) -> None:
    from perfmodel.features import unit
    from perfmodel.report.fitted import fitted_text, stacked_text

    print(stacked_text(list(expressions(counts)), 3, table_width()))
    if values is not None:
        print(f"features{' at ' * bool(at)}{sizes_text(at)}")
        rows = [(name, f"{value:.15g}", unit(name)) for name, value in values.items()]
        print(fitted_text(rows, width=table_width()))


def expressions(counts: KernelCounts) -> Iterable[tuple[str, str, str]]:
    """Yield what is counted, its details and the expression, over the whole launch."""
    for operation in counts.operation_table:
        yield "operations", f"{operation.dtype} {operation.kind}", str(operation.count)
    for row in counts.access_table:
        yield f"{row.space} {row.direction}s", _access_detail(row), str(row.count)
    yield "barriers", "local", str(counts.barriers(scope="local"))
    yield "work-groups", "", str(counts.work_groups())
    yield "launches", "", str(counts.launches())


def _access_detail(row: AccessCount) -> str:
    detail = f"{row.array}: {row.dtype}"
    if row.space != "global":
        return detail
    if row.indirect:
        return f"{detail}, indirect"
    detail += f", lane stride {row.stride}"
    return detail if row.footprint is None else f"{detail}, {row.footprint} distinct cells"


def nests_shown(counts: KernelCounts) -> list[dict[str, Any]]:
    """Return for each nest its loops, lanes and place, and what is counted in it as expressions."""
    return [
        {
            "nest": _nest_name(nest), "launch": nest.launch, "stretch": nest.stretch, "outer": list(nest.outer),
            "inner": list(nest.inner), "lanes": list(nest.lanes),
            "expressions": [dict(zip(("what", "detail", "count"), row, strict=True)) for row in _in_nest(nest)],
        }
        for nest in counts.nests
    ]


def _nest_name(nest: Nest) -> str:
    """Return a nest as a line of text: the loops with barriers, the others, and the lanes."""
    around = "".join(f" in loop {loop} with its barriers," for loop in nest.outer)
    loops = "".join(f" in loop {loop}," for loop in nest.inner)
    lanes = f" on {', '.join(nest.lanes)}" if nest.lanes else " the same on all lanes"
    return f"{nest.launch}, stretch {nest.stretch}:{around}{loops}{lanes}"


def _in_nest(nest: Nest) -> Iterable[tuple[str, str, str]]:
    yield "iterations", "of work-items", str(nest.iterations)
    yield "box", "without guards", str(nest.box)
    if nest.inner:
        yield "entries", f"into loop {nest.inner[-1]}", str(nest.entries)
    for row in nest.operations:
        yield "operations", f"{row.dtype} {row.kind}", str(row.count)
    for access in nest.accesses:
        step = access.step(nest.inner[-1]) if nest.inner else None
        moved = f", {step} bytes further each time" if step is not None else ""
        yield f"{access.space} {access.direction}s", f"{access.array}: {access.dtype}{moved}", str(access.count)
    yield "kept", "over barriers", str(nest.kept)
    for chain in nest.chains:
        for row in chain.operations:
            yield f"chain x{chain.chains}", f"{chain.variable}: {row.dtype} {row.kind}", str(row.count)
