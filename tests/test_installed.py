"""What an installation outside of the clone holds: the package, its data, and the kernel classes that it runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perfmodel.calibration.kernel_choice import MEASUREMENT_KERNELS, TEST_KERNELS, kernel_folder
from tests.shadow import ROOT

FILES = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE")
FOLDERS = ("perfmodel", MEASUREMENT_KERNELS, TEST_KERNELS)
WEIGHTS = ROOT / "fitted_weights" / "pocl-skylake-avx512-intel-xeon" / "bottleneck.json"
KERNEL = '''
import loopy as lp
import numpy as np


def kernel():
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}", "out[i] = a[i] + 1",
        [lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 128 = 0", lang_version=(2018, 2))
    return lp.split_iname(t_unit, "i", 128, outer_tag="g.0", inner_tag="l.0")
'''


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What a wheel of the project would hold, in a folder, and a runner of programs that see only that."""
    clone, library, here = (tmp_path_factory.mktemp(name) for name in ("clone", "library", "elsewhere"))
    for name in FILES:
        shutil.copy(ROOT / name, clone)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = "import warnings; warnings.simplefilter('ignore'); from setuptools import setup; setup()"
    asked = [sys.executable, "-c", build, "-q", "build_py", "--build-lib", str(library)]
    subprocess.run(asked, cwd=clone, check=True, capture_output=True)
    (here / "kernel.py").write_text(KERNEL)

    def run(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(library), "XDG_DATA_HOME": str(here / "data")}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=here, env=environment, capture_output=True, text=True, check=False
        )
        assert 0 == done.returncode, done.stderr
        return done.stdout

    return library, run


def files(folder: Path) -> set[str]:
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {name for name in found if "__pycache__" not in name}


def test_it_holds_every_file_of_the_package_and_the_kernel_classes(installed):
    library, _ = installed
    expected = {f"{name}/{file}" for name in FOLDERS for file in files(ROOT / name)}
    assert expected == files(library)


def test_its_kernel_classes_are_found_and_not_those_of_the_clone(installed):
    library, run = installed
    module = "from perfmodel.calibration import kernel_choice as k; "
    code = module + "print(k.kernel_folder({0!r}), len(k.discovered(None, {0!r})))"
    for name in (MEASUREMENT_KERNELS, TEST_KERNELS):
        folder, count = run("-c", code.format(name)).split()
        assert str(library / name) == folder
        assert len([*kernel_folder(name).glob("*.py")]) == int(count)


@pytest.mark.device
def test_the_doctor_and_predict_run_there(installed):
    _, run = installed
    assert "built and ran a kernel" in run("-m", "perfmodel", "doctor")
    text = run("-m", "perfmodel", "predict", "kernel.py", "-p", "n=1Mi", "-w", str(WEIGHTS), "--allow-unmeasured")
    assert "kernel: " in text


@pytest.mark.nightly
@pytest.mark.device
def test_a_new_users_commands_run_there_without_a_path(installed):
    """Weights are found in the user's data folder, where a short calibration put them."""
    _, run = installed
    assert "built and ran a kernel" in run("-m", "perfmodel", "doctor")
    assert "verdict: " in run("-m", "perfmodel", "calibrate", "--quick", "--budget", "30")
    asked = ("kernel.py", "-p", "n=1Mi")
    assert "kernel: " in run("-m", "perfmodel", "predict", *asked, "--allow-unmeasured")
    assert "measured" in run("-m", "perfmodel", "time", *asked, "--visits", "1")
    assert "best: kernel, " in run("-m", "perfmodel", "tune", *asked)
