"""What the busiest unit of a GTX 480 works through, by hand: a copy, strides, local memory, tiles, waves."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.quantities import multithreaded
from perfmodel.quantities.case import Case
from tests.corpus.kernel import make
from tests.models.test_threaded_manycore import GTX480, counted

CACHES = {"banks": 32, "l1_bytes": 2**14, "l2_bytes": 3 * 2**18, "global_transaction_bytes": 32, "lanes_per_unit": 32}


def device(**known):
    return GTX480.updated({key: Fact(value, "", "made up") for key, value in known.items()})


def resources(counts, facts=None, **sizes):
    found = multithreaded.multithreaded_resources(Case(counts, sizes, facts or device(**CACHES), "toy"))
    assert set(multithreaded.MULTITHREADED_UNITS) == set(found)
    return {name: value for name, value in found.items() if np.any(value)}


def test_a_scaled_copy():
    # 30 groups of two sub-groups on 15 units: the busiest runs two groups at once, so four sub-groups of 128 bytes.
    # Each loads, multiplies and stores
    assert {
        "started": 1, "dealt_groups": 2, "arithmetic": 4, "sectors": 16, "near_sectors": 16, "stored_sectors": 16,
        "memory_bytes": 4 * 128, "stored_bytes": 4 * 128, "chain_loads": 1, "chain_operations": 3, "wavefronts": 4,
    } == pytest.approx(resources(counted(), n=30 * 64))  # fmt: skip


@pytest.mark.parametrize(("dtype", "cycles"), [("int32", 20), ("uint32", 20), ("int64", 80), ("float32", 6)])
def test_integers_are_divided_by_many_instructions(dtype, cycles):
    operator = "/" if dtype == "float32" else "//"
    unit = make("{[i]: 0 <= i < n}", f"out[i] = a[i] {operator} b[i]", assumes="n mod 64 = 0 and n > 0")
    unit = lp.add_dtypes(unit, dict.fromkeys(("a", "b"), np.dtype(dtype)))
    counts = count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)
    # 30 groups of two sub-groups on 15 units: four sub-groups on the busiest
    assert 4 * cycles == pytest.approx(resources(counts, n=30 * 64)["arithmetic"])


@pytest.mark.parametrize(("waits", "far"), [(0, 0), (1, 4)])
def test_loads_behind_a_test_wait_where_the_compiler_does_not_move_them(waits, far):
    unit = make("{ [i, j]: 0 <= i < n and 0 <= j < 4 and j <= i }", "out[i] = sum(j, a[i, j])", "a: n, 4; out: n",
                assumes="n >= 64 and n mod 64 = 0")  # fmt: skip
    counts = count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)
    # 15 groups: each sub-group loads in one turn, which is written out, or waits for each of four loads
    found = resources(counts, device(**CACHES, guarded_loads_wait=waits), n=15 * 64)
    assert (1, far) == pytest.approx((found["chain_loads"], found.get("chain_far", 0)))


def unit_of_each_cell(expression, dtype=np.float32):
    """Groups of 64 work-items that compute one cell each."""
    unit = make("{[i]: 0 <= i < n}", f"out[i] = {expression}", assumes="n mod 64 = 0 and n > 0")
    unit = lp.add_dtypes(unit, {name: np.dtype(dtype) for name in ("a", "b") if f"{name}[i]" in expression})
    return lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")


def of_each_cell(expression):
    return count(unit_of_each_cell(expression), subgroup_size=32)


@pytest.mark.parametrize(("units", "cycles"), [(32, 2), (16, 2), (4, 8)])
def test_special_functions_run_beside_other_operations_in_their_own_units(units, cycles):
    # four sub-groups on the busiest unit: two additions at 32 lanes, or one rsqrt at some lanes, whatever takes longer
    found = resources(of_each_cell("rsqrt(a[i] + 1) + 2"), device(**CACHES, special_units_per_unit=units), n=30 * 64)
    assert (4 * cycles, 6) == pytest.approx((found["arithmetic"], found["chain_operations"] + 1))


def test_unknown_units_for_special_functions_are_a_quarter_of_the_lanes_and_the_assumption_is_said():
    facts = device(**{**CACHES, "lanes_per_unit": 64})
    ((caution, other),) = multithreaded.assumed_special_units(facts)
    assert (16, 8, 8) == (caution.assumed, caution.other, other.value)
    assert "16 is assumed; intervals also cover 8; write special_units_per_unit into facts.yaml" in str(caution)
    assert 4 * 2 == resources(of_each_cell("rsqrt(a[i])"), facts, n=30 * 64)["arithmetic"]
    assert [] == [*multithreaded.assumed_special_units(device(**CACHES, special_units_per_unit=4))]


def test_comparisons_and_selects_are_instructions():
    plain = resources(of_each_cell("a[i] + b[i]"), n=30 * 64)
    chosen = resources(of_each_cell("(a[i] if a[i] < b[i] else b[i]) + b[i]"), n=30 * 64)
    # four sub-groups on the busiest unit, each with a comparison and a select more
    assert (4 * 2, 2) == (chosen["arithmetic"] - plain["arithmetic"],
                          chosen["chain_operations"] - plain["chain_operations"])  # fmt: skip


@pytest.mark.parametrize(
    ("trips", "most", "accesses"), [(8, 255, 0), (9, 255, 1 + 3 * 9), (8, 40, 0), (8, 24, 1 + 3 * 8)]
)
def test_short_loops_around_barriers_are_unrolled_if_the_registers_hold_what_they_index(trips, most, accesses):
    unit = make(f"{{ [g, l, s, t, u]: 0 <= g < 15 and 0 <= l < 64 and 0 <= s, t, u < {trips} }}", """
        for g, l
            own[s] = 0.0f {id=start}
            for t
                tile[l] = a[t, 64*g + l] {id=put, dep=start}
                own[t] = own[t] + tile[63 - l] {id=add, dep=put}
            end
            out[u, 64*g + l] = own[u] {dep=add}
        end
        """, f"a, out: {trips}, 960; local tile: 64; temporary own: {trips}")  # fmt: skip
    unit = lp.tag_inames(unit, {"g": "g.0", "l": "l.0", "s": "unr", "u": "unr"})
    counts = count(unit, subgroup_size=32)
    registers = {"registers_per_unit": most * 64} if most < 255 else {}
    found = resources(counts, device(**CACHES, **registers))
    assert bool(accesses) == bool(found.get("chain_private"))


def row_sums(index):
    """Groups of 64 work-items that each sum four cells."""
    unit = make("{ [i, j]: 0 <= i < n and 0 <= j < 4 }", f"out[i] = sum(j, a[{index}])", "a: 65*n; out: n",
                assumes="n >= 64 and n mod 64 = 0")  # fmt: skip
    return count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)


@pytest.mark.parametrize(("index", "more"), [("4*i + j", 1), ("j*n + i", 4), ("64*i + 2*j", 1), ("64*i + 16*j", 4)])
def test_loads_that_enter_another_sector_wait_where_none_overlap(index, more):
    # a sector has 8 cells: a lane's four cells lie in one, or each in its own
    chains = [resources(row_sums(index), device(**CACHES, loads_wait=waits), n=15 * 64) for waits in (0, 1)]
    assert [1, 1 + more] == pytest.approx([found["chain_loads"] for found in chains])


@pytest.mark.parametrize(("waits", "bound", "sectors"), [(0, "n >= 1", 0), (1, "n mod 256 = 0", 0), (1, "n >= 1", 1)])
def test_private_arrays_that_tests_index_lie_in_memory_where_the_compiler_moves_nothing(waits, bound, sectors):
    unit = lp.make_kernel(
        "{ [g, l, s, t, u]: 0 <= l < 64 and 0 <= s, t, u < 4 and 0 <= 256*g + 4*l < n and 0 <= 256*g + 4*l + u < n }",
        """
        for g, l
            own[s] = 1.0f {id=start}
            own[t] = own[t]*2 {id=twice, dep=start}
            out[256*g + 4*l + u] = own[u] {dep=twice}
        end
        """,
        [lp.GlobalArg("out", np.float32, shape="n"), lp.TemporaryVariable("own", np.float32, shape=4), ...],
        assumptions=f"n >= 1 and {bound}", lang_version=(2018, 2),
    )  # fmt: skip
    unit = lp.tag_inames(unit, {"g": "g.0", "l": "l.0", "s": "unr", "t": "unr", "u": "unr"})
    found = resources(count(unit, subgroup_size=32), device(**CACHES, guarded_loads_wait=waits), n=15 * 256)
    # two sub-groups on each unit: each of four cells is set, loaded, stored and loaded, four sectors of 32 bytes
    assert 2 * 4 * 4 * 4 * sectors == pytest.approx(found.get("near_sectors", 0))


def through_a_tile(stride, dtype=np.float32):
    """Sub-groups that store one cell each to a tile, one every `stride` cells, and read it back."""
    unit = make("{ [g, l]: 0 <= l < 32 and 0 <= 32*g + l < n }", f"""
        for g, l
            tile[{stride}*l] = a[32*g + l] {{id=put}}
            out[32*g + l] = tile[{stride}*l] {{dep=put}}
        end
        """, f"a, out: n; local tile: {32 * stride}", dtype=dtype, assumes="n >= 1 and n mod 32 = 0")  # fmt: skip
    return count(lp.tag_inames(unit, {"g": "g.0", "l": "l.0"}), subgroup_size=32)


@pytest.mark.parametrize(("stride", "each"), [(1, 1), (2, 2), (16, 16), (32, 32), (33, 1)])
def test_bank_conflicts_repeat_an_access(stride, each):
    # 30 sub-groups, two on the busiest unit: each loads, and stores to and loads from local memory
    found = resources(through_a_tile(stride), n=960)
    assert (2 * (1 + 2 * each), 1) == (found["wavefronts"], found["chain_local"])


def product():
    """Square tiles of 16*16 work-items, each of which sums a row times a column."""
    unit = make("{ [i, j, k]: 0 <= i, j, k < 256 }", "c[i, j] = sum(k, a[i, k]*b[k, j])", "a, b, c: 256, 256")
    unit = lp.split_iname(unit, "i", 16, outer_tag="g.1", inner_tag="l.1")
    return count(lp.split_iname(unit, "j", 16, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)


def test_caches_fetch_what_they_cannot_hold():
    everything = resources(product(), device(**{**CACHES, "l2_bytes": 2**30}))
    assert 2 * 256 * 256 * 4 / 15 == pytest.approx(everything["memory_bytes"])
    # of 256 groups the busiest unit runs 18; each sub-group loads two rows of a and one of b, of 64 bytes, for each k
    assert 18 * 8 * 256 * (2 + 2) == pytest.approx(everything["sectors"])


def test_a_written_out_tile_is_loaded_once_and_a_multiplication_with_an_addition_is_one():
    unit = make("{ [i, j, k]: 0 <= i < n and 0 <= j, k < 4 }", "out[i, j] = sum(k, a[i, k]*b[k, j])",
                "float64 a, out: n, 4; float64 b: 4, 4", assumes="n >= 1 and n mod 64 = 0")  # fmt: skip
    counts = count(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)
    facts = device(**CACHES, peak_flops_float64=15 * 16 * 2 * 1.4e9, clock_hz=1.4e9)
    found = resources(counts, facts, n=15 * 64)
    # two sub-groups load 4 cells of a in 32 rows, and one of each 16 of b, and add 16 products at 16 lanes a cycle
    assert (2 * (4 * 32 + 16), 2 * 16 * 2) == pytest.approx((found["sectors"], found["arithmetic"]))
    assert 16 + 4 + 16 + 4 == found["chain_operations"]  # multiply-adds, loads of a and b, and stores
    assert "turns" not in found


def test_registers_limit_the_groups_that_a_unit_holds_and_then_spill():
    unit = make("{ [i, j, k]: 0 <= i < n and 0 <= j, k < 64 }", """
        for i
            for j
                own[j] = a[i, j] {id=load}
            end
            for k
                out[i, k] = own[63 - k] {dep=load}
            end
        end
        """, "a, out: n, 64; temporary own: 64", assumes="n >= 1 and n mod 256 = 0")  # fmt: skip
    counts = count(lp.split_iname(unit, "i", 256, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)
    words = multithreaded.REGISTERS + 64  # 88 registers, of a unit's 32768 for 256 work-items: one group, no spilling
    unknown = DeviceFacts.from_mapping("toy", "none", "0", {
        key: fact for key, fact in dict(device(**CACHES).facts).items() if key != "registers_per_unit"
    })  # fmt: skip
    free = resources(counts, unknown, n=15 * 2 * 256)
    assert (1, None) == (free["chain_loads"], free.get("chain_private"))
    wide = resources(counts, device(**CACHES, registers_per_unit=32768), n=15 * 2 * 256)
    assert (2, None) == (wide["chain_loads"], wide.get("chain_private"))
    narrow = resources(counts, device(**CACHES, registers_per_unit=16384), n=15 * 2 * 256)
    assert 2 * 128 * (words - 64) / 64 == pytest.approx(narrow["chain_private"])


def test_a_tile_keeps_what_it_loads_once_in_registers():
    unit = make("{ [i, k, x, y, s, t, u, v]: 0 <= i < n and 0 <= k < n and 0 <= x, s, u < 8 and 0 <= y, t, v < 4 }", """
        for i
            for s, t
                own[s, t] = 0  {id=init}
            end
            for k, x, y
                own[x, y] = own[x, y] + a[i, k, x]*b[k, y]  {id=add,dep=init}
            end
            for u, v
                out[i, u, v] = own[u, v]  {dep=add}
            end
        end
        """, "float64 a: n, n, 8; float64 b: n, 4; float64 out: n, 8, 4; temporary float64 own: 8, 4",
        assumes="n >= 1 and n mod 64 = 0")  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    for loops in ("k,x,y", "s,t", "u,v"):
        unit = lp.prioritize_loops(unit, loops)
    counts = count(unit, subgroup_size=32)
    # a thread keeps its 32 sums, the 4 cells of b that each x uses again, and for the 4 y the one cell of a
    words = 2 * (32 + 4 + 1)
    registers, n = -(-(multithreaded.REGISTERS + words) // 8) * 8, 15 * 16 * 64
    for of_unit, rounds in ((8 * 64 * registers, 2), (8 * 64 * registers - 1, 16 / 7)):
        # the busiest unit runs 16 groups, and holds 8 or 7 of them
        found = resources(counts, device(**CACHES, registers_per_unit=of_unit), n=n)
        assert rounds * n == pytest.approx(found["chain_loads"])


def test_private_data_in_memory_wait_and_more_so_beyond_the_first_level_cache():
    unit = make("{ [i, o, j, m]: 0 <= i < n and 0 <= o < 2 and 0 <= j, m < 20000 }", """
        for i
            for m
                own[m] = 0  {id=init}
            end
            for o, j
                own[j] = 2*own[j]  {id=add,dep=init}
            end
            out[i] = own[0]  {dep=add}
        end
        """, "out: n; temporary own: 20000", assumes="n >= 1 and n mod 64 = 0")  # fmt: skip
    unit = lp.prioritize_loops(lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0"), "o,j")
    found = resources(count(unit, subgroup_size=32), device(**CACHES), n=64)
    # loops of 20000 iterations stay: a sub-group stores each cell, loads and stores it twice, and loads the first
    accesses, held = 20000 + 4 * 20000 + 1, 64 * 20000 * 4
    missed = 1 - 2**14 / held
    assert (accesses, accesses * missed) == pytest.approx((found["chain_private"], found["chain_far"]))


def test_sizes_may_be_arrays():
    many = resources(counted("16*i"), n=np.array([[960], [1920]]))
    for place, n in enumerate((960, 1920)):
        few = resources(counted("16*i"), n=n)
        for name, value in many.items():
            assert few.get(name, 0) == pytest.approx(value[place, 0])
