"""``perfmodel roofline`` on committed measurements; no device is needed."""

from __future__ import annotations

import json
from functools import cache

import pytest
from typer.testing import CliRunner

from perfmodel.analyses.roofline import largest, roofline_points
from perfmodel.cli import application
from perfmodel.facts import Fact
from perfmodel.fitting.device_folder import measured_folder
from perfmodel.report.roofline import roofline_document
from tests.recorded import INTEL

RECOMMENDED = INTEL / "bottleneck.json"


def run(*arguments):
    return CliRunner().invoke(application(), ["roofline", "--from", str(INTEL), *arguments])


@cache
def document():
    return json.loads(run("--json").stdout)


def test_the_command_draws_the_committed_measurements(tmp_path):
    result = run("--out", str(tmp_path / "roofline.png"))
    assert 0 == result.exit_code, result.stderr
    assert b"\x89PNG" == (tmp_path / "roofline.png").read_bytes()[:4]
    assert "GB/s (measured, best median of" in result.stdout


def test_ones_own_kernels_below_the_roofs(perfmodel):
    """In a predicted time each work-item adds once, and moves 8 bytes."""
    options = "roofline", "kernel.py", "-p", "n=1Mi", "--from", str(INTEL)
    found = json.loads(perfmodel(*options, "--json").stdout)
    (own,) = found["kernels"]
    assert ("kernel", "kernel", 2.0**20) == (own["kernel"], own["variant"], own["operations"])
    assert 2.0**23 == own["bytes"]
    predicted = json.loads(perfmodel("predict", *options[1:4], "-w", str(RECOMMENDED), "--json").stdout)
    assert predicted["predictions"][0]["seconds"] == own["seconds"]
    assert predicted["predictions"][0]["share_of_roof"] == own["share"]
    assert "kernel" in perfmodel(*options).stdout
    refused = perfmodel("roofline", "-p", "n=8", "--from", str(INTEL))
    assert "name it first: perfmodel roofline KERNEL.PY" in refused.stderr


def test_no_test_kernel_is_above_the_measured_roofs_by_much():
    shares = {one["kernel"]: one["share"] for one in document()["kernels"]}
    assert {"convolution", "matmul_variants", "nbody", "stencil"} <= set(shares)
    assert max(shares.values()) < 1.1
    assert min(shares.values()) > 0


def test_all_sizes_have_the_intensity_of_a_product():
    _, tests = measured_folder(INTEL)
    every = roofline_document(roofline_points(tests), tests.known_facts)["kernels"]
    products = [one for one in every if one["kernel"] == "matmul_variants"]
    for one in products:
        n = int(one["sizes"].removeprefix("n="))
        assert pytest.approx(n / 6, rel=0.01) == one["operations_per_byte"]
    assert len(every) > len(document()["kernels"])


def test_a_roof_that_is_given():
    _, tests = measured_folder(INTEL, given={"peak_flops_float32": Fact(1e9, "operation/s", "a guess")})
    given = roofline_document(largest(roofline_points(tests)), tests.known_facts)["roofs"]
    assert {"value": 1e9, "unit": "operation/s", "source": "a guess"} == given.pop("peak_flops_float32")
    assert given.items() <= document()["roofs"].items()
