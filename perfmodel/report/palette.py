"""Colours, markers and maps of colours that people with any colour vision tell apart, and that survive a grey printer.

Source of the colours: M. Okabe and K. Ito, *Color Universal Design*, 2008.
"""

from __future__ import annotations

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, YELLOW, BLACK = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000",
)  # fmt: skip
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
"""Of lines and markers: without the yellow, which is hard to see on white."""
FILLS = (BLUE, ORANGE, GREEN, SKY, VERMILION, YELLOW, PURPLE)
"""Of areas beside each other: without the black, and neighbours differ in lightness."""
REST = "#BBBBBB"
"""Of what is put together as the rest."""
MARKERS = "osD^vPX<"
"""One more than there are colours, so that 56 kernels differ in one of both."""
LINES = ("-", "--", "-.", ":")
ERRORS_MAP = "viridis_r"
"""Matplotlib's map of colours for errors: yellow is small, dark violet is large; its lightness falls evenly."""


def style(place: int) -> tuple[str, str]:
    """Return the marker and the colour of the kernel at a place.

    Examples
    --------
    >>> style(0), style(7)[1] == style(0)[1], len({style(place) for place in range(56)})
    (('o', '#0072B2'), True, 56)
    """
    return MARKERS[place % len(MARKERS)], COLOURS[place % len(COLOURS)]


def ink(red: float, green: float, blue: float) -> str:
    """Return the colour of text on a colour, whose parts are from 0 to 1: black or white, whichever differs more.

    By the contrast of WCAG 2, whose relative luminance weighs the three linear parts.

    Examples
    --------
    >>> ink(1, 1, 0.9), ink(0.4, 0.15, 0.02)
    ('black', 'white')
    """
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "black" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "white"
