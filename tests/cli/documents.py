"""What commands print as JSON, and the times that the weights in ``conftest.py`` give."""

from __future__ import annotations

import json

from tests.fitting.test_family_fits_weights import PLANTED


def document(result) -> dict:
    assert 0 == result.exit_code, result.stderr
    return json.loads(result.stdout)


def seconds(n: int, group: int) -> float:
    return (
        PLANTED["launches"]
        + n // group * PLANTED["work_groups"]
        + n * (PLANTED["op_float32_add"] + PLANTED["global_load_32_stride1"] + 2e-10)
    )
