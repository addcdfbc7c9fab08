"""Kernels without their transformations, and the runner's rows."""

import json
import math
from types import SimpleNamespace

import loopy as lp
import numpy as np
import pyopencl as cl
import pytest

from perfmodel.errors import KernelError
from perfmodel.recipes import Recipe, Step
from scripts.lab.recipes import ours, recorded_gpu, run, table


def tags(t_unit: lp.TranslationUnit) -> list[str]:
    return [str(tag) for iname in t_unit.default_entrypoint.inames.values() for tag in iname.tags]


@pytest.mark.parametrize("name", ["gemm", "covariance", "spmv_ell"])
def test_a_plain_kernel_has_no_transformation(name):
    names = ours.names_of(*ours.KERNELS[name])
    plain = names["kernel"]().default_entrypoint
    assert [] == tags(names["kernel"]())
    assert {"i", "j", "k"} | {"i", "r"} >= plain.all_inames() - {"c", "r"}
    assert all("g.0" in tags(unit) for unit in names["authors"]().values())
    assert set(names["sizes"]()) <= set(plain.arg_dict)


def test_arguments_are_those_of_the_class_and_layouts_that_the_plain_kernel_lacks_are_left_out():
    assert ["item", "group"] == [*ours.names_of(*ours.KERNELS["reduction"])["authors"]()]
    given = ours.names_of("test_kernels/suites/spmv_ell", {})["arguments"](n=256, k=4)
    assert ((256, 4), "int32", True) == (given["column"].shape, given["column"].dtype.name, given["column"].max() < 256)


def test_loopy_is_as_before():
    before = lp.split_iname
    with ours.untransformed():
        assert lp.split_iname("unit", "i", 16) == "unit"
    assert before is lp.split_iname


RECIPE = Recipe((Step.of("split_iname", "i", 16, inner_tag="l.0"),))


@pytest.fixture
def bench(tmp_path):
    folder = tmp_path / "kernels"
    ours.main(folder)
    return run.Bench(folder / "gemm.py", "a device", tmp_path / "rows.jsonl", math.inf)


@pytest.fixture
def made(monkeypatch):
    """The trials that are made, of which all go well."""
    found = []
    monkeypatch.setattr(run.Bench, "trials", lambda self, units: found.append(Runs(units)) or found[-1])
    return found


class Runs:
    """Trials that note what they were asked to run."""

    def __init__(self, units, status=lambda name: "ok"):
        self.ran, self.status, self.kernel = [], status, SimpleNamespace(variants=dict(units))

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        pass

    def visit(self, name):
        self.ran.append(name)
        return SimpleNamespace(seconds=float(len(self.ran)), status=self.status(name), message="")

    def judged(self, name):
        return SimpleNamespace(seconds=2.0, status="runtime" if name == "k=0" else "ok", message="a reason")


def test_it_continues_where_it_stopped(bench, made):
    bench.write("author: tiles", seconds=0.5, status="ok")
    assert bench.run(("plain", "author"), 0)
    assert [["plain"], ["author: plain", "author: wide"]] == [runs.ran for runs in made]
    assert bench.run(("plain", "author"), 0)
    assert 2 == len(made)
    assert {"author: tiles", "plain", "author: plain", "author: wide"} == set(bench.rows)


def test_random_recipes_run_until_enough_did(bench, monkeypatch):
    made = []

    def trials(self, units):
        made.append(Runs(units, lambda name: "compile" if name == "random 1" else "ok"))
        return made[-1]

    monkeypatch.setattr(run.Bench, "trials", trials)
    monkeypatch.setattr(run, "find", lambda selector: SimpleNamespace(facts=None))
    monkeypatch.setattr("perfmodel.recipes.generator.recipes_of", lambda *given: [RECIPE] * 9)
    assert bench.random(3)
    assert ["random 0", "random 1", "random 2", "random 3"] == made[0].ran
    assert RECIPE.to_json() == bench.rows["random 3"]["recipe"]
    assert bench.random(3)
    assert 1 == len(made)


