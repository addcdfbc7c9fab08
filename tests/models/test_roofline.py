"""The roofline: Eq. 4.31 held against closed forms of the intensity and of the time."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.models import find_family
from perfmodel.models.model import bind, known_weights
from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import local_bytes
from tests.corpus.kernel import make
from tests.standins import made_up

FAMILY = find_family("roofline")
ROOFS = {
    "peak_flops_float32": 4e12, "peak_flops_float64": 1e12, "memory_bandwidth_bytes_per_s": 2e11,
    "local_bandwidth_bytes_per_s": 3e12,
}  # fmt: skip
LAUNCH = 5e-6


def facts(**known):
    return made_up(**{"global_transaction_bytes": 64, **ROOFS, **known})


def counted(domains, text, dtype=np.float32, parallel=(("i", 64),), assumptions="n >= 64 and n mod 64 = 0", **shapes):
    arguments = [lp.GlobalArg(name, shape=shape) for name, shape in shapes.items()]
    t_unit = lp.make_kernel(domains, text, [*arguments, ...], assumptions=assumptions, lang_version=(2018, 2))
    untyped = [arg.name for arg in t_unit.default_entrypoint.args if hasattr(arg, "shape") and arg.dtype is None]
    t_unit = lp.add_dtypes(t_unit, dict.fromkeys(untyped, dtype))
    for axis, (iname, width) in enumerate(parallel):
        t_unit = lp.split_iname(t_unit, iname, width, outer_tag=f"g.{axis}", inner_tag=f"l.{axis}")
    return count(t_unit, subgroup_size=32)


def case(counts, known=None, **sizes):
    return Case(counts, sizes, known or facts(), FAMILY.name)


def seconds(counts, known=None, **sizes):
    known = known or facts()
    at = Case(counts, sizes, known, FAMILY.name)
    model = bind(FAMILY, at.features, known_weights(FAMILY, known))
    assert ("w_launch",) == model.weights
    return model.value(FAMILY.quantities(at), [LAUNCH])


ADD = counted("{[i]: 0 <= i < n}", "out[i] = a[i] + b[i]")
PRODUCT = counted("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])", parallel=(("j", 16), ("i", 16)))


@pytest.mark.parametrize("n", [64, 2**20, 2**26])
def test_a_vector_sum_is_bound_by_bandwidth(n):
    # 12 bytes for each addition: three arrays pass once.
    assert pytest.approx(LAUNCH + 12 * n / 2e11) == seconds(ADD, n=n)


@pytest.mark.parametrize("n", [64, 512, 4096])
def test_a_matrix_product_has_an_intensity_of_n_over_6(n):
    found = FAMILY.quantities(case(PRODUCT, n=n))
    assert 2 * n**3 == found["flops_float32"]
    assert 3 * 4 * n**2 == found["global_bytes"]
    assert pytest.approx(n / 6) == found["flops_float32"] / found["global_bytes"]


def test_a_matrix_product_passes_the_ridge_where_intensity_is_peak_over_bandwidth():
    ridge = 4e12 / 2e11  # 20 operations a byte: n = 120
    for n, bound in ((64, 12 * 64**2 / 2e11), (192, 2 * 192**3 / 4e12)):
        assert (n / 6 > ridge) == (bound == 2 * n**3 / 4e12)
        assert pytest.approx(LAUNCH + bound) == seconds(PRODUCT, n=n)


def test_types_have_their_own_peaks_and_their_times_add_up():
    double = counted("{[i]: 0 <= i < n}", "out[i] = a[i] * b[i]", dtype=np.float64)
    found = FAMILY.quantities(case(double, n=640))
    assert (0, 640, 24 * 640) == (found["flops_float32"], found["flops_float64"], found["global_bytes"])
    slow = facts(peak_flops_float64=1e3)
    assert pytest.approx(LAUNCH + 640 / 1e3) == seconds(double, slow, n=640)


def test_local_memory_moves_a_shared_cell_once_for_a_sub_group():
    t_unit = make("{[g, l, m]: 0 <= g < n and 0 <= l, m < 64}",
                  ["s[l] = a[64*g + l] {id=fill}", "out[64*g + m] = s[m] + s[0] {dep=fill}"],
                  "local s: 64; a, out: 64*n", assumes="n >= 1")  # fmt: skip
    t_unit = lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0", "m": "l.0"})
    counts = count(t_unit, subgroup_size=32)
    stored, loaded, shared = 4 * 64 * 10, 4 * 64 * 10, 4 * 2 * 10
    assert stored + loaded + shared == local_bytes(case(counts, n=10))
    bound = (stored + loaded + shared) / 1e3
    assert pytest.approx(LAUNCH + bound) == seconds(counts, facts(local_bandwidth_bytes_per_s=1e3), n=10)
