"""What Oclgrind counts when it interprets the same generated code: executed LLVM instructions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .executed import Executed

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    "OCLGRIND_INST_COUNTS": "1",
    # As the source has it: nothing optimised, no products and sums contracted.
    "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable -ffp-contract=off",
    "PYOPENCL_NO_CACHE": "1",
}
_ROW = re.compile(r"^\s*([\d,]+) - (\S.*?)(?: \(([\d,]+) bytes\))?\s*$")
_KERNEL = "=== "


@dataclass(frozen=True)
class Interpreted:
    """Executed LLVM instructions by name, and bytes moved by those that access memory."""

    instructions: tuple[tuple[str, int], ...]
    moved: tuple[tuple[str, int], ...]

    def times(self, *names: str) -> int:
        """How often the instructions of these names were executed."""
        return sum(times for name, times in self.instructions if name in names)


def interpreted(names: list[str], python: str = sys.executable) -> Mapping[str, Interpreted]:
    """Run the corpus kernels *names* at their last parameters in an interpreter that has Oclgrind installed."""
    environment = {**os.environ, **SETTINGS, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [python, "-m", "tests.oracle.oclgrind", *names], env=environment, cwd=ROOT, check=False, capture_output=True,
        text=True
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"Oclgrind's interpreter ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return parse(done.stdout)


def parse(text: str) -> dict[str, Interpreted]:
    """Read what Oclgrind prints, kernels set apart by lines that name them."""
    tables: dict[str, tuple[dict[str, int], dict[str, int]]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith(_KERNEL):
            name = line[len(_KERNEL) :]
            tables[name] = ({}, {})
            continue
        row = _ROW.match(line)
        if row and name:
            times, instruction, moved = row.groups()
            counts, sizes = tables[name]
            counts[instruction] = counts.get(instruction, 0) + int(times.replace(",", ""))
            if moved:
                sizes[instruction] = sizes.get(instruction, 0) + int(moved.replace(",", ""))
    return {
        kernel: Interpreted(tuple(sorted(counts.items())), tuple(sorted(sizes.items())))
        for kernel, (counts, sizes) in tables.items()
    }


_NOT_FUNCTIONS = ("get_", "barrier", "llvm.", "cfloat_", "cdouble_", "loopy_", "powf32", "powf64", "convert_", "scale_")


def quantities(found: Interpreted) -> dict[str, int]:
    """Oclgrind's rows, added up to what the oracle counts too.

    A fused multiply-add is a product and a sum. Complex numbers are copied in and out of global memory as a whole.
    """
    calls = {name[5:]: times for name, times in found.instructions if name.startswith("call ")}
    fused = sum(times for name, times in calls.items() if re.match(r"_Z3(fma|mad)", name))
    into, out = (
        sum(times for name, times in calls.items() if f"memcpy.{way}" in name) for way in ("p0i8.p1i8", "p1i8.p0i8")
    )
    return {
        "floating-point add": found.times("fadd", "fsub") + fused,
        "floating-point mul": found.times("fmul") + fused,
        "floating-point div": found.times("fdiv"),
        "functions": sum(
            times for name, times in calls.items() if not re.sub(r"^_Z\d+", "", name).startswith(_NOT_FUNCTIONS)
        )
        - fused,
        "global loads": found.times("load global", "load constant") + into,
        "global stores": found.times("store global") + out,
        "local loads": found.times("load local"),
        "local stores": found.times("store local"),
        "barriers": sum(times for name, times in calls.items() if "barrier" in name),
    }


def expected(executed: Executed) -> dict[str, int]:
    """The same quantities as the oracle counts them.

    Products with -1 are free to it and are instructions to Oclgrind.
    """

    def operations(*kinds: str) -> int:
        return sum(
            times for (dtype, kind), times in executed.operations.items() if "int" not in dtype and kind in kinds
        )

    def accesses(direction: str, *spaces: str) -> int:
        return sum(times for key, times in executed.accesses.items() if key[0] in spaces and key[1] == direction)

    simple = ("add", "mul", "div")
    return {
        "floating-point add": operations("add"),
        "floating-point mul": operations("mul") + executed.negations,
        "floating-point div": operations("div"),
        "functions": sum(executed.operations.values())
        - sum(
            times
            for (dtype, kind), times in executed.operations.items()
            if kind in simple or kind in ("shift", "bitwise")
        ),
        "global loads": accesses("load", "global", "constant"),
        "global stores": accesses("store", "global"),
        "local loads": accesses("load", "local"),
        "local stores": accesses("store", "local"),
        "barriers": executed.barriers,
    }


def main(names: list[str]) -> None:
    """Run kernels on Oclgrind; it prints its counts when a kernel has run."""
    import pyopencl as cl

    from tests.corpus import kernels
    from tests.oracle import run
    from tests.oracle.device import device_memory
    from tests.oracle.source import program

    platform = next(found for found in cl.get_platforms() if "Oclgrind" in found.name)
    queue = cl.CommandQueue(cl.Context(platform.get_devices()))
    for kernel in kernels():
        if kernel.name in names:
            parameters = kernel.cases[-1]
            unit, arrays = kernel.build(), kernel.contents(parameters)
            executed = run(unit, parameters, arrays=arrays)[0]
            os.write(1, f"\n{_KERNEL}{kernel.name}\n".encode())
            device_memory(queue, program(unit), parameters, arrays, executed)


if __name__ == "__main__":
    main(sys.argv[1:])
