"""Features of kernels at sizes, their names and units, and stride classes."""

from collections import Counter

import loopy as lp
import numpy as np
import pytest

from perfmodel import features
from perfmodel.counts import KernelCounts, count as count_kernel
from perfmodel.errors import SizeError, UnknownNameError
from perfmodel.features import find_sources, stride_class, stride_classes
from perfmodel.models import find_family
from perfmodel.quantities.case import Case
from tests.corpus.kernel import make
from tests.standins import Access, Counts, Operation, count

ONE, ZERO = count("1", ""), count("0", "")


def copy_like() -> Counts:
    """a[i] loaded twice and b[i] stored once by each of n work-items, groups of 16."""
    return Counts(
        operation_table=(
            Operation("float32", "add", count("3*n")), Operation("float32", "rsqrt", count("n")),
            Operation("float32", "exp", count("2*n")), Operation("float64", "minmax", count("5")),
        ),
        access_table=(
            Access("global", "load", "a", ONE, count("n")), Access("global", "load", "c", ONE, count("n")),
            Access("global", "store", "b", ONE, count("n")), Access("global", "load", "d", ZERO, count("4*n")),
            Access("global", "load", "e", ONE, count("n"), indirect=True),
            Access("local", "load", "tile", ONE, count("7*n")),
            Access("local", "store", "tile", ZERO, count("n"), bits=64),
            Access("private", "store", "acc", ZERO, count("n")),
        ),
        barrier_count=count("2*n"),
        group_count=count("floor((15 + n)/16)"),
    )  # fmt: skip


EXPECTED_AT_100 = {
    "op_float32_add": 300.0, "op_float32_special": 300.0, "op_float64_minmax": 5.0, "global_load_32_stride1": 200.0,
    "global_store_32_stride1": 100.0, "global_minloadstore_32_stride1": 100.0, "global_load_32_uniform": 400.0,
    "global_load_32_indirect": 100.0, "local_load_32": 700.0, "local_store_64": 100.0, "barrier_local": 200.0,
    "work_groups": 7.0, "launches": 1.0,
}  # fmt: skip


def test_values_by_hand():
    assert EXPECTED_AT_100 == features.evaluate(copy_like(), {"n": 100})


def in_place(stride: int, loaded: int, stored: int) -> KernelCounts:
    """Each of n work-items loads a cell of `a` and stores another one."""
    unit = make("{ [i]: 0 <= i < n }", f"a[{stride}*i + {stored}] = 2*a[{stride}*i + {loaded}]", f"a: {stride}*n",
                assumes="n >= 1 and n mod 16 = 0")  # fmt: skip
    return count_kernel(lp.split_iname(unit, "i", 16, outer_tag="g.0", inner_tag="l.0"), cache=False)


@pytest.mark.parametrize(("stride", "loaded", "stored", "separate", "together"), [
    (2, 0, 1, "1of2", "2of2"), (2, 0, 0, "1of2", "1of2"), (3, 2, 0, "1of3", "2of3"), (4, 1, 3, "1of4", "2of4"),
])  # fmt: skip
def test_a_load_beside_a_store_of_the_same_array(stride, loaded, stored, separate, together):
    """By the paper's Algorithm 2 the footprint is the array's: F_v has a cell for each load and for each store."""
    counts, n = in_place(stride, loaded, stored), 64
    cells = {stride * i + offset for i in range(n) for offset in (loaded, stored)}
    filled = {cell + k for cell in cells for k in range(stride)}
    assert together == f"{-(-len(cells) * stride // len(filled))}of{stride}"
    for classes, quantised in ((features.PLAIN, separate), (features.Classes(utilization="array"), together)):
        for sizes in (n, np.array([n])):
            values = features.evaluate(counts, {"n": sizes}, classes)
            names = {name for name in values if name.startswith("global_")}
            assert {f"global_{way}_32_stride{stride}_{quantised}" for way in ("load", "store", "minloadstore")} == names
    family = find_family("stevens_kloeckner_2016")
    values = family.values(Case(counts, {"n": n}, None, family.name))
    assert n == values[f"global_load_32_stride{stride}_{together}"]


@pytest.mark.parametrize("stride", [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 33, 64])
def test_a_local_stride_has_the_class_of_its_conflicts(stride):
    """The class is the number of 32 lanes that share a bank."""
    unit = make("{ [g, i]: 0 <= g < n and 0 <= i < 32 }",
                f"tile[{stride}*i] = a[g, i] {{id=put}}\nb[g, i] = tile[{stride}*i] {{dep=put}}",
                f"local tile: {31 * stride + 1}; a, b: n, 32", assumes="n >= 1")  # fmt: skip
    counts = count_kernel(lp.tag_inames(unit, {"g": "g.0", "i": "l.0"}), cache=False)
    words = {stride * lane for lane in range(32)}
    conflicts = max(Counter(word % 32 for word in words).values())
    found = features.evaluate(counts, {"n": 3}, features.Classes(local_strides=True))
    end = f"stride{conflicts}" if stride else "uniform"
    assert {f"local_load_32_{end}": 96.0, f"local_store_32_{end}": 96.0} == {
        name: value for name, value in found.items() if name.startswith("local_")
    }
    assert {"local_load_32", "local_store_32"} == {
        name for name in features.evaluate(counts, {"n": 3}) if name.startswith("local_")
    }


