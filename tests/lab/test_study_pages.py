"""Pages of studies: a device's section is written, the others stay."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from perfmodel.facts import DeviceFacts
from scripts.lab import study_pages
from scripts.lab.curves import Panel, Series, curves_figure
from scripts.lab.studies import Claim, Findings, Study

CLAIM = Claim("Fig. 2", "a < b | c", "b is 3", False)
CHOICES = [
    {"family": "f", "regret": 1.25, "rank": 2.0, "variants": 4, "choices": 2, "withheld": 0},
    {"family": "g", "regret": None, "rank": None, "variants": 0, "choices": 0, "withheld": 8},
]


@dataclass(frozen=True)
class Data:
    facts: DeviceFacts
    failed: tuple = field(default=())


@pytest.fixture
def study():
    return Study("apsp", "All pairs", "Ma et al.", "ma-2014", (), lambda data: None)


def findings(*claims):
    figure = curves_figure([Panel((Series("s", (1, 2), (1, 2)),), "x", "y")])
    return Findings(claims or (CLAIM,), {"": [{"n": 1}, {"n": 2, "m": 3}], "choices": CHOICES}, {"figure3": figure})


def test_everything_of_two_devices_is_on_the_page_below_its_marker(tmp_path, study):
    page = tmp_path / "lab" / "experiments" / "apsp.md"
    page.parent.mkdir(parents=True)
    page.write_text(f"# All pairs\n\nour words\n\n{study_pages.MARKER}\n\nold")
    row = SimpleNamespace(kernel="k", variant={"b": 512}, parameters={}, status="constraint", message="too large")
    for name, failed in (("one", (row,)), ("two", ())):
        data = Data(DeviceFacts(f"Device {name}", "P", "1", ()), failed)
        study_pages.write(tmp_path, name, study, data, findings())
    text = page.read_text()
    assert text.startswith("# All pairs\n\nour words\n")
    assert "old" not in text
    claims, first, second = text.partition("## The claims")[2].split("## Device")
    assert "| Fig. 2: a &lt; b \\| c | b is 3 | does not agree |" in claims
    assert "Fig. 2" not in first
    assert "| k | b=512 | too large |" in first
    assert "too large" not in second
    assert "![apsp-figure3 on two](two/apsp-figure3.png)" in second
    assert b"\x89PNG" == (page.parent / "one" / "apsp-figure3.png").read_bytes()[:4]
    folder = tmp_path / "data" / "experiments" / "one"
    assert "n,m\n1,\n2,3\n" == (folder / "apsp.csv").read_text()
    assert {"apsp.csv", "apsp-claims.csv", "apsp-skipped.csv", "apsp-choices.csv"} == {p.name for p in folder.iterdir()}
    assert ["one", "two"] == study_pages.measured_devices(tmp_path)
    other = Study("fmm", "", "", "kim-2012", (), study.examine)
    assert [study] == study_pages.examined(tmp_path, "one", [study, other])


def test_sizes_are_labelled_and_times_within_two_decades_too():
    series = {"sizes": (512, 1024, 4096), "times": (1.5e-5, 5.3e-5, 5.7e-5, 6.4e-4)}
    panels = [Panel((Series("a", x, x),), name, "y", scales=("log", "log")) for name, x in series.items()]
    figure = curves_figure(panels)
    figure.draw_without_rendering()
    labels = [[text.get_text() for text in axes.get_xticklabels()] for axes in figure.axes]
    sizes, times = ([label.replace("\N{MINUS SIGN}", "-") for label in own] for own in labels)
    assert ["512", "1Ki", "4Ki"] == sizes
    assert {"2e-05", "5e-05", "0.0001", "0.0002", "0.0005"} <= {*times}
    assert not {"5.3e-05", "5.7e-05"} & {*times}
