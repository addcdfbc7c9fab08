"""An oracle for the counters: executes the generated OpenCL C of a kernel in plain Python and counts what happens.

It knows nothing of Loopy's domains, schedules or statistics; it parses the text that Loopy hands to the OpenCL
compiler.
"""

from __future__ import annotations

from .execute import execute, run
from .executed import Executed
from .source import UnsupportedCode

__all__ = ["Executed", "UnsupportedCode", "execute", "run"]
