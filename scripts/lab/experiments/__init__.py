"""The papers' experiments: each module of this folder holds one as its value ``STUDY``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from scripts.lab.studies import Study


def studies() -> dict[str, Study]:
    """Return the experiments by their names."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    found: list[Study] = [import_module(f"scripts.lab.experiments.{name}").STUDY for name in names]
    return {one.name: one for one in found}
