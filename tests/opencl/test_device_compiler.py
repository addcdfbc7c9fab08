"""A build is quiet about the compiler, and about nothing else."""

from __future__ import annotations

import warnings

import pyopencl as cl
import pytest

from perfmodel import opencl


def test_a_compiler_that_speaks_is_not_heard_and_other_warnings_are():
    with opencl.quiet_compiler():  # elsewhere in the tests each warning is an error
        warnings.warn("the compiler spoke", cl.CompilerWarning, stacklevel=1)
        with pytest.raises(RuntimeWarning, match="ours"):
            warnings.warn("ours", RuntimeWarning, stacklevel=1)
