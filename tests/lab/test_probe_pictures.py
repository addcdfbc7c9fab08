"""Pictures of probes: what they show of the curves."""

from __future__ import annotations

from perfmodel.facts import DeviceFacts, Fact
from scripts.lab.probe_pictures import probes_figure
from tests.facts.test_probed import L1, L2, RUNS

TOLD = DeviceFacts.from_mapping("a device", "a platform", "1", {"l1_told_bytes": Fact(32768, "B", "told")})


def panels(figure):
    return {axes.get_title(loc="left").splitlines()[0].split(":")[0]: axes for axes in figure.axes}


def test_each_probe_has_a_panel_with_its_facts():
    found = panels(probes_figure(RUNS, TOLD))
    expected = ["capacities", "line", "ways", "order of lanes", "vectors", "barriers", "overlap"]
    assert expected == list(found)
    assert "lane_order = serial, lockstep_lanes = 1" in found["order of lanes"].get_title(loc="left")
    assert "l1_line_bytes = 64" in found["line"].get_title(loc="left")
    assert "overlap_exponent = 3" in found["overlap"].get_title(loc="left")


def test_the_chase_shows_the_steps_and_what_the_system_tells():
    axes = panels(probes_figure(RUNS, TOLD))["capacities"]
    assert ["l1: 48 KiB", "l2: 1 MiB"] == [text.get_text().strip() for text in axes.texts]
    assert [L1, L2] == [band.get_x() for band in axes.patches]
    assert [32768, 32768] in [list(line.get_xdata()) for line in axes.lines]
