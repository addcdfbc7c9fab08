"""Kernels of others are captured while programs schedule them, checked, and summed up in a table."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from scripts.lab.capturing.captured import Captured, captured
from scripts.lab.capturing.sizes import candidates, events, two_sizes
from scripts.lab.capturing.suites import TABLE
from tests import oracle
from tests.others.__main__ import main, rows
from tests.others.check import STATUSES, Finding, check, contiguous, examined, shortest, too_many_cells

ROOT = Path(__file__).resolve().parents[2]
LANGUAGE = (2018, 2)
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of Loopy and islpy, about each other
]
PROGRAM = """
import loopy as lp
import numpy as np

unit = lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]", assumptions="n >= 1", lang_version=(2018, 2))
unit = lp.add_dtypes(unit, {"a": np.float32})
lp.generate_code_v2(unit)
lp.generate_code_v2(unit)
lp.generate_code_v2(lp.split_iname(unit, "i", 16, outer_tag="g.0", inner_tag="l.0"))
lp.make_kernel("{[i]: 0 <= i < n}", "never[i] = 1.0", lang_version=(2018, 2))
raise ValueError("the rest of the script fails")
"""


def doubled(assumptions: str = "n >= 1") -> lp.TranslationUnit:
    unit = lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]", assumptions=assumptions, lang_version=LANGUAGE)
    unit = lp.add_dtypes(unit, {"a": np.float32})
    return lp.split_iname(unit, "i", 16, outer_tag="g.0", inner_tag="l.0")


def test_what_a_script_schedules_is_kept_once(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "PERFMODEL_CAPTURE": str(tmp_path / "kept")}
    command = [sys.executable, "-W", "ignore", "-m", "scripts.lab.capturing.capture", str(script)]
    run = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    assert "ValueError: the rest of the script fails" in run.stderr
    found = list(captured(tmp_path / "kept"))
    assert ["program.py#1", "program.py#2"] == [kernel.name for kernel in found]
    assert ["agrees", "agrees"] == [check(kernel).status for kernel in found]


def test_two_sizes_are_within_the_assumptions_and_small() -> None:
    counts = count(doubled("n >= 20 and n mod 8 = 0"))
    assert [{"n": 32}, {"n": 24}] == two_sizes(counts, ("n",))
    assert 3 * 24 + 32 == events(counts, {"n": 24})  # 24 products, loads and stores, two groups of 16
    assert [] == two_sizes(counts, ("n",), most=50)
    assert [{"n": 64}, {"n": 48}] == sorted(two_sizes(counts, ("n",), least=40), key=lambda sizes: -sizes["n"])
    fixed = count(doubled("n = 100000"))
    assert [{"n": 100000}] == two_sizes(fixed, ("n",))
    assert [] == two_sizes(fixed, ("n",), most=90_000)
    assert {"n": 1000} in candidates(count(doubled("n = 1000")), ("n",))


def test_strides_that_the_caller_gives_leave_no_cell_between() -> None:
    """The row of a matrix is as long as its last axis, whose own stride is 1; an open shape has no size."""
    matrix = lp.GlobalArg("a", np.float32, shape="n, m", dim_tags="stride:auto,stride:1")
    arrays = [matrix, lp.GlobalArg("b", np.float32, shape=(None,)), lp.ValueArg("n, m", np.int32)]
    unit = lp.make_kernel("{ [i]: 0 <= i < n }", "a[i, 0] = b[i]", arrays, lang_version=LANGUAGE)
    assert {"n": 5, "m": 7, "a_stride0": 7} == contiguous(unit, {"n": 5, "m": 7, "a_stride0": 5})
    assert 5 == shortest(unit, {"n": 5, "m": 6})


def test_statuses() -> None:
    untyped = lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]", lang_version=LANGUAGE)
    assert "refused" == examined(Captured("k", "s", untyped)).status
    assert "not executed" == examined(Captured("k", "s", doubled("n >= 1000000"))).status


def test_a_question_that_does_not_return(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process may use a second in all; another one compares with the oracle all the same."""
    monkeypatch.setattr("tests.others.check.questions", lambda counts: [("depth()", forever)])
    found = check(Captured("k", "s", doubled()), question_s=0.5)
    assert ("over 10 s", "depth() takes over 0.5 s; agrees at [{'n': 16}, {'n': 7}]") == (found.status, found.detail)


