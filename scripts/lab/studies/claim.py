"""What a paper claims, beside what was found here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import indent, wrap


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, and what was found here.

    Parameters
    ----------
    source
        Where the paper says so: its figure, table, equation or section.
    paper
        What it says, with its numbers.
    found
        What was found here, with the numbers that decide.
    agrees
        Whether that agrees; None where the device at hand cannot show it, and `found` says why.
    """

    source: str
    paper: str
    found: str
    agrees: bool | None

    @property
    def verdict(self) -> str:
        """Whether it agrees, in words."""
        return {True: "agrees", False: "does not agree", None: "cannot be shown here"}[self.agrees]

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Source, claim, finding and verdict, as a row of a table."""
        return self.source, self.paper, self.found, self.verdict


def claims_text(claims: Iterable[Claim], width: int = 100) -> str:
    """Return claims as text: of each the source and the verdict, and below them the paper's words and the findings.

    Examples
    --------
    >>> print(claims_text([Claim("Fig. 2", "r^2 = 0.99", "r^2 = 0.42", False)]))
    Fig. 2: does not agree
      paper: r^2 = 0.99
      found: r^2 = 0.42
    """
    return "\n".join(_text(one, width) for one in claims)


def _text(one: Claim, width: int) -> str:
    parts = [f"{one.source}: {one.verdict}"]
    for name, words in (("paper", one.paper), ("found", one.found)):
        first, *rest = wrap(f"{name}: {words}", width) or [f"{name}:"]
        parts += [indent(first, "  "), *(indent(line, " " * 9) for line in rest)]
    return "\n".join(parts)
