"""Five-point finite differences with a quadratic source term.

Stevens and Kloeckner, section 5 ("Finite Differences").
"""

from __future__ import annotations

from typing import Any

import loopy as lp
import numpy as np

SOURCE = 9.0


def differences_kernel(name: str, assumptions: str) -> lp.TranslationUnit:
    """Make the kernel, without any transformation."""
    return lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        """
        result[i + 1, j + 1] = (
            u[i + 1, j + 1]**2 + source + (-4)*u[i + 1, j + 1]
            + u[i + 2, j + 1] + u[i, j + 1] + u[i + 1, j + 2] + u[i + 1, j]
        )
        """,
        [
            lp.GlobalArg("result, u", np.float32, shape="n + 2, n + 2", is_input=None),
            lp.ValueArg("source", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        assumptions=assumptions,
        name=name,
        lang_version=(2018, 2),
    )


def differences(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
    """Return the result, whose border is not written."""
    u, result = arguments["u"], arguments["result"].copy()
    middle = u[1:-1, 1:-1]
    neighbours = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    result[1:-1, 1:-1] = middle**2 + arguments["source"] - 4 * middle + neighbours
    return {"result": result}
