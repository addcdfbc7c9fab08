"""Generated code: its text, its hash, and how it travels."""

from __future__ import annotations

import pickle

import loopy as lp
import numpy as np

from perfmodel.measuring.subject import GeneratedCode
from tests.campaigns import build


def part_of(parts):
    """One sixteenth of the work has the same OpenCL code."""
    t_unit = lp.make_kernel(
        f"{{[i]: 0 <= i < n//{parts}}}", "out[i] = a[i] + 1",
        [lp.GlobalArg("a, out", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1024 and n mod 1024 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    return lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0")


def test_the_hash_is_of_the_text_the_launches_and_the_options():
    whole, part, options = (
        GeneratedCode(unit)
        for unit in (part_of(1), part_of(16), lp.set_options(part_of(1), build_options=("-cl-fast-relaxed-math",)))
    )
    assert lp.generate_code_v2(part_of(1)).device_code() == whole.text == part.text == options.text
    assert 3 == len({whole.hash, part.hash, options.hash})
    assert whole.hash == GeneratedCode(part_of(1)).hash
    assert GeneratedCode(build(2)).hash != GeneratedCode(build(3)).hash


def test_code_travels_as_it_is():
    code = GeneratedCode(part_of(16))
    there = pickle.loads(pickle.dumps(code))
    assert "_generated" not in vars(there)
    assert (code.text, code.hash, code.host_function) == (there.text, there.hash, there.host_function)
