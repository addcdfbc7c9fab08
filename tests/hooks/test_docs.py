"""docs/hooks.md runs as one program and prints what it promises; what needs Kernel Tuner runs nightly."""

import re

import pytest

from tests.machine import ROOT
from tests.store.test_exchange import cache

pytestmark = pytest.mark.nightly

PAGE = ROOT / "docs" / "hooks.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
NEEDS = "kernel_tuner.tune_kernel("


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "fitted_weights").symlink_to(ROOT / "fitted_weights")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(blocks: list[str]) -> dict[str, object]:
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    return names


def promised(blocks: list[str]) -> list[str]:
    return re.findall(r"# prints (.*)$", "\n".join(blocks), re.MULTILINE)


def test_the_page_runs_without_the_tuner(folder, capsys):
    entries = [
        f'"{width},{height}": {{"width": {width}, "height": {height}, "rows": 1, "prefetch": false, "time": 1.5}},'
        for width, height in ((16, 4), (32, 1), (32, 2), (32, 4), (64, 1), (64, 2))
    ]
    names = '"group",\n"terms"'
    assert names in cache()
    (folder / "cache.json").write_text(cache(*entries).replace(names, '"width", "height", "rows", "prefetch"'))
    blocks = [block for block in BLOCKS if NEEDS not in block]
    assert 3 == len(blocks)
    run(blocks)
    assert promised(blocks) == capsys.readouterr().out.splitlines()


@pytest.mark.nightly
@pytest.mark.device
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_page_runs_with_kernel_tuner(capsys):
    assert 5 == len(BLOCKS)
    run(BLOCKS)
    assert promised(BLOCKS) == [line for line in capsys.readouterr().out.splitlines() if "Using" not in line]
