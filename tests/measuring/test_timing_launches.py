"""What runs of compiled code: the launches, arguments and memory of Loopy's host function, of many kinds of kernels."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import loopy as lp
import numpy as np
import pytest

from perfmodel.kernels import Ladder
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.subject import FailedError, Subject
from tests.campaigns import SCALE, TINY
from tests.corpus.kernel import make
from tests.machine import device

pytestmark = pytest.mark.filterwarnings("ignore:.*Falling back to a slow scheduler")
N = 256
F32 = np.float32


def made(domain, instructions, *arguments, split=("i",), assumptions="n >= 64 and n mod 64 = 0", **options):
    t_unit = make(domain, instructions, [*arguments, lp.ValueArg("n", np.int32)], assumes=assumptions, **options)
    for iname in split:
        t_unit = lp.split_iname(t_unit, iname, 64, outer_tag="g.0", inner_tag="l.0")
    return t_unit


def arrays(names, dtype=F32, **options):
    return lp.GlobalArg(names, dtype, **{"shape": "n", **options})


def part_of(parts):
    """One sixteenth of the work has the same OpenCL code."""
    domain = f"{{[i]: 0 <= i < n//{parts}}}"
    return made(domain, "out[i] = a[i] + 1", arrays("a, out"), assumptions="n >= 1024 and n mod 1024 = 0")


def through_temporaries(*temporaries, **options):
    """Two launches, and values between them in memory that the host function allocates and releases."""
    return made(
        "{[i, j]: 0 <= i < n and 0 <= j < n}",
        """
        mid[i] = 2*x[i] {id=first}
        other[i] = x[i] {id=second}
        ... gbarrier {id=wait, dep=first:second}
        out[j] = 3*mid[n - 1 - j] + other[j] {dep=wait}
        """,
        arrays("x, out"), *temporaries, split=("i", "j"), **options,
    )  # fmt: skip


def temporary(name, dtype=F32, **options):
    return lp.TemporaryVariable(name, dtype, **{"shape": "n", "address_space": lp.AddressSpace.GLOBAL, **options})


def loop_around_launches():
    """Each launch has another value of t, an argument that Loopy adds."""
    return made(
        "{[t, i, j]: 0 <= t < m and 0 <= i < n and 0 <= j < n}",
        """
        for t
            a[i] = b[i] + t {id=first}
            ... gbarrier {id=wait, dep=first}
            b[j] = 2*a[n - 1 - j] {id=second, dep=wait}
            ... gbarrier {id=wait_again, dep=second}
        end
        """,
        arrays("a, b"), lp.ValueArg("m", np.int32), split=("i", "j"),
        assumptions="n >= 64 and n mod 64 = 0 and m >= 1", seq_dependencies=True,
    )  # fmt: skip


def after_the_loop(arguments):
    b = arguments["b"]
    for t in range(arguments["m"]):
        a = b + F32(t)
        b = 2 * a[::-1]
    return {"a": a, "b": b}


def many_scalars():
    return made(
        "{[i]: 0 <= i < n}",
        """
        out[i] = z*a[i] + w + small*big
        if yes
            flags[i] = flags[i] + 1
        end
        """,
        lp.ValueArg("w", np.complex128), arrays("a, out", np.complex128), lp.ValueArg("small", np.int8),
        lp.ValueArg("z", np.complex64), arrays("flags", np.int8), lp.ValueArg("yes", np.bool_),
        lp.ValueArg("big", np.uint64),
    )  # fmt: skip


SCALARS = {"w": 1 - 2j, "small": 3, "z": 0.5j, "yes": True, "big": 2**40}


def with_scalars(arguments):
    products = 0.5j * arguments["a"] + (1 - 2j) + 3 * 2**40
    return {"out": products, "flags": arguments["flags"] + np.int8(1)}


def separate(tags):
    t_unit = made(
        "{[i, j, k]: 0 <= i < n and 0 <= j < 3 and 0 <= k < 2}", "out[i, j, k] = (j + 1)*a[i, j, k] + k",
        lp.GlobalArg("a, out", F32, shape="n, 3, 2", dim_tags=tags),
    )  # fmt: skip
    return lp.tag_inames(t_unit, {"j": "unr", "k": "unr"})


def of_separate(arguments):
    return {"out": arguments["a"] * np.arange(1, 4, dtype=F32)[:, None] + np.arange(2, dtype=F32)}


def vectors(length):
    t_unit = made(
        f"{{[i, j]: 0 <= i < n and 0 <= j < {length}}}", "out[i, j] = 2*a[i, j]",
        lp.GlobalArg("a, out", F32, shape=f"n, {length}", dim_tags="N0,vec"),
    )  # fmt: skip
    return lp.tag_inames(t_unit, {"j": "vec"})


def strided(*more, **layout):
    return made("{[i, j]: 0 <= i < n and 0 <= j < 4}", "out[i] = sum(j, a[i, j])", arrays("out"),
                lp.GlobalArg("a", F32, shape="n, 4", **layout), *more)  # fmt: skip


def named(name):
    return made("{[i]: 0 <= i < n}", "out[i] = 2*a[i]", arrays("a, out"), name=name)


def calling():
    callee = lp.make_function("{[k]: 0 <= k < 2}", "y[k] = 2*x[k]", name="twice", lang_version=(2018, 2))
    caller = made("{[i, k]: 0 <= i < n and 0 <= k < 2}", "[k]: out[i, k] = twice([k]: a[i, k])",
                  lp.GlobalArg("a, out", F32, shape="n, 2"))  # fmt: skip
    return lp.merge([caller, callee])


def aliased():
    t_unit = made(
        "{[i, j, k, l]: 0 <= i < n and 0 <= j < n and 0 <= k < n and 0 <= l < n}",
        """
        s[i] = 2*x[i] {id=first}
        ... gbarrier {id=wait1, dep=first}
        y[j] = s[n - 1 - j] {id=second, dep=wait1}
        ... gbarrier {id=wait2, dep=second}
        t[k] = 3*y[k] {id=third, dep=wait2}
        ... gbarrier {id=wait3, dep=third}
        z[l] = t[n - 1 - l] {dep=wait3}
        """,
        arrays("x, y, z"), temporary("s", shape=(1024,)), temporary("t", shape=(1024,)), split=tuple("ijkl"),
        assumptions="64 <= n <= 1024 and n mod 64 = 0",
    )  # fmt: skip
    return lp.allocate_temporaries_for_base_storage(lp.alias_temporaries(t_unit, ["s", "t"]))


def twice(arguments):
    return {"out": 2 * arguments["a"]}


def reversed_sums(arguments):
    return {"out": 6 * arguments["x"][::-1] + arguments["x"]}


def row_sums(arguments):
    return {"out": arguments["a"].sum(axis=1)}


#: By name: what makes a kernel, further arguments, and its outputs by numpy.
KERNELS: dict[str, tuple[Callable[[], lp.TranslationUnit], dict, Callable]] = {
    "temporaries": (lambda: through_temporaries(temporary("mid"), temporary("other", np.float64)), {}, reversed_sums),
    "aliased temporaries": (aliased, {}, lambda a: {"y": 2 * a["x"][::-1], "z": 6 * a["x"]}),
    "loop around launches": (loop_around_launches, {"m": 5}, after_the_loop),
    "scalars": (many_scalars, SCALARS, with_scalars),
    "separate arrays": (lambda: separate("N0,sep,sep"), {}, of_separate),
    "separate last": (lambda: separate("N0,N1,sep"), {}, of_separate),
    "vectors": (lambda: vectors(4), {}, twice),
    "vectors of three": (lambda: vectors(3), {}, twice),
    "stride of its own": (lambda: strided(lp.ValueArg("s", np.int32), strides="s,1"), {"s": 7}, row_sums),
    "stride that Loopy adds": (lambda: strided(dim_tags="stride:auto,stride:1"), {"a_stride0": 7}, row_sums),
    "constant offset": (lambda: strided(offset=5), {}, row_sums),
    "offset of its own": (lambda: strided(lp.ValueArg("o", np.int32), offset="o"), {"o": 11}, row_sums),
    "a callee": (calling, {}, twice),
    "called program": (lambda: named("program"), {}, twice),
    "output alone": (
        lambda: made("{[i]: 0 <= i < n}", "out[i] = i", arrays("out", np.int64)), {},
        lambda arguments: {"out": np.arange(N)},
    ),
    "scalars in a structure": (
        lambda: made("{[i]: 0 <= i < n}", "out[i] = p*a[i] + q - r", arrays("out, a"), lp.ValueArg("p, q, r", F32),
                     target=lp.PyOpenCLTarget(limit_arg_size_nbytes=28)), {"p": 2, "q": 5, "r": 5}, twice,
    ),
}


def subject(make, scalars=None, **changes):
    given = scalars or {}
    kernel = replace(SCALE, build=lambda **variant: make(), scalars=lambda **variant: given, variants=({},), **changes)
    return Subject(kernel, {})


@pytest.fixture(scope="module")
def bench():
    return Bench(device(), TINY)


@pytest.mark.device
@pytest.mark.parametrize("name", KERNELS)
def test_a_run_computes_what_numpy_does(name, bench):
    make, scalars, expected = KERNELS[name]
    arguments, after = bench.output(subject(make, scalars), {"n": N})
    for output, values in expected(arguments).items():
        np.testing.assert_allclose(after[output], values, rtol=1e-5)


@pytest.mark.device
def test_equal_code_on_other_grids_runs_on_each(bench):
    whole, part = (subject(lambda parts=parts: part_of(parts)) for parts in (1, 16))
    assert whole.generated.text == part.generated.text
    assert whole.hash != part.hash
    for each, groups in ((whole, 16), (part, 1), (whole, 16)):
        with bench.ready(each, {"n": 1024}) as (enqueue,):
            assert (groups,) == enqueue.groups
    assert 16 * 64 == np.count_nonzero(bench.output(whole, {"n": 1024})[1]["out"] > 1.5)


@pytest.mark.device
def test_a_grid_of_no_groups_is_refused_and_among_others_left_out(bench):
    empty = made("{[i]: 0 <= i < n - 64}", "out[i] = i", arrays("out"))
    with pytest.raises(FailedError, match="launches no work-group"), bench.ready(subject(lambda: empty), {"n": 64}):
        pass
    both = made(
        "{[i, j]: 0 <= i < n - 64 and 0 <= j < n}",
        "a[i] = 1 {id=first}\n... gbarrier {id=wait, dep=first}\nb[j] = 2 {dep=wait}",
        arrays("a, b", is_input=False), split=("i", "j"),
    )  # fmt: skip
    with bench.ready(subject(lambda: both), {"n": 64}) as enqueues:
        assert [(1,)] == [enqueue.groups for enqueue in enqueues]


@pytest.mark.parametrize(("make", "words"), [
    (lambda: made("{[i]: 0 <= i < n}", "out[i] = im[i, 0]", arrays("out"), lp.ImageArg("im", F32, shape="n, n")),
     "'im' .* is an image"),
    (lambda: made("{[i]: 0 <= i < n}", "out[i] = a[i]", arrays("out"), arrays("a", shape=None)), "'a' .* no shape"),
    (lambda: made("{[i]: 0 <= i < n}", "t[i % 64] = i {id=w}\nout[i] = t[63 - i % 64] {dep=w}", arrays("out"),
                  lp.ArrayArg("t", F32, shape=64, address_space=lp.AddressSpace.LOCAL)), "'t' .* local memory"),
    (lambda: made("{[i]: 0 <= i < n}", "out[i] = a[i]", arrays("out, a"), target=lp.OpenCLTarget()),
     "OpenCLTarget"),
    (lambda: made("{[i]: 0 <= i < n}", "out[i] = a[i]", arrays("out, a"),
                  target=lp.PyOpenCLTarget(limit_arg_size_nbytes=16)), "limit_arg_size_nbytes=16"),
])  # fmt: skip
def test_what_cannot_run_says_why(make, words):
    with pytest.raises((FailedError, ValueError), match=words):
        subject(make).arrays({"n": 64})


@pytest.mark.device
def test_variants_of_equal_code_are_counted_and_checked_each(bench):
    """Their statistics and references may differ."""
    from perfmodel.measuring.bench import Timekeeper

    kernel = replace(
        SCALE, build=lambda factor: part_of(1), variants=({"factor": 1}, {"factor": 2}),
        reference=lambda arguments, factor: {"out": factor * (arguments["a"] + 1)},
        sizes=Ladder(lambda e: ({"n": 2**e},), start=10, rungs=1),
    )  # fmt: skip
    timekeeper = Timekeeper(bench, 1e-6)
    first, second = (
        timekeeper.measured(timekeeper.configuration(Subject(kernel, variant), {"n": 1024}, 1e-5))
        for variant in kernel.variants
    )
    assert ("ok", "correctness") == (first.status, second.status)
    assert timekeeper.counts_of(first) is not None


def test_a_host_function_that_does_more_than_launch_is_refused():
    from contextlib import ExitStack

    import pyopencl as cl

    from perfmodel.measuring.timing import Enqueue, _Recorder

    with ExitStack() as stack:
        recorder = _Recorder(SimpleNamespace(), stack)
        recorder.enqueue_nd_range_kernel("queue", "kernel", [4, 2], [16, 8], "more")
        recorder.enqueue_nd_range_kernel("queue", "kernel", [4, 0], [16, 8], "more")
        assert [Enqueue("kernel", (4, 2), (16, 8))] == recorder.enqueues
        assert recorder.mem_flags is cl.mem_flags
        assert recorder.allocated(0) is None
        with pytest.raises(FailedError, match="enqueue_copy"):
            recorder.enqueue_copy  # noqa: B018
