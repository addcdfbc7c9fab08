"""A kernel file runs as a program of its own would, and leaves the process as it was."""

import pickle
import subprocess
import sys

import cloudpickle
import pytest

from perfmodel.errors import KernelFileError
from perfmodel.kernels import discover
from perfmodel.kernels.files import execute, pickled_by_value, surroundings
from tests.machine import ROOT


def names(folder, text: str, name: str = "mine.py"):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    return execute(path)


def test_modules_beside_a_file_are_its_own(tmp_path):
    for folder, value in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "namesake.py").write_text(f"value = {value}")
    found = [names(tmp_path / folder, "from namesake import value")["value"] for folder in ("a", "b", "a")]
    assert [1, 2, 1] == found


def test_a_function_may_import_what_lies_beside_it_when_it_is_called(tmp_path):
    (tmp_path / "later.py").write_text("value = 3")
    found = names(tmp_path, "def kernel():\n    from later import value\n    return value\n")
    with surroundings(tmp_path / "mine.py"):
        assert 3 == found["kernel"]()


def test_what_a_file_defines_is_a_module_of_its_own(tmp_path):
    found = names(
        tmp_path,
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Tile:\n    width: int\n"
        "tile = Tile(8)\nplace = __file__\nas_a_program = __name__ == '__main__'\n",
    )
    assert found["tile"] == pickle.loads(pickle.dumps(found["tile"]))
    assert (str(tmp_path / "mine.py"), False) == (found["place"], found["as_a_program"])


def test_the_process_is_left_as_it_was(tmp_path):
    before = list(sys.path), sys.argv
    (tmp_path / "mine.py").write_text("import sys\narguments = sys.argv\nfirst = sys.path[0]\n")
    found = execute(tmp_path / "mine.py")
    assert ([str(tmp_path / "mine.py")], str(tmp_path)) == (found["arguments"], found["first"])
    with pytest.raises(KernelFileError):
        names(tmp_path, "raise GeneratorExit")
    assert before == (sys.path, sys.argv)


def test_an_error_next_to_the_file_names_that_line(tmp_path):
    tmp_path.joinpath("helping.py").write_text("def divide(a, b):\n    return a / b\n")
    with pytest.raises(KernelFileError) as caught:
        names(tmp_path, "import helping\nhelping.divide(1, 0)\n")
    assert f"'{tmp_path / 'helping.py'}' line 2: raised ZeroDivisionError (division by zero) in 'return a / b'" in str(
        caught.value
    )


CLASS = """
import _beside
from perfmodel.kernels import KernelClass, Ladder

SCALE = 3

def build(factor):
    return _beside.twice(factor) + SCALE

KERNEL = KernelClass(
    name="one", group="g", build=build, variants=({"factor": 2},), sizes=Ladder(lambda e: ({"n": 2**e},), 1),
    reference=lambda arguments, factor: {"out": _beside.twice(factor)},
)
"""
#: Prints what a class from standard input does, in a process that has not run its file.
ELSEWHERE = """
import pickle, sys
kernel = pickle.load(sys.stdin.buffer)
print(kernel.build(2), kernel.reference({}, 2), kernel.sizes.at(3))
"""


@pytest.mark.parametrize("place", ["kernels", "site-packages/perfmodel/measurement_kernels"])
def test_a_class_of_a_file_and_the_modules_next_to_it_travel(tmp_path, place):
    folder = tmp_path / place
    folder.mkdir(parents=True)
    (folder / "_beside.py").write_text("def twice(x):\n    return 2*x\n")
    (folder / "one.py").write_text(CLASS)
    (kernel,) = discover(folder)
    before = cloudpickle.list_registry_pickle_by_value()
    sent = pickled_by_value(kernel)
    assert before == cloudpickle.list_registry_pickle_by_value()
    command = [sys.executable, "-c", ELSEWHERE]
    done = subprocess.run(command, input=sent, capture_output=True, cwd=ROOT, check=False)
    assert "7 {'out': 4} ({'n': 8},)" == done.stdout.decode().strip(), done.stderr.decode()


def test_what_is_installed_is_pickled_by_name():
    import numpy as np

    assert len(pickled_by_value(np.testing.assert_allclose)) < 200
