"""The family of docs/add-a-family.md is found, and keeps the contract, once it is in the folder."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import perfmodel.models
from perfmodel.models import families, find_family
from tests.contract import CHECKS, trial

PAGE = Path(__file__).parents[2] / "docs" / "add-a-family.md"
NAME = "latency_bound"
CODE = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """The code block, as a file in a folder that belongs to the package for this test."""
    folder = tmp_path_factory.mktemp("families")
    (folder / f"{NAME}.py").write_text(CODE, encoding="utf-8")
    perfmodel.models.__path__.append(str(folder))
    families.cache_clear()
    yield families()[NAME]
    perfmodel.models.__path__.remove(str(folder))
    del sys.modules[f"perfmodel.models.{NAME}"]
    families.cache_clear()


def test_the_code_is_as_short_as_the_page_says():
    assert len(CODE.strip().splitlines()) <= 26
    assert len([line for line in CODE.split('"""')[2].splitlines() if line.strip()]) <= 20


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(family, check):
    check(trial(family))


def test_it_is_found_as_a_file_too(family, tmp_path):
    (tmp_path / "own.py").write_text(CODE, encoding="utf-8")
    found = find_family(str(tmp_path / "own.py"))
    assert (family.name, family.expression, family.weights) == (found.name, found.expression, found.weights)
