"""A list of kernels as another module may give it to the benchmark."""

from collections.abc import Iterator

import loopy as lp
import numpy as np


def kernels() -> Iterator[tuple[str, object]]:
    """Yield names, and functions that build the kernels."""
    yield "double", _double


def _double() -> lp.TranslationUnit:
    unit = lp.make_kernel("{ [i]: 0 <= i < n }", "out[i] = 2*a[i]", lang_version=(2018, 2), assumptions="n >= 1")
    return lp.add_dtypes(unit, {"a": np.float32})
