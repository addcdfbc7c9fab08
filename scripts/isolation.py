"""Prove isolation on a device: double each isolated count, and see by how much the time rises.

Classes that fail stay in the table, as not proved.  docs/isolation.md says what is measured; its
tables are drawn again from the committed proofs by `--redraw`, without a device.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from perfmodel.cli.progress import Bar
from perfmodel.errors import OptionError, PerfModelError
from perfmodel.fitting import write_whole
from perfmodel.kernels import discover
from perfmodel.measuring import pin_threads
from perfmodel.measuring.isolation import prove_isolation
from perfmodel.opencl import find
from perfmodel.report.isolation import isolation_page, isolation_table
from perfmodel.store.isolation import FILE, isolation_path, read_isolations

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "isolation.md"


def redraw_isolation(folder: Path = ROOT / "fitted_weights", page: Path = PAGE) -> None:
    """Draw the page's tables again from the proofs of every device in `folder`."""
    proofs = [read_isolations(path.parent) for path in sorted(folder.glob(f"*/{FILE}"))]
    write_whole(page, isolation_page(page.read_text(), proofs).encode())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/isolation", description=__doc__)
    parser.add_argument("--device", help="name, platform or index of the OpenCL device; PoCL by default")
    parser.add_argument("--out", type=Path, help="store to keep the proofs in; default: fitted_weights/<device>")
    parser.add_argument("--class", dest="names", action="append", metavar="NAME", help="only this kernel class")
    parser.add_argument("--redraw", action="store_true", help="only draw the tables of docs/isolation.md again")
    options = parser.parse_args(argv)
    try:
        if options.redraw:
            redraw_isolation()
            return 0
        pin_threads()
        device = find(options.device)
        out = options.out or ROOT / "fitted_weights" / device.slug
        kernels = {kernel.name: kernel for kernel in discover(ROOT / "measurement_kernels")}
        if unknown := set(options.names or ()) - set(kernels):
            raise OptionError(f"no kernel class is called '{min(unknown)}'", f"choose of {', '.join(kernels)}")
        chosen = [kernels[name] for name in options.names or kernels]
        print(isolation_table(prove_isolation(chosen, device, out, Bar())))
        print(f"\nproofs are in {isolation_path(out)}")
    except PerfModelError as error:
        print(f"isolation: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
