"""Quantities of nests, derived by hand in the comments."""

import dataclasses
import re

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.traffic.footprints import Cache
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.quantities.bottleneck import bottleneck_quantities
from perfmodel.quantities.bottleneck.compiled import compiled_kernel
from perfmodel.quantities.bottleneck.device import GATHERED_LINES, STRIDED_LINES
from perfmodel.quantities.bottleneck.work import WRONG_BRANCH, conflicting_share
from perfmodel.quantities.case import Case
from tests.corpus.kernel import make
from tests.quantities.bottleneck.by_hand import LANES, copy, device, kernel, quantities, row_sums

pytestmark = pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning")


@pytest.mark.parametrize("order", ["serial", "lockstep"])
def test_a_copy_is_a_vector_for_each_eight_items(order: str) -> None:
    n = 1 << 26  # 256 MiB each way: every line comes from memory, each next to the last
    expected = {
        "runs": 1, "launched": 1, "groups": n / 64, "region_entries": n / 64, "iterations": n / 8, "loads": n / 8,
        "stores": n / 8, "instructions": 4 * n / 8,  # two of them for the loop over the work-items
        "first_loaded": n / 16, "first_stored": n / 16, "second_level_streams": n / 8,
        "memory_streams": n / 8, "memory_stores": n / 16,
    }  # fmt: skip
    assert expected == pytest.approx(quantities(copy(), order, n=n))


@pytest.mark.parametrize(("guarded", "order", "gathered"), [
    (True, "serial", 2), (True, "lockstep", 2), (False, "lockstep", 2), (False, "serial", 0),
])  # fmt: skip
def test_a_vector_takes_the_parts_of_complex_numbers_one_by_one(guarded: bool, order: str, gathered: int) -> None:
    """PoCL 3.1 shuffles whole vectors only if no test decides the lanes (machine code)."""
    unit = make("{ [i]: 0 <= i < n }", "out[i] = a[i]*a[i]", "complex128 a, out: n",
                assumes="n >= 1" if guarded else "n mod 64 = 0 and n >= 1", target=lp.PyOpenCLTarget())  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    values = quantities(count(unit, cache=False), order, n=6400)
    assert (6400 * gathered, 6400 * gathered) == (values.get("gathers", 0), values.get("scatters", 0))


def test_the_unit_with_the_longest_rows_of_a_triangle_decides() -> None:
    counts = kernel("[n] -> { [i, j]: 0 <= i < n and 0 <= j <= i }", "out[i] = sum(j, a[j])", "a: n; out: n")
    alone, uneven = (quantities(counts, "serial", {"compute_units": units}, n=128) for units in (1, 2))
    # an addition and a load for each j, and a store: 64 rows of each group
    first, second = (sum(2 * (i + 1) + 1 for i in range(start, start + 64)) for start in (0, 64))
    waiting = 2 * second / (first + second)
    for name in ("loads", "instructions", "first_loaded"):
        assert waiting * alone[name] == pytest.approx(uneven[name])
    assert alone["groups"] == uneven["groups"]


def test_rows_one_after_another_are_scalar_and_wait_for_their_sum() -> None:
    values = quantities(row_sums(), "serial", n=128, k=64)
    # each of 128*64 additions waits for the one before: 64*(1 addition + 2 of the loop + 1 load) > 160 instructions
    assert (128 * 64, 128 * 64) == (values["loads"], values["chain_add"])
    # an addition, a load and two of the loop; a store for each item, and two of the loop over them
    assert 4 * 128 * 64 + 3 * 128 == values["instructions"]
    assert 128 / 1 == values["stores"]  # the kernel has a loop, so nothing of it is a vector


def integers(code: str, shapes: str = "a: n; out: n") -> KernelCounts:
    """Count steps of integers along j, in groups of 64 along i."""
    return kernel("[n, k] -> { [i, j]: 0 <= i < n and 0 <= j < k }", code, shapes, np.int32)


def steps(step: str) -> KernelCounts:
    return integers(f"""
        <int32> x = a[i] {{id=start}}
        for j
            x = {step} {{id=step, dep=start}}
        end
        out[i] = x {{dep=step}}
    """)


def test_a_sum_of_integers_is_computed_in_any_order() -> None:
    counts = integers("out[i] = sum(j, a[i, j]*b[j])", "a: n, k; b: k; out: n")
    values = quantities(counts, "serial", n=128, k=64)
    assert "chain_add" not in values
    # vectors along j: an addition, a product that is two instructions, two loads, and two of the loop, for 8 each;
    # and a store for each item, with two of the loop over them
    assert (1 + 2 + 2 + 2) * 128 * 64 / 8 + 3 * 128 == values["instructions"]


@pytest.mark.parametrize(("order", "latency"), [("serial", 0.25 + 0.75), ("lockstep", (0.25 + 2.5) / 8)])
def test_a_step_of_integers_that_needs_the_one_before_waits(order: str, latency: float) -> None:
    values = quantities(steps("x*1664525 + 1013904223"), order, n=128, k=256)
    # over 160 instructions for each item: nothing fills the wait; an addition takes 1 cycle of 4, a product 3 or 10
    assert 128 * 256 * latency == values["chain_add"]


@pytest.mark.parametrize("operator", ["//", "%"])
@pytest.mark.parametrize(("dtype", "bits"), [
    (np.int32, 32), (np.uint32, 32), (np.int16, 32), (np.uint8, 32), (np.int64, 64), (np.uint64, 64),
])  # fmt: skip
@pytest.mark.parametrize("order", ["serial", "lockstep"])
def test_integers_are_divided_apart_from_floats(operator: str, dtype: type, bits: int, order: str) -> None:
    counts = kernel(
        "[n, k] -> { [i, j]: 0 <= i < n and 0 <= j < k }", f"out[i] = sum(j, a[i, j] {operator} b[j])",
        "a: n, k; b: k; out: n", dtype,
    )  # fmt: skip
    values = quantities(counts, order, n=128, k=64)
    # a device in lockstep makes a vector of 8 of 32 bits; else one by one
    assert 128 * 64 / (8 if (order, bits) == ("lockstep", 32) else 1) == values[f"int_divide_{bits}"]
    assert not {"divide_32", "divide_64", f"int_divide_{96 - bits}"} & {*values}


@pytest.mark.parametrize(("index", "each"), [("(i + 1) % n", 1), ("(i + 1) % 8", 0), ("(i + n - 2)//n", 1)])
def test_a_division_by_a_size_in_an_index_is_a_division(index: str, each: int) -> None:
    counts = kernel("[n] -> { [i]: 0 <= i < n }", f"out[i] = a[{index}]", "a: n + 8; out: n")
    serial, lockstep = (quantities(counts, order, n=640).get("int_divide_32", 0) for order in ("serial", "lockstep"))
    assert (640 * each, 640 * each / LANES) == (serial, lockstep)
    # index arithmetic does not count among the operations of the kernel, and GPUs are predicted without it
    assert (0, 0) == (counts.operations()(n=640), counts.decisions(n=640))


