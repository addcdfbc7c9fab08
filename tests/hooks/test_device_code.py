"""The code and the launch of a kernel as another tuner needs them, beside Loopy's own."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.errors import ConfigurationError
from perfmodel.hooks.device_code import device_code, made_arguments


def transposed() -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i < n and 0 <= j < m}",
        "out[j, i] = p*a[i, j]",
        [
            lp.GlobalArg("out", np.float32, shape="m, n"), lp.GlobalArg("a", np.float64, shape="n, m"),
            lp.ValueArg("p", np.float32), lp.ValueArg("n, m", np.int32),
        ],
        assumptions="n >= 1 and m >= 1", lang_version=(2018, 2), name="transposed",
    )  # fmt: skip
    t_unit = lp.split_iname(t_unit, "i", 4, outer_tag="g.1", inner_tag="l.1")
    return lp.split_iname(t_unit, "j", 8, outer_tag="g.0", inner_tag="l.0")


def test_the_launch_covers_all_points():
    unit = transposed()
    found = device_code(unit, count(unit), {"n": 10, "m": 17}, "")
    assert ("transposed", ("out", "a", "p", "n", "m")) == (found.name, found.arguments)
    assert (24, 12, 1) == found.global_size  # 17 columns in groups of 8, 10 rows in groups of 4
    assert "transposed(__global float *__restrict__ out" in found.text


def test_arguments_have_their_types_and_shapes():
    found = made_arguments(transposed(), {"n": 10, "m": 17}, {"p": 3.0})
    assert {"out": (170, "float32"), "a": (170, "float64")} == {
        name: (found[name].size, str(found[name].dtype)) for name in ("out", "a")
    }
    assert {"p": np.float32(3.0), "n": 10, "m": 17} == {name: found[name] for name in ("p", "n", "m")}


def test_a_sequence_of_launches_is_refused():
    unit = lp.make_kernel(
        "{[i, k]: 0 <= i < n and 0 <= k < 3}",
        "for k\n ... gbarrier {id=wait}\n out[i] = out[i] + 1 {dep=wait}\n end",
        [lp.GlobalArg("out", np.float32, shape="n", is_input=True), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1", lang_version=(2018, 2), name="repeated",
    )  # fmt: skip
    unit = lp.split_iname(unit, "i", 32, outer_tag="g.0", inner_tag="l.0")
    with pytest.raises(ConfigurationError, match=r"\(tile=1\) takes \d launches, and the tuner makes one"):
        device_code(unit, count(unit), {"n": 64}, "tile=1")
