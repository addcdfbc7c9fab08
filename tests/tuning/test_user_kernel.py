"""A user's variants as kernel classes: made once, with the same contents in arguments of one name."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.errors import UnknownNameError
from perfmodel.measuring.subject import FailedError
from perfmodel.tuning.user_kernel import UserKernel
from tests.tuning.test_anchoring import scaled


def kernel(variants, arguments=None, seed: int = 1) -> UserKernel:
    return UserKernel("mine", variants, arguments, ({"n": 64}, {"n": 128}), seed)


def test_a_variant_is_made_once_when_it_is_used():
    made = []
    mine = kernel({"a": lambda: made.append(1) or scaled(), "b": scaled()})
    assert made == []
    assert mine.subject("a") is mine.subject("a")
    assert (made, mine.subject("b").variant) == ([1], {"variant": "b"})
    assert mine.subject("a").scalars == {"p": 1}
    assert [mine.subject("a").kernel.sizes.at(exponent) for exponent in (0, 1)] == [({"n": 64},), ({"n": 128},)]
    with pytest.raises(UnknownNameError, match="no variant 'c' exists; choose one of: a, b"):
        mine.subject("c")


@pytest.mark.parametrize(("given", "said"), [(lambda: 1 / 0, "ZeroDivisionError"), (lambda: 8, "it is of type int")])
def test_a_variant_that_cannot_be_made_is_not_tried_again(given, said):
    tried = []
    mine = kernel({"a": lambda: tried.append(1) or given()})
    for _ in range(2):
        with pytest.raises(FailedError, match=said) as raised:
            mine.subject("a")
        assert raised.value.status == "compile"
    assert tried == [1]
    assert mine.described("a").hash == ""


def test_a_description_has_the_code_once_there_is_some():
    mine = kernel({"a": scaled()})
    assert mine.described("a").hash == ""
    own = mine.subject("a").hash
    assert len(own) == 64
    assert mine.described("a").hash == own


def test_scalars_are_one_and_offsets_zero():
    unit = lp.make_kernel(
        "{[i]: 0 <= i < n}", "out[i] = a[i] + p",
        [lp.GlobalArg("out, a", np.float32, shape="n", offset=lp.auto), lp.ValueArg("p", np.float32),
         lp.ValueArg("n", np.int32)],
        lang_version=(2018, 2),
    )
    assert {"p": 1} == kernel({"a": unit}).subject("a").scalars
    mine = kernel({"a": lp.preprocess_program(unit)})
    assert {"p": 1, "a_offset": 0, "out_offset": 0} == mine.subject("a").scalars


def test_arrays_of_one_name_hold_the_same_in_all_variants():
    mine = kernel({"a": scaled(), "b": scaled("out[i] = a[i] + p")})
    generator = np.random.default_rng(0)
    first, second = (mine.subject(name).kernel.contents["a"](generator, (1000,)) for name in "ab")
    assert np.array_equal(first, second)
    assert 0.5 <= first.min() < first.max() < 2.0
    assert not np.array_equal(first, mine.subject("a").kernel.contents["out"](generator, (1000,)))
    other = kernel({"a": scaled()}, seed=2).subject("a").kernel.contents["a"](generator, (1000,))
    assert not np.array_equal(first, other)


def test_arguments_that_take_the_variant_are_asked_for_at_each_change_of_it():
    asked = []

    def arguments(n: int, variant: str) -> dict[str, object]:
        asked.append((n, variant))
        return {}

    mine = kernel({"a": scaled(), "b": scaled()}, arguments)
    for name in ("a", "a", "b", "a"):
        mine.ask_for_arguments(name, {"n": 64})
    assert asked == [(64, "a"), (64, "b"), (64, "a")]


def test_arguments_are_asked_for_once_at_each_size():
    asked = []

    def arguments(n: int) -> dict[str, object]:
        asked.append(n)
        return {"a": np.full(n, 3.0), "p": 2.0}

    mine = kernel({"a": scaled()}, arguments)
    for n in (64, 64, 128):
        mine.ask_for_arguments("kernel", {"n": n})
    assert asked == [64, 128]
    assert mine.subject("a").scalars == {"p": 2.0}
    assert mine.subject("a").kernel.contents["a"](None, (128,)).tolist() == [3.0] * 128