@pytest.mark.parametrize(
    ("assumed", "name", "lanes"), [("n mod 64 = 0", "int_divide_32", LANES), ("n >= 1", "int_divide_64", 1)]
)
def test_vectors_of_intel_divide_one_by_one_behind_a_test(assumed: str, name: str, lanes: int) -> None:
    """Its machine code has a vector function without a test, and an `idiv` for each lane behind one."""
    unit = make("{ [i]: 0 <= i < n }", "out[i] = a[i] % b[i]", [lp.GlobalArg("a, b, out", np.int32, shape="n"), ...],
                assumes=assumed)  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    assert 640 / lanes == quantities(count(unit, cache=False), "lockstep", n=640)[name]


def test_a_division_in_an_index_moves_before_the_loop_that_does_not_change_it() -> None:
    domain = "[n, k] -> { [i, j]: 0 <= i < n and 0 <= j < k }"
    still = kernel(domain, "out[i] = sum(j, a[(i + 1) % n, j] + b[(i + 1) % n, j])", "a: n, k; b: n, k; out: n")
    moved = kernel(domain, "out[i] = sum(j, a[(i + j) % n, j])", "a: n, k; out: n")
    assert (128, 128 * 9) == tuple(quantities(each, "serial", n=128, k=9)["int_divide_32"] for each in (still, moved))


@pytest.mark.parametrize("order", ["serial", "lockstep"])
def test_a_comparison_and_a_select_are_instructions(order: str) -> None:
    chosen = instructions("out[i] = a[i] if a[i] > b[i] else b[i]", "a, b, out: n", order)
    assert 64 / LANES == chosen - instructions("out[i] = a[i] + b[i]", "a, b, out: n", order)  # two, and the sum is one


@pytest.mark.parametrize(("code", "shape", "amount"), [
    ("out[i] = 2.5*b[i]", "n", 64 / LANES), ("out[i] = sum(j, a[i, j]*b[j])", "k", 4 * 6400),
    ("out[i] = sum(j, a[i, j]*b[i])", "n", 4 * 64),  # before the loop
])  # fmt: skip
def test_a_conversion_is_an_instruction_of_a_vector_and_four_alone(code: str, shape: str, amount: float) -> None:
    """PoCL's code converts in one cycle of an x86 core (docs/lab/guards.md). The sum of floats is scalar."""
    integers, floats = (instructions(code, f"a: n, k; {dtype} b: {shape}; out: n") for dtype in ("int32", "float32"))
    assert amount == integers - floats


def instructions(code: str, shapes: str, order: str = "serial") -> float:
    """Return the instructions of 64 work-items with 100 iterations each."""
    unit = make("{ [i, j]: 0 <= i < n and 0 <= j < k }", code, shapes, assumes="n mod 64 = 0 and n >= 64 and k >= 1")
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    return quantities(count(unit, cache=False), order, n=64, k=100)["instructions"]


@pytest.mark.parametrize(("divisor", "dtype", "scalar", "vectors", "lockstep"), [
    (7, "int32", 8, 12, 8 * LANES + 7), (7, "uint32", 4, 8, 8 * LANES + 3), (8, "int32", 1, 1, 1),
])  # fmt: skip
def test_a_division_by_a_literal_is_a_product_and_shifts(
    divisor: int, dtype: str, scalar: int, vectors: int, lockstep: int
) -> None:
    """By the machine code of both runtimes; Intel's has no vectors of it. A loop of sums is scalar on PoCL."""
    summed = "sum(j, a[j]*(b[i, j]))", "b: n, k; float32 a: k; float32 out: n"
    for code, shapes, order, amount in (("b[i]", "b, out: n", "serial", vectors * 64 / LANES),
                                        ("b[i]", "b, out: n", "lockstep", lockstep * 64 / LANES),
                                        (*summed, "serial", scalar * 6400)):
        divided = re.sub(r"b\[[^]]*\]", rf"\g<0> // {divisor}", code)
        whole, copied = (instructions(f"out[i] = {each}", f"{dtype} {shapes}", order) for each in (divided, code))
        assert amount == whole - copied


def test_operations_on_data_in_an_index_are_instructions() -> None:
    plain, added, more = (instructions(f"out[i] = sum(j, t[{index}])", "int32 b: n, k; t: 4096; out: n")
                          for index in ("b[i, j]", "b[i, j] + 7", "(b[i, j] & 255) << 2"))  # fmt: skip
    assert plain == added == more - 2 * 6400  # additions are a part of the address


@pytest.mark.parametrize(("step", "wrong"), [
    ("at = at + 1 if t[at + 1] < a[i] else at {id=1, dep=0}", 0.5), ("at = j if t[j] < a[i] else at {id=1, dep=0}", 0),
    ("<int32> m = at + 1 {id=m, dep=0}\nif t[m] < a[i]\nat = m {id=1, dep=m}\nend", 0.5),
])  # fmt: skip
def test_a_search_goes_the_wrong_way_half_of_the_time(step: str, wrong: float) -> None:
    """PoCL 3.1 makes a branch of the select if the next iteration loads from where it leads."""
    code = f"for i\n<int32> at = 0 {{id=0}}\nfor j\n{step}\nend\nout[i] = at {{dep=1}}\nend"
    counts = kernel("{ [i, j]: 0 <= i < n and 0 <= j < k }", code, "a: n; t: k + 1; out: n")
    (launch,) = compiled_kernel(counts).tree.launches
    assert 6400 * wrong == sum(float(nest.unexpected(n=64, k=100)) for nest in launch.nests)


CHOICES = [
    ("any(j, a[i] == b[j])", np.float32, {"chain_minmax": 1}),  # `||` evaluates a comparison only if it decides
    ("sum(j, 1 if a[i] > b[j] else 0)", np.int32, {}),
    ("sum(j, a[i]*b[j])", np.float32, {"chain_multiply_add": 1}),
    ("sum(j, a[i]*b[j])", np.int32, {}),
    ("sum(j, a[i] if a[i] > b[j] else 0)", np.float32, {"chain_add": 1}),  # the choice is not about the sum
]


@pytest.mark.parametrize(("code", "dtype", "chain"), CHOICES)
def test_a_loop_that_carries_a_choice_waits_for_it(code: str, dtype: type, chain: dict[str, int]) -> None:
    domain = "[n, k] -> { [i, j]: 0 <= i < n and 0 <= j < k }"
    values = quantities(kernel(domain, f"out[i] = {code}", "a: n; b: k; out: n", dtype), "serial", n=128, k=640)
    # over 160 instructions of each work-item: no other one fills the wait
    assert {name: 128 * 640 * each for name, each in chain.items()} == {
        name: value for name, value in values.items() if name.startswith("chain_")
    }
    assert (1 if chain else LANES) == 128 * 640 / (values["iterations"] - 128)  # and one for each work-item


