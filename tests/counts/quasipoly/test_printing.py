"""Counts as text and as LaTeX."""

from __future__ import annotations

import pytest

from perfmodel.counts import Count


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("0", "{ 0 }"),
        ("7/2", "{ 7/2 }"),
        ("1/2*n^2 - 1/2*n", "[n] -> { 1/2*n^2 - 1/2*n }"),
        ("n if n >= 17", "[n] -> { n : n >= 17 }"),
        ("-n + 20 if n <= 16", "[n] -> { 20 - n : n <= 16 }"),
        ("n if n mod 16 = 0", "[n] -> { n : n mod 16 = 0 }"),
        ("n if n mod 16 >= 3", "[n] -> { n : n mod 16 >= 3 }"),
        ("m if n > m", "[n, m] -> { m : n > m }"),
        ("m if n >= m", "[n, m] -> { m : n >= m }"),
        ("m if n >= m + 4", "[n, m] -> { m : n >= m + 4 }"),
        ("m if n + 4 >= m", "[n, m] -> { m : n >= m - 4 }"),
        ("n - 2 if m + 2 = n", "[n, m] -> { m : n = m + 2 }"),
        ("5 if n >= 8 or n = 2", "[n] -> { 5 : n >= 8; 5 : n = 2 }"),
        ("floor((n + 15)/16)^2", "[n] -> { floor((n + 15)/16)^2 }"),
    ],
)
def test_text(expected, text):
    assert expected == str(Count.from_text(text))


def test_upper_bounds_have_brackets_where_needed():
    assert "<= n" == str(Count.from_text("[n] -> { n }", exact=False))
    pieces = Count.from_text("[n] -> { n^2 : n >= 17; n : n <= 16 }", exact=False)
    assert str(pieces) in ("<= (n^2 if n >= 17; n if n <= 16)", "<= (n if n <= 16; n^2 if n >= 17)")


def test_latex():
    count = Count.from_text("[n] -> { 1/2*n^2*floor((n + 15)/16) : n mod 16 = 3 }", exact=False)
    shown = count._repr_latex_()
    assert shown.startswith(r"$\le \left(\frac{1}{2}\,n^{2}\,\left\lfloor\frac{n + 15}{16}\right\rfloor")
    assert shown.endswith(r"\ \text{ if }\ n \bmod 16 = 3\right)$") or r"\bmod 16 = 0" in shown


def test_latex_names_are_words():
    """Letters side by side are a product in LaTeX, and ``_`` begins an index."""
    shown = Count.from_text("[n, n_rows] -> { n*n_rows : n_rows >= 8 }")._repr_latex_()
    assert r"n\,\mathit{n\_rows}\ \text{ if }\ \mathit{n\_rows} \ge 8" == shown.strip("$")


def test_latex_of_reasons_and_of_long_formulas():
    bound = Count.from_text("[n] -> { n }", exact=False).labelled("workitem", reasons=["half of {n_i} > 50 %"])
    expected = r"$\le n\quad\text{(half of }\{\text{n}\_\text{i}\}\text{ }>\text{ 50 }\%\text{)}$"
    assert expected == bound._repr_latex_()
    pieces = "; ".join(f"n^{k} : n = {k}" for k in range(1, 400))
    shown = Count.from_text(f"[n] -> {{ {pieces} }}")._repr_latex_()
    assert r"$\text{399 pieces, too long to typeset; use str()}$" == shown


def test_repr_is_short():
    pieces = "; ".join(f"n^{k} : n = {k}" for k in range(1, 40))
    assert 119 == len(repr(Count.from_text(f"[n] -> {{ {pieces} }}")))


def test_repr():
    assert "<Count per workitem: n>" == repr(Count.from_text("[n] -> { n }"))
