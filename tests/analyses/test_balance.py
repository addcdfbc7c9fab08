"""The balance inequality 2.4 with its verdicts, and the benefit metrics of Sim et al., by hand and as printed."""

from dataclasses import fields

import loopy as lp
import numpy as np
import pytest

from perfmodel.analyses import balance as verdicts
from perfmodel.analyses.balance import Balance, judge_balance
from perfmodel.analyses.benefits import Benefits, potential_benefits
from perfmodel.counts import count
from perfmodel.errors import FamilyError
from perfmodel.facts import Fact
from perfmodel.fitting import FitOptions
from perfmodel.fitting.weights_file import FittedWeight, FittedWeights, Residuals
from perfmodel.models import find_family
from perfmodel.predicting.model import FittedModel
from tests.corpus.kernel import make
from tests.models.test_gpuperf import C2050, WEIGHTS, counted, printed, quantities
from tests.quantities.test_multiplicity import sequence
from tests.standins import made_up


def balance(**changes):
    """10^9 nodes, 100 deep, that move 64 MB; 10^12 operations and 10^11 B a second: 10 operations a byte."""
    kept = {
        "work": 1e9, "depth": 100.0, "transfers": 1e6, "cores": 1000.0, "rate": 1e9, "latency": 5e-7,
        "bandwidth": 1e11, "transfer_bytes": 64.0,
    }  # fmt: skip
    return Balance(**{**kept, **changes})


def test_the_terms_of_the_inequality():
    found = balance()
    assert pytest.approx(1e7) == found.parallelism  # W/D
    assert pytest.approx(1e4) == found.memory_parallelism  # Q/D
    assert pytest.approx(5e-7 * 1e11 / 64) == found.hidden  # alpha beta / L
    assert pytest.approx((100 + (1e9 - 100) / 1000) / 1e9) == found.compute_s  # 2.1
    assert pytest.approx(5e-7 * 100 + 64e6 / 1e11) == found.memory_s  # 2.3


@pytest.mark.parametrize(("changes", "verdict"), [
    ({}, verdicts.COMPUTE_BOUND),  # 1 ms of work against 0.05 ms of latency and 0.64 ms of transfers
    ({"transfers": 1e8}, verdicts.MEMORY_BOUND),  # 64 ms of transfers
    ({"depth": 1e7}, verdicts.TOO_LITTLE_PARALLELISM),  # 5 s of latency
    ({"depth": 1e7, "latency": 0.0}, verdicts.TOO_LITTLE_PARALLELISM),  # a chain of 10 ms
    ({"work": 0.0, "depth": 0.0, "transfers": 0.0}, verdicts.NO_WORK),
])  # fmt: skip
def test_the_largest_time_gives_the_verdict(changes, verdict):
    assert verdict == balance(**changes).verdict


def fitted_model(family, of_units, values, facts):
    """A model of a device with these weights, whose units are those of the family `of_units`."""
    fitted = FittedWeights(
        family=family, device=facts.name, subgroup_size=32, options=FitOptions(), rows=1, measurements="0",
        rank=len(values), condition=1.0, degrees_of_freedom=1, converged=True, notes=(), features=tuple(values),
        residuals=Residuals(geometric_mean=0.0, median=0.0, largest=0.0),
        weights={
            name: FittedWeight(value=value, unit=find_family(of_units).weight_unit(name), standard_error=None, marks=())
            for name, value in values.items()
        },
    )  # fmt: skip
    return FittedModel(fitted, facts, find_family(family))


def model(family="work_depth", operation=1e-9, latency=1e-9, byte=1e-11):
    values = {"w_operation": operation, "w_latency": latency, "w_byte": byte, "w_launch": 5e-6}
    facts = made_up(compute_units=4, lanes_per_unit=32, global_transaction_bytes=64)
    return fitted_model(family, "work_depth", values, facts)


def made(text, domains="{[i]: 0 <= i < n}", parallel=True):
    t_unit = lp.make_kernel(domains, text, [lp.GlobalArg("a, out", np.float32, shape=lp.auto), ...],
                            assumptions="n >= 64 and n mod 64 = 0", lang_version=(2018, 2))  # fmt: skip
    if parallel:
        t_unit = lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    return count(t_unit, subgroup_size=32)


