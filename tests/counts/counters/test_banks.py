"""Bank conflicts against the words that lanes touch, in plain Python and in the executed code."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from tests import oracle
from tests.counts.test_lanes import copying


@pytest.mark.parametrize(("index", "shape", "dtype", "guard"), [
    ("(256*k + i)//4", (64,), np.float32, "True"), ("i//2", (64,), np.float32, "True"),
    ("32*(i % 4)", (64,), np.float32, "True"), ("(i + k) % 33", (64,), np.float32, "True"),
    ("(3*i + k)//2*32", (64,), np.float32, "True"), ("(7*g + i) % 50 + k", (64,), np.float32, "True"),
    ("i//4", (64,), np.float64, "True"), ("(i + 5) % 64", (64,), np.float64, "True"),
    ("3*i + k", (64,), np.int8, "True"), ("5*i + k", (64,), np.int16, "True"),
    ("2*i", (64,), np.float32, "i + 64*g < 100"), ("4*i + k", (64,), np.float32, "i < 16*k"),
    ("32*i", (64,), np.float32, "i >= 32"), ("16*i", (64,), np.float32, "(i + k) % 3 == 0"),
    ("i//2*32", (48,), np.float32, "True"), ("8*j + i", (8, 3), np.float32, "True"),
    ("32*(i//2) + j", (48, 2), np.float32, "True"), ("40*j + i", (12, 7), np.float32, "i + 12*k < 30"),
    ("40*j + i", (12, 7), np.float32, "j < 2 and i + 12*g < 30"),
    ("32*i + j", (8, 8), np.float32, "i + 8*g < 13 and j + 8*k < 20"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")
def test_each_execution_has_its_own_words(index, shape, dtype, guard):
    unit = copying(shape, index, "g, i", guard, dtype)
    found = count(unit, subgroup_size=32, cache=False).bank_conflicts("tile")
    assert found.exact
    executed = [oracle.execute(unit.copy(target=lp.PyOpenCLTarget()), {"n": n}) for n in (1, 3)]
    assert [each.bank_conflicts("tile") for each in executed] == [found(n=1), found(n=3)]


def test_a_bound_where_executions_are_of_too_many_kinds():
    index = "(i + k)//2 + (i + k)//3 + (i + k)//5 + (i + k)//7"
    found = count(copying((32,), index, "g, i", "True", np.float32), subgroup_size=32, cache=False, budget=0.01)
    assert not found.bank_conflicts("tile").exact
    assert 32 * 3 * 2 == found.bank_conflicts("tile")(n=2)
