"""Which models are scored: families, ideas from a file of data or from Python, black boxes, and twins."""

from __future__ import annotations

from perfmodel.facts import DeviceFacts, Fact
from perfmodel.models import families, find_family
from scripts.lab.scoreboard.ideas import Idea, every_idea, read_ideas, with_measured_twins
from tests.lab.scoreboard.scored import device


def written(tmp_path, text: str):
    path = tmp_path / "ideas.json"
    path.write_text(text)
    return path


def test_a_file_names_families_with_options(tmp_path):
    both = '"robust": {"family": "gpuperf", "options": {"starts": 3}}, "one": {"family": "expr:w_a*launches"}'
    robust, one = read_ideas(written(tmp_path, f'{{"ideas": {{{both}}}}}'))
    assert ("robust", "robust", 3, False) == (
        robust.name, robust.family.name, robust.options.starts, robust.measured_facts
    )  # fmt: skip
    assert find_family("gpuperf").expression == robust.family.expression
    assert "w_a*launches" == one.family.expression


def test_the_committed_ideas_can_be_read():
    from scripts.scoreboard import ROOT

    assert read_ideas(ROOT / "docs" / "data" / "ideas.json")


def test_every_family_comes_first_and_black_boxes_last(tmp_path):
    own = tmp_path / "own.py"
    own.write_text("from perfmodel.models import Family\nFAMILY = Family('own', 'by hand', ('launches',))\n")
    found = every_idea([Idea("mine", find_family("gpuperf"))], [str(own)], ["roofline"])
    assert [*families(), "own", "mine", "black box (roofline)"] == [one.name for one in found]
    assert [True] == [one.black_box for one in found if one.black_box]


def test_an_idea_with_a_weight_that_was_measured_has_a_twin():
    own = device()
    facts = {"launch_s": Fact(1e-6, "s", "measured")}
    known = own.plain.with_facts(DeviceFacts.from_mapping("stand-in", "", "", facts))
    ideas = every_idea(seen_by_trees=["gpuperf"])
    names = [one.name for one in with_measured_twins(ideas, own.plain, known)]
    assert "gpuperf (measured)" == names[names.index("gpuperf") + 1]  # its w_launch is the fact launch_s
    assert "stevens_kloeckner_2016 (measured)" not in names
    assert "black box (gpuperf)" == names[-1]
