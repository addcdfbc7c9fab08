"""What adopters look for: the citation, the paper's figures, the hooks of a commit, the metadata."""

from __future__ import annotations

import configparser
import re
import shlex

import yaml

import perfmodel as pm
from tests.shadow import ROOT


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def table_rows(name: str) -> set[str]:
    return {line for line in text(name).splitlines() if line.startswith("|") and "%" in line}


def test_the_figures_of_the_paper_are_those_of_the_page_of_accuracy():
    rows = table_rows("docs/lab/paper.md")
    assert len(rows) > 4
    assert set() == rows - table_rows("docs/evaluation.md")


def test_the_citation_names_the_version_and_the_five_papers():
    citation = yaml.safe_load(text("CITATION.cff"))
    assert pm.__version__ == citation["version"]
    assert [2016, 2014, 2017, 2018, 2012] == [paper["year"] for paper in citation["references"]]
    paper = " ".join(text("docs/lab/paper.md").split())
    assert [] == [one["title"] for one in citation["references"] if one["title"] not in paper]
    families = [name for one in citation["references"] for name in re.findall(r"\w+_\w+", one["notes"])]
    assert [] == [name for name in families if not any(known.startswith(name) for known in pm.families())]


def test_a_commits_hooks_run_what_scripts_test_runs():
    hooks = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"][0]["hooks"]
    style, types, structure = (hook["entry"] for hook in hooks)
    lines = text("scripts/test").splitlines()
    assert f"{style} ." in lines
    assert any(line.startswith(f"{types} >") for line in lines)  # beside the tests
    assert all((ROOT / word).is_file() for word in shlex.split(structure) if word.startswith("tests/"))


def test_the_metadata_have_a_version_addresses_and_keywords():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    known = config["metadata"]
    assert pm.__version__ == known["version"]
    assert {"Loopy", "Paper"} <= {line.partition(" = ")[0] for line in known["project_urls"].splitlines()}
    assert "auto-tuning" in known["keywords"].split(", ")
    assert "Typing :: Typed" in known["classifiers"].splitlines()


def test_contributing_is_one_page_whose_links_and_scripts_exist():
    page = text("CONTRIBUTING.md")
    assert len(page.split()) < 600
    links = re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", page)
    scripts = re.findall(r"scripts/\w+", page)
    assert [] == [name for name in (*links, *scripts) if not (ROOT / name).exists()]
