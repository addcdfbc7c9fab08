"""Tables of proofs of isolation, for a terminal and for docs/lab/isolation.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfmodel.report.fitted import fitted_text
from perfmodel.report.tables import below_marker, markdown_table, seconds_text
from perfmodel.store.isolation import Isolation

BEGIN = "<!-- what follows is drawn by scripts/redraw isolation -->"
HEADER = ("class", "variant", "isolates", "doubled", "from", "to", "rise", "needed", "")
LESS = ("from", "to", "needed", "doubled", "variant", "rise")


def isolation_table(proofs: Sequence[Isolation], width: int | None = None) -> str:
    """Return proofs as plain text, with the number of those that succeeded.

    On a narrow terminal the columns of :data:`LESS` are left out, the first one first.
    """
    return f"{fitted_text([HEADER, *map(_cells, proofs)], 3, LESS, width)}\n\n{_summary(proofs)}"


def isolation_page(page: str, devices: Iterable[Sequence[Isolation]]) -> str:
    """Return the page with one table for each device after its marker."""
    sections = [_section(proofs) for proofs in devices] or ["No device has been measured yet.\n"]
    return below_marker(page, BEGIN, sections)


def _section(proofs: Sequence[Isolation]) -> str:
    first = proofs[0]
    rows = [HEADER, ("---",) * 3 + ("---:",) * 5 + ("---",), *map(_cells, proofs)]
    heading = f"## {first.device}\n\n{first.platform}, driver {first.driver}. {_summary(proofs)}"
    return f"{heading}\n\n{markdown_table(rows)}\n"


def _summary(proofs: Sequence[Isolation]) -> str:
    failing = sorted({proof.kernel for proof in proofs if not proof.proved})
    names = f"; not all proved: {', '.join(failing)}" if failing else ""
    return f"{sum(proof.proved for proof in proofs)} of {len(proofs)} variants proved{names}."


def _cells(proof: Isolation) -> tuple[str, ...]:
    variant = " ".join(f"{name}={_text(value)}" for name, value in proof.variant.items() if name != "work_group")
    start = (proof.kernel, variant, proof.feature)
    if not proof.rounds_s:
        return (*start, proof.doubles or "-", "-", "-", "-", f"{proof.raises:.0%}", f"**not proved**: {proof.message}")
    single, double = map(seconds_text, proof.seconds)
    doubled = f"{proof.doubles} = {proof.parameters[str(proof.doubles)]}"
    word = "proved" if proof.proved else "**not proved**"
    return (*start, doubled, single, double, f"{proof.rise:.0%}", f"{proof.raises:.0%}", word)


def _text(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
