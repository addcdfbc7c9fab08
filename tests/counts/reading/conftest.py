"""A small scheduled kernel for the tests of reading."""

from collections.abc import Callable
from typing import Any

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts.reading.schedule import schedule

Make = Callable[..., lp.LoopKernel]


def _scheduled(domains: Any, code: str, *arguments: Any, split: int = 0, assumptions: str = "n >= 1") -> lp.LoopKernel:
    unit = lp.make_kernel(domains, code, [*arguments, ...], assumptions=assumptions, lang_version=(2018, 2))
    names = [argument.name for argument in unit.default_entrypoint.args if argument.dtype is None]
    unit = lp.add_dtypes(unit, {name: np.float32 for name in names if name != "n"})
    if split:
        unit = lp.split_iname(unit, "i", split, outer_tag="g.0", inner_tag="l.0")
    return schedule(unit).default_entrypoint


@pytest.fixture
def scheduled() -> Make:
    """Return a function from domains and code to a scheduled kernel; ``split`` puts i on lanes of groups."""
    return _scheduled
