"""The environments of other versions: which there are, and what becomes of their results."""

from __future__ import annotations

import configparser

import pytest

from tests import environments
from tests.environments import ENVIRONMENTS, PYTHONS, QUICK, main
from tests.shadow import ROOT


@pytest.fixture
def results(tmp_path, monkeypatch):
    """What each environment's tests end with, by name; "" is an environment that cannot be made."""
    said = dict.fromkeys((wanted.name for wanted in ENVIRONMENTS), "0")
    monkeypatch.setattr(environments, "PLACE", tmp_path)
    monkeypatch.setattr(environments, "made", lambda wanted: tmp_path / wanted.name if said[wanted.name] else None)
    monkeypatch.setattr(environments, "run", lambda python, *_: int(said[python.name]))
    return said


def test_every_python_of_setup_cfg_has_the_pinned_versions():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    classifiers = config["metadata"]["classifiers"].splitlines()
    assert [*PYTHONS] == [line.split()[-1] for line in classifiers if "Python :: 3." in line]
    assert {f"pinned-{python}" for python in PYTHONS} < {wanted.name for wanted in ENVIRONMENTS}


def test_the_quick_tests_exist():
    assert [] == [name for name in QUICK if not (ROOT / name).exists()]


def test_a_failure_fails_and_one_that_is_known_is_named(results, capsys):
    results["newest"] = "1"
    assert 0 == main([])
    assert "known to fail: islpy 2026.2 lacks Aff.is_equal" in capsys.readouterr().out
    results["lowest"] = "1"
    assert 1 == main([])
    assert capsys.readouterr().out.endswith("failed: lowest\n")
    assert 0 == main(["highest"])


def test_an_environment_that_cannot_be_made_is_not_run(results, capsys):
    results["pinned-3.12"] = ""
    assert 0 == main(["pinned-3.12"])
    assert "not run: uv has no Python 3.12" in capsys.readouterr().out


def test_loopys_main_branch_is_run_where_a_snapshot_with_its_submodule_is_given(results, capsys, tmp_path, monkeypatch):
    snapshot, source = tmp_path / "loopy", tmp_path / "source"
    monkeypatch.setattr(environments, "LOOPY_GIVEN", snapshot)
    monkeypatch.setattr(environments, "SOURCE", source)
    missing = "not run: PERFMODEL_LOOPY_GIVEN names no snapshot of Loopy"
    for path in (snapshot / "pyproject.toml", snapshot / environments.COMPYTE / "__init__.py"):
        assert 0 == main(["loopy-main"])
        assert missing in capsys.readouterr().out
        path.parent.mkdir(parents=True)
        path.touch()
    (tmp_path / "compyte").mkdir()
    (tmp_path / "compyte" / "dtypes.py").touch()
    results["loopy-main"] = "1"
    assert 1 == main(["loopy-main"])
    assert missing not in capsys.readouterr().out
    assert (source / environments.COMPYTE / "dtypes.py").is_file()
    assert f"loopy @ file://{source}" in (tmp_path / "main.txt").read_text()


def test_the_newest_versions_have_no_bounds(results, tmp_path):
    main(["newest"])
    names = (tmp_path / "newest.txt").read_text().split()
    assert {"islpy", "loopy", "pymbolic", "pyopencl", "pytools"} <= {*names}