@pytest.mark.parametrize(
    ("step", "waits"), [("y if y < best else best", 0), ("y + 1 if y + 1 < best + y else best + y", 2)]
)
def test_integers_wait_for_choices_between_sums_but_not_for_a_minimum(step: str, waits: int) -> None:
    unit = make(
        "{ [i, j]: 0 <= i < n and 0 <= j < k }",
        f"for i\n<int32> best = 9 {{id=0}}\nfor j\n<int32> y = a[i] ^ b[j] {{id=y}}\n"
        f"best = {step} {{id=1, dep=0:y}}\nend\nout[i] = best {{dep=1}}\nend",
        [lp.GlobalArg("a, out", np.int32, shape="n"), lp.GlobalArg("b", np.int32, shape="k"), ...],
        assumes="n mod 64 = 0 and n >= 64",
    )  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    values = quantities(count(unit, cache=False), "serial", n=128, k=640)
    # a comparison and a select take a cycle each, a sum of floats 4
    assert 128 * 640 * waits / 4 == values.get("chain_add", 0)


@pytest.mark.parametrize(("function", "dtype", "times"), [
    ("atan2(a[i], b[i])", np.float64, 4), ("erf(a[i])", np.float32, 2), ("asin(a[i])", np.float32, 1),
])  # fmt: skip
def test_a_long_function_of_pocl_is_several_others(function: str, dtype: type, times: int) -> None:
    counts = kernel("[n] -> { [i]: 0 <= i < n }", f"out[i] = {function}", "a: n; b: n; out: n", dtype)
    name, lanes = ("function_64", LANES / 2) if dtype is np.float64 else ("function_32", LANES)
    serial, lockstep = (quantities(counts, order, n=640)[name] for order in ("serial", "lockstep"))
    assert (640 * times, 640 / lanes) == (serial, lockstep)


def test_pocl_rounds_in_twenty_instructions() -> None:
    codes = ("floor(a[i])", "fabs(a[i])")
    counts = [kernel("[n] -> { [i]: 0 <= i < n }", f"out[i] = {code}", "a: n; out: n") for code in codes]
    rounded, plain = (quantities(each, "serial", n=640)["instructions"] for each in counts)
    assert 19 * 640 / LANES == rounded - plain


def test_what_registers_do_not_hold_is_loaded_and_stored_in_each_step() -> None:
    unit = make("{ [i, j, c]: 0 <= i < n and 0 <= j < k and 0 <= c < 32 }", "out[c, i] = sum(j, a[j, i]*b[j, c])",
                "a: k, n; b: k, 32; out: 32, n", assumes="n mod 64 = 0 and n >= 64")  # fmt: skip
    unit = lp.tag_inames(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), {"c": "ilp"})
    counts = count(unit, cache=False)
    cpu, gpu = (quantities(counts, "lockstep", {"device_type": kind}, n=128, k=64) for kind in ("cpu", "gpu"))
    # of 32 sums a core of a CPU keeps 24; it loads a once for all of them, and a sum's b each
    assert (8, 1 + 32 + 8) == tuple(value * 8 / (128 * 64) for value in (cpu["stores"] - gpu["stores"], cpu["loads"]))
    assert (2 * 8 - 31) * 128 * 64 / 8 == cpu["instructions"] - gpu["instructions"]


def test_values_that_a_loop_does_not_change_are_loaded_once() -> None:
    counts = kernel(
        "[n, k] -> { [i, j]: 0 <= i < n and 0 <= j < k }", "out[i] = sum(j, a[i]*b[j])", "a: n; b: k; out: n"
    )
    values = quantities(counts, "serial", n=128, k=32)
    assert 128 * 32 + 128 == values["loads"]  # b[j] in each iteration, a[i] before the loop
    # a multiplication and an addition are one instruction; two of the loop; b[j]; a[i] and the store, with their loop
    assert 4 * 128 * 32 + 4 * 128 == values["instructions"]
    # the product is added in one instruction, which waits for 32*(1 + 2 + 1) + 1 of the 160 that a core looks ahead
    assert 128 * 32 * 129 / 160 == pytest.approx(values["chain_multiply_add"])
    assert "chain_add" not in values


def test_lanes_that_loop_longer_hold_the_others_back() -> None:
    counts = kernel("[n] -> { [i, j]: 0 <= i < n and 0 <= j <= i }", "out[i] = sum(j, a[j])", "a: n; out: n")
    n = 128
    serial, lockstep = (quantities(counts, order, n=n) for order in ("serial", "lockstep"))
    needed, box = n * (n + 1) / 2, n * n
    # a[j] is loaded and added in a loop; a store for each item, and two of the loop over them
    assert 4 * needed + 3 * n == serial["instructions"]
    # the box around the loops, eight items together
    assert 4 * box / 8 + 3 * n / 8 == pytest.approx(lockstep["instructions"])
    # a work-item's additions wait for each other: it has more than the 160 instructions that a core looks ahead
    assert needed == pytest.approx(serial["chain_add"])
    assert n * min(1, 2 * (1 - needed / box)) == pytest.approx(serial["varied_entries"])  # half of the box is needed


def test_idle_work_items_are_tested_one_by_one() -> None:
    """Groups of 32 work-items for rows of 3 cells: 29 of them only find that they have nothing to do."""
    unit = make("{ [i, j, k]: 0 <= i < n and 0 <= j < l and 0 <= k < m }", "out[i, j] = sum(k, a[i, j, k])",
                "a: n, l, m; out: n, l", assumes="n >= 1 and l >= 1 and m >= 1")  # fmt: skip
    unit = lp.split_iname(unit, "j", 32, outer_tag="g.1", inner_tag="l.0")
    counts = count(lp.tag_inames(unit, {"i": "g.0"}), cache=False)
    few, full = (quantities(counts, "serial", n=100, l=cells, m=10) for cells in (3, 32))
    # the same instructions for each cell; the units are equally busy
    assert 29 * 100 * 8 == pytest.approx(few["instructions"] - full["instructions"] * 3 / 32)
    assert 29 * 100 == pytest.approx(few["iterations"] - full["iterations"] * 3 / 32)


def test_each_entry_varies_if_data_decide_the_trips() -> None:
    unit = make(["{ [i]: 0 <= i < n }", "[m] -> { [j]: 0 <= j < m }"],
                "<> m = trips[i] {id=m}\nout[i] = sum(j, a[j]) {dep=m}", "int32 trips: n; a, out: n",
                assumes="n mod 64 = 0 and n >= 64")  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    counts = count(unit, statistics={"j": 5}, cache=False)
    assert 128 == quantities(counts, "serial", n=128)["varied_entries"]


