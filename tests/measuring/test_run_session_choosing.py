"""``perfmodel measure --choose``: some of a campaign, with every feature, resumable."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from perfmodel.cli import application
from perfmodel.features import evaluate
from perfmodel.fitting.choice import chooser
from perfmodel.measuring import bench, measure
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.timing import Samples, now
from perfmodel.models import find_family
from perfmodel.store import read
from tests.campaigns import SCALE, TINY
from tests.machine import ROOT, device
from tests.measuring.test_run_session import Hears

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("times_are_believed")]

CORE = find_family("stevens_kloeckner_2016")
MANY = replace(SCALE, variants=tuple({"factor": factor} for factor in range(2, 8)))
OTHER = replace(MANY, name="other", group="other")


@pytest.fixture
def simulated(monkeypatch):
    """Times follow the sizes, whatever the machine does: nothing is run but the first check."""
    monkeypatch.setattr(Bench, "trial", lambda self, subject, parameters: 1e-6 * parameters["n"])

    def timed(self, subject, parameters):
        return now("milliseconds"), Samples((1e-4,) * self.campaign.runs, (1e-4,) * self.campaign.runs)

    monkeypatch.setattr(Bench, "timed", timed)


def measured(path, share, *kernels, progress=None, **changes):
    return measure(kernels, device(), path, progress, replace(TINY, **changes), chooser(share))


def exercised(found):
    values = [evaluate(found.counts[row.counts_hash], row.parameters) for row in found]
    return {name for row in values for name, value in row.items() if value and CORE.takes(name)}


def test_a_share_is_measured_with_every_feature(tmp_path, simulated):
    every = measure((MANY, OTHER), device(), tmp_path / "all", None, TINY)
    found = measured(tmp_path / "some", 0.25, MANY, OTHER)
    assert (36, 9) == (len(every), len(found))
    assert exercised(every) == exercised(found)
    places = {row.key: row.place_in_order for row in every.rows}
    assert all(places[row.key] == row.place_in_order for row in found.rows)


def test_it_resumes_and_a_larger_share_goes_on(tmp_path, simulated):
    first = measured(tmp_path, 0.25, MANY)
    again = measured(tmp_path, 0.25, MANY)
    assert first.rows == again.rows
    more = measured(tmp_path, 0.5, MANY)
    assert first.rows == more.rows[: len(first)]
    assert len(exercised(more)) == len(first)  # more than a quarter: a fit needs as many rows as features
    assert 9 == len(more)


def test_a_used_budget_ends_it(tmp_path, simulated):
    hears = Hears()
    found = measured(tmp_path, 0.5, MANY, progress=hears, budget_s=0.0)
    assert () == found.rows
    assert "budget of 0 s is used" in hears.messages[-1]


def test_what_fails_does_not_count(tmp_path, simulated, monkeypatch):
    timed = Bench.timed

    def fails(self, subject, parameters):
        if subject.variant["factor"] < 4:
            raise bench.FailedError("runtime", "out of memory")
        return timed(self, subject, parameters)

    monkeypatch.setattr(Bench, "timed", fails)
    found = measured(tmp_path, 1.0, MANY)
    assert 12 == len(found)
    assert 6 == sum(row.status == "runtime" for row in found.rows)


def perfmodel(*arguments):
    return CliRunner().invoke(application(), ["measure", *map(str, arguments)])


def test_the_command_takes_a_share(tmp_path):
    result = perfmodel("--quick", "--class", "scale_add", "--class", "stride1", "--choose", "50%", "--store",
                       tmp_path, "--kernels", ROOT / "measurement_kernels", "--json")  # fmt: skip
    assert 0 == result.exit_code, result.output
    plans = (tmp_path / "measurements.plan.jsonl").read_text().splitlines()
    every = sum(len(json.loads(line)["parameters"]) for line in plans)
    found = read(tmp_path)
    # A busy machine plans fewer sizes; a fit needs as many rows as features all the same.
    assert max(every // 2, len(exercised(found))) == len(found) == len(json.loads(result.stdout)["rows"])
    assert all(np.isfinite(row.seconds) for row in found)


@pytest.mark.parametrize("share", ["0%", "101%", "a quarter", "nan", "-0.2"])
def test_what_is_no_share_is_one_line(tmp_path, share):
    result = perfmodel("--quick", "--store", tmp_path / "s", f"--choose={share}")
    assert 2 == result.exit_code
    (line,) = [line for line in result.stderr.splitlines() if line]
    assert f"--choose '{share}' is no share" in line
    assert not (tmp_path / "s").exists()
