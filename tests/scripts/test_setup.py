"""scripts/setup in a copy of the project: a second run, and its errors."""

import configparser
import hashlib
import os
import shutil
import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from perfmodel.libraries import has_upper_bound
from tests.shadow import NO_DRIVERS, ROOT, shadow

NO_INDEX = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
FINGERPRINTED = ("setup.cfg", "pyproject.toml", "scripts/setup", "scripts/constraints.txt")


@pytest.fixture
def copy(tmp_path):
    """A copy of the project, without a .venv."""
    project = tmp_path / "project"
    (project / "scripts").mkdir(parents=True)
    for name in FINGERPRINTED:
        shutil.copy(ROOT / name, project / name)
    shutil.copytree(ROOT / "perfmodel", project / "perfmodel", ignore=shutil.ignore_patterns("__pycache__"))
    (project / "README.md").touch()
    return project


@pytest.fixture
def ready(copy):
    """The copy with a .venv that sees what this Python sees, as if scripts/setup had run."""
    venv.create(copy / ".venv", symlinks=True)
    (packages,) = (copy / ".venv" / "lib").glob("python*/site-packages")
    (packages / "outer.pth").write_text(f"import site; site.addsitedir({site.getsitepackages()[0]!r})\n")
    version = subprocess.run([copy / ".venv/bin/python", "-VV"], capture_output=True, text=True, check=True).stdout
    content = b"".join((copy / name).read_bytes() for name in FINGERPRINTED)
    digest = hashlib.sha256(content + f"{copy}\n{version}".encode()).hexdigest()
    (copy / ".venv" / "setup.stamp").write_text(f"{digest}  -\n")
    return copy


@pytest.fixture
def no_root(tmp_path):
    """A PATH on which nobody is root."""
    commands = tmp_path / "commands"
    commands.mkdir()
    for name, body in (("id", "echo 1000"), ("sudo", "exit 1")):
        (commands / name).write_text(f"#!/bin/sh\n{body}\n")
        (commands / name).chmod(0o755)
    return {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}


def setup(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "PYTHON"))}
    return subprocess.run(
        [project / "scripts" / "setup", *arguments], env={**inherited, **environment}, capture_output=True, text=True
    )


def error_of(done: subprocess.CompletedProcess[str]) -> str:
    """The line with the error."""
    assert 1 == done.returncode, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "error:" in line]
    assert line == done.stderr.splitlines()[-1]
    return line


@pytest.mark.device
def test_second_run_only_checks(ready):
    done = setup(ready, **NO_INDEX)
    assert 0 == done.returncode, done.stderr
    assert [] == [line for line in done.stderr.splitlines() if line.endswith(" ...")]  # each step that does something
    assert "the packages are there already" in done.stderr
    assert "OpenCL device that builds and runs a kernel: " in done.stderr
    assert "" == done.stdout


def test_changed_requirements_are_installed_if_there_is_a_network(ready):
    with (ready / "setup.cfg").open("a") as config:
        config.write("# changed\n")
    done = setup(ready, **NO_INDEX)
    assert "installing perfmodel and the libraries" in done.stderr
    line = error_of(done)
    assert "no connection to the Python package index" in line
    assert "run scripts/setup again" in line
    assert not (ready / ".venv" / "setup.stamp").exists()


def test_no_suitable_python(copy):
    line = error_of(setup(copy, PYTHON="python2.0"))
    assert "no Python 3.10 to 3.13 among: python2.0" in line
    assert "apt-get install python3 python3-venv" in line
    assert not (copy / ".venv").exists()


def test_python_without_venv_and_nobody_is_root(copy, no_root, tmp_path):
    (tmp_path / "ensurepip").mkdir()
    (tmp_path / "ensurepip" / "__init__.py").write_text("raise ImportError\n")
    python = tmp_path / "debian-python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    line = error_of(setup(copy, PYTHON=str(python), **no_root))
    version = "{}.{}".format(*sys.version_info)
    assert line.endswith(f"as root: apt-get install python{version}-venv")


def test_no_device_no_root_and_no_network(ready, no_root):
    (packages,) = (ready / ".venv" / "lib").glob("python*/site-packages")
    shadow(packages, "pyopencl", NO_DRIVERS)
    line = error_of(setup(ready, **no_root, **NO_INDEX))
    assert "no OpenCL device works" in line
    assert "apt-get install pocl-opencl-icd" in line


@pytest.mark.parametrize(("arguments", "text"), [
    (("--offline-wheels",), "--offline-wheels needs a folder"),
    (("--offline-wheels", "nowhere"), "collect them on a machine with a network: scripts/setup --download-wheels"),
    (("--offline-wheels", "a", "--download-wheels", "b"), "not both"),
])  # fmt: skip
def test_invalid_options_for_wheels(copy, arguments, text):
    assert text in error_of(setup(copy, *arguments))
    assert not (copy / ".venv").exists()


def test_a_missing_offline_wheel_is_named(ready, tmp_path):
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "nothing-1.0-py3-none-any.whl").touch()
    (ready / ".venv" / "setup.stamp").unlink()
    line = error_of(setup(ready, "--offline-wheels", str(tmp_path / "wheels")))
    assert "Could not find a version that satisfies the requirement setuptools" in line
    assert "scripts/setup --download-wheels DIR" in line


def test_the_pinned_versions_are_in_the_ranges_that_setup_cfg_allows():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    required = [Requirement(text) for text in config["options"]["install_requires"].split()]
    ranges = {wanted.name: wanted.specifier for wanted in required if has_upper_bound(wanted)}
    lines = (ROOT / "scripts" / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert {"islpy", "loopy", "pymbolic", "pyopencl", "pytools"} == {*pins} == {*ranges}
    assert [] == [name for name, version in pins.items() if version not in ranges[name]]
    assert ">=3.10,<3.14" == config["options"]["python_requires"]