@pytest.mark.parametrize(("order", "vectors"), [("serial", True), ("lockstep", False)])
def test_copies_that_fill_the_cells_between_lanes_are_vectors_of_a_compiler(order: str, vectors: bool) -> None:
    """Three copies of a load next to each other, from work-items with a stride of three cells."""
    unit = make("{ [i]: 0 <= i < n }", "out[i] = a[i]", "a, out: n", assumes="n mod 192 = 0 and n >= 192")
    unit = lp.split_iname(unit, "i", 192, inner_iname="cell", outer_tag="g.0")
    unit = lp.split_iname(unit, "cell", 3, inner_tag="unr", outer_tag="l.0")
    values = quantities(count(unit, cache=False), order, n=1536)
    names, amount = (("loads", "stores"), 1536 / LANES) if vectors else (("gathers", "scatters"), 1536)
    assert [amount, amount] == [values[name] for name in names]


def test_vectors_that_do_not_begin_where_lines_do_are_split() -> None:
    """Vectors of eight float32 are 32 bytes: those that begin 4 bytes on lie in two lines, every other one."""
    kernels = (
        kernel("[n] -> { [i]: 0 <= i < n }", f"out[i] = a[i + {shift}]", "a: n + 16; out: n") for shift in (8, 1)
    )
    assert [None, 128 / 8] == [quantities(counts, "lockstep", n=128).get("split") for counts in kernels]


@pytest.mark.parametrize(
    ("pitch", "access", "gathers"), [(16, "element", 0), (18, "element", 1), (18, "vector", 0), ("n", "element", 1)]
)
def test_an_odd_pitch_hides_neighbours_where_the_device_is_so(pitch: int | str, access: str, gathers: int) -> None:
    """Rows of a tile in local memory, read by groups of 16 by 4: the lane stride along l.1 is the pitch."""
    unit = lp.make_kernel(
        "{ [gi, gj, i, j, r, c]: 0 <= 4*gi + i < n and 0 <= 16*gj + j < n and 0 <= i, r < 4 and 0 <= j, c < 16 }",
        [
            f"for gi, gj\n tile[{pitch}*r + c] = a[4*gi + r, 16*gj + c] {{id=fill}}",
            f"out[4*gi + i, 16*gj + j] = tile[{pitch}*i + j] {{dep=fill}}\n end",
        ],
        [
            lp.GlobalArg("a, out", np.float32, shape="n, n"), lp.ValueArg("n", np.int32),
            lp.TemporaryVariable("tile", np.float32, shape=4 * 18, address_space=lp.AddressSpace.LOCAL),
        ],
        assumptions="n mod 16 = 0 and n >= 16", lang_version=(2018, 2),
    )  # fmt: skip
    unit = lp.tag_inames(unit, "gi:g.1, gj:g.0, i:l.1, j:l.0, r:l.1, c:l.0")
    facts = {"odd_pitch_access": access}
    values = quantities(count(unit, cache=False), "lockstep", facts, n=64)
    assert (64**2 * gathers, 64**2 * gathers) == (values.get("gathers", 0), values.get("scatters", 0))
    assert 64**2 / LANES * (2 - gathers) == values["loads"]  # of the global array, and of the tile


@pytest.mark.parametrize(("pitch", "kind", "code"), [(6, "cpu", 4 * 2), (4, "cpu", 0), (6, "gpu", 0)])
def test_an_odd_pitch_takes_code_for_work_items_one_by_one(pitch: int, kind: str, code: int) -> None:
    """Rows of 4 work-items, which fill no vector, store a cell of a tile and load it: two addresses."""
    unit = lp.make_kernel(
        "{ [gi, gj, i, j, r, c]: 0 <= 4*gi + i < n and 0 <= 4*gj + j < n and 0 <= i, r < 4 and 0 <= j, c < 4 }",
        [
            f"for gi, gj\n tile[{pitch}*r + c] = a[4*gi + r, 4*gj + c] {{id=fill}}",
            f"out[4*gi + i, 4*gj + j] = tile[{pitch}*i + 3 - j] {{dep=fill}}\n end",  # of another work-item
        ],
        [
            lp.GlobalArg("a, out", np.float32, shape="n, n"), lp.ValueArg("n", np.int32),
            lp.TemporaryVariable("tile", np.float32, shape=4 * 6, address_space=lp.AddressSpace.LOCAL),
        ],
        assumptions="n mod 4 = 0 and n >= 4", lang_version=(2018, 2),
    )  # fmt: skip
    unit = lp.tag_inames(unit, "gi:g.1, gj:g.0, i:l.1, j:l.0, r:l.1, c:l.0")
    values = quantities(count(unit, cache=False), "lockstep", {"device_type": kind}, n=64)
    # in each of two intervals a load, a store and two instructions of the loop over the work-items
    assert (2 * 4 + code) * 64**2 == values["instructions"]


def short_table(length: int, store: str = "") -> KernelCounts:
    """Count a work-item's row of constant length against 20 rows of a table."""
    unit = make(f"[n] -> {{ [i, r, c]: 0 <= i < n and 0 <= r < 20 and 0 <= c < {length} }}",
                store or "out[i] = max(r, sum(c, a[i, c]*table[r, c]))",
                [lp.GlobalArg("a", np.float32, shape=f"n, {length}"),
                 lp.GlobalArg("table", np.float32, shape=f"20, {length}"),
                 lp.GlobalArg("out", np.float32, shape="n, 20" if store else "n", is_input=None), ...],
                assumes="n mod 64 = 0 and n >= 64")  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    return count(lp.prioritize_loops(unit, "r, c"), cache=False)


def test_a_loop_around_one_that_is_written_out_keeps_what_it_does_not_move() -> None:
    n, every = 128, 128 * 20
    short, long, stored = (
        quantities(short_table(*one), "serial", n=n)["loads"]
        for one in ((8,), (24,), (8, "out[i, r] = sum(c, a[i, c]*table[r, c])"))
    )
    assert n * 8 + every * 8 == short  # the work-item's row once, the table in each iteration
    assert (2 * every * 24, 2 * every * 8) == (long, stored)  # 24 trips stay a loop; a store may change the row


@pytest.mark.parametrize(("call", "name", "dtype", "in_vectors"), [
    ("exp(a[i])", "inlined_32", np.float32, True), ("exp(a[i])", "inlined_64", np.float64, True),
    ("tanh(a[i])", "inlined_32", np.float32, True), ("tanh(a[i])", "function_64", np.float64, False),
    ("log(a[i])", "logarithm_32", np.float32, False), ("sin(a[i])", "circular_64", np.float64, False),
    ("a[i]**2.5", "power", np.float32, False), ("a[i]**4", "", np.float32, True),
])  # fmt: skip
def test_a_loop_over_work_items_that_calls_a_library_runs_one_by_one(
    call: str, name: str, dtype: type, in_vectors: bool
) -> None:
    counts = kernel("[n] -> { [i]: 0 <= i < n }", f"out[i] = {call}", "a: n; out: n", dtype)
    values = quantities(counts, "serial", n=128)
    lanes = LANES * 4 // np.dtype(dtype).itemsize if in_vectors else 1
    assert 128 / lanes == values["loads"]
    assert (128 / lanes if name else 0) == values.get(name, 0)


