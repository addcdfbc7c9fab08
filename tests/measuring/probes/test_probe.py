"""How often a probe is visited."""

from __future__ import annotations

from perfmodel.measuring.probes.probe import BRIEF, THOROUGH, Probe


def test_further_visits_only_where_there_is_more_than_one():
    probe = Probe("chase", lambda *_: iter(()), more=2)
    assert (1, THOROUGH.visits + 2) == (probe.visits(BRIEF), probe.visits(THOROUGH))
