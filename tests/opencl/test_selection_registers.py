"""Registers in NVIDIA's build logs, from recorded logs."""

from __future__ import annotations

import pytest

from perfmodel import opencl
from perfmodel.opencl import RegisterUse, count_registers, read_registers

OLD = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'multiply_them' for 'sm_20'
ptxas info    : Function properties for multiply_them
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, 56 bytes cmem[0]
"""
TWO = """
ptxas info    : 0 bytes gmem, 24 bytes cmem[3]
ptxas info    : Compiling entry function 'flash' for 'sm_90'
ptxas info    : Function properties for flash
    40 bytes stack frame, 40 bytes spill stores, 36 bytes spill loads
ptxas info    : Function properties for helper
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 63 registers, used 1 barriers, 8192 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 77.160 ms
ptxas info    : Compiling entry function 'copy' for 'sm_90'
ptxas info    : Function properties for copy
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 380 bytes cmem[0]
"""
TERSE = """
ptxas info    : Compiling entry function 'my_kernel' for 'sm_80'
ptxas info    : Used 32 registers, 376 bytes cmem[0]
"""


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (OLD, {"multiply_them": RegisterUse(12)}),
        (TWO, {"flash": RegisterUse(63, 76), "copy": RegisterUse(8)}),
        (TERSE, {"my_kernel": RegisterUse(32)}),
        ("", {}),
        ("Compilation started\nLinking done\nKernel <small> was successfully vectorized (8)\n", {}),
        ("ptxas info    : Used 32 registers", {}),
    ],
)
def test_registers_in_a_build_log(log, expected):
    assert expected == read_registers(log)


@pytest.mark.device
def test_registers_are_unknown_where_no_device_tells():
    device = opencl.find()
    if "nvidia" in device.slug:
        (use,) = count_registers(device, "kernel void k(global float *a) { a[get_global_id(0)] *= 2; }").values()
        assert use.registers > 0
    else:
        assert count_registers(device, "kernel void k(global float *a) {}") is None
