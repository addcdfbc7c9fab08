"""docs/hooks.md runs as one program and prints what it promises; what needs Kernel Tuner runs nightly."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.hooks.test_triton import Autotuner, Config
from tests.store.test_exchange_tuner_files import cache

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "hooks.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
NEEDS = "kernel_tuner.tune_kernel("


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "fitted_weights").symlink_to(ROOT / "fitted_weights")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def triton() -> dict[str, ModuleType]:
    """Modules in the place of Triton's, with the stand-in of its autotuner."""
    found, language = ModuleType("triton"), ModuleType("triton.language")
    language.constexpr = int
    found.language, found.Config = language, Config
    found.jit = lambda function: function
    found.autotune = lambda configs, key, prune_configs_by: (
        lambda function: Autotuner(["out", "a", "n"], configs, prune_configs_by)
    )
    return {"triton": found, "triton.language": language}


def run(blocks: list[str]) -> dict[str, object]:
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    return names


def promised(blocks: list[str]) -> list[str]:
    return re.findall(r"# prints (.*)$", "\n".join(blocks), re.MULTILINE)


def test_the_page_runs_without_the_tuners(folder, monkeypatch, capsys):
    for name, module in triton().items():
        monkeypatch.setitem(sys.modules, name, module)
    entries = [
        f'"{width},{height}": {{"width": {width}, "height": {height}, "rows": 1, "prefetch": false, "time": 1.5}},'
        for width, height in ((16, 4), (32, 1), (32, 2), (32, 4), (64, 1), (64, 2))
    ]
    names = '"group",\n"terms"'
    assert names in cache()
    (folder / "cache.json").write_text(cache(*entries).replace(names, '"width", "height", "rows", "prefetch"'))
    blocks = [block for block in BLOCKS if NEEDS not in block]
    assert 4 == len(blocks)
    found = run(blocks)
    assert promised(blocks) == capsys.readouterr().out.splitlines()
    kept = found["double"].pruned(object(), object(), 2**20)
    assert 3 == len(kept)
    assert {256, 1024} >= {config.kwargs["BLOCK"] for config in kept}


@pytest.mark.nightly
@pytest.mark.device
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_page_runs_with_kernel_tuner(capsys):
    blocks = [block for block in BLOCKS if "triton" not in block]
    assert 5 == len(blocks)
    run(blocks)
    assert promised(blocks) == [line for line in capsys.readouterr().out.splitlines() if "Using" not in line]