@pytest.mark.parametrize(
    ("arrays", "items"), [(16, 256), (32, 256), (34, 256), (72, 256), (72, 192), (36, 512), (9, 1024), (144, 64)]
)
def test_arrays_of_kept_values_drive_each_other_out_of_their_sets(arrays: int, items: int) -> None:
    sets, ways, line, item = 64, 8, 64, 4
    kept: list[list[int]] = [[] for _ in range(sets)]  # the lines of each set, the one least recently used first
    missed = 0
    for place in range(items):
        for array in range(arrays):
            number = (array * items + place) * item // line
            lines = kept[number % sets]
            missed += number not in lines and place % (line // item) != 0  # the line was there one item before
            lines[:] = [*(other for other in lines if other != number), number][-ways:]
    again = arrays * items * (1 - item / line)
    share = conflicting_share(arrays, item * items, Cache(sets * ways, line, sets))
    assert share == pytest.approx(missed / again)


@pytest.mark.parametrize("order", ["serial", "lockstep"])
def test_cells_that_are_apart_are_gathered(order: str) -> None:
    counts = kernel("[n] -> { [i]: 0 <= i < n }", "out[i] = a[2*i] + 1", "a: 2*n; out: n")
    n = 128
    values = quantities(counts, order, n=n)
    assert (n, n / LANES) == (values["gathers"], values["stores"])
    # an addition, a store, and two of the loop over the work-items, eight together; the gather by elements
    assert n + 4 * n / LANES == values["instructions"]


@pytest.mark.parametrize(("code", "shapes", "vectors"), [
    ("out[i] = a[n*i] + 1", "a: n*n; out: n", False), ("out[i] = a[2*n*i] + 1", "a: 2*n*n; out: n", True),
    ("out[i] = a[(n + 2)*i] + 1", "a: n*n + 2*n; out: n", True), ("out[n*i] = a[i] + 1", "a: n; out: n*n", False),
])  # fmt: skip
def test_vectors_for_a_parameter_that_is_one_do_not_run(code: str, shapes: str, vectors: bool) -> None:
    """PoCL's compiler makes vectors for n = 1 if the lane stride is n cells, and takes scalars otherwise."""
    values = quantities(kernel("[n] -> { [i]: 0 <= i < n }", code, shapes), "serial", n=128)
    assert (128 if vectors else None, 128 / (LANES if vectors else 1)) == (values.get("gathers"), values["iterations"])


def test_a_loop_that_carries_nothing_runs_in_vectors_along_itself() -> None:
    """Rows of m cells: b and out lie along the loop, a across it, and c does not move."""
    counts = kernel(
        "[n, m] -> { [i, j]: 0 <= i < n and 0 <= j < m }", "out[i, j] = a[2*j, i]*b[i, j] + c[i]",
        "a: 2*m, n; b: n, m; c: n; out: n, m",
    )  # fmt: skip
    n, m = 128, 64
    values = quantities(counts, "serial", n=n, m=m)
    assert (n * m, n * m / LANES + n, n * m / LANES) == (values["gathers"], values["loads"], values["stores"])
    assert n * m / LANES == values["iterations"]


@pytest.mark.parametrize(("code", "lanes"), [("sum(j, a[i, j])", LANES), ("max(j, a[i, j])", 1)])
def test_a_lone_work_item_of_a_cpu_in_lockstep_adds_up_partial_sums(code: str, lanes: int) -> None:
    unit = make("{ [i, j]: 0 <= i < n and 0 <= j < k }", f"out[i] = {code}", "a: n, k; out: n", assumes="n, k >= 1")
    counts, n, k = count(unit, cache=False), 64, 1024
    cpu = quantities(counts, "lockstep", {"device_type": "cpu"}, n=n, k=k)
    stores = n / LANES  # the loop over i stores vectors
    assert (n * k / lanes + stores, n * k / lanes) == (cpu["iterations"], cpu["loads"])
    # several vectors of sums are added up at a time; a maximum waits for the one before
    assert (None, None if lanes > 1 else n * k) == (cpu.get("chain_add"), cpu.get("chain_minmax"))
    for order, kind in (("serial", "cpu"), ("lockstep", "gpu")):  # they keep the order of a sum
        assert n * k <= quantities(counts, order, {"device_type": kind}, n=n, k=k)["iterations"] <= n * k + n


def lone(domain: str, code: str, shapes: str, **tags: str) -> dict[str, float]:
    """Return the quantities of 64 elements that one work-item computes, on a CPU in the order ``lockstep``."""
    arrays = [lp.GlobalArg(name, np.float32, shape=shape, is_input=None) for name, shape in (
        array.split(": ") for array in shapes.split("; "))]  # fmt: skip
    unit = make(domain, code, [*arrays, ...], assumes="n >= 1")
    return quantities(count(lp.tag_inames(unit, tags), cache=False), "lockstep", {"device_type": "cpu"}, n=64)


def test_the_loop_around_an_unrolled_sum_of_a_lone_work_item_runs_in_vectors() -> None:
    """Sums of three neighbouring cells: vectors along i, which load all cells. Of sums of 12, lanes are gathered."""
    for cells, gathers in ((3, None), (12, 64 * 12)):
        domain = f"[n] -> {{ [i, j]: 0 <= i < n and 0 <= j < {cells} }}"
        values = lone(domain, "out[i] = sum(j, a[i, j]*b[j])", f"a: n, {cells}; b: {cells}; out: n")
        assert (gathers, 64 / LANES) == (values.get("gathers"), values["stores"])
        # vectors: the operations, and b before the loop; a sum of cells does not wait for the sum before
        assert "chain_add" not in values
        loads = cells if gathers else 64 * cells / LANES + cells
        assert loads == values["loads"]


@pytest.mark.parametrize(("code", "tags", "vectors"), [
    ("out[i, j] = 2*a[i, j]", {}, True),
    ("out[i, j] = exp(a[i, j])", {}, False),  # a call, in a loop that stores
    ("out[i, j] = 2*a[i, j]", {"i": "g.0"}, False),  # the group is in the address of a load
    ("out[i, j] = 2*a[0, j]", {"i": "g.0"}, True),
])  # fmt: skip
def test_a_call_or_the_group_keeps_a_loop_scalar(code: str, tags: dict[str, str], vectors: bool) -> None:
    values = lone("[n] -> { [i, j]: 0 <= i, j < n }", code, "a: n, n; out: n, n", **tags)
    assert 64 * 64 / (LANES if vectors else 1) == values["iterations"]


@pytest.mark.parametrize(("cells", "vectors"), [(4, True), (6, False)])
def test_a_lone_work_item_does_not_scatter_what_it_only_copies(cells: int, vectors: bool) -> None:
    """Each cell takes one product. Vectors of rows of 6 would scatter as many cells, vectors of rows of 4 shuffle."""
    domain = f"[n] -> {{ [i, j]: 0 <= i < n and 0 <= j < {cells} }}"
    values = lone(domain, "out[i, j] = 2*a[i, j]", f"a: n, {cells}; out: n, {cells}")
    assert 64 / (LANES if vectors else 1) == values["iterations"]


def tile_sums(last: str) -> KernelCounts:
    """Count groups of 64 whose items add up the first `last` cells of a tile, k times."""
    unit = make(["{ [g, l]: 0 <= g < n/64 and 0 <= l < 64 }",
                 f"{{ [i, s, t]: 0 <= i < 64 and 0 <= s < k and 0 <= t < {last} }}"],
                ["tile[l] = a[64*g + l] {id=fill}", "out[64*g + i] = sum((s, t), tile[t]) {dep=fill}"],
                "a, out: n; local tile: 64", assumes="n >= 64 and n mod 64 = 0 and k >= 1")  # fmt: skip
    return count(lp.tag_inames(unit, {"g": "g.0", "l": "l.0", "i": "l.0"}), cache=False)


def guarded_copy(
    name: str = "d", assumptions: str = "n >= 1", n: int = 1 << 14, code: str = "out[i] = a[i]"
) -> dict[str, float]:
    """Return the quantities of a copy of 2**14 cells in groups of 64, in the order ``serial``."""
    unit = make("{ [i]: 0 <= i < n }", code, "a: 2*n; out: n", assumes=assumptions)
    counts = count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), cache=False)
    facts = dataclasses.replace(device("serial"), name=name)
    return bottleneck_quantities(Case(counts, {"n": n}, facts))


