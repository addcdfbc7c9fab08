"""What kernel files define is unpickled where nobody has run them."""

from __future__ import annotations

import subprocess
import sys

import cloudpickle

from perfmodel.kernels import discover
from perfmodel.kernels.files import pickled_by_value
from tests.machine import ROOT

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


def test_a_class_of_a_file_and_what_lies_beside_it_travel(tmp_path):
    (tmp_path / "_beside.py").write_text("def twice(x):\n    return 2*x\n")
    (tmp_path / "one.py").write_text(CLASS)
    (kernel,) = discover(tmp_path)
    before = cloudpickle.list_registry_pickle_by_value()
    sent = pickled_by_value(kernel)
    assert before == cloudpickle.list_registry_pickle_by_value()
    command = [sys.executable, "-c", ELSEWHERE]
    done = subprocess.run(command, input=sent, capture_output=True, cwd=ROOT, check=False)
    assert "7 {'out': 4} ({'n': 8},)" == done.stdout.decode().strip(), done.stderr.decode()


def test_what_is_installed_is_pickled_by_name():
    import numpy as np

    assert len(pickled_by_value(np.testing.assert_allclose)) < 200
