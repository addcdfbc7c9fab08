"""The main job from end to end, as a user runs it, on a real device."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

QUICKSTART = Path(__file__).parents[2] / "scripts" / "quickstart.py"


def quickstart(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(QUICKSTART), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.device
@pytest.mark.slow
def test_the_main_job(tmp_path):
    result = quickstart("--output", str(tmp_path))
    assert 0 == result.returncode, result.stderr
    assert result.stdout.startswith("device: ")
    assert re.search(r"^launches +[-0-9.e]+ +s/launch$", result.stdout, re.MULTILINE)
    for kernel in ("stencil", "matmul_skinny"):
        rows = re.findall(rf"^{kernel} .* %$", result.stdout, re.MULTILINE)
        assert 1 + 1 <= len(rows) <= 4 + 1  # up to four sizes, fewer on a slow or busy machine, and the geometric mean
    assert re.search(r"^all +geometric mean +[0-9.]+ %$", result.stdout, re.MULTILINE)
    (folder,) = tmp_path.iterdir()
    document = json.loads((folder / "stevens_kloeckner_2016.json").read_text())
    assert {"launches", "op_float32_add", "global_load_32_stride1"} <= document["weights"].keys()
    assert (folder / "quickstart.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.device
def test_an_unknown_device_is_answered_in_one_line(tmp_path):
    result = quickstart("--device", "no such device", "--output", str(tmp_path))
    assert 2 == result.returncode
    assert 1 == len(result.stderr.splitlines())
    assert "no such device" in result.stderr
    assert [] == list(tmp_path.iterdir())


def test_what_it_writes_is_never_committed(tmp_path):
    """Its folder is one of its own, which git ignores: raw data in ``fitted_weights`` stays as it is."""
    done = quickstart("--help", folder=tmp_path)
    assert "default: quickstart" in " ".join(done.stdout.split())
    assert "/quickstart/" in (QUICKSTART.parents[1] / ".gitignore").read_text().splitlines()
