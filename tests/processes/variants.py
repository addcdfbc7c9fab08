"""Small variants whose counts are known: n doubled numbers in groups of some width."""

import os
import signal
import time
from pathlib import Path

import loopy as lp
import numpy as np

FILE = '''
import loopy as lp
import numpy as np
from widths import GLOBAL


def kernel(width):
    t_unit = lp.make_kernel("{ [i]: 0 <= i < n }", "out[i] = 2*a[i]", [lp.GlobalArg("a, out", np.float32), ...],
                            lang_version=(2018, 2), assumptions="n >= 1")
    return lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0")


def space():
    return {"width": GLOBAL}
'''


def double(width: int) -> lp.TranslationUnit:
    """Return a kernel of n/width work-groups, rounded up."""
    t_unit = lp.make_kernel(
        "{ [i]: 0 <= i < n }", "out[i] = 2*a[i]", [lp.GlobalArg("a, out", np.float32), ...],
        lang_version=(2018, 2), assumptions="n >= 1",
    )  # fmt: skip
    return lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0")


def noted(folder: str, name: str, width: int, end: str = "") -> lp.TranslationUnit:
    """Build a kernel and note that in a file; or end this process with SIGKILL, "once" or "always"."""
    killed = Path(folder) / f"killed-{name}"
    if end == "always" or (end == "once" and not killed.exists()):
        killed.touch()
        time.sleep(0.3)  # others get under way
        os.kill(os.getpid(), signal.SIGKILL)
    with (Path(folder) / "built").open("a") as stream:
        stream.write(f"{name}\n")
    return double(width)


def write_file(folder: Path, widths: tuple[int, ...], slow: str = "") -> Path:
    """Write a kernel file with a space, and a module beside it."""
    (folder / "widths.py").write_text(f"GLOBAL = {widths}\n")
    path = folder / "doubles.py"
    path.write_text(FILE.replace("    t_unit = lp", f"    {slow}\n    t_unit = lp") if slow else FILE)
    return path
