"""Kernel classes: the kernels to measure, their sizes, and the files that hold them."""

from perfmodel.kernels.files import discover, load_kernel_file
from perfmodel.kernels.kernel_class import (
    WORK_GROUPS,
    KernelClass,
    Ladder,
    Parameters,
    Variant,
    WorkGroup,
    assume,
    work_groups,
)

__all__ = [
    "WORK_GROUPS", "KernelClass", "Ladder", "Parameters", "Variant", "WorkGroup", "assume", "discover",
    "load_kernel_file", "work_groups",
]  # fmt: skip