def test_a_guarded_store_is_stored_by_element_without_mask_registers() -> None:
    n = 1 << 14
    whole = guarded_copy("pthread-haswell-AMD EPYC", "n mod 64 = 0 and n >= 64")
    assert (0, n / LANES) == (whole["scatters"], whole["stores"])
    # AVX-512 masks a store in one instruction, as do Intel's cores with AVX2; AMD's cores store each element
    for name, scattered in (
        ("pthread-skylake-avx512-AMD EPYC", 0), ("pthread-haswell-Intel Xeon", 0), ("pthread-haswell-AMD EPYC", n),
        ("cpu-znver3-AMD EPYC", n), ("d", 0),
    ):  # fmt: skip
        guarded = guarded_copy(name)
        assert (scattered, n / LANES) == (guarded["scatters"], guarded["stores"])
        assert whole["instructions"] == guarded["instructions"]


def test_a_guarded_gather_stays_scalar_without_mask_registers() -> None:
    n = 1 << 14
    gathered = {
        name: guarded_copy(f"pthread-{name}-AMD EPYC", code="out[i] = a[2*i]") for name in ("haswell", "znver4")
    }
    assert (0, n) == (gathered["haswell"]["gathers"], gathered["haswell"]["loads"])
    assert (n, 0) == (gathered["znver4"]["gathers"], gathered["znver4"]["loads"])


def test_lines_of_cells_at_a_stride_are_a_stream_without_gathers() -> None:
    jumps = {name: guarded_copy(f"pthread-{name}-AMD EPYC", "n mod 64 = 0 and n >= 64", 1 << 24, "out[i] = a[2*i]")
             ["memory_jumps"] for name in ("haswell", "znver4")}  # fmt: skip
    assert jumps["haswell"] == 0 < jumps["znver4"]


def test_a_tested_loop_between_barriers_runs_one_item_after_another() -> None:
    """The size is a multiple of the group, but the code has the test. A test without a loop becomes a mask."""
    unit = make("{ [i, j]: 0 <= i < n and 0 <= j < k }", "out[i] = sum(j, a[i + j])", "a: n + k; out: n",
                assumes="n >= 1 and k >= 1")  # fmt: skip
    n, k = 128, 16
    gathers = []
    for assumptions in ("n >= 1 and k >= 1", "n mod 64 = 0 and n >= 64 and k >= 1"):
        tiled = lp.split_iname(lp.assume(unit, assumptions), "i", 64, outer_tag="g.0", inner_tag="l.0")
        tiled = lp.split_iname(tiled, "j", 16)
        tiled = lp.add_prefetch(
            tiled, "a", ["i_inner", "j_inner"], default_tag="l.auto", temporary_address_space=lp.AddressSpace.LOCAL,
            fetch_bounding_box=True,
        )  # fmt: skip
        gathers.append(quantities(count(tiled, cache=False), "serial", n=n, k=k).get("gathers", 0))
    assert gathers[0] + n * k == gathers[1]  # vectors between barriers gather each cell that is added


def test_an_integer_power_is_a_loop_and_not_the_function_of_a_library() -> None:
    n = 1 << 14
    unit = make("{ [i]: 0 <= i < n }", "out[i] = a[i]**k[i]", "float64 a, out: n; int32 k: n",
                assumes="n mod 64 = 0 and n >= 64")  # fmt: skip
    counts = count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), cache=False)
    found = quantities(counts, "serial", n=n)
    assert n == found["varied_entries"]
    assert "power" not in found


def test_between_barriers_work_items_are_inside_of_all_loops() -> None:
    n, k, cells = 128, 8, 32
    same, varied = (quantities(tile_sums(last), "serial", n=n, k=k) for last in (f"{cells}", "1 + i"))
    # vectors have 64-bit indices; cells that are added, or fetched into the tile, are gathered; no addition waits
    assert n * k * cells + n == same["gathers"]
    sums = 3 * n * k * cells / (LANES / 2) + n * k * cells  # with two of the loop
    assert sums <= same["instructions"] <= sums + 8 * n
    assert "chain_add" not in same
    # items whose loops differ in length run one after another
    each = n * k * (64 + 1) / 2
    assert each == varied["loads"]
    assert 4 * each <= varied["instructions"] <= 4 * each + 8 * n
    assert n == varied["gathers"]  # of the fetch alone


def chains_of(number: int, step: str) -> KernelCounts:
    """Count a kernel in which each work-item carries some values around a loop, each by a chain of such steps."""
    unit = make(f"{{ [i, s, a, u, z]: 0 <= i < n and 0 <= s < k and 0 <= a, u, z < {number} }}",
                ["for i", "acc[a] = a {id=first}", "for s, u", f"acc[u] = {step} {{id=step, dep=first}}", "end",
                 "out[i] = sum(z, acc[z]) {dep=step}", "end"], f"out: n; float32 p; temporary acc: {number}",
                assumes="n mod 64 = 0 and n >= 64 and k >= 1")  # fmt: skip
    unit = lp.tag_inames(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), "a:unr, u:unr, z:unr")
    return count(lp.prioritize_loops(unit, "s, u"), cache=False)


