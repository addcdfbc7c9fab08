"""When a configuration is taken again, on samples that are made up."""

from __future__ import annotations

import pytest

from perfmodel.measuring import Campaign, timing
from perfmodel.measuring.timing import Samples, steady_sample

CAMPAIGN = Campaign("test", runs=4, dropped=1, spread=0.2, retries=2)
STEADY = Samples((9.0, 1.0, 1.1, 1.1), ())
WIDE = Samples((9.0, 1.0, 1.5, 1.5), ())
WIDER = Samples((9.0, 0.9, 2.0, 2.0), ())
SLOW = Samples((9.0, 3.0, 3.0, 3.0), ())
TOO_LONG = Samples((9.0,), (), complete=False)


@pytest.mark.parametrize(
    ("tries", "best", "again"),
    [
        ([STEADY], STEADY, 0),
        ([WIDE, STEADY], STEADY, 1),
        ([WIDER, WIDE, WIDER], WIDE, 2),
        ([WIDE, SLOW, SLOW], WIDE, 2),  # steady, but disturbed all the time
        ([WIDE, TOO_LONG, STEADY], STEADY, 2),
        ([TOO_LONG], TOO_LONG, 0),
    ],
)
def test_wide_times_are_taken_again_and_the_best_try_is_kept(monkeypatch, tries, best, again):
    left = iter(tries)
    monkeypatch.setattr(timing, "sample", lambda *_: next(left))
    assert (best, again) == steady_sample(None, (), CAMPAIGN)
    assert [] == list(left)
