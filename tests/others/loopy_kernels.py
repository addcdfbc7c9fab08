"""More than a hundred kernels that the authors of Loopy wrote: those of its test-suite and its examples.

They are not copied. `tests.others.environments` captures them while the tests and examples of Loopy's source
distribution run (``loopy`` 2025.2 on PyPI, MIT licence, by Andreas Klöckner and contributors)::

    python -m tests.others.environments loopy
"""

from __future__ import annotations

from pathlib import Path

from tests.others.captured import Captured, captured
from tests.others.environments import CAPTURED

FOLDER = CAPTURED / "loopy"


def loopy_kernels(folder: Path = FOLDER) -> tuple[Captured, ...]:
    """Return the captured kernels, in the same order on every machine; none where none were captured.

    Those that need a class of a test's own are left out.
    """
    return tuple(captured(folder))
