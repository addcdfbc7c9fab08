"""An oracle for the counters: executes the generated OpenCL C of a kernel in plain Python and counts what happens.

It uses none of Loopy's domains, schedules or statistics: it parses the text that the OpenCL compiler gets.
"""

from .execute import execute, run
from .executed import Executed
from .source import UnsupportedCode

__all__ = ["Executed", "UnsupportedCode", "execute", "run"]
