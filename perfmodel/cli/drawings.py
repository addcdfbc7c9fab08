"""``perfmodel count --graph`` and ``--memory``: pictures of one kernel at given sizes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfmodel.cli.output import sizes_text
from perfmodel.errors import PictureFormatError
from perfmodel.io import file_part

if TYPE_CHECKING:
    from perfmodel.analyses.timeline import Timeline
    from perfmodel.analyses.work_flow import WorkFlow
    from perfmodel.counts import KernelCounts
    from perfmodel.facts import DeviceFacts

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
Groups = Annotated[int, typer.Option("--groups", min=1, help="Work-groups that --memory traces.")]


def check_pictures(graph: Path | None, memory: Path | None) -> None:
    """Refuse names of pictures that do not say their format, before anything is counted; ``-`` is one of them.

    Raises
    ------
    PictureFormatError
        If a name ends otherwise.
    """
    if graph is not None:
        from perfmodel.report import work_flow

        check_format(graph, work_flow.FORMATS)
    if memory is not None:
        from perfmodel.report import memory_hierarchy

        check_format(memory, memory_hierarchy.FORMATS)


def check_format(path: Path | None, formats: tuple[str, ...] = (".png", ".svg")) -> None:
    """Refuse the name of a picture that ends in none of these.

    Raises
    ------
    PictureFormatError
        If it ends otherwise; ``-`` does.
    """
    if path is not None and path.suffix not in formats:
        raise PictureFormatError(path, formats)


def of_variant(path: Path, name: str, several: bool) -> Path:
    """Return the file of one variant, beside that given: with several variants, the name is added before the suffix."""
    return path.with_name(f"{path.stem}-{file_part(name)}{path.suffix}") if several else path


def draw_graph(counts: KernelCounts, at: Mapping[str, int], path: Path, facts: DeviceFacts | None) -> None:
    """Draw the work flow graph, and print where an average sub-group stalls."""
    from perfmodel.analyses.latencies import Latencies
    from perfmodel.analyses.timeline import timeline
    from perfmodel.analyses.work_flow import work_flow
    from perfmodel.report import seconds_text
    from perfmodel.report.work_flow import draw_work_flow

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
    from perfmodel.report import columns_text, percent
    from perfmodel.report.work_flow import title

    rows = [
        (title(graph.nodes[arc.target]), f"for {title(graph.nodes[arc.source])}", percent(seconds / time.seconds))
        for arc, seconds in time.waits[:5] if time.seconds
    ]
    if rows:
        print(columns_text(rows, left=2))


def draw_memory(
    counts: KernelCounts, at: Mapping[str, int], path: Path, facts: DeviceFacts | None, groups: int
) -> None:
    """Draw the distribution of hit rates, and print their means."""
    from perfmodel.analyses.memory_hierarchy import Hierarchy, hit_rates
    from perfmodel.report import columns_text
    from perfmodel.report.memory_hierarchy import draw_memory_hierarchy

    hierarchy = Hierarchy.of(facts)
    rates = hit_rates(counts, at, hierarchy, groups)
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
