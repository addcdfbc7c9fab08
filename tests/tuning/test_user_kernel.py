"""A user's variants as kernel classes: made once, with the same contents in arguments of one name."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.errors import ArgumentError, UnknownNameError
from perfmodel.measuring.subject import FailedError
from perfmodel.tuning.user_kernel import UserKernel, check_given
from tests.corpus.kernel import make
from tests.tuning.test_anchoring import scaled


def kernel(variants, arguments=None, seed: int = 1) -> UserKernel:
    return UserKernel("mine", variants, arguments, ({"n": 64}, {"n": 128}), seed)


def test_a_variant_is_built_once_at_its_first_use():
    made = []
    mine = kernel({"a": lambda: made.append(1) or scaled(), "b": scaled()})
    assert made == []
    assert mine.subject("a") is mine.subject("a")
    assert (made, mine.subject("b").variant) == ([1], {"variant": "b"})
    assert mine.subject("a").scalars == {"p": 1}
    assert [mine.subject("a").kernel.sizes.at(exponent) for exponent in (0, 1)] == [({"n": 64},), ({"n": 128},)]
    with pytest.raises(UnknownNameError, match="no variant 'c' exists; choose one of: a, b"):
        mine.subject("c")


@pytest.mark.parametrize(("given", "text"), [(lambda: 1 / 0, "ZeroDivisionError"), (lambda: 8, "it is of type int")])
def test_a_failed_build_is_not_repeated(given, text):
    tried = []
    mine = kernel({"a": lambda: tried.append(1) or given()})
    for _ in range(2):
        with pytest.raises(FailedError, match=text) as raised:
            mine.subject("a")
        assert raised.value.status == "compile"
    assert tried == [1]
    assert mine.described("a").hash == ""


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


def test_arrays_of_the_same_name_have_the_same_contents():
    mine = kernel({"a": scaled(), "b": scaled("out[i] = a[i] + p")})
    generator = np.random.default_rng(0)
    first, second = (mine.subject(name).kernel.contents["a"](generator, (1000,)) for name in "ab")
    assert np.array_equal(first, second)
    assert 0.5 <= first.min() < first.max() < 2.0
    assert not np.array_equal(first, mine.subject("a").kernel.contents["out"](generator, (1000,)))
    other = kernel({"a": scaled()}, seed=2).subject("a").kernel.contents["a"](generator, (1000,))
    assert not np.array_equal(first, other)


def test_arguments_of_each_variant():
    asked = []

    def arguments(n: int, variant: str) -> dict[str, object]:
        asked.append((n, variant))
        return {}

    mine = kernel({"a": scaled(), "b": scaled()}, arguments)
    for name in ("a", "a", "b", "a"):
        mine.ask_for_arguments(name, {"n": 64})
    assert asked == [(64, "a"), (64, "b"), (64, "a")]


KERNEL = make("{[i]: 0 <= i < n}", "out[i] = p*a[i] + k", "out, a: n; float32 p; int8 k",
              name="scaled").default_entrypoint  # fmt: skip
A = np.ones(8, np.float32)


@pytest.mark.parametrize("given", [
    {}, {"a": A}, {"a": A, "out": A[::-1]}, {"p": 2.5}, {"p": 2}, {"p": np.float32(2)}, {"k": -3}, {"k": True},
    {"k": np.int8(3)}, {"n": 8, "a": A}, {"n": np.int64(8)},
])  # fmt: skip
def test_valid_arguments(given):
    check_given(KERNEL, given, {"n": 8})


@pytest.mark.parametrize(("given", "text"), [
    ({"b": A}, "'b' for the kernel 'scaled', and it is not one of its arguments; give one of out, a, p, k, n"),
    ({"a": A.astype(np.float64)}, "is an array of float64 and shape (8,); give a numpy array of float32 and shape"),
    ({"a": A[:4]}, "is an array of float32 and shape (4,); give a numpy array of float32 and shape (8,)"),
    ({"a": [1.0] * 8}, "is of type list; give a numpy array of float32 and shape (8,)"),
    ({"p": "2"}, "is of type str; give a number of float32"),
    ({"p": A}, "is of type ndarray; give a number of float32"), ({"p": 2j}, "is 2j; give a number of float32"),
    ({"p": np.float64(2)}, "is a number of float64; give a number of float32"),
    ({"k": 2.0}, "is 2.0; give a number of int8"), ({"k": 128}, "is 128; give a number of int8"),
    ({"n": 9}, "is 9; give the size 8"),
])  # fmt: skip
def test_invalid_arguments(given, text):
    with pytest.raises(ArgumentError) as caught:
        check_given(KERNEL, given, {"n": 8})
    assert text in str(caught.value)