@pytest.mark.parametrize(("chains", "packed"), [(2, 1), (4, 4), (8, 8), (16, 8)])
def test_four_chains_of_a_work_item_are_packed_and_two_are_not(chains: int, packed: int) -> None:
    n, k = 64, 100
    values = quantities(chains_of(chains, "acc[u] + p"), "serial", n=n, k=k)
    last = n * (chains - 1)  # the sum of the chains, after the loop
    sums = n * k * chains / packed + 2 * n * k + last  # with two of the loop
    assert sums <= values["instructions"] <= sums + 2 * chains * n


@pytest.mark.parametrize(("assumes", "unrolled", "packed"), [
    ("n mod 8 = 0 and n >= 8", 1, 8), ("n >= 1", 1, 1), ("n mod 8 = 0 and n >= 8", 4, 8), ("n >= 1", 4, 1),
])  # fmt: skip
def test_cells_that_tests_may_leave_out_are_not_packed(assumes: str, unrolled: int, packed: int) -> None:
    """A test around all cells, of the rest of an unrolled sum, leaves the cells together."""
    unit = make("{ [i, k]: 0 <= i < n and 0 <= k < m }", "out[i] = sum(k, p)", "out: n; float32 p",
                assumes=f"{assumes} and m >= 1")  # fmt: skip
    unit = lp.split_iname(unit, "i", 8, outer_tag="g.0", inner_tag="ilp")
    counts = count(lp.split_iname(unit, "k", unrolled, inner_tag="unr"), cache=False)
    n, m = 64, 1000
    sums = n * m / packed + 2 * n // 8 * m // unrolled  # with two of the loop
    assert sums <= quantities(counts, "serial", n=n, m=m)["instructions"] <= sums + 4 * n


@pytest.mark.parametrize(("chains", "steps"), [(1, 1), (8, 2)])
def test_a_packed_maximum_takes_twice_as_long_as_that_of_one_value(chains: int, steps: int) -> None:
    n, k = 64, 1000
    values = quantities(chains_of(chains, "fmax(acc[u], p)"), "serial", n=n, k=k)
    assert steps * n * k == values["chain_minmax"]  # chains run side by side: each waits for itself alone


@pytest.mark.parametrize(("dtype", "vectors"), [(np.float32, 1), (np.float64, 2)])
def test_items_that_vectors_leave_over_run_one_by_one(dtype: type, vectors: int) -> None:
    """Groups of 12 are a vector of 8 lanes, of two halves in float64, and 4 work-items."""
    unit = make("{ [i]: 0 <= i < n }", "out[i] = a[i]", "a, out: n", dtype=dtype, assumes="n mod 12 = 0 and n >= 12")
    counts = count(lp.split_iname(unit, "i", 12, outer_tag="g.0", inner_tag="l.0"), cache=False)
    values = quantities(counts, "lockstep", n=120)
    assert (10 * (vectors + 4), 10 * (1 + 4)) == pytest.approx((values["stores"], values["iterations"]))


@pytest.mark.parametrize(("platform", "group", "code", "vectors"), [
    ("Intel(R) OpenCL", 64, "out[i] = a[i]", True), ("Intel(R) OpenCL", 96, "out[i] = a[i]", False),
    ("Intel(R) OpenCL", 96, "out[i] = a[i + n]", False), ("another", 96, "out[i] = a[i]", True),
])  # fmt: skip
def test_groups_that_are_no_power_of_two_hide_neighbours(platform: str, group: int, code: str, vectors: bool) -> None:
    """96 work-items: the store has no size in its index, so all is scalar. A vector loads 8 cells."""
    unit = make("{[i]: 0 <= i < n}", code, "a, out: 2*n", assumes=f"n >= 1 and n mod {group} = 0")
    facts = {"device_type": Fact("cpu", "", "by hand"), "lane_order": Fact("lockstep", "", "by hand"),
             "vector_lanes": Fact(8, "", "by hand")}  # fmt: skip
    device = DeviceFacts.from_mapping("AVX-512", platform, "1", facts)
    counts = count(lp.split_iname(unit, "i", group, outer_tag="g.0", inner_tag="l.0"), subgroup_size=8)
    found = bottleneck_quantities(Case(counts, {"n": 9600 * 4}, device))
    assert 9600 * 4 / (8 if vectors else 1) == found["loads"]


def on_avx512(unit: lp.TranslationUnit, platform: str, n: int) -> dict[str, float]:
    facts = {"device_type": Fact("cpu", "", "by hand"), "lane_order": Fact("lockstep", "", "by hand"),
             "vector_lanes": Fact(8, "", "by hand")}  # fmt: skip
    device = DeviceFacts.from_mapping("AVX-512", platform, "1", facts)
    return bottleneck_quantities(Case(count(unit, subgroup_size=8), {"n": n}, device))


@pytest.mark.parametrize(("platform", "size", "order", "vectors"), [
    ("Intel(R) OpenCL", np.int32, "C", True), ("Intel(R) OpenCL", np.int64, "C", False),
    ("Intel(R) OpenCL", np.int64, "F", True), ("another", np.int64, "C", True),
])  # fmt: skip
def test_a_size_of_64_bits_left_of_the_lane_hides_neighbours(
    platform: str, size: type, order: str, vectors: bool
) -> None:
    """``n*j + lid`` is a gather of 8 cells: 64 bits plus the converted lane. In ``lid + n*j`` the lane comes first."""
    axes = "j, i" if order == "C" else "i, j"
    unit = make("[n] -> {[i, j]: 0 <= i, j < n}", f"out[{axes}] = a[{axes}]",
                [lp.GlobalArg("a, out", np.float32, shape="n, n", order=order), lp.ValueArg("n", size)],
                assumes="n >= 1 and n mod 64 = 0")  # fmt: skip
    unit = lp.tag_inames(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), {"j": "g.1"})
    found = on_avx512(unit, platform, 8192)
    cells, lines = 8192**2, 2 * 8192**2 / 16
    loaded, streamed = ("loads", "memory_streams") if vectors else ("gathers", "memory_jumps")
    assert cells / (8 if vectors else 1) == found[loaded]
    assert lines * (1 if vectors else GATHERED_LINES) == pytest.approx(found[streamed])


@pytest.mark.parametrize(("dtype", "code", "share"), [
    (np.float64, "out[i, 0] = 2*a[i, 0]\nout[i, 1] = 2*a[i, 1]", 1.0), (np.complex128, "out[i, 0] = 2*a[i, 0]", 1.0),
    (np.complex128, "out[i, 0] = a[i, 0]", 0.0), (np.complex64, "out[i, 0] = 2*a[i, 0]", 0.0),
])  # fmt: skip
def test_lines_of_neighbours_at_a_stride_come_one_by_one(dtype: type, code: str, share: float) -> None:
    """Vectors hold real or imaginary parts of float64 at a stride of two cells, but copy a complex number whole."""
    columns, n = 2 if dtype is np.float64 else 1, 2**25
    unit = make("[n] -> { [i]: 0 <= i < n }", code, [
        lp.GlobalArg("a, out", dtype, shape=f"n, {columns}"), lp.ValueArg("n", np.int32),
    ], assumes="n >= 1 and n mod 64 = 0")  # fmt: skip
    found = on_avx512(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), "Intel(R) OpenCL", n)
    lines = 2 * n * columns * np.dtype(dtype).itemsize / 64
    assert lines * (1 - share) == pytest.approx(found["memory_streams"], rel=0.03)  # a few lines stay
    assert lines * share * STRIDED_LINES == pytest.approx(found["memory_jumps"], rel=0.03)


