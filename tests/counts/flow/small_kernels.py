"""Small kernels and their dataflow, for the tests of flow."""

from collections.abc import Mapping
from typing import Any

import loopy as lp
import numpy as np

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.flow.flow import Chain, Flow

FLOAT = np.float32
ADD, MUL, RSQRT = ("float32", "add"), ("float32", "mul"), ("float32", "rsqrt")
LOAD, STORE, BARRIER = ("global", "load"), ("global", "store"), ("local", "barrier")
LOCAL_LOAD, LOCAL_STORE = ("local", "load"), ("local", "store")


def kernel(domains: Any, code: str, *arguments: Any, assumptions: str = "n >= 1") -> lp.TranslationUnit:
    unit = lp.make_kernel(
        domains, code, [*arguments, ...], assumptions=assumptions, lang_version=(2018, 2), name="made_up"
    )
    return lp.add_dtypes(unit, {
        argument.name: FLOAT for argument in unit.default_entrypoint.args
        if argument.dtype is None and argument.name != "n"
    })


def in_lanes(unit: lp.TranslationUnit, iname: str = "i") -> lp.TranslationUnit:
    return lp.split_iname(unit, iname, 16, outer_tag="g.0", inner_tag="l.0")


def counted(unit: lp.TranslationUnit, **options: Any) -> KernelCounts:
    return count(unit, cache=False, **options)


def flow_of(unit: lp.TranslationUnit, **options: Any) -> Flow:
    flow = counted(unit, **options).flow
    return flow


def at(chain: Chain, **sizes: int) -> Mapping[tuple[str, str], Any]:
    return {(row.where, row.kind): row.count(**sizes) for row in chain.rows}
