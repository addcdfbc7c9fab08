"""Which models are scored: families, ideas from a file of data or from Python, black boxes, and twins."""

from __future__ import annotations

from perfmodel.facts import DeviceFacts, Fact
from scripts.lab.scoreboard.ideas import every_idea, read_ideas, with_measured_twins
from tests.lab.scoreboard.scored import device


def test_the_committed_ideas_can_be_read():
    from scripts.scoreboard import ROOT

    assert read_ideas(ROOT / "docs" / "data" / "ideas.json")


def test_an_idea_with_a_weight_that_was_measured_has_a_twin():
    own = device()
    facts = {"launch_s": Fact(1e-6, "s", "measured")}
    known = own.plain.with_facts(DeviceFacts.from_mapping("stand-in", "", "", facts))
    ideas = every_idea(seen_by_trees=["gpuperf"])
    names = [one.name for one in with_measured_twins(ideas, own.plain, known)]
    assert "gpuperf (measured)" == names[names.index("gpuperf") + 1]  # its w_launch is the fact launch_s
    assert "stevens_kloeckner_2016 (measured)" not in names
    assert "black box (gpuperf)" == names[-1]
