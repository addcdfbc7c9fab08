"""Stores of an array by columns, without a loop: neighbouring lanes store to neighbouring rows.

A cell is the sum of a value of its row and one of its column, so nearly all moved data are stores.
Work-items of different rows of a group, or of different groups, store into the same line. A work-item stores `cells`
cells of a row, each a group's height after the previous one. Rows are a power of two long, so that they share few cache
sets; with `pad` they are 16 cells longer.
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels import KernelClass, Ladder


def build(pad: int = 0, width: int = 16, height: int = 16, cells: int = 1) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        "out[j, i] = a[j] + b[i]",
        [
            lp.GlobalArg("a, b", np.float32, shape="n"),
            lp.GlobalArg("out", np.float32, shape=f"n, n + {pad}", is_input=None),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {max(width, height * cells)} = 0",
        name=f"pitched_stores_{cells}",
        lang_version=(2018, 2),
    )
    t_unit = lp.split_iname(t_unit, "i", height * cells, inner_iname="cell", outer_tag="g.1")
    t_unit = lp.split_iname(t_unit, "cell", height, inner_tag="l.1", outer_tag="unr")
    return lp.split_iname(t_unit, "j", width, outer_tag="g.0", inner_tag="l.0")


def reference(arguments: dict[str, Any], pad: int = 0, **variant: Any) -> dict[str, Any]:
    out = arguments["out"].copy()
    out[:, : arguments["n"]] = arguments["a"][:, np.newaxis] + arguments["b"]
    return {"out": out}


KERNEL = KernelClass(
    name="pitched_stores",
    group="pitched",
    build=build,
    variants=(
        {},
        {"pad": 16},
        {"width": 64, "height": 4},
        {"width": 256, "height": 1, "pad": 16},
        {"width": 32, "height": 4, "cells": 4},
    ),
    sizes=Ladder(lambda e: ({"n": 2**e},), start=8, rungs=3),
    reference=reference,
    tags=("context", "memory"),
)
