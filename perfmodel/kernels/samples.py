"""Random kernels (samples) that judge fits. They ship with generated code and counts, to make calibrations fast."""

import hashlib
import json
import lzma
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import loopy as lp
import numpy as np
from loopy.types import NumpyType

from perfmodel.counts import KernelCounts
from perfmodel.kernels.kernel_class import KernelClass, Ladder, Parameters
from perfmodel.values import FrozenValue

SCHEMA = "perfmodel.sample/1"
TAG = "samples"
RUNG = 2  # sizes that double from one rung of a sample's ladder to the next


@dataclass(frozen=True, eq=False)
class KeptKernel(FrozenValue):
    """A kernel with its generated code and counts: a line of the file of samples, of :data:`SCHEMA`."""

    document: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The OpenCL code."""
        return str(self.document["code"])

    @cached_property
    def hash(self) -> str:
        """The hash of :func:`code_hash`."""
        return code_hash(self)

    @property
    def host_function(self) -> tuple[str, str]:
        """Name and Python code of Loopy's host function."""
        name, code = self.document["host"]
        return name, code

    @cached_property
    def kernel(self) -> Any:
        """The parts of Loopy's kernel that a campaign uses: its name, arguments, index type and build options."""
        args = [
            lp.GlobalArg(name, np.dtype(dtype), shape=tuple(shape), strides=tuple(strides))
            for name, dtype, shape, strides in self.document["arrays"]
        ]
        sizes = [lp.ValueArg(name, np.int32) for name in self.document["sizes"]]
        options = SimpleNamespace(build_options=())
        return SimpleNamespace(
            name=self.document["name"], args=[*args, *sizes], index_dtype=NumpyType(np.dtype(np.int32)), options=options
        )

    def counts(self, subgroup_size: int) -> KernelCounts:
        """Return the counts for a device with this sub-group size."""
        return replace(KernelCounts.from_json(self.document["counts"]), subgroup_size=subgroup_size)


def code_hash(generated: Any) -> str:
    """Return the SHA-256 of OpenCL code and host function, and after a dash the hash of the compiler's options."""
    parts = [generated.text, *generated.host_function], [*generated.kernel.options.build_options]
    return "-".join(hashlib.sha256(json.dumps(part).encode()).hexdigest() for part in parts if part)


def sample_class(document: Mapping[str, Any]) -> KernelClass:
    """Return the kernel class of a sample, which is its own group and has no reference output."""
    kept = KeptKernel(document)
    return KernelClass(
        name=document["name"], group=document["name"], build=lambda **_: kept,
        sizes=Ladder(partial(_grown, document["sizes"], document["grow"]), start=0),
        reference=lambda arguments, **_: {},
        contents={name: partial(_pointers, reach) for name, reach in document["near"].items()}, tags=(TAG,),
    )


def samples(path: Path) -> tuple[KernelClass, ...]:
    """Return the kernel classes of a file of samples (JSON lines, compressed with xz)."""
    return tuple(sample_class(json.loads(line)) for line in lzma.decompress(path.read_bytes()).splitlines())


def _grown(smallest: Parameters, grow: list[str], rung: int) -> tuple[Parameters, ...]:
    """Return the sizes of a rung. Each rung doubles the next :data:`RUNG` size parameters in turn."""
    sizes = dict(smallest)
    for step in range(RUNG * rung):
        sizes[grow[step % len(grow)]] *= 2
    return (sizes,)


def _pointers(reach: int, generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Return random cells along the first axis. If `reach` is not 0, they are at most `reach` from their entry."""
    if not reach:
        return generator.integers(0, shape[0], shape).astype(np.int32)
    positions = np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1))
    return np.clip(positions + generator.integers(-reach, reach + 1, shape), 0, shape[0] - 1).astype(np.int32)
