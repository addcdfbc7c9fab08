"""The example notebooks run, show pictures and tables, and hold the outputs that they give."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from scripts.lab.notebooks import NOTEBOOKS, executed, texts

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's own libraries


def kinds(notebook):
    return {kind for cell in notebook.cells for output in cell.get("outputs", []) for kind in output.get("data", {})}


@pytest.mark.nightly
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_gives_the_committed_outputs(path: Path):
    """Pictures may differ by a pixel from one version of matplotlib to the next; tables and numbers do not."""
    committed, new = nbformat.read(path, as_version=4), executed(path)
    assert not [output for cell in new.cells for output in cell.get("outputs", []) if output.output_type == "error"]
    assert {"image/png", "text/html"} <= kinds(new)
    assert texts(committed) == texts(new)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_small_and_says_nothing_of_the_machine_that_ran_it(path: Path):
    content = path.read_text(encoding="utf-8")
    assert len(content) < 400_000
    for word in ("/home/", "/root/", "/tmp/", "site-packages", "Traceback", "Warning"):
        assert word not in content
