"""Work, depth and transfers of chapter 2, held against its figures and against closed forms."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.models import find_family
from perfmodel.models.model import bind
from perfmodel.quantities.case import Case
from tests.standins import made_up

FAMILY = find_family("work_depth")


def facts(**known):
    return made_up(**{"compute_units": 4, "lanes_per_unit": 32, "global_transaction_bytes": 64, **known})


def counted(domains, text, *temporaries, parallel=None, assumptions="n >= 1"):
    t_unit = lp.make_kernel(
        domains, text, [lp.GlobalArg("a, out", np.float32, shape=lp.auto), *temporaries, ...],
        assumptions=assumptions, lang_version=(2018, 2),
    )  # fmt: skip
    if parallel:
        t_unit = lp.tag_inames(t_unit, parallel)
    return count(lp.add_dtypes(t_unit, {"b": np.float32} if " b[" in str(text) else {}), subgroup_size=32)


def case(counts, known=None, **sizes):
    return Case(counts, sizes, known or facts(), FAMILY.name)


def tree(leaves):
    """Sum numbers pairwise, each sum a statement of its own."""
    names, lines = [f"a[{k}]" for k in range(leaves)], []
    while len(names) > 1:
        pairs = list(zip(names[::2], names[1::2], strict=True))
        lines += [f"<> s{len(lines) + k} = {one} + {other}" for k, (one, other) in enumerate(pairs)]
        names = [f"s{len(lines) - len(pairs) + k}" for k in range(len(pairs))]
    return counted("{ : }", [*lines, f"out[0] = {names[0]}"], assumptions="")


def chain():
    return counted("{[i]: 0 <= i < n}", "out[0] = sum(i, a[i])")


def test_brent_s_bound_and_io_time():
    found = case(chain(), n=1000)
    quantities = FAMILY.quantities(found)
    steps = 1001 + (2000 - 1001) / 128
    assert {"steps": steps, "depth": 1001, "moved": 4004, "launched": 1} == pytest.approx(quantities)
    model = bind(FAMILY, found.features)
    order = {"w_operation": 1e-9, "w_latency": 2e-9, "w_byte": 1e-10, "w_launch": 5e-6}
    seconds = model.value(quantities, [order[name] for name in model.weights])
    assert pytest.approx(5e-6 + max(steps * 1e-9, 1001 * 2e-9 + 4004 * 1e-10)) == seconds


def test_what_computes_nothing_has_no_time_below_zero():
    empty = counted("{[i]: 0 <= i < n}", "out[i] = 1.0f", parallel={"i": "g.0"})
    found = FAMILY.quantities(case(empty, n=100))
    assert (0, 0, 400) == (found["steps"], found["depth"], found["moved"])
