"""Claims as text and as cells."""

from __future__ import annotations

import pytest

from scripts.lab.studies import Claim, claims_text


@pytest.mark.parametrize(
    ("agrees", "verdict"), [(True, "agrees"), (False, "does not agree"), (None, "cannot be shown here")]
)
def test_the_verdict_in_words(agrees, verdict):
    one = Claim("Fig. 2", "r squared is 0.99", "0.42", agrees)
    assert verdict == one.verdict == one.cells[-1]


def test_long_words_wrap_below_their_beginning():
    text = claims_text([Claim("Fig. 2", "one two three four", "", True), Claim("Eq. 1", "b", "c", None)], width=16)
    assert [
        "Fig. 2: agrees", "  paper: one two", "         three four", "  found:",
        "Eq. 1: cannot be shown here", "  paper: b", "  found: c",
    ] == [line.rstrip() for line in text.splitlines()]  # fmt: skip