@pytest.mark.parametrize(("part", "status"), [
    ("counted", "over 10 s"), ("seconds_of_maps", "agrees"), ("against_oracle", "not executed"),
    ("schedule", "not executed"),
])
def test_parts_that_do_not_return(part: str, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the parts of perfmodel are held against it."""
    monkeypatch.setattr("tests.others.check.questions", lambda counts: [])
    monkeypatch.setattr(f"tests.others.check.{part}", lambda *_: forever())
    found = check(Captured("k", "s", doubled()), question_s=0.5, oracle_s=0.5)
    assert (status, None) == (found.status, found.ratio)


def forever() -> None:
    while True:
        pass


def test_loops_that_data_bounds_are_executed() -> None:
    """Counted with the mean of the trips that were executed, and then as the oracle has it."""
    domains = ["{ [i]: 0 <= i < n }", "[last] -> { [j]: 0 <= j < last }"]
    code = "for i\n<> last = length[i]\nout[i] = sum(j, x[i]*x[j])\nend"
    arrays = [lp.GlobalArg("x", np.float32, shape="n"), ...]
    unit = lp.make_kernel(domains, code, arrays, assumptions="n >= 1", lang_version=LANGUAGE)
    unit = lp.add_dtypes(unit, {"length": np.int32})
    found = examined(Captured("k", "s", unit))
    assert ("agrees", "at [{'n': 16}, {'n': 32}]") == (found.status, found.detail)


def test_made_up_indices_stay_inside_of_the_array() -> None:
    """Data up to 6 would index 7*7 cells where there are 7; then all data are zero."""
    arrays = [lp.GlobalArg("out", np.float32, shape="n"), lp.GlobalArg("where", np.int32, shape="m"), ...]
    domain, code = "{ [i, j]: 0 <= i < m and 0 <= j < n }", "out[where[i]*n + j] = j"
    unit = lp.make_kernel(domain, code, arrays, lang_version=LANGUAGE)
    found = examined(Captured("k", "s", lp.assume(unit, "n = 7 and m >= 7")))
    assert ("agrees", "at [{'m': 7, 'n': 7}]") == (found.status, found.detail)
    executed = oracle.execute(doubled(), {"n": 9}, 32)
    seven = [lp.GlobalArg("out", np.float32, shape="n"), lp.GlobalArg("a", np.float32, shape="n - 2"), ...]
    shorter = lp.make_kernel("{ [i]: 0 <= i < n }", "out[i] = 2*a[i]", seven, lang_version=LANGUAGE)
    assert "" == too_many_cells(doubled(), executed, {"n": 9})
    assert "a" == too_many_cells(shorter, executed, {"n": 9})


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "b.pickle").write_bytes(pickle.dumps({"source": "t.py::test_b", "unit": doubled()}))
    assert 0 == main([str(tmp_path)])
    assert f"| {tmp_path.name} | 1 | 1 | 0 |" in capsys.readouterr().out
    assert (tmp_path / TABLE).read_text(encoding="utf-8").splitlines()[2].startswith(f"| {tmp_path.name} | 1 | 1 | 0 |")
    found = [Finding("k", "s", status, f"{status.title()}Error: why") for status in STATUSES]
    lines = rows({"x": [*found, Finding("k", "s", "agrees", "", 1.0, 2.0), Finding("k", "s", "agrees", "", 1.0, 8.0)]})
    assert "| x | 9 | 3 | 1 | 1 | 1 | 1 | 1 | 1 | 4.00 (2.00), 2 kernels |\n" == lines[-2]
    assert "refused: 1 of x: RefusedError\n" == lines[-1]
