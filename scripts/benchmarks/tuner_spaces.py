"""Two spaces of configurations that the tuners of the benchmark search: a matrix product and a stencil.

Each has a :class:`perfmodel.Space`: values for each name, restrictions, and ``build(**config)``. No value was chosen by
what perfmodel predicts of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import loopy as lp
import numpy as np

from perfmodel.kernels.space import Space
from test_kernels._stencil import SOURCE, tiled_stencil
from test_kernels.papers.gemm import register_tiled_product

Config = dict[str, Any]
SIDES = {"none": "", "a": "a", "b": "b", "ab": "ab"}
UNROLLED = 64  # products in one step of an unrolled loop, at most: longer code takes minutes to build
GROUP = (64, 256)  # work-items of a group, least and most
DEPTHS = (8, 32)


@dataclass(frozen=True)
class Benchmark:
    """A kernel to tune: its space, its sizes, and the values of other arguments than sizes."""

    name: str
    space: Space
    sizes: Mapping[str, int]
    scalars: Mapping[str, float]


# {{{ the matrix product


def build_matmul(
    width: int, height: int, rows: int, columns: int, depth: int, prefetch: str, unroll: bool, order: str
) -> lp.TranslationUnit:
    """Form c = a b of n by n matrices, tiled; `prefetch` is "none", "a", "b" or "ab"."""
    tiles = (height * rows, width * columns) if order == "ij" else (width * rows, height * columns)
    t_unit = lp.make_kernel(
        "{[i, j, k]: 0 <= i, j, k < n}",
        "c[i, j] = sum(k, a[i, k]*b[k, j])",
        [lp.GlobalArg("a, b, c", np.float32, shape="n, n"), lp.ValueArg("n", np.int32)],
        assumptions=f"n >= 1 and n mod {max(*tiles, depth)} = 0",
        name="matmul",
        lang_version=(2018, 2),
        silenced_warnings=["v1_scheduler_fallback"],
    )
    return register_tiled_product(t_unit, width, height, rows, columns, depth, SIDES[prefetch], unroll, order)


def _group_fits(config: Config) -> bool:
    return config["width"] * config["height"] in range(GROUP[0], GROUP[1] + 1)


def _depth_matters(config: Config) -> bool:
    """Without tiles and unrolling, all depths are one program: only the first is taken."""
    return bool(config["prefetch"] != "none" or config["unroll"] or config["depth"] == DEPTHS[0])


def _code_is_short(config: Config) -> bool:
    return not config["unroll"] or bool(config["depth"] * config["rows"] * config["columns"] <= UNROLLED)


MATMUL = Benchmark(
    "matmul",
    Space(build_matmul, {
        "width": (8, 16, 32),
        "height": (4, 16),
        "rows": (1, 4),
        "columns": (1, 2),
        "depth": DEPTHS,
        "prefetch": tuple(SIDES),
        "unroll": (False, True),
        "order": ("ij", "ji"),
    }, (_group_fits, _depth_matters, _code_is_short)),
    {"n": 512},
    {},
)

# }}}


# {{{ the stencil


def build_stencil(width: int, height: int, rows: int, prefetch: bool, unroll: bool) -> lp.TranslationUnit:
    """Weigh each point of an n by n grid and its eight neighbours.

    A group of `width` by `height` work-items computes a tile of width by height*`rows` points, each work-item `rows`
    of them in a loop, unrolled on demand; with `prefetch` from a tile with its halo in local memory.
    """
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        """
        result[i, j] = source*u[i+1, j+1] + 0.125*(u[i, j+1] + u[i+2, j+1] + u[i+1, j] + u[i+1, j+2]) \
            + 0.0625*(u[i, j] + u[i, j+2] + u[i+2, j] + u[i+2, j+2])
        """,
        [
            lp.GlobalArg("u", np.float32, shape="n + 2, n + 2"),
            lp.GlobalArg("result", np.float32, shape="n, n"),
            lp.ValueArg("source", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=f"n >= 1 and n mod {max(width, height * rows)} = 0",
        name="stencil",
        lang_version=(2018, 2),
    )
    return tiled_stencil(t_unit, "u", width, height, rows, prefetch, unroll)


def _unrolling_matters(config: Config) -> bool:
    """A loop of one turn is the same program, unrolled or not."""
    return bool(config["rows"] > 1 or not config["unroll"])


STENCIL = Benchmark(
    "stencil",
    Space(build_stencil, {
        "width": (8, 16, 32, 64, 128),
        "height": (1, 2, 4, 8),
        "rows": (1, 2, 8),
        "prefetch": (False, True),
        "unroll": (False, True),
    }, (_group_fits, _unrolling_matters)),
    {"n": 4096},
    {"source": SOURCE},
)

# }}}

BENCHMARKS = {one.name: one for one in (MATMUL, STENCIL)}
