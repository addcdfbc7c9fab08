"""``count_all``: by a plain loop, by processes and by a cluster, always the same counts."""

import threading
from functools import partial

import loopy as lp
import pytest
from joblib import parallel_config

import perfmodel as pm
from perfmodel.counts import cache, counting
from perfmodel.errors import KernelError, OptionError, TrialError, UnknownStatisticWarning
from perfmodel.kernels.files import load_kernel_file
from perfmodel.progress import Silent
from tests.cluster import cluster
from tests.processes.variants import double, write_file

N = 1000


class Noted(Silent):
    """Notes each step."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.total = 0

    def start(self, task: str, total: int, seconds: float = 0.0) -> None:
        self.total = total

    def advance(self, note: str = "", seconds: float = 0.0) -> None:
        self.steps.append(note)


def groups(counted):
    return {name: counts.work_groups()(n=N) for name, counts in counted.items()}


@pytest.fixture
def several(tmp_path):
    """Variants of each kind, with those that fail; and by name the number of work-groups."""
    lock = threading.Lock()
    good = {f"width {width}": partial(double, width) for width in (64, 2, 32, 4, 16, 8)}
    loaded = load_kernel_file(write_file(tmp_path, (3, 5)))
    variants = {
        **good, "lambda": lambda: double(7), "unit": double(9), **loaded.builders, "raises": lambda: {}["x"],
        "counts": pm.count(double(10)), "held": lambda: lock, "no unit": lambda: 3, "equal": partial(double, 64),
    }  # fmt: skip
    widths = {name: int(name.split()[1]) for name in good}
    widths |= {"lambda": 7, "unit": 9, "width=3": 3, "width=5": 5, "counts": 10, "equal": 64}
    return variants, {name: -(-N // width) for name, width in widths.items()}


def check(counted, variants, expected):
    assert expected == groups(counted)
    assert [name for name in variants if name in expected] == [*counted]
    assert {"raises", "held", "no unit"} >= {*counted.errors}
    assert "KeyError: 'x'" in str(counted.errors["raises"])
    assert isinstance(counted.errors["no unit"], TrialError)


def test_a_plain_loop(several):
    variants, expected = several
    del variants["held"]
    counted = pm.count_all(variants, jobs=1)
    check(counted, variants, expected)
    assert counted["counts"] is variants["counts"]
    assert counted["equal"] is counted["width 64"]


@pytest.mark.slow
def test_processes_give_what_a_plain_loop_gives(several, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    variants, expected = several
    noted = Noted()
    with pytest.warns(UnknownStatisticWarning) as caught:
        counted = pm.count_all(variants, 2, progress=noted, statistics={"nothing": 3})
    check(counted, variants, expected)
    assert isinstance(counted.errors["held"], KernelError)
    assert len(variants) == noted.total == len(noted.steps)
    assert {"width 64", "unit"} < {*noted.steps}
    assert ["raises"] == [step.split(":")[0] for step in noted.steps if "KeyError" in step]
    assert 1 == len(caught)  # of all variants
    plain = pm.count_all({name: variants[name] for name in counted}, 1)
    for name in plain:
        assert plain[name].operations()(n=N) == counted[name].operations()(n=N)
        assert [row.stride for row in plain[name].access_table] == [row.stride for row in counted[name].access_table]


def test_equal_kernels_are_counted_once(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache._memory.clear()
    made = []
    original = counting.extract
    monkeypatch.setattr(counting, "extract", lambda *given: made.append(1) or original(*given))
    counted = pm.count_all({str(place): lambda: double(8) for place in range(4)}, jobs=1)
    assert ([1], 4) == (made, len(counted))
    assert 1 == len([*(tmp_path / "perfmodel" / "counts").iterdir()])


def test_where_nothing_can_be_counted_the_first_error_is_raised():
    with pytest.raises(OptionError):
        pm.count_all({"a": double(4), "b": double(8)}, 1, subgroup_size=0)


@pytest.mark.parametrize("jobs", [0, 1.5, True, None, "all"])
def test_numbers_of_processes_that_are_none(jobs):
    with pytest.raises(OptionError, match="give the number of processes"):
        pm.count_all({"a": double(4)}, jobs)


@pytest.mark.slow
def test_on_a_cluster_it_just_works():
    variants = {str(width): partial(double, width) for width in (2, 4, 8, 16)} | {"bad": lambda: lp.nothing}
    with cluster(workers=2) as client, client.as_current(), parallel_config(backend="dask"):
        counted = pm.count_all(variants)
    assert {"2": 500, "4": 250, "8": 125, "16": 63} == groups(counted)
    assert "AttributeError" in counted.errors["bad"].problem