@pytest.mark.parametrize(("columns", "guarded", "share"), [(2, False, 0), (2, True, 1), (5, False, 1), (1, True, 0)])
def test_lines_that_pocl_gathers_come_one_by_one(columns: int, guarded: bool, share: float) -> None:
    """Vectors load all cells of rows of two and shuffle them, but not behind a test; all lines are read once."""
    code = f"out[i] = {' + '.join(f'a[i, {column}]' for column in range(columns))}"
    unit = make("[n] -> { [i]: 0 <= i < n }", code, f"a: n, {columns}; out: n",
                assumes="n >= 1" if guarded else "n >= 1 and n mod 64 = 0")  # fmt: skip
    unit, n = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), 2**25
    found = quantities(count(unit, cache=False), "serial", n=n)
    part = share * columns / (columns + 1)  # of the accesses; one stores neighbours
    lines = n * (columns + 1) / 16
    assert lines * (1 - part) == pytest.approx(found["memory_streams"], rel=0.03)
    assert lines * part * STRIDED_LINES == pytest.approx(found.get("memory_jumps", 0.0), rel=0.03)


@pytest.mark.parametrize(("code", "gathers"), [("out[i] = sum(j, a[i, j])", True), ("out[i, j] = 2*a[i, j]", False)])
def test_lines_of_rows_that_vectors_gather_come_one_by_one(code: str, gathers: bool) -> None:
    """Vectors along i gather 12 of 13 cells: each row, not its sum. A loop that would scatter cells stays scalar."""
    shapes = {"a": "n, 12", "out": "n" if gathers else "n, 12"}
    arrays = [lp.GlobalArg(name, np.float32, shape=shape) for name, shape in shapes.items()]
    unit = lp.make_kernel(
        "[n] -> { [i, j]: 0 <= i < n and 0 <= j < 12 }", code, [*arrays, lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 16 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    n = 2**22
    found, lines = on_avx512(unit, "Intel(R) OpenCL", n), n * (13 if gathers else 24) / 16
    share = 12 / 13 if gathers else 0.0
    assert lines * (1 - share) == pytest.approx(found["memory_streams"], rel=0.01)  # a few lines stay
    assert lines * share * GATHERED_LINES == pytest.approx(found["memory_jumps"], rel=0.01)


@pytest.mark.parametrize(("value", "chance", "rarer"), [
    ("a[i, j]", 0.25, 0.25), ("a[i, j]", 0.75, 0.25), ("a[i, j]", 1, 0), ("sqrt(b[i])", 0.5, 0.5),
    ("0.5 + j", 0.5, 0),  # a compiler computes it without a branch
    ("ok[i, j]", 0.25, 0),  # loaded for the test
    ("sqrt(b[i]) + a[i, j + 1]", 0.25, 0.25),  # one branch
    ("(1.5 if j > 3 else 0.5)", 0.25, 0.25),  # nor does it join two selects
])  # fmt: skip
def test_a_branch_on_data_costs_time_if_it_goes_the_rarer_way(value: str, chance: float, rarer: float) -> None:
    """A loop of sums is scalar code on PoCL. A vector masks lanes."""
    unit = make("[n, k] -> { [i, j]: 0 <= i < n and 0 <= j < k }",
                f"out[i] = sum(j, {value} if ok[i, j] > 0 else 0.0)", "a: n, k + 1; int32 ok: n, k; b: n; out: n",
                assumes="n mod 64 = 0 and n >= 1 and k >= 1")  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    key, n, k = "ok[i_inner + i_outer*64, j] > 0", 4096, 512
    counts, certain = (count(unit, statistics={key: each}, cache=False) for each in (chance, 1))
    for order, wrong in (("serial", rarer), ("lockstep", 0.0)):
        found, known = (quantities(each, order, n=n, k=k).get("chain_add", 0.0) for each in (counts, certain))
        assert n * k * wrong * WRONG_BRANCH == pytest.approx(found - known, rel=1e-6)


@pytest.mark.parametrize("stride", [1, 2])
def test_strides_in_local_memory_do_not_make_jumps_of_streams(stride: int) -> None:
    unit = make("[n] -> { [g, l]: 0 <= g < n and 0 <= l < 64 }",
                f"t[{stride}*l] = a[64*g + l] {{id=load}}\nout[64*g + l] = 2*t[{stride}*l] {{dep=load}}",
                f"a: 64*n; out: 64*n; local t: {64 * stride}", assumes="n >= 1")  # fmt: skip
    found = on_avx512(lp.tag_inames(unit, {"g": "g.0", "l": "l.0"}), "Intel(R) OpenCL", 2**20)
    assert found["memory_jumps"] == 0 < found["memory_streams"]


@pytest.mark.parametrize(("guarded", "gathers"), [(False, 0), (True, 2)])
def test_cells_of_a_row_are_gathered_behind_a_test(guarded: bool, gathers: int) -> None:
    """PoCL's compiler loads ``a[i, 0]`` and ``a[i, 1]`` in vectors and shuffles them, but not with masks."""
    assumes = "n >= 1" if guarded else "n >= 1 and n mod 64 = 0"
    unit = make("[n] -> { [i]: 0 <= i < n }", "out[i] = a[i, 0] + a[i, 1]", "a: n, 2; out: n", assumes=assumes)
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    found = quantities(count(unit, cache=False), "serial", n=4096)
    assert gathers * 4096 == found.get("gathers", 0)
    assert (0 if gathers else 2 * 4096 / LANES) == found.get("loads", 0)


@pytest.mark.parametrize(("value", "gathers"), [("a[b, i]", 0), ("t[b]*a[b, i]", 1), ("a[rows[b], i]", 2)])
def test_values_of_a_row_are_gathered_behind_a_test(value: str, gathers: int) -> None:
    """The masked load of ``t[b]`` stays in the loop over work-items of PoCL, and so does that of ``rows[b]``."""
    for assumes, expected in (("n mod 64 = 0", 0), ("n >= 1", gathers)):
        unit = make("[n, m] -> { [b, i]: 0 <= b < m and 0 <= i < n }", f"out[b, i] = 2*{value}",
                    "a: m + 1, n; t: m; int32 rows: m; out: m, n",
                    assumes=f"m >= 1 and n >= 1 and {assumes}")  # fmt: skip
        unit = lp.tag_inames(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), {"b": "g.1"})
        assert expected * 4096 * 16 == quantities(count(unit, cache=False), "serial", n=4096, m=16).get("gathers", 0)
