"""OpenCL's vector types count as their components; members of vectors and structures are accesses of their own."""

import loopy as lp
import numpy as np
import pytest
from loopy.target.opencl import vec

from perfmodel.counts import KernelCounts, count
from perfmodel.errors import CountError
from tests import oracle
from tests.corpus.kernel import make
from tests.oracle.compare import compare

# Loopy's persistent key takes all vector types and structures for one, and its own cache tells of it
pytestmark = pytest.mark.filterwarnings("ignore::pytools.persistent_dict.CollisionWarning")
SIZES = {"n": 37}
PADDED = np.dtype({"names": ["x", "y"], "formats": [np.int32, np.float64], "offsets": [0, 8], "itemsize": 16})


def kernel(code: str, **types: object) -> lp.TranslationUnit:
    unit = make("{ [i]: 0 <= i < n }", code,
                [*(lp.GlobalArg(name, dtype, shape="n") for name, dtype in types.items()), lp.ValueArg("n", np.int32)],
                assumes="n >= 1")  # fmt: skip
    return lp.split_iname(unit, "i", 16, outer_tag="g.0", inner_tag="l.0")


def counted(code: str, **types: object) -> KernelCounts:
    return count(kernel(code, **types), subgroup_size=8, cache=False)


def operations(counts: KernelCounts) -> dict[tuple[str, str], int]:
    return {(row.dtype, row.kind): row.count(**SIZES) for row in counts.operation_table}


FOUR = {"a": vec.float4, "b": vec.float4, "out": vec.float4}


@pytest.mark.parametrize(("code", "types", "each"), [
    ("out[i] = a[i]*b[i] + a[i]", FOUR, {("float32", "mul"): 4, ("float32", "add"): 4}),
    ("out[i] = s[i]*b[i]", {"s": np.float32, **FOUR}, {("float32", "mul"): 4}),
    ("out[i] = 2*b[i] + 1.5", FOUR, {("float32", "mul"): 4, ("float32", "add"): 4}), ("out[i] = -a[i]", FOUR, {}),
    ("out[i] = fmax(a[i], b[i])", FOUR, {("float32", "minmax"): 4}),
    ("out[i] = a[i].s0*2.0f", {"a": vec.float4, "out": np.float32}, {("float32", "mul"): 1}),
    ("out[i] = a[i].x + a[i].s3", {"a": vec.float4, "out": np.float32}, {("float32", "add"): 1}),
    ("out[i] = a[i].s0 + 3", {"a": vec.int2, "out": np.int32}, {("int32", "add"): 1}),
    ("<>t = a[i]\nout[i] = t.s0 + t.s1", {"a": vec.double2, "out": np.float64}, {("float64", "add"): 1}),
    ("out[i].s1 = 3*a[i].s0", {"a": vec.float2, "out": vec.float2}, {("float32", "mul"): 1}),
    ("out[i] = a[i]*a[i]", {"a": vec.float3, "out": vec.float3}, {("float32", "mul"): 3}),
])  # fmt: skip
def test_components(code: str, types: dict, each: dict) -> None:
    """By hand, and against the execution of the generated code."""
    counts = counted(code, **{name: types[name] for name in types if f"{name}[" in code})
    assert {key: 37 * amount for key, amount in each.items()} == operations(counts)
    unit = kernel(code, **{name: types[name] for name in types if f"{name}[" in code})
    assert [] == compare(oracle.execute(unit, SIZES, 8), counts, SIZES)


def test_a_vector_is_one_access_of_its_size() -> None:
    counts = counted("out[i] = a[i]*2", a=vec.float4, out=vec.float4)
    assert [("float32", 128, "1", 37)] * 2 == [
        (row.dtype, row.bits, str(row.stride), row.count(**SIZES)) for row in counts.access_table
    ]


@pytest.mark.parametrize("dtype", [vec.float4, np.dtype([(name, np.float32) for name in "xyzw"])])
def test_a_member_is_an_access_of_its_own_size(dtype) -> None:
    # a[i].y of 16 bytes: 4 bytes, 4 cells apart, one of 4 cells used
    counts = counted("out[i] = a[i].y*2", a=dtype, out=np.float32)
    assert {("float32", "mul"): 37} == operations(counts)
    (load,) = [row for row in counts.access_table if row.direction == "load"]
    assert ("float32", 32, "4") == (load.dtype, load.bits, str(load.stride))
    # 37 cells; the last one has its three neighbours too
    assert (37, 4 * 37) == (load.footprint(**SIZES), load.filled(**SIZES))


def test_members_of_several_sizes() -> None:
    # x: 4 bytes, 4 cells apart; y: 8 bytes, 2 cells apart. The cells are of two sizes, so that the footprint is a bound
    counts = counted("out[i] = a[i].x + a[i].y", a=PADDED, out=np.float64)
    assert [("float64", 64, "2"), ("int32", 32, "4")] == [
        (row.dtype, row.bits, str(row.stride)) for row in counts.access_table if row.direction == "load"
    ]
    cells = counts.footprint("a")
    assert (4 * 37, False) == (cells(**SIZES), cells.exact)


def test_a_member_of_a_flattened_array() -> None:
    unit = make("{ [i, j]: 0 <= i < n and 0 <= j < m }", "out[i, j] = 2*a[m*i + j].s1",
                [lp.GlobalArg("a", vec.float2, shape="n*m"), lp.GlobalArg("out", np.float32, shape="n, m"),
                 lp.ValueArg("n, m", np.int32)])  # fmt: skip
    counts = count(lp.tag_inames(unit, {"i": "g.0"}), cache=False)
    assert ("m*n", True) == (str(counts.footprint("a")).partition(" if ")[0], counts.footprint("a").exact)


def test_a_member_that_is_not_aligned_is_refused() -> None:
    packed = np.dtype([("flag", np.int8), ("x", np.float32)])
    with pytest.raises(CountError, match="begin at byte 1 of a type of 5 bytes; align the members"):
        counted("out[i] = a[i].x", a=packed, out=np.float32)


def test_random_numbers_are_vectors() -> None:
    """Of each call 4 results, by the function's name; real*real + imag is 4 products and 4 sums."""
    unit = make(
        "{ [i]: 0 <= i < n }",
        """for i
            <> key2 = make_uint2(i, 324830944) {id=k2}
            <> key4 = make_uint4(i, 324830944, 234181, 2233) {id=k4}
            <> ctr = make_uint4(0, 1, 2, 3) {id=first}
            <> real, ctr = philox4x32_f32(ctr, key2) {id=real, dep=first:k2}
            <> imag, ctr = threefry4x32_f32(ctr, key4) {id=imag, dep=real:k4}
            out[i] = real*real + imag {dep=imag}
        end""",
        [lp.GlobalArg("out", vec.float4, shape="n"), lp.ValueArg("n", np.int32)], seq_dependencies=False,
    )
    counts = count(unit, cache=False)
    calls = {("float32", "philox4x32_f32"): 4 * 37, ("float32", "threefry4x32_f32"): 4 * 37}
    assert {**calls, ("float32", "mul"): 4 * 37, ("float32", "add"): 4 * 37} == operations(counts)
    assert [] == compare(oracle.execute(unit, SIZES, 32), counts, SIZES)
