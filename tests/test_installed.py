"""What an installation outside of the clone holds and does: the package, its data, kernel classes and weights."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfmodel.calibration import recommended
from perfmodel.calibration.kernel_choice import MEASUREMENT_KERNELS, TEST_KERNELS
from perfmodel.io import shipped
from tests import journey
from tests.journey import sources
from tests.shadow import ROOT

WEIGHTS = ("*/*.json", "*/*.yaml", "*/verdict.txt")
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


def runner(python: Path | str, here: Path, **settings: str):
    """Return a function that runs Python with arguments outside of the clone, and returns its output."""
    (here / "kernel.py").write_text(KERNEL)
    environment = {**os.environ, "PYTHONPATH": "", "XDG_DATA_HOME": str(here / "data"), **settings}

    def run(*arguments: str) -> str:
        asked = [str(python), *arguments]
        done = subprocess.run(asked, cwd=here, env=environment, capture_output=True, text=True, check=False)
        assert 0 == done.returncode, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What a wheel of the project would hold, in a folder, and a runner of programs that see only that."""
    clone, library, here = (tmp_path_factory.mktemp(name) for name in ("clone", "library", "elsewhere"))
    build = "import warnings; warnings.simplefilter('ignore'); from setuptools import setup; setup()"
    asked = [sys.executable, "-c", build, "-q", "build_py", "--build-lib", str(library)]
    subprocess.run(asked, cwd=sources(clone), check=True, capture_output=True)
    return library, runner(sys.executable, here, PYTHONPATH=str(library))


def files(folder: Path, *patterns: str) -> set[str]:
    found = (path for pattern in patterns for path in folder.glob(pattern) if path.is_file())
    return {path.relative_to(folder).as_posix() for path in found if path.suffix != ".pyc"}


def expected() -> set[str]:
    """The files of the package; inside it the kernel classes that commands run, and weights without measured rows."""
    kept = {MEASUREMENT_KERNELS: ("*.py",), TEST_KERNELS: ("*.py", "samples/*"), recommended.FOLDER: WEIGHTS}
    inside = {f"{name}/{file}" for name, patterns in kept.items() for file in files(ROOT / name, *patterns)}
    return {f"perfmodel/{file}" for file in inside | files(ROOT / "perfmodel", "**/*")}


def test_it_holds_one_package_with_every_file_and_the_kernel_classes_and_weights_inside(installed):
    library, _ = installed
    assert expected() == files(library, "**/*")


def test_its_kernel_classes_are_found_and_not_those_of_the_clone(installed):
    library, run = installed
    module = "from perfmodel.calibration import kernel_choice as k; "
    code = module + "print(k.shipped({0!r}), len(k.discovered(None, {0!r})))"
    for name in (MEASUREMENT_KERNELS, TEST_KERNELS):
        folder, count = run("-c", code.format(name)).split()
        assert str(library / "perfmodel" / name) == folder
        assert len([*shipped(name).glob("[!_]*.py")]) == int(count)


@pytest.mark.nightly
@pytest.mark.device
def test_the_doctor_and_predict_run_there(installed):
    """A device that is not here is predicted by the weights that ship."""
    _, run = installed
    assert "built and ran a kernel" in run("-m", "perfmodel", "doctor")
    assert "kernel: " in run("-m", "perfmodel", "predict", "kernel.py", "-p", "n=1Mi", "--device", "titan-v")


@pytest.mark.nightly
@pytest.mark.device
def test_the_journey_of_a_stranger(tmp_path):
    """Every command that the first pages name, with kernels of users' kinds, from a wheel outside of the clone."""
    python, seconds = journey.installed(tmp_path, ["report"])
    assert [] == journey.travelled(tmp_path, python, seconds), (tmp_path / "journey.txt").read_text(encoding="utf-8")
