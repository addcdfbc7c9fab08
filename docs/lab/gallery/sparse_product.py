"""A sparse product with statistics: a CSR matrix times a vector.

How many entries a row has is data, which no count can know: the statistics say that it is 16 in the mean. `narrow` and
`wide` are work-groups of 32 and of 256 rows.
"""

from __future__ import annotations

import loopy as lp
import numpy as np


def build(rows: int) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        ["{[i]: 0 <= i < n}", "[length] -> {[j]: 0 <= j < length}"],
        """
        for i
            <> first = start[i]
            <> length = start[i + 1] - first
            y[i] = sum(j, entry[first + j]*x[column[first + j]])
        end
        """,
        [
            lp.GlobalArg("start", np.int32, shape="n + 1"), lp.GlobalArg("column", np.int32, shape="16*n"),
            lp.GlobalArg("entry", np.float32, shape="16*n"), lp.GlobalArg("x, y", np.float32, shape="n"),
            lp.ValueArg("n", np.int32),
        ],
        assumptions="n >= 1 and n mod 256 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    return lp.split_iname(t_unit, "i", rows, outer_tag="g.0", inner_tag="l.0")


def variants() -> dict[str, lp.TranslationUnit]:
    return {"narrow": build(32), "wide": build(256)}


def arguments(n: int) -> dict[str, np.ndarray]:
    """Rows of 8 to 24 entries, two of them 32 together, in columns anywhere."""
    random = np.random.default_rng(0)
    first = random.integers(8, 25, n // 2)
    lengths = np.stack([first, 32 - first], axis=1).ravel()
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return {"start": start, "column": random.integers(0, n, 16 * n, dtype=np.int32)}
