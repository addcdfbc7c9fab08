"""``perfmodel count --graph`` and ``--memory``: pictures, and what is printed beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from perfmodel.cli import application

KERNEL = """
from measurement_kernels import matmul_tiled


def kernel():
    return matmul_tiled.KERNEL.build()
"""
SIZES = [word for name in "lmn" for word in ("-p", f"{name}=64")]
LATENCIES = "facts:\n" + "".join(
    f"  {key}: {{value: 1.0e-8, unit: s, source: test}}\n"
    for key in ("issue_s", "arithmetic_latency_s", "memory_latency_s", "local_latency_s")
)
DATA = """
import loopy as lp
import numpy as np


def kernel():
    text = "if x[i] > 0\\n y[i] = 2*x[i] {id=put}\\nend"
    unit = lp.make_kernel("{[i]: 0 <= i < n}", text, assumptions="n >= 1", lang_version=(2018, 2))
    return lp.tag_inames(lp.add_dtypes(unit, {"x": np.float32}), {"i": "g.0"})
"""
FACTS = """
facts:
  l1_bytes: {value: 16384, unit: B, source: test}
  l2_bytes: {value: 786432, unit: B, source: test}
  cache_line_bytes: {value: 128, unit: B, source: test}
"""


def run_count(folder: Path, *arguments: str) -> Any:
    (folder / "kernel.py").write_text(KERNEL)
    (folder / "toy.yaml").write_text(FACTS)
    return CliRunner().invoke(application(), ["count", str(folder / "kernel.py"), *SIZES, *arguments])


def test_count_draws_the_graph(tmp_path: Path) -> None:
    path = tmp_path / "graph.svg"
    plain = run_count(tmp_path, "--graph", str(path))
    assert 0 == plain.exit_code
    assert "without --facts it has no latencies" in plain.stdout
    told = run_count(tmp_path, "--graph", str(path), "--facts", "tesla-k40m")
    assert 0 == told.exit_code
    assert "together would hide the waits" in told.stdout
    assert "balanced: no, as " in told.stdout
    (tmp_path / "own.yaml").write_text(LATENCIES)
    assert "balanced: not known without the fact 'compute_units'" in run_count(
        tmp_path, "--graph", str(path), "--facts", str(tmp_path / "own.yaml")
    ).stdout
    for shown in (plain.stdout, told.stdout):  # 64^3 multiplications and additions, none of them guarded
        assert "instructions executed, and active lanes of the 32 of a sub-group:" in shown
        *_, line = (line for line in shown.splitlines() if line.startswith(("1 add, 1 mul", "1 mul, 1 add")))
        assert ["524288", "16384", "100.0", "%"] == line.split()[-4:]
    assert path.exists()


def test_what_data_leave_out_is_said(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text(DATA)
    asked = ["count", str(tmp_path / "data.py"), "-p", "n=64", "--graph", str(tmp_path / "g.dot")]
    told = CliRunner().invoke(application(), asked)
    assert 0 == told.exit_code, told.output
    assert "left out: put, as the probability of 'x[i] > 0' is not known" in " ".join(told.stdout.split())
    known = CliRunner().invoke(application(), [*asked, "--statistics", "x[i] > 0=0.5"])
    assert "at least 1.6 %" in known.stdout  # half of one of 32 lanes
    assert "left out" not in known.stdout


def test_count_draws_hit_rates(tmp_path: Path) -> None:
    path = tmp_path / "rates.png"
    told = run_count(tmp_path, "--memory", str(path), "--facts", str(tmp_path / "toy.yaml"))
    assert 0 == told.exit_code
    assert "90 % interval" in told.stdout
    assert path.exists()
    without = run_count(tmp_path, "--memory", str(path))
    assert 0 != without.exit_code
    assert "l1_bytes" in without.output + str(without.exception)


def test_a_picture_without_a_format_is_refused_before_anything_is_printed(tmp_path):
    for option, allowed in (("--graph", ".png or .svg or .dot"), ("--memory", ".png or .svg")):
        for name in ("-", "picture", "a.txt"):
            found = run_count(tmp_path, *SIZES, option, name)
            assert (2, "") == (found.exit_code, found.stdout)
            assert f"let its name end in {allowed}" in found.stderr


def test_pictures_of_variants_stay_in_their_folder_whatever_the_variants_are_called(tmp_path):
    names = ("../above", "a/b", "nul\0", "plain")
    text = f"def variants():\n    return dict.fromkeys({names!r}, matmul_tiled.KERNEL.build())\n"
    (tmp_path / "several.py").write_text(f"from measurement_kernels import matmul_tiled\n\n\n{text}")
    (tmp_path / "out").mkdir()
    (tmp_path / "toy.yaml").write_text(FACTS)
    graph = ["--graph", str(tmp_path / "out/g.dot")]
    memory = ["--memory", str(tmp_path / "out/m.svg"), "--facts", str(tmp_path / "toy.yaml")]
    for asked in (graph, memory):
        found = CliRunner().invoke(application(), ["count", str(tmp_path / "several.py"), *SIZES, *asked])
        assert 0 == found.exit_code, found.output
    parts = ("..%2Fabove", "a%2Fb", "nul%00", "plain")
    expected = {f"{kind}-{part}{end}" for part in parts for kind, end in (("g", ".dot"), ("m", ".svg"))}
    assert expected == {path.name for path in (tmp_path / "out").iterdir()}
    assert {"several.py", "toy.yaml", "out"} == {path.name for path in tmp_path.iterdir()}
