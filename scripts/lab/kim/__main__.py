"""Draw the work flow graph and the hit rates of a kernel file's variants, or search its space step by step."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perfmodel.cli.numbers import sizes, statistics
from perfmodel.cli.options import facts_of
from perfmodel.cli.output import CommandBar
from perfmodel.counts import KernelCounts, count
from perfmodel.display import percent, seconds_text
from perfmodel.errors import OptionError, PerfModelError
from perfmodel.facts import DeviceFacts
from perfmodel.io import file_part
from perfmodel.kernels.files import KernelFile, load_kernel_file
from perfmodel.opencl import find
from perfmodel.quantities.case import Case
from perfmodel.tuning.trials import Trials
from scripts.lab.kim import pictures
from scripts.lab.kim.active_lanes import active_lanes
from scripts.lab.kim.balanced import conditions
from scripts.lab.kim.memory_hierarchy import Hierarchy, hit_rates
from scripts.lab.kim.stepwise import search
from scripts.lab.kim.work_flow import Latencies, timeline, work_flow_on

MOST_WAITS = 5
"""Waits that are printed, the longest ones."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m scripts.lab.kim", description=__doc__)
    parser.add_argument("kernel", type=Path, metavar="KERNEL.PY", help="file with kernel() or variants()")
    parser.add_argument("-p", "--size", action="append", default=[], metavar="NAME=SIZE", help="a size parameter")
    parser.add_argument("--variant", action="append", help="only this variant")
    parser.add_argument("--statistics", action="append", metavar="KEY=NUMBER", help="as of `perfmodel count`")
    parser.add_argument("--subgroup-size", type=int, default=32, help="work-items in a sub-group")
    parser.add_argument("--facts", metavar="NAME|FILE.yaml", help="a published device, or a file of facts")
    parser.add_argument("--graph", type=Path, metavar="FILE.png|.svg|.dot", help="draw the work flow graph")
    parser.add_argument("--memory", type=Path, metavar="FILE.png|.svg", help="draw the hit rates of the caches")
    parser.add_argument("--search", action="store_true", help="run the variants of a space, one change at a time")
    parser.add_argument("--device", help="device of --search: its name, platform or index")
    asked = parser.parse_args(argv)
    try:
        if not (asked.graph or asked.memory or asked.search):
            raise OptionError("nothing was asked for", "give --graph, --memory or --search")
        at, known, loaded = sizes(asked.size), statistics(asked.statistics), load_kernel_file(asked.kernel)
        if asked.search:
            print(*searched(loaded, at, known, asked.device), sep="\n")
        if asked.graph or asked.memory:
            _check_names(asked.graph, asked.memory)
            counted = {
                name: count(build(), asked.subgroup_size, check=True, statistics=known)
                for name, build in loaded.only(asked.variant).builders.items()
            }
            _draw(counted, at, facts_of(asked.facts), asked.graph, asked.memory)
    except PerfModelError as error:
        print(f"kim: error: {error}", file=sys.stderr)
        return 2
    return 0


def _check_names(graph: Path | None, memory: Path | None) -> None:
    for path, formats in ((graph, pictures.GRAPH_FORMATS), (memory, pictures.GRAPH_FORMATS[:2])):
        if path is not None and path.suffix not in formats:
            advice = f"let its name end in {' or '.join(formats)}"
            raise OptionError(f"the picture '{path}' has an unknown format", advice)


def _draw(
    counted: Mapping[str, KernelCounts], at: Mapping[str, int], facts: DeviceFacts | None, graph: Path | None,
    memory: Path | None,
) -> None:  # fmt: skip
    for name, counts in counted.items():
        if graph is not None:
            print(*drawn_graph(counts, at, facts, _of_variant(graph, name, len(counted) > 1)), sep="\n")
        if memory is not None:
            print(*drawn_memory(counts, at, facts, _of_variant(memory, name, len(counted) > 1)), sep="\n")


def _of_variant(path: Path, name: str, several: bool) -> Path:
    """Return the file for one variant: with several variants, the name is added before the suffix."""
    return path.with_name(f"{path.stem}-{file_part(name)}{path.suffix}") if several else path


