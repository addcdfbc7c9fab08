"""Pictures of probes: what they show of the curves."""

from __future__ import annotations

import pytest

from perfmodel.errors import OptionError
from perfmodel.facts import DeviceFacts, Fact
from scripts.lab.probe_pictures import picture_probes, probes_figure
from tests.facts.test_probed import L1, L2, RUNS
from tests.probed import chase

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


def test_probes_that_tell_nothing_are_drawn_all_the_same(tmp_path):
    runs = [chase({2**k: 1e-9 for k in range(12, 20)})]
    titles = [axes.get_title(loc="left") for axes in probes_figure(runs).axes]
    assert 6 == sum("not clear: no fact" in title for title in titles)
    picture_probes(runs, None, tmp_path / "probes.svg")
    assert "<svg" in (tmp_path / "probes.svg").read_text()


def test_names_of_other_formats_and_devices_without_probes_are_refused(tmp_path):
    with pytest.raises(OptionError):
        picture_probes(RUNS, None, tmp_path / "probes.pdf")
    with pytest.raises(OptionError, match="perfmodel calibrate --probes"):
        picture_probes([], None, tmp_path / "probes.png")
