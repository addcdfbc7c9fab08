"""Measure how fast perfmodel is, beside the library it would replace.

    scripts/bench counts [--repeats N] [--json] [KERNEL ...]

`counts` times the counting of kernels by perfmodel and by loopy.statistics in the same run.
Nothing of the user's caches is read or written. scripts/benchmarks/counts.py says how it is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    counts = commands.add_parser("counts", help="time counting, evaluation and memory")
    counts.add_argument("kernels", nargs="*", help="corpus kernels; the realistic ones by default")
    counts.add_argument("--repeats", type=int, default=5, help="cold runs of each side")
    counts.add_argument("--json", action="store_true", help="print one JSON document instead")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        # before anything that opens a cache or starts threads is imported
        os.environ.update(XDG_CACHE_HOME=folder, OPENBLAS_NUM_THREADS="1")
        from scripts.benchmarks.counts import measure
        from scripts.benchmarks.table import table

        try:
            result = measure(arguments.kernels, arguments.repeats, sys.stderr)
        except KeyError as error:
            parser.error(f"no corpus kernel is called {error}; tests/corpus holds them")
    print(json.dumps(result, indent=1) if arguments.json else table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
