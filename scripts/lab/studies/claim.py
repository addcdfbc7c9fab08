"""What a paper claims, next to the findings here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import indent, wrap

AGREES, DIFFERS, UNSHOWN, SLIP = VERDICTS = "agrees", "does not agree", "cannot be shown here", "the paper's slip"
"""All verdicts on a claim."""


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, and the finding here, which is judged by the paper's own model."""

    source: str  # the figure, table, equation or section of the paper
    paper: str  # what it says, with its numbers
    found: str  # what was found here, with the numbers that decide
    # Whether that agrees. None if it cannot be shown here, and `found` has the reason: the argument needs warps, a
    # parameter means nothing on this device, or what decides was not printed or not measured.
    agrees: bool | None
    # Whether the paper contradicts itself: what it prints does not follow from its own formulas or numbers.
    slip: bool = False
    # Whether the device's measured times decide. Without them the paper's formulas and numbers do, on every device
    # alike.
    measured: bool = True

    @property
    def verdict(self) -> str:
        """One of :data:`VERDICTS`."""
        return SLIP if self.slip else {True: AGREES, False: DIFFERS, None: UNSHOWN}[self.agrees]

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Source, claim, finding and verdict, as a row of a table."""
        return self.source, self.paper, self.found, self.verdict


def verdict_of_all(verdicts: Iterable[str]) -> str:
    """Return the verdict on a claim that several devices were asked about, so that it counts once.

    One device that does not agree decides, then one that agrees, then the paper's slip.

    Examples
    --------
    >>> verdict_of_all([AGREES, DIFFERS, UNSHOWN]), verdict_of_all([UNSHOWN, AGREES])
    ('does not agree', 'agrees')
    """
    given = set(verdicts)
    return next(one for one in (DIFFERS, AGREES, SLIP, UNSHOWN) if one in given)


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
