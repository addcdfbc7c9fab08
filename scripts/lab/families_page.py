"""Model families side by side as tables of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfmodel.compare.contenders import Contender, Contenders
from scripts.lab.markdown import below_marker, markdown_table

BEGIN = "<!-- what follows is drawn by scripts/compare_families -->"
SIMULATED = "A simulator counted these times. They are not pooled with those of devices, and are not in the picture."


def families_page(
    page: str, devices: Iterable[Sequence[Contender]], simulated: Iterable[Sequence[Contender]] = ()
) -> str:
    """Put one table for each device after the marker of `page`, simulated devices at the end."""
    below = [f"## Simulated devices\n\n{SIMULATED}\n", *map(_section, simulated)]
    return below_marker(page, BEGIN, [*map(_section, devices), *(below if len(below) > 1 else [])])


def _section(contenders: Sequence[Contender]) -> str:
    """Return a device's families as a Markdown table, best by protocol B first."""
    judged, header = Contenders(contenders).judged, Contenders(contenders).header
    rows = [header, ("---", *["---:"] * (len(header) - 1)), *map(_cells, judged)]
    cases = len(judged[0].by("A").rows)
    return f"### {judged[0].device}\n\n{cases} cases that every family predicts.\n\n{markdown_table(rows)}\n"


def _cells(one: Contender) -> tuple[str, ...]:
    name, *figures = one.cells
    return (f"`{name}`", *figures)
