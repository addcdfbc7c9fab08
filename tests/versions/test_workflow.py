"""The workflow of GitHub Actions on the page, run as a runner does: each command in a clone of a repository."""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from tests.machine import ROOT
from tests.versions.test_sides import git

PAGE = ROOT / "docs" / "diff.md"
HEAT = '''
import loopy as lp
import numpy as np


def kernel():
    unit = lp.make_kernel("{[i,j]: 0 <= i,j < n}", "new[i,j] = 0.25*(u[i,j] + u[i,j+1] + u[i+1,j] + u[i+1,j+1])",
                          [lp.GlobalArg("u", np.float32, shape="n+1,n+1"), lp.GlobalArg("new", np.float32, shape="n,n"),
                           lp.ValueArg("n", np.int32)], assumptions="n >= 1 and n mod 16 = 0", lang_version=(2018, 2))
    unit = lp.split_iname(unit, "i", 16, outer_tag="g.1", inner_tag="l.1")
    return lp.split_iname(unit, "j", 16, outer_tag="g.0", inner_tag="l.0")
'''


def test_the_workflow_of_the_page_runs_in_a_clone(tmp_path: Path) -> None:
    text = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert text is not None
    workflow = yaml.safe_load(text[1])
    assert "pull_request" == workflow[True]  # YAML 1.1 reads the key `on` as true
    (job,) = workflow["jobs"].values()
    assert {"actions/checkout@v4": {"fetch-depth": 0}, "actions/setup-python@v5": {"python-version": "3.12"}} == {
        step["uses"]: step["with"] for step in job["steps"] if "uses" in step
    }
    install, compare, show = (step["run"] for step in job["steps"] if "run" in step)
    assert "pip install perfmodel" == install

    origin, clone, tools = tmp_path / "origin", tmp_path / "clone", tmp_path / "bin"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    (origin / "heat.py").write_text(HEAT)
    git(origin, "add", ".")
    git(origin, "commit", "-q", "-m", "a kernel")
    git(tmp_path, "clone", "-q", str(origin), str(clone))
    git(clone, "checkout", "-q", "-b", "change")
    (clone / "heat.py").write_text(HEAT.replace('.1"', '.2"').replace('.0"', '.1"').replace('.2"', '.0"'))
    tools.mkdir()
    (tools / "perfmodel").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m perfmodel "$@"\n')
    (tools / "perfmodel").chmod(0o755)
    environment = {
        **os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "GITHUB_BASE_REF": "main",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }  # fmt: skip
    compared, shown = (
        subprocess.run(["bash", "-e", "-c", each], cwd=clone, env=environment, capture_output=True, text=True)
        for each in (compare, show)
    )
    assert 1 == compared.returncode, compared.stderr  # the lanes of a group jump from row to row: slower
    assert "lane stride of loads of u: 1 -> n + 1" in compared.stdout
    assert 0 == shown.returncode, shown.stderr
    assert (clone / "table.md").read_text() == (tmp_path / "summary.md").read_text()
    assert "<testsuite" in (clone / "junit.xml").read_text()