def test_arrays_of_sizes_give_the_values_of_each_size():
    sizes = np.array([[16, 100], [1000, 17]])
    values = features.evaluate(copy_like(), {"n": sizes})
    for index, n in np.ndenumerate(sizes):
        here = {name: value[index] for name, value in values.items()}
        assert features.evaluate(copy_like(), {"n": int(n)}) == here
    assert {sizes.shape} == {value.shape for value in values.values()}


def by_column() -> Counts:
    """a[i, 0] and b[2*i] by n work-items, a of m columns: the stride of a is m."""
    rows = count("n", "n, m")
    return Counts(
        parameters=("m", "n"),
        access_table=(
            Access("global", "load", "a", count("m", "n, m"), rows, rows, count("n*m", "n, m")),
            Access("global", "store", "b", count("2", ""), rows, rows, count("2*n", "n, m")),
        ),
        group_count=rows,
    )


def test_the_smaller_of_loads_and_stores_is_taken_class_by_class():
    values = features.evaluate(by_column(), {"n": np.array([8, 8]), "m": np.array([2, 3])})
    assert [8, 0] == values["global_minloadstore_32_stride2_1of2"].tolist()
    assert "global_minloadstore_32_stride3_1of3" not in values
    assert [0, 8] == values["global_load_32_stride3_1of3"].tolist()


@pytest.mark.parametrize(("name", "sizes"), [
    ("m", {"n": 4}), ("k", {"n": 4, "m": 1, "k": 2}), ("n", {"n": -4, "m": 1}),
])  # fmt: skip
def test_a_wrong_size_is_named(name, sizes):
    with pytest.raises(SizeError) as caught:
        features.evaluate(by_column(), sizes)
    assert f"'{name}'" in str(caught.value)


@pytest.mark.parametrize(("expected", "name"), [
    ("operation", "op_float32_add"), ("operation", "op_float64_special"), ("operation", "op_int32_bitwise"),
    ("access", "global_load_128_uniform"), ("access", "global_store_8_strideN_4of4"),
    ("access", "global_minloadstore_32_stride1"), ("access", "global_load_64_indirect"), ("access", "local_store_16"),
    ("barrier", "barrier_local"), ("work-group", "work_groups"), ("launch", "launches"),
])  # fmt: skip
def test_units(expected, name):
    assert expected == features.unit(name)


@pytest.mark.parametrize("name", [
    "op_float32_rsqrt", "global_load_24_stride1", "global_load_32_stride2_3of2", "Launches", "",
])  # fmt: skip
def test_a_name_outside_the_grammar_is_refused(name):
    with pytest.raises(UnknownNameError) as caught:
        features.unit(name)
    assert f"'{name}'" in str(caught.value)
    assert "op_float32_add" in str(caught.value)


def test_equal_counts_are_evaluated_once():
    # 3n, n, 2n, 5, 4n, 7n, the groups and the launches; 2n are the exponentials and the barriers.
    found = find_sources(copy_like())
    assert 8 == len(found.counts)
    assert () == found.unclassified
    sums = {name: [found.counts[place](n=10) for place in places] for name, places in found.sums}
    assert [10, 20] == sums["op_float32_special"]
    assert [10, 10] == sums["global_load_32_stride1"]
    assert [20] == sums["barrier_local"]


def test_a_stride_that_depends_on_sizes_is_classified_later():
    access = Access("global", "load", "a", count("n"), count("3*n"), count("2*n"), count("4*n"), bits=64)
    found = find_sources(Counts(access_table=(access,)))
    (one,) = found.unclassified
    assert "global_load_64_" == one.prefix
    places = (one.count, one.stride, one.footprint, one.filled)
    assert [30, 10, 20, 40] == [found.counts[place](n=10) for place in places]


@pytest.mark.parametrize(("expected", "stride", "footprint", "filled"), [
    ("uniform", 0, 1, 100),  # utilisation is disregarded for strides 0 and 1
    ("stride1", 1, 1, 100),
    ("stride2_1of2", 2, 1, 2),  # exactly half is still the lower class
    ("stride2_2of2", 2, 51, 100),
    ("stride2_2of2", 2, 2000, 2001),  # a[2i] with a[2i+1]
    ("stride3_1of3", 3, 1, 3),
    ("stride3_2of3", 3, 2, 3),
    ("stride3_3of3", 3, 2 * 10**9 + 1, 3 * 10**9),
    ("stride4_1of4", 4, 1, 4),
    ("stride4_4of4", 4, 4, 4),
    ("strideN_1of4", 5, 1, 5),
    ("strideN_2of4", 1024, 1, 3),
    ("strideN_4of4", 1024, 1, 1),
])  # fmt: skip
def test_classes_of_section_2_1(expected, stride, footprint, filled):
    assert expected == stride_class(stride, footprint, filled)
    assert [expected] == stride_classes([stride], footprint, float(filled)).tolist()
