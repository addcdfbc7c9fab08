"""The opened device: what it compiles, fills and checks."""

from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace

import loopy as lp
import numpy as np
import pytest

from perfmodel.kernels import KernelClass, Ladder
from perfmodel.measuring.bench import Bench, Timekeeper, outcome, record
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.subject import Subject
from perfmodel.measuring.timing import Samples, now, versions
from tests.campaigns import SCALE, TINY
from tests.machine import device

pytestmark = pytest.mark.device
TWICE = Subject(SCALE, {"factor": 2})


@pytest.fixture(scope="module")
def bench():
    return Bench(device(), TINY)


def test_the_output_is_of_the_arguments_passed(bench):
    arguments, after = bench.output(TWICE, {"n": 256})
    assert {"a", "out", "n"} == set(arguments)
    assert 256 == arguments["n"]
    assert (2 * arguments["a"] == after["out"]).all()
    assert (arguments["a"] == after["a"]).all()
    assert 0.5 <= arguments["a"].min() < arguments["a"].max() < 2


def test_what_fits_depends_on_the_share_of_memory():
    half = 2 * 4 * 1024 / device().facts.value("global_memory_bytes")
    bench = Bench(device(), replace(TINY, memory_fraction=1.01 * half))
    assert bench.fits(TWICE, {"n": 1024})
    assert not bench.fits(TWICE, {"n": 2048})


KERNEL = KernelClass(
    "copy", "vector", build=lambda **_: None, sizes=Ladder(lambda e: ({"n": 2**e},), 1), reference=lambda **_: {},
    tags=("paper",), isolates=lambda a, **_: f"feature_{a}",
)  # fmt: skip
SUBJECT = SimpleNamespace(kernel=KERNEL, variant={"a": 1, "work_group": (16, 16)}, hash="h")
FACTS = SimpleNamespace(name="D", platform="P", driver="1")
CAMPAIGN = Campaign("test", dropped=1, seed=7)
BENCH = SimpleNamespace(device=SimpleNamespace(facts=FACTS), campaign=CAMPAIGN)


def test_a_record_describes_kernel_device_and_campaign():
    row = record(BENCH, SUBJECT, {"n": 8}, Samples((3.0, 2.0), (1.0, 1.0)), counts_hash="c", place_in_order=4)
    assert ("copy", "vector", ("paper",), "feature_1") == (row.kernel, row.group, row.tags, row.isolates)
    assert ({"a": 1, "work_group": [16, 16]}, {"n": 8}) == (row.variant, row.parameters)
    assert ("D", "P", "1", "h", "c") == (row.device, row.platform, row.driver, row.kernel_hash, row.counts_hash)
    assert ((3.0, 2.0), (1.0, 1.0), 1, 7, 4) == (
        row.samples_s, row.device_samples_s, row.dropped, row.seed, row.place_in_order
    )  # fmt: skip
    assert ("ok", versions()) == (row.status, row.versions)
    assert datetime.fromisoformat(row.taken_at).utcoffset().total_seconds() == 0


@pytest.mark.parametrize(
    ("status", "message", "expected"), [("ok", "", "copy"), ("timeout", "too long", "copy: timeout (too long)")]
)
def test_the_outcome_names_the_class_and_the_failure(status, message, expected):
    assert expected == outcome(record(BENCH, SUBJECT, {"n": 8}, status=status, message=message))


@pytest.fixture
def keeper():
    return Timekeeper(Bench(device(), TINY), overhead_s=1e-6)


def test_code_is_counted_and_checked_once(keeper, monkeypatch):
    checked = []
    monkeypatch.setattr(Bench, "check", lambda self, subject: checked.append(subject))
    for n in (256, 512):
        keeper.measured(keeper.configuration(TWICE, {"n": n}, 0.0))
    assert [TWICE] == checked
    assert keeper.count(TWICE) is keeper.count(Subject(SCALE, {"factor": 2}))


def test_runs_that_were_given_up_are_a_timeout(keeper, monkeypatch):
    slow = Samples((70.0,), (69.0,), complete=False)
    monkeypatch.setattr(Bench, "timed", lambda *_: (now("milliseconds"), slow))
    row = keeper.measured(keeper.configuration(TWICE, {"n": 256}, 0.0))
    assert ("timeout", f"1 runs took over {TINY.timeout_s} s", (70.0,)) == (row.status, row.message, row.samples_s)


def much_local_memory(kibibytes):
    """Each group of 64 stages its part in a local array that is far larger than it needs."""
    t_unit = lp.make_kernel(
        "{[i, k]: 0 <= i < n/64 and 0 <= k < 64}",
        "part[k] = a[64*i + k] {id=put}\n... lbarrier {id=wait, dep=put}\nout[64*i + k] = part[63 - k] {dep=wait}",
        [lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("n", np.int32),
         lp.TemporaryVariable("part", np.float32, shape=256*kibibytes, address_space=lp.AddressSpace.LOCAL)],
        assumptions="n >= 64 and n mod 64 = 0", lang_version=(2018, 2), name="much",
    )  # fmt: skip
    return lp.tag_inames(t_unit, {"i": "g.0", "k": "l.0"})


def test_a_group_that_needs_too_much_local_memory_does_not_reach_the_device(keeper, monkeypatch):
    """PoCL ends the process that builds such a kernel."""
    most = keeper.bench.fact("local_memory_bytes") // 1024
    kernel = replace(SCALE, build=much_local_memory, variants=({"kibibytes": 4},), reference=lambda arguments, **_: {
        "out": arguments["a"].reshape(-1, 64)[:, ::-1].reshape(-1)})  # fmt: skip
    row = keeper.measured(keeper.configuration(Subject(kernel, {"kibibytes": 4}), {"n": 256}, 0.0))
    assert ("ok", "") == (row.status, row.message)
    monkeypatch.setattr(Bench, "compiled", None)
    row = keeper.measured(keeper.configuration(Subject(kernel, {"kibibytes": most + 1}), {"n": 256}, 0.0))
    assert "constraint" == row.status
    assert f"needs {1024 * (most + 1)} bytes of local memory, and '{keeper.bench.device.name}' has" in row.message


def build_rows(factor):
    """Row i is as long as ``length[i]`` says."""
    return lp.split_iname(
        lp.make_kernel(
            ["{[i]: 0 <= i < n}", "[last] -> {[j]: 0 <= j < last}"],
            """
            for i
                <> last = length[i]
                out[i] = factor*sum(j, a[i, j])
            end
            """.replace("factor", str(factor)),
            [lp.GlobalArg("a", np.float32, shape="n, 8"), lp.GlobalArg("length", np.int32, shape="n"),
             lp.GlobalArg("out", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
            assumptions="n >= 1 and n mod 64 = 0", lang_version=(2018, 2),
        ), "i", 64, outer_tag="g.0", inner_tag="l.0",
    )  # fmt: skip


def test_a_class_says_how_long_its_loops_are(keeper):
    rows = replace(SCALE, build=build_rows, statistics=lambda factor: {"j": 2.5 * factor})
    assert 5 * 64 == keeper.count(Subject(rows, {"factor": 2})).accesses(array="a")(n=64)