def test_the_last_comparison_has_the_best_of_each_kind(bench, made):
    bench.write("plain", seconds=9.0, status="ok")
    for task, seconds in {"author: tiles": 3.0, "author: wide": 1.0, "random 0": 2.0, "k=0": 1.0, "k=5": 1.0}.items():
        bench.write(task, seconds=seconds, status="ok", recipe=RECIPE.to_json())
    assert bench.last()
    assert 3 * ["author", "k=0", "k=5", "random"] == made[0].ran
    row = bench.rows["last"]
    assert ({"author": 2.0, "k=5": 2.0, "random": 2.0}, {"k=0": "runtime: a reason"}) == (
        row["seconds_of"], row["failures"]
    )  # fmt: skip


def test_a_search_that_is_refused_is_a_row(bench, monkeypatch):
    def refused(*given, **options):
        raise KernelError("no loop can run in parallel")

    monkeypatch.setattr(run, "pm", SimpleNamespace(load=lambda **given: None, transformed=refused))
    assert bench.search()
    assert {"k=5": "refused"} == {task: row["status"] for task, row in bench.rows.items()}


def test_the_process_says_that_more_is_to_do(bench, monkeypatch, capsys):
    arguments = ["run", str(bench.path.parent), "--out", str(bench.out), "--only", "gemm", "--seconds", "0"]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as ended:
        run.main()
    assert 3 == ended.value.code
    bench.write("plain", seconds=1.0, status="ok")
    assert "plain" == json.loads(bench.out.read_text().splitlines()[0])["task"]
    assert "1000.000 ms" in capsys.readouterr().out


def test_the_table_has_ratios_to_the_author(bench):
    bench.write("plain", seconds=8.0, status="ok")
    assert [] == [*table.condensed([bench.out])]
    bench.write("k=5", seconds=1.5, status="ok", wall_s=49.6, predicted=70, words="g.0=i")
    bench.write("last", status="ok", seconds_of={"author": 4.0, "k=0": 12.0, "k=5": 2.0})
    (row,) = table.condensed([bench.out])
    assert ("8", "4", "12", "2", "", 70, "50") == tuple(row[name] for name in table.COLUMNS[2:9])
    row = {name: str(value) for name, value in row.items()}
    other = {**row, "kernel": "pystella_laplacian", "author_s": "8", "k0_s": ""}
    lines = [*table.lines([row, {**row, "k5_s": "8"}])]
    assert "| gemm | a device | 8000.00 ms | 4000.00 ms | 12000.00 ms | 2000.00 ms | 0.50 | 70 | 50 |" == lines[2]
    assert "| a device | this project | 2 | 1.00 | 2.00 | 3.00 | 2 |" == lines[-1]
    assert "| a device | others | 1 | 0.25 | 0.25 | - | 0 |" == [*table.lines([other])][-1]
    assert (
        "| gemm | a device | 1600.00 ms | 8000.00 ms | 2000.00 ms | 5.00 | 1.25 |"
        == [*table.lines([{**row, "random_s": "1.6"}])][-1]
    )


def test_rows_of_a_kernel_that_was_measured_again_are_replaced():
    old = [{"kernel": name, "device": "pocl", "k5_s": "1"} for name in ("a", "b")]
    new = [{"kernel": "b", "device": "pocl", "k5_s": 2}, {"kernel": "a", "device": "intel", "k5_s": 3}]
    rows = table.merged(old, new)
    assert [("intel", "a", "3"), ("pocl", "a", "1"), ("pocl", "b", "2")] == [
        (row["device"], row["kernel"], row["k5_s"]) for row in rows
    ]
    assert {""} == {row["random_s"] for row in rows}


@pytest.mark.device
@pytest.mark.filterwarnings("ignore::loopy.diagnostic.ParameterFinderWarning")  # one shape is not enough to find a size
@pytest.mark.parametrize("group", ["ji,kj->ki i3 j4 k5", "kij,lkm,lmj->mi i2 j3 k2 l3"])
def test_einsums_of_the_archive_are_what_their_names_say(group):
    einsum = recorded_gpu.Einsum.of(group)
    lengths = {name: length or 7 for name, length in einsum.lengths.items()}
    rng = np.random.default_rng(0)
    operands = [rng.random([lengths[name] for name in part]) for part in einsum.subscripts.split("->")[0].split(",")]
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    given = {f"x{place}": array for place, array in enumerate(operands)}
    given |= {name.upper(): lengths[name] for name, length in einsum.lengths.items() if length is None}
    _, (found,) = einsum.kernel().executor(queue.context)(queue, **given, out_host=True)
    np.testing.assert_allclose(found, np.einsum(einsum.subscripts, *operands))