def drawn_graph(counts: KernelCounts, at: Mapping[str, int], facts: DeviceFacts | None, path: Path) -> Iterator[str]:
    """Draw the work flow graph; yield lines on the lanes that are active and where an average sub-group stalls."""
    graph = work_flow_on(counts, at, facts)
    lanes = active_lanes(counts, graph, at)
    if facts is None:
        pictures.draw_work_flow(graph, path, lanes=lanes)
        yield f"work flow graph: {path} (without --facts it has no latencies)"
    else:
        latencies = Latencies.of(facts, counts.subgroup_size)
        time = timeline(graph, latencies)
        pictures.draw_work_flow(graph, path, time, lanes)
        yield f"work flow graph: {path}"
        yield (
            f"an average sub-group, alone: {seconds_text(time.seconds)}, of which it waits "
            f"{seconds_text(sum(time.stalled))}; {time.hiding:.1f} together would hide the waits"
        )
        try:
            against = conditions(graph, time, lanes, Case(counts, at, facts), latencies).hindrances
            yield f"balanced: no, as {'; '.join(against)}" if against else "balanced: yes"
        except PerfModelError as error:
            yield f"balanced: unknown, as {error}"
        for arc, seconds in time.waits[:MOST_WAITS] if time.seconds else ():
            target, source = (pictures.title(graph.nodes[k]) for k in (arc.target, arc.source))
            yield f"{target} waits for {source}: {percent(seconds / time.seconds)}"
    yield f"instructions executed, and active lanes of the {counts.subgroup_size} of a sub-group:"
    yield from aligned(pictures.lanes_rows(graph, lanes))
    for why in dict.fromkeys(row.unknown for row in lanes if row is not None and row.unknown):
        named = {node.statement for node, row in zip(graph.nodes, lanes, strict=True) if row and row.unknown == why}
        yield f"left out: {', '.join(sorted(named))}, as {why}"


def drawn_memory(counts: KernelCounts, at: Mapping[str, int], facts: DeviceFacts | None, path: Path) -> Iterator[str]:
    """Draw the distribution of the caches' hit rates; yield lines with their means."""
    rates = hit_rates(counts, at, Hierarchy.of(facts))
    title = ", ".join([counts.name, *([facts.name] if facts else []), *(f"{name}={size}" for name, size in at.items())])
    pictures.draw_memory_hierarchy(rates, path, title)
    yield f"hit rates: {path}"
    for level, hits in (("l1", rates.l1), ("l2", rates.l2)):
        low, high = rates.interval(level)
        mean = sum(hits) / len(hits)
        yield f"{level}: {100 * mean:.2f} %, 90 % interval {100 * low:.2f} to {100 * high:.2f} %"
    if rates.drawn:
        yield f"data give the index into {', '.join(rates.drawn)}: cells were drawn evenly from the whole array"


def searched(
    loaded: KernelFile, at: Mapping[str, int], known: Mapping[str, float], device: str | None
) -> Iterator[str]:
    """Run the search of section 3.5.2 on a space of variants; yield a line for each run, and one for the best."""
    if loaded.space is None:
        raise OptionError("the kernel file has no space of variants", "let variants() return a perfmodel.Space")
    trials = Trials(
        find(device), loaded.builders, at, arguments=loaded.arguments, kernel="kernel", statistics=known,
        progress=CommandBar(), compare=False,
    )  # fmt: skip
    with trials:
        def time(name: str) -> float | None:
            row = trials.visit(name)
            return row.seconds if row.status == "ok" else None

        found = search(loaded.space.configurations, [*loaded.builders], time)
    for name, seconds in found.items():
        yield f"{name}: {'failed' if seconds is None else seconds_text(seconds)}"
    times = {name: seconds for name, seconds in found.items() if seconds is not None}
    yield f"fastest: {min(times, key=lambda name: times[name])}" if times else "no variant ran"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table; the first two columns are aligned at the left, the others at the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    texts = []
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:2], widths, strict=False)]
        right = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        texts.append("  ".join([*left, *right]).rstrip())
    return texts


if __name__ == "__main__":
    sys.exit(main())