def test_a_copy_is_bound_by_memory_and_a_long_sum_by_its_chain():
    copy, chain = made("out[i] = a[i]"), made("out[0] = sum(i, a[i])", parallel=False)
    sizes = {"n": 2**20}
    slow_memory = judge_balance(model(byte=1e-9), copy, sizes)
    assert verdicts.MEMORY_BOUND == slow_memory.verdict
    assert (8 * 2**20 / 64, 64.0, 128.0) == (slow_memory.transfers, slow_memory.transfer_bytes, slow_memory.cores)
    assert verdicts.TOO_LITTLE_PARALLELISM == judge_balance(model(), chain, sizes).verdict
    assert verdicts.COMPUTE_BOUND == judge_balance(model(byte=0.0, latency=0.0), copy, sizes).verdict


@pytest.mark.parametrize(("on_chip", "times"), [(None, 1), (2**30, 1), (1024, 16)])
def test_a_finite_z_decides_how_often_data_moves(on_chip, times):
    """The columns of a matrix with rows of 4 KiB: a line of 16 cells moves once, or for each cell where Z is small."""
    unit = make("{[i, j]: 0 <= i < n and 0 <= j < 1024}", "out[j] = sum(i, a[i, j])", "a: n, 1024; out: 1024",
                assumes="n >= 64")  # fmt: skip
    asked = {} if on_chip is None else {"on_chip_bytes": Fact(on_chip, "B", "asked")}
    found = judge_balance(model().with_facts(asked), count(unit, subgroup_size=32), {"n": 256})
    assert pytest.approx(times * 256 * 64 + 64, rel=0.06) == found.transfers


def test_a_model_of_another_family_is_reported():
    with pytest.raises(FamilyError, match="family 'roofline'; fit the family 'work_depth'"):
        judge_balance(model("roofline"), made("out[i] = a[i]"), {"n": 64})


def gpuperf(family="gpuperf"):
    return fitted_model(family, "gpuperf", WEIGHTS, C2050)


@pytest.mark.parametrize("text", ["out[i] = a[i]", "out[i] = (a[i] + 1)*(a[i] + 2)*exp(a[8*i])", "out[i] = exp(a[i])"])
@pytest.mark.parametrize("n", [64, 2**16])
def test_the_metrics_identities(text, n):
    counts = counted(text)
    found, q = potential_benefits(gpuperf(), counts, {"n": n}), quantities(counts, n)
    wanted = {name: number * 1e-9 for name, number in printed(q).items()}
    at_max = q["insts"] * q["unit_warps"] * 18e-9 / 18  # ITILP_max is 18 cycles over one
    assert pytest.approx(wanted["parallel"] - at_max) == found.itilp_s  # 4.27
    assert pytest.approx(wanted["serial"]) == found.serial_s  # 4.28
    saved = found.itilp_s + found.serial_s + found.fp_s
    assert pytest.approx(wanted["parallel"] + wanted["serial"] - saved) == found.ideal_compute_s  # 4.29
    rest = wanted["memory"] - wanted["overlap"]
    assert pytest.approx(max(rest - found.ideal_memory_s, 0)) == found.memlp_s  # 4.30
    assert pytest.approx(wanted["parallel"] + wanted["serial"] + rest) == found.seconds
    seconds = gpuperf().predict(counts, n=n, allow_unmeasured=True).seconds
    assert pytest.approx(seconds) == found.seconds


def test_the_ideals_and_what_one_warp_lacks():
    found = potential_benefits(gpuperf(), counted("out[i] = a[i]*a[i]"), {"n": 2**16})
    assert pytest.approx(2 * 4 * 2**16 / 144e9) == found.ideal_memory_s  # 4.26: every byte once, at the bandwidth
    assert pytest.approx(2**16 / 32 / 14 * 1e-9) == found.ideal_compute_s  # 4.25: a product each, at full ITILP
    assert pytest.approx(0) == found.itilp_s
    found = potential_benefits(gpuperf(), counted("out[i] = 3*a[i]", width=32, assumptions="n=32"), {"n": 32})
    # A product, two accesses and their addresses, in a chain: 18 cycles each that could be one.
    assert pytest.approx(5 * (18 - 1) * 1e-9) == found.itilp_s
    assert found.itilp_s > found.ideal_compute_s


def test_gpuperf_of_another_family_is_reported():
    with pytest.raises(FamilyError, match="family 'roofline'; fit the family 'gpuperf'"):
        potential_benefits(gpuperf("roofline"), counted("out[i] = a[i]"), {"n": 64})


def test_benefits_of_launches_add_up():
    parts = (2048, 40), (262144, 8)
    whole, *apart = (potential_benefits(gpuperf(), sequence(*some), {}) for some in (parts, parts[:1], parts[1:]))
    for one in fields(Benefits):
        values = [getattr(of, one.name) for of in apart]
        expected = values[0] if one.name == "most_itilp" else sum(values)
        assert pytest.approx(expected) == getattr(whole, one.name), one.name
