from . import files
from .files import discover, load_kernel_file
from .kernel_class import WORK_GROUPS, KernelClass, Ladder, Parameters, Variant, WorkGroup, assume, work_groups

__all__ = [
    "WORK_GROUPS", "KernelClass", "Ladder", "Parameters", "Variant", "WorkGroup", "assume", "discover", "files",
    "load_kernel_file", "work_groups",
]  # fmt: skip
