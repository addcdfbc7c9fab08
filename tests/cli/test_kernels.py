"""``perfmodel count``, ``fit`` and ``predict``: what they print, and one line for bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfmodel.cli import application
from perfmodel.cli.options import sizes
from perfmodel.counts import count
from perfmodel.errors import SizeOptionError
from perfmodel.kernels import load_file
from perfmodel.predict import fit
from perfmodel.store import Measurement, append
from tests.fitting.test_weights import PLANTED, measurements

SCALE = '''
import loopy as lp
import numpy as np


def scale(text, group):
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        text,
        [lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1 and n mod 128 = 0",
        lang_version=(2018, 2),
    )
    return lp.split_iname(t_unit, "i", group, outer_tag="g.0", inner_tag="l.0")
'''
VARIANTS = SCALE + '''

def variants():
    return {
        "small": scale("out[i] = a[i] + 1", 64),
        "large": scale("out[i] = a[i] + 1", 128),
        "product": scale("out[i] = 3*a[i]", 128),
    }
'''
KERNEL = SCALE + '''

def kernel():
    return scale("out[i] = a[i] + 1", 128)
'''


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("kernel.py").write_text(KERNEL)
    Path("variants.py").write_text(VARIANTS)
    model = fit(measurements())
    model.save("weights.json")
    document = json.loads(Path("weights.json").read_text())
    for name in ("global_store_32_stride1", "global_minloadstore_32_stride1"):
        document["weights"][name] = {"value": 1e-10, "unit": "s/access"}
    document["features"] = sorted(document["weights"])
    Path("weights.json").write_text(json.dumps(document))

    def invoke(*arguments: str):
        return CliRunner().invoke(application(), list(arguments))

    return invoke


def document(result) -> dict:
    assert 0 == result.exit_code, result.stderr
    return json.loads(result.stdout)


def seconds(n: int, group: int) -> float:
    return (
        PLANTED["launches"]
        + n // group * PLANTED["work_groups"]
        + n * (PLANTED["op_float32_add"] + PLANTED["global_load_32_stride1"] + 2e-10)
    )


def test_count_prints_expressions(run):
    result = run("count", "kernel.py")
    assert 0 == result.exit_code
    assert "float32 add" in result.stdout
    assert "features" not in result.stdout


def test_count_prints_values_where_sizes_are_given(run):
    result = run("count", "kernel.py", "-p", "n=1024")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["op_float32_add", "1024", "operation"] in lines
    assert ["global_load_32_stride1", "1024", "access"] in lines
    assert ["work_groups", "8", "work-group"] in lines


def test_count_of_a_part_with_types_of_the_call(run):
    Path("untyped.py").write_text(
        "import loopy as lp\n\ndef kernel():\n"
        '    return lp.make_kernel("{[i]: 0 <= i < n}", ["out[i] = 2*a[i] {id=one}", "b[i] = a[i] + 1 {id=two}"],\n'
        '                          assumptions="n >= 1", lang_version=(2018, 2))\n'
    )
    result = run("count", "untyped.py", "--dtype", "a=float64", "--within", "id:one")
    assert 0 == result.exit_code, result.stderr
    assert "float64 mul" in result.stdout
    assert "add" not in result.stdout


def test_count_json_is_one_document(run):
    found = document(run("count", "variants.py", "--variant", "small", "-p", "n=1024", "--json"))
    assert ["small"] == list(found["variants"])
    small = found["variants"]["small"]
    assert {"value": 16.0, "unit": "work-group"} == small["features"]["work_groups"]
    assert {"n": 1024} == small["sizes"]
    symbolic = document(run("count", "kernel.py", "--json"))["variants"]["kernel"]
    assert "features" not in symbolic
    assert "n" in [row["count"] for row in symbolic["expressions"]]


def test_predict_prints_seconds_and_shares(run):
    found = document(run("predict", "kernel.py", "-p", "n=4096", "-w", "weights.json", "--json"))
    assert pytest.approx(seconds(4096, 128), rel=1e-7) == found["predictions"][0]["seconds"]
    shares = [term["share"] for term in found["predictions"][0]["terms"].values()]
    assert pytest.approx(1) == sum(shares)
    text = run("predict", "kernel.py", "-p", "n=4096", "--weights", "weights.json").stdout
    assert "stevens_kloeckner_2016 on stand-in, n=4096" in text
    assert "launches" in text


def test_predict_ranks_variants_and_shows_the_withheld_one(run):
    arguments = ("predict", "variants.py", "-p", "n=4096", "-w", "weights.json")
    text = run(*arguments).stdout
    assert "fastest first: large, small" in text
    assert "op_float32_mul" in text
    found = document(run(*arguments, "--json"))
    assert ["large", "small"] == [row["variant"] for row in found["predictions"]]
    assert [{"variant": "product", "unmeasured": ["op_float32_mul"]}] == found["withheld"]
    free = document(run(*arguments, "--allow-unmeasured", "--json"))
    assert ["op_float32_mul"] == free["predictions"][0]["unmeasured"]


def store(folder: str) -> None:
    """Times of the kernel file's variants, as if each access took 1 ns and a launch 5 us."""
    for name, unit in load_file("variants.py").items():
        counts = count(unit)
        for n in (2**10, 2**16, 2**20):
            row = Measurement(
                kernel=name,
                group="scale",
                variant={},
                parameters={"n": n},
                device="d",
                platform="p",
                driver="1",
                versions={},
                kernel_hash=name,
                counts_hash=counts.hash,
                samples_s=(1.0, 5e-6 + 2e-9 * n, 6e-6 + 2e-9 * n),
                dropped=1,
                status="ok",
            )
            append(folder, row, counts)


