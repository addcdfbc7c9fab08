"""Names that are loaded at their first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from perfmodel.lazy import loader


def test_a_name_comes_from_its_own_module():
    load = loader("collections", {"Mapping": "abc"})
    from collections.abc import Mapping

    assert load("Mapping") is Mapping


def test_a_name_that_is_not_listed_is_no_attribute():
    with pytest.raises(AttributeError, match="module 'collections' has no attribute 'Sequence'"):
        loader("collections", {"Mapping": "abc"})("Sequence")


@pytest.mark.parametrize("package", ["perfmodel", "perfmodel.counts", "perfmodel.fitting", "perfmodel.compare",
                                     "perfmodel.report"])  # fmt: skip
def test_every_public_name_of_a_package_can_be_loaded_and_none_is_loaded_before(package):
    program = (
        f"import sys, {package} as package\n"
        "before = {'loopy', 'scipy', 'pyopencl', 'matplotlib'} & set(sys.modules)\n"
        "assert not before, before\n"
        "for name in package.__all__:\n"
        "    getattr(package, name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
