"""``perfmodel count``: what a kernel executes, as expressions, at given sizes, as tables and as pictures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from perfmodel.cli.options import (
    Csv,
    DeviceFile,
    Jobs,
    KernelOptions,
    SizeLists,
    about,
    counted_variants,
    dtypes,
    errors_of,
    facts_of,
    size_points,
)
from perfmodel.cli.output import check_format, of_variant, print_document, print_text, sizes_text, withheld_document
from perfmodel.cli.settings import table_width
from perfmodel.documents import MOST_LANES, json_document, read_file
from perfmodel.errors import DocumentError, OptionError, ParameterError, PerfModelError

if TYPE_CHECKING:
    from perfmodel.analyses.work_flow import Timeline, WorkFlow
    from perfmodel.counts import AccessCount, KernelCounts
    from perfmodel.counts.nests.nest import Nest
    from perfmodel.facts import DeviceFacts

SCHEMA = "perfmodel.count/1"

SubgroupSize = Annotated[
    int, typer.Option("--subgroup-size", min=1, max=MOST_LANES, help="Work-items in a sub-group of the device.")
]

Nests = Annotated[
    bool, typer.Option("--nests", help="Also show what is executed in each nest of loops between two barriers.")
]

#: The counts of each variant by its name, with the values of its features where the sizes are known.
Counted: TypeAlias = "Mapping[str, tuple[KernelCounts, Mapping[str, float] | None]]"


def count_command(
    asked: KernelOptions,
    size: SizeLists = None,
    subgroup_size: SubgroupSize = 32,
    csv: Csv = False,
    json: bool = False,
    nests: Nests = False,
    graph: Graph = None,
    memory: Memory = None,
    facts: DeviceFile = None,
    dtype: DataTypes = None,
    declared_file: DeclaredFile = None,
    budget: Work = 1.0,
    jobs: Jobs = None,
) -> None:
    """Count what a kernel executes, as expressions in its sizes and, with -p, as numbers.

    With several sizes, a table of numbers.
    """
    check_pictures(graph, memory)
    points, device = size_points(size), facts_of(facts)
    several = len(points) > 1 or csv
    if several and (graph is not None or memory is not None):
        raise OptionError("a picture was asked for with several sizes or --csv", "give one size, without --csv")
    if json and csv:
        raise OptionError("--json and --csv both write to standard output", "give one of them")
    counted = counted_variants(
        asked.kernel, asked.variant, subgroup_size, jobs, dtypes=dtypes(dtype), statistics=asked.statistics,
        declared=declared(declared_file), budget=budget,
    )  # fmt: skip
    if several:
        show_counts(str(asked.kernel), counted, points, csv=csv, json=json, leave_out=jobs is not None)
        return
    (at,) = points
    found, errors = of_each(counted, lambda counts: (counts, _feature_values(counts, at)), jobs is not None)
    if json:
        _print_document(str(asked.kernel), found, at, nests, errors)
    else:
        _print_variants(found, at, nests)
        for name, error in errors.items():
            print_text(f"\n{name}: {error}")
    for name, (counts, _) in found.items():
        with redirect_stdout(sys.stderr if json else sys.stdout):
            if graph is not None:
                draw_graph(counts, at, of_variant(graph, name, len(found) > 1), device)
            if memory is not None:
                draw_memory(counts, at, of_variant(memory, name, len(found) > 1), device)


def _print_variants(found: Counted, at: Mapping[str, int], nests: bool) -> None:
    for place, (name, (counts, values)) in enumerate(found.items()):
        print("\n" * (place > 0) + f"{name}({', '.join(counts.parameters)})")
        _print_variant(counts, values, at)
        if nests:
            _print_nests(counts)


def _print_nests(counts: KernelCounts) -> None:
    from perfmodel.display import stacked_text

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
    from perfmodel.display import fitted_text, stacked_text
    from perfmodel.features import unit

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


DataTypes = Annotated[
    list[str] | None,
    typer.Option("--dtype", metavar="NAME=TYPE", help="Type of an argument that has none; repeat for more."),
]
DeclaredFile = Annotated[
    Path | None,
    typer.Option("--declared", metavar="FILE.JSON", help="What each C instruction does; docs/own-kernels.md."),
]
Work = Annotated[float, typer.Option("--budget", help="How much work a formula may take; 1 is about a second.")]


def declared(path: Path | None) -> dict[str, dict[str, Any]]:
    """Return what a file declares about C instructions; operations are named as ``"float32 mul"`` there.

    Raises
    ------
    OptionError
        If the file cannot be read, or is of another form.
    """
    if path is None:
        return {}
    try:
        document = json_document(read_file(path))
        if not isinstance(document, dict):
            raise DocumentError("holds no object of instructions")
        return {name: _declaration(given) for name, given in document.items()}
    except DocumentError as error:
        advice = """write {"<instruction>": {"operations": {"float32 mul": 1}, "loads": {"a[i]": 1}, "stores": {}}}"""
        raise OptionError(f"--declared '{path}' cannot be used: it {error.problem}", advice) from error


def _declaration(given: Any) -> Any:
    """Return a declaration with its operations by type and kind; what else is wrong with it, `count` says."""
    if not isinstance(given, dict) or not isinstance(given.get("operations", {}), dict):
        return given
    named = given.get("operations", {})
    operations = {tuple(name.split()): amount for name, amount in named.items()}
    return {**given, "operations": operations if len(operations) == len(named) else named}


Made = TypeVar("Made")

SWEEP_SCHEMA = "perfmodel.count-sweep/1"
COLUMNS = ("variant", "feature", "value", "unit", "problem")


def show_counts(
    kernel: str,
    counted: Mapping[str, KernelCounts],
    points: Sequence[Mapping[str, int]],
    *,
    csv: bool,
    json: bool,
    leave_out: bool = False,
) -> None:
    """Print the features of each variant at all sizes; with `leave_out`, the errors of those that have none.

    Raises
    ------
    ParameterError, AssumptionError
        If a size is left out, unknown or negative, or breaks an assumption of the kernel.
    VariantError
        The same of one of several variants.
    """
    from perfmodel.display import blocks_text, csv_text
    from perfmodel.features import unit

    found, errors = of_each(counted, lambda counts: features_at(counts, points), leave_out)
    if json:
        variants = {
            name: {
                "units": {feature: unit(feature) for feature in values},
                "points": [
                    {"sizes": dict(at), "features": {feature: column[i] for feature, column in values.items()}}
                    for i, at in enumerate(points)
                ],
            }
            for name, values in found.items()
        }
        print_document({"schema": SWEEP_SCHEMA, "kernel": kernel, "variants": variants, **withheld_document(errors)})
    elif csv:
        records: list[dict[str, Any]] = [
            {**at, **dict(zip(COLUMNS, (name, feature, column[i], unit(feature), None), strict=True))}
            for name, values in found.items() for i, at in enumerate(points) for feature, column in values.items()
        ]  # fmt: skip
        records += [{"variant": name, "problem": str(error)} for name, error in errors.items()]
        print(csv_text((*points[0], *COLUMNS), records), end="")
    else:
        for place, (name, values) in enumerate(found.items()):
            rows = [("feature", "unit", *map(sizes_text, points))]
            rows += [(feature, unit(feature), *(f"{x:.15g}" for x in column)) for feature, column in values.items()]
            print("\n" * (place > 0) + f"{name}({', '.join(counted[name].parameters)})")
            print(blocks_text(rows, 2, 1, table_width()))
        for name, error in errors.items():
            print_text(f"\n{name}: {error}")


def of_each(
    counted: Mapping[str, KernelCounts], make: Callable[[KernelCounts], Made], leave_out: bool
) -> tuple[dict[str, Made], dict[str, PerfModelError]]:
    """Return what a function makes of each variant's counts, and by name why there is nothing of the others.

    Raises
    ------
    PerfModelError
        The first error; with `leave_out` only a ParameterError, or where there is nothing of any variant.
    VariantError
        The same of one of several variants.
    """
    found, errors = {}, dict(errors_of(counted))
    for name, counts in counted.items():
        try:
            found[name] = make(counts)
        except PerfModelError as error:
            if not leave_out or isinstance(error, ParameterError):  # sizes are wrong for all of them
                with about(name, counted):
                    raise
            errors[name] = error
    if errors and not found:
        name, first = next(iter(errors.items()))
        with about(name, errors):
            raise first
    return found, errors


def features_at(counts: KernelCounts, points: Sequence[Mapping[str, int]]) -> dict[str, list[float]]:
    """Return the value of each feature at each of several sizes."""
    import numpy as np

    from perfmodel import features

    at = {name: np.array([point[name] for point in points], dtype=np.int64) for name in points[0]}
    values = features.evaluate(counts, at)
    return {name: np.broadcast_to(value, (len(points),)).tolist() for name, value in values.items()}


Graph = Annotated[
    Path | None,
    typer.Option(
        "--graph", metavar="FILE.png|.svg|.dot", help="Draw the work flow graph, with --facts also where it stalls."
    ),
]
Memory = Annotated[
    Path | None,
    typer.Option("--memory", metavar="FILE.png|.svg", help="Draw the hit rates of the caches of --facts."),
]


def check_pictures(graph: Path | None, memory: Path | None) -> None:
    """Refuse names of pictures that do not say their format, before anything is counted; ``-`` is one of them.

    Raises
    ------
    PictureFormatError
        If a name ends otherwise.
    """
    if graph is not None:
        from perfmodel.report.kernel_pictures import GRAPH_FORMATS

        check_format(graph, GRAPH_FORMATS)
    if memory is not None:
        from perfmodel.report.drawing import FORMATS

        check_format(memory, FORMATS)


def draw_graph(counts: KernelCounts, at: Mapping[str, int], path: Path, facts: DeviceFacts | None) -> None:
    """Draw the work flow graph, and print where an average sub-group stalls."""
    from perfmodel.analyses.work_flow import Latencies, timeline, work_flow
    from perfmodel.display import seconds_text
    from perfmodel.report.kernel_pictures import draw_work_flow

    graph = work_flow(counts, at)
    if facts is None:
        draw_work_flow(graph, path)
        print(f"work flow graph: {path} (without --facts it has no latencies)")
        return
    time = timeline(graph, Latencies.of(facts, counts.subgroup_size))
    draw_work_flow(graph, path, time)
    print(f"work flow graph: {path}")
    print(
        f"an average sub-group, alone: {seconds_text(time.seconds)}, of which it waits "
        f"{seconds_text(sum(time.stalled))}; {time.hiding:.1f} together would hide the waits"
    )
    _print_waits(graph, time)


def _print_waits(graph: WorkFlow, time: Timeline) -> None:
    from perfmodel.display import columns_text, percent
    from perfmodel.report.kernel_pictures import title

    rows = [
        (title(graph.nodes[arc.target]), f"for {title(graph.nodes[arc.source])}", percent(seconds / time.seconds))
        for arc, seconds in time.waits[:5] if time.seconds
    ]
    if rows:
        print(columns_text(rows, left=2))


def draw_memory(counts: KernelCounts, at: Mapping[str, int], path: Path, facts: DeviceFacts | None) -> None:
    """Draw the distribution of hit rates, and print their means."""
    from perfmodel.analyses.memory_hierarchy import Hierarchy, hit_rates
    from perfmodel.display import columns_text
    from perfmodel.report.kernel_pictures import draw_memory_hierarchy

    hierarchy = Hierarchy.of(facts)
    rates = hit_rates(counts, at, hierarchy)
    device = "" if facts is None else f" on {facts.name}"
    draw_memory_hierarchy(rates, path, f"{counts.name}{device}" + f", {sizes_text(at)}" * bool(at))
    print(f"hit rates: {path}")
    rows = []
    for which, found in (("l1", rates.l1), ("l2", rates.l2)):
        low, high = rates.interval(which)
        mean = sum(found) / len(found)
        rows.append((which, f"{100 * mean:.2f} %", f"90 % interval {100 * low:.2f} to {100 * high:.2f} %"))
    print(columns_text(rows))
    if rates.drawn:
        print(f"data give the index into {', '.join(rates.drawn)}: cells were drawn evenly from the whole array")
