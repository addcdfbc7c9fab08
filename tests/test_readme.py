"""The README's Python runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

from perfmodel.calibration import recommended
from perfmodel.facts import read_device
from perfmodel.opencl import Device

README = Path(__file__).parents[1] / "README.md"
COMMITTED = README.parent / "fitted_weights" / "pocl-skylake-avx512-amd-epyc"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)


def test_the_python_snippets_run(tmp_path, monkeypatch, capsys):
    """They read committed weights, which are those of a made-up machine, and write nothing into the clone."""
    device = Device(0, read_device(COMMITTED / "device.json"))
    monkeypatch.setattr(recommended, "identify", lambda selector: device)
    monkeypatch.setattr(recommended, "data_folder", lambda: tmp_path / "data")
    (tmp_path / "fitted_weights").symlink_to(README.parent / "fitted_weights")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, str(README), "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    promised = re.findall(r"# prints (.*)$", "\n".join(blocks("python")), re.MULTILINE)
    assert promised
    assert promised == printed[: len(promised)]


def test_the_pictures_are_there():
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", README.read_text())
    assert pictures
    for picture in pictures:
        assert (README.parent / picture).is_file()
