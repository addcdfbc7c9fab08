"""``perfmodel diff``: what it prints, its exit status, and its refusals."""

import json
from pathlib import Path

import pytest

from perfmodel.cli import program
from perfmodel.cli.diff import share
from perfmodel.errors import OptionError
from tests.cli.conftest import KERNEL
from tests.cli.program import ran

MORE = KERNEL.replace("a[i] + 1", "a[i] + 1 + a[0]")
GIVEN = ("-w", "weights.json", "-p", "n=1Mi")


@pytest.fixture(autouse=True)
def more(perfmodel):
    Path("more.py").write_text(MORE)


def test_formulas_need_no_weights_and_equal_kernels_are_told(perfmodel):
    result = ran(perfmodel("diff", "kernel.py", "more.py"))
    assert "loads of a with lane stride 0: 0 -> n" in result.stdout
    assert "float32 add: n -> 2*n" in result.stdout
    result = ran(perfmodel("diff", "kernel.py", "kernel.py", *GIVEN, "--fail-above", "5%"))
    assert "all formulas are equal: kernel" in result.stdout


@pytest.mark.parametrize(("sides", "limit", "status"), [
    (("kernel.py", "more.py"), "5%", 1), (("more.py", "kernel.py"), "5%", 0), (("kernel.py", "more.py"), "9", 0),
])  # fmt: skip
def test_the_gate_that_cannot_decide_without_sizes(perfmodel, sides, limit, status):
    result = perfmodel("diff", *sides, *GIVEN, "--fail-above", limit)
    assert status == result.exit_code
    assert ("slower by more than 5 %: kernel" in result.stdout) == (status == 1)
    undecided = perfmodel("diff", *sides, "-w", "weights.json", "--fail-above", limit)
    assert 2 == undecided.exit_code
    assert "not decided: kernel: the old version needs the size n" in undecided.stdout


def test_documents(perfmodel):
    files = ("--write", "table.md", "--write", "junit.xml")
    result = perfmodel("diff", "kernel.py", "more.py", *GIVEN, "--fail-above", "5%", "--json", *files)
    found = json.loads(result.stdout)
    assert (1, 0.05, ["kernel"], 1) == (result.exit_code, found["fail_above"], found["slower"], found["status"])
    assert "| kernel (n=1048576) |" in Path("table.md").read_text()
    assert 'failures="1"' in Path("junit.xml").read_text()


def test_saved_counts_are_a_side(perfmodel):
    assert 0 == perfmodel("count", "kernel.py", "--save", "counts.json").exit_code
    assert "all formulas are equal" in perfmodel("diff", "counts.json", "kernel.py").stdout
    assert "float32 add: n -> 2*n" in perfmodel("diff", "counts.json", "more.py").stdout


def test_only_some_variants(perfmodel):
    result = perfmodel("diff", "variants.py", "variants.py", "--variant", "small", "--json")
    assert ["small"] == [each["kernel"] for each in json.loads(result.stdout)["kernels"]]
    result = perfmodel("diff", "variants.py", "variants.py", "--variant", "none")
    assert (2, True) == (result.exit_code, "no side has a kernel 'none'; choose among small" in result.stderr)


@pytest.mark.parametrize(("arguments", "sentence"), [
    (("kernel.py", "kernel.py", "kernel.py"), "3 sides were given"), (("counts.json",), "give two sides: OLD NEW"),
    (("kernel.py", "missing.py"), "'missing.py' does not exist"),
    (("kernel.py", "more.py", "-w", "weights.json", "-p", "m=3"), "no kernel has a size 'm'"),
    (("kernel.py", "more.py", "--write", "a.xml"), "give --fail-above too"),
    (("kernel.py", "more.py", "--write", "a.txt"), "give a name that ends with .md or .xml"),
])  # fmt: skip
def test_refusals(perfmodel, arguments, sentence):
    result = perfmodel("diff", *arguments)
    assert program.USER_ERROR == result.exit_code
    assert sentence in result.stderr
    assert 1 == len(result.stderr.splitlines())


@pytest.mark.parametrize(("text", "value"), [("5%", 0.05), ("0.05", 0.05), ("0", 0.0), (" 12.5 % ", 0.125)])
def test_shares(text, value):
    assert value == share(text)


@pytest.mark.parametrize("text", ["", "%", "-1%", "nan", "inf", "five"])
def test_no_shares(text):
    with pytest.raises(OptionError, match="is not a share"):
        share(text)
