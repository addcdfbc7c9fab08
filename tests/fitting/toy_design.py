"""A small design of a toy family."""

import numpy as np

from perfmodel.fitting.design import Design
from perfmodel.models import Family
from perfmodel.models.model import bind

TOY = Family("toy", "nowhere", ("a", "b", "c"))


def rows(names, matrix, times, labels) -> Design:
    """A design of the toy with equal weights of its rows."""
    equal = np.ones(len(times))
    return Design(bind(TOY, names), matrix, times, tuple(labels), 16, equal, {}, 0 * equal, times, None)


def table() -> Design:
    """Six rows of three groups; the last group alone exercises the third feature."""
    matrix = np.array([[1, 1, 0], [1, 5, 0], [1, 2, 0], [1, 9, 0], [1, 1, 4], [1, 3, 0]], dtype=float)
    return rows("abc", matrix, matrix @ [1e-5, 2e-6, 3e-6], "uvwxyz")