def test_fit_writes_the_weights_beside_the_measurements(run):
    store("d")
    found = document(run("fit", "--from", "d", "--json"))
    assert found == json.loads(Path("d/stevens_kloeckner_2016.json").read_text())
    assert pytest.approx(5e-6, rel=1e-8) == found["weights"]["launches"]["value"]
    assert 9 == found["rows"]
    text = run("fit", "--from", "d/measurements.jsonl", "-o", "new/w.json").stdout
    assert "stevens_kloeckner_2016 on d, 9 measurements" in text
    assert "note: not told apart" in text
    assert "wrote new/w.json" in text
    predicted = document(run("predict", "kernel.py", "-p", "n=4096", "-w", "new/w.json", "--json"))
    assert pytest.approx(5e-6 + 2e-9 * 4096, rel=1e-8) == predicted["predictions"][0]["seconds"]


def test_fit_to_a_place_that_cannot_be_written(run):
    store("d")
    Path("file").write_text("")
    result = run("fit", "--from", "d", "-o", "file/w.json")
    assert (2, "") == (result.exit_code, result.stdout)
    assert "perfmodel: error: cannot write 'file/w.json'" in result.stderr


@pytest.mark.parametrize(
    ("part", "arguments"),
    [
        ("'n'", ("predict", "kernel.py", "-w", "weights.json")),
        ("'n'", ("predict", "kernel.py", "-p", "n=-128", "-w", "weights.json")),
        ("'m'", ("predict", "kernel.py", "-p", "n=128", "-p", "m=1", "-w", "weights.json")),
        ("n=100", ("predict", "kernel.py", "-p", "n=100", "-w", "weights.json")),
        ("n=ten", ("predict", "kernel.py", "-p", "n=ten", "-w", "weights.json")),
        ("gone.json", ("predict", "kernel.py", "-p", "n=128", "-w", "gone.json")),
        ("huge", ("count", "variants.py", "--variant", "huge")),
        ("op_float32_mul", ("predict", "variants.py", "--variant", "product", "-p", "n=128",
                            "-w", "weights.json")),
        ("matches no instruction", ("count", "kernel.py", "--within", "id:none*")),
        ("'q'", ("count", "kernel.py", "--dtype", "q=float32")),
        ("--dtype 'a'", ("count", "kernel.py", "--dtype", "a")),
        ("gone.py", ("count", "gone.py")),
        ("syntax.py", ("count", "syntax.py")),
        ("kernel()", ("count", "neither.py")),
        ("nothing", ("fit", "--from", "nothing")),
        ("roofine", ("fit", "--from", "nothing", "--family", "roofine")),
    ],
)
def test_bad_input_is_answered_in_one_line(run, part, arguments):
    Path("syntax.py").write_text("def kernel(:\n")
    Path("neither.py").write_text("x = 1\n")
    before = sorted(Path().rglob("*"))
    result = run(*arguments)
    assert 2 == result.exit_code
    assert "" == result.stdout
    lines = result.stderr.splitlines()
    assert 1 == len(lines)
    assert lines[0].startswith("perfmodel: error: ")
    assert part in lines[0]
    assert before == sorted(Path().rglob("*"))


@pytest.mark.parametrize("text", ["n", "n=", "=5", "n=1.5", "1=1", "n==1"])
def test_sizes_of_another_form_are_refused(text):
    with pytest.raises(SizeOptionError):
        sizes([text])
