"""``perfmodel count``: what it prints at one size and several, its document, and the options of docs/own-kernels.md."""

import csv
import json
from io import StringIO
from pathlib import Path

import pytest

from tests.cli.program import document, ran, refused


def test_count_prints_values_where_sizes_are_given(perfmodel):
    result = perfmodel("count", "kernel.py", "-p", "n=1024")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["op_float32_add", "1024", "operation"] in lines
    assert ["global_load_32_stride1", "1024", "access"] in lines
    assert ["work_groups", "8", "work-group"] in lines


def test_count_with_types_of_the_call(perfmodel):
    Path("untyped.py").write_text(
        "import loopy as lp\n\ndef kernel():\n"
        '    return lp.make_kernel("{[i]: 0 <= i < n}", ["out[i] = 2*a[i] {id=one}", "b[i] = a[i] + 1 {id=two}"],\n'
        '                          assumptions="n >= 1", lang_version=(2018, 2))\n'
    )
    result = ran(perfmodel("count", "untyped.py", "--dtype", "a=float64"))
    assert "float64 mul" in result.stdout
    assert "add" in result.stdout


def test_a_group_whose_shape_is_a_size(perfmodel):
    """One value of `m` is needed; `n` may have several."""
    Path("rows.py").write_text(
        "import loopy as lp, numpy as np\n\ndef kernel():\n"
        '    unit = lp.make_kernel("{[p, i]: 0 <= p < n and 0 <= i < m}", "out[p, i] = 2*a[p, i]",\n'
        '        [lp.GlobalArg("a, out", np.float32, shape="n, m"), "..."], lang_version=(2018, 2))\n'
        '    return lp.tag_inames(unit, {"p": "g.0", "i": "l.0"})\n'
    )
    result = perfmodel("count", "rows.py", "-p", "n=10,20", "-p", "m=4")
    assert "these counts hold for m = 4 only" in " ".join(result.stderr.split())
    assert ["op_float32_mul", "operation", "40", "80"] in [line.split() for line in result.stdout.splitlines()]
    for options in ((), ("-p", "n=10", "-p", "m=4,5")):
        said = refused(perfmodel("count", "rows.py", *options))
        assert "give one value of the size, as in -p m=4" in " ".join(said.split())


def test_rows_that_look_alike_are_one(perfmodel):
    """A sum over the work-items of a group loads its cells in stages: 30 in the tree, and one for the result."""
    Path("sum.py").write_text(
        "import loopy as lp, numpy as np\n\ndef kernel():\n"
        '    unit = lp.make_kernel("{[g, i]: 0 <= g < n and 0 <= i < 16}", "out[g] = sum(i, a[g, i])",\n'
        '        [lp.GlobalArg("a", np.float32, shape="n, 16"), lp.GlobalArg("out", np.float32, shape="n"), "..."],\n'
        '        assumptions="n >= 1", lang_version=(2018, 2), silenced_warnings=["write_race(insn)"])\n'
        '    return lp.tag_inames(unit, {"g": "g.0", "i": "l.0"})\n'
    )
    lines = [line.rsplit(None, 1) for line in perfmodel("count", "sum.py").stdout.splitlines()[1:]]
    assert len({" ".join(what.split()) for what, _ in lines}) == len(lines)
    assert ["local loads    acc_i: float32", "31*n"] in [[what.strip(), number] for what, number in lines]


def test_count_json_is_one_document(perfmodel):
    found = document(perfmodel("count", "variants.py", "--variant", "small", "-p", "n=1024", "--json"))
    assert ["small"] == list(found["variants"])
    small = found["variants"]["small"]
    assert {"value": 16.0, "unit": "work-group"} == small["features"]["work_groups"]
    assert {"n": 1024} == small["sizes"]
    symbolic = document(perfmodel("count", "kernel.py", "--json"))["variants"]["kernel"]
    assert "features" not in symbolic
    assert "n" in [row["count"] for row in symbolic["expressions"]]


OUTSIDE = """
import loopy as lp, numpy as np

def kernel():
    tile = lp.TemporaryVariable("t", np.float32, shape=(16, 16), strides=(17, 1), address_space=lp.AddressSpace.LOCAL)
    unit = lp.make_kernel(
        "{[g, i, j]: 0 <= g < n and 0 <= i, j < 16}", ["t[i, j] = a[g, i, j] {id=w}", "out[g, j, i] = t[i, j] {dep=w}"],
        [lp.GlobalArg("a, out", np.float32, shape="n, 16, 16"), lp.ValueArg("n", np.int32), tile],
        assumptions="n >= 1", lang_version=(2018, 2),
    )
    return lp.tag_inames(unit, "g:g.0,i:l.1,j:l.0")
"""


def test_what_cannot_be_built_is_not_counted_predicted_or_ranked(perfmodel):
    Path("broken.py").write_text(OUTSIDE)
    for command in (("count",), ("predict", "-w", "weights.json"), ("rank", "-w", "weights.json")):
        result = perfmodel(*command, "broken.py", "-p", "n=64")
        assert 2 == result.exit_code
        assert "" == result.stdout
        (line,) = result.stderr.splitlines()
        assert line.startswith("perfmodel: error: ")
        assert "lies outside of the 256 cells" in line


GROUPS = """
from variants import scale


def variants():
    import loopy as lp

    any_size = lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]", [lp.GlobalArg("a, out", "float32"), ...],
                              assumptions="n >= 1", lang_version=(2018, 2))
    return {"even": scale("out[i] = a[i]", 128), "any": any_size}
"""


def test_with_processes_variants_that_fail_are_named(perfmodel, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    Path("groups.py").write_text(GROUPS)
    asked = ("count", "groups.py", "--quiet", "-j", "1", "-p")
    for sizes in ("n=100", "n=100,128"):
        found = document(perfmodel(*asked, sizes, "--json"))
        assert (["any"], ["even"]) == ([*found["variants"]], [row["variant"] for row in found["withheld"]])
        assert "n=100" in found["withheld"][0]["error"]
        assert "\neven: n=100" in perfmodel(*asked, sizes).stdout
        assert perfmodel("count", "groups.py", "-p", sizes).stdout == perfmodel(*asked, sizes).stdout
    *_, last = perfmodel(*asked, "n=100,128", "--csv").stdout.splitlines()
    assert last.startswith(',even,,,,"n=100')
    wrong = perfmodel(*asked, "m=100")
    assert (2, "") == (wrong.exit_code, wrong.stdout)
    none = perfmodel(*asked, "n=100", "--variant", "even")
    assert (2, "") == (none.exit_code, none.stdout)


NARROW = """
import loopy as lp
import numpy as np

def variants():
    def made(dtype):
        arguments = [lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("n", dtype)]
        return lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i] + 1", arguments, assumptions="n >= 1",
                              lang_version=(2018, 2))
    return {"narrow": made(np.int8), "usual": made(np.int32), "wide": made(np.int64)}
"""


@pytest.mark.parametrize(("variant", "fits", "more", "message"), [
    ("narrow", "127", "1000", "'n' is 1000, and the kernel's argument is of type int8, which holds numbers"),
    ("usual", "2**31-1", "2**31", "is of type int32, which holds numbers from -2147483648 to 2147483647"),
    ("usual", "1Ki", "1Ki,2**52", "'n' is 4503599627370496, and the kernel's argument is of type int32"),
])  # fmt: skip
def test_a_size_that_the_argument_cannot_hold_is_refused(perfmodel, variant, fits, more, message):
    Path("narrow.py").write_text(NARROW)
    assert 0 == perfmodel("count", "narrow.py", "--variant", variant, "-p", f"n={fits}").exit_code
    assert 0 == perfmodel("count", "narrow.py", "--variant", "wide", "-p", f"n={more}").exit_code
    known = ("--weights", "weights.json")
    for command in (("count",), ("predict", *known), ("rank", *known)):
        name, *options = command
        result = perfmodel(name, "narrow.py", "--variant", variant, "-p", f"n={more}", *options)
        assert (2, True) == (result.exit_code, message in " ".join(result.stderr.split())), result.stderr


RAGGED = '''
import loopy as lp
import numpy as np


def kernel():
    return lp.make_kernel(
        ["{[i]: 0 <= i < n}", "{[j]: start <= j < stop}"],
        """
        for i
            <> start = row[i]
            <> stop = row[i+1]
            y[i] = sum(j, a$matrix[j]*x[j]) {id=product}
        end
        z[i] = 2*y[i] {id=scaled, dep=product}
        w[i] = 3*y[i] {id=guarded, dep=scaled, if=y[i] > 0}
        """,
        [lp.GlobalArg("row", np.int32, shape="n+1"), lp.GlobalArg("a, x, y, z, w", np.float32, shape=None),
         lp.ValueArg("n", np.int32)],
        assumptions="n >= 8 and n mod 8 = 0", lang_version=(2018, 2))
'''
OPAQUE = '''
import loopy as lp
import numpy as np


def kernel():
    code = lp.CInstruction(
        "i", "out[i] = a[i]*a[i];", read_variables=frozenset(["a", "i"]), assignees=("out[i]",), id="square")
    return lp.make_kernel(
        "{[i]: 0 <= i < n}", [code], [lp.GlobalArg("a, out", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 1", lang_version=(2018, 2))
'''
KNOWN = ("--statistic", "j=2.5", "--statistic", "y[i] > 0=0.25")


@pytest.fixture
def count(perfmodel):
    Path("ragged.py").write_text(RAGGED)
    Path("opaque.py").write_text(OPAQUE)
    return lambda *arguments: perfmodel("count", *arguments)


def expressions(result):
    rows = document(result)["variants"]["kernel"]["expressions"]
    return {(row["what"], row["detail"].split(",")[0]): row["count"] for row in rows}


def test_statistics_and_bounds_with_a_reason(count):
    """For each i: 2.5 products, one of z, and a quarter of one of w."""
    found = expressions(count("ragged.py", *KNOWN, "--json"))
    assert "15/4*n" == found["operations", "float32 mul"]
    assert "5/2*n" == found["global loads", "a: float32"]
    assert "1/4*n" == found["global stores", "w: float32"]
    found = expressions(count("ragged.py", "--statistic", "j=2", "--json"))
    assert "<= n (the probability of 'y[i] > 0' is not known)" == found["global stores", "w: float32"]


def test_declared_c_code(count):
    Path("square.json").write_text(json.dumps(
        {"square": {"operations": {"float32 mul": 1}, "loads": {"a[i]": 2}, "stores": {"out[i]": 1}}}
    ))
    found = expressions(count("opaque.py", "--declared", "square.json", "--json"))
    assert ("n", "2*n") == (found["operations", "float32 mul"], found["global loads", "a: float32"])


@pytest.mark.parametrize(("arguments", "part"), [
    (("ragged.py",), "statistics={'j': <its mean trip count>}"),
    (("ragged.py", "--statistic", "j"), "--statistics 'j' is not a statistic; give KEY=NUMBER"),
    (("ragged.py", "--statistic", "j=often"), "--statistics 'j=often' is not a statistic"),
    (("ragged.py", "--statistic", "j=-1"), "statistics['j'] is -1.0; give a non-negative number"),
    (("ragged.py", "--statistic", "j=nan"), "statistics['j'] is nan; give a non-negative number"),
    (("ragged.py", "--statistic", "j=inf"), "statistics['j'] is inf; give a non-negative number"),
    (("ragged.py", *KNOWN[:2], "--statistic", "y[i] > 0=1.5"), "is 1.5; give the probability of a test, from 0 to 1"),
    (("ragged.py", *KNOWN, "-p", "n=12"), "n=12 breaks the kernel's assumption"),
    (("ragged.py", *KNOWN, "-p", "n=-8"), "size parameter 'n' is -8, which is negative"),
    (("ragged.py", *KNOWN, "--dtype", "gone=float32"), "dtypes has 'gone', which is not an argument"),
    (("opaque.py", "--declared", "gone.json"), "--declared 'gone.json' cannot be used"),
    (("opaque.py", "--declared", "opaque.py"), "--declared 'opaque.py' cannot be used"),
])
def test_bad_input_is_one_line(count, arguments, part):
    (line,) = refused(count(*arguments)).splitlines()
    assert part in line


SIZES = (256, 512, 1024)


def test_features_at_several_sizes(perfmodel):
    found = document(perfmodel("count", "kernel.py", "-p", "n=256..1024", "--json"))["variants"]["kernel"]
    assert [{"n": n} for n in SIZES] == [point["sizes"] for point in found["points"]]
    assert list(SIZES) == [point["features"]["op_float32_add"] for point in found["points"]]
    assert [n // 128 for n in SIZES] == [point["features"]["work_groups"] for point in found["points"]]
    assert "operation" == found["units"]["op_float32_add"]
    rows = list(csv.DictReader(StringIO(perfmodel("count", "variants.py", "-p", "n=256..1024", "--csv").stdout)))
    groups = {(row["variant"], row["n"]): float(row["value"]) for row in rows if row["feature"] == "work_groups"}
    assert {("small", str(n)): n / 64 for n in SIZES}.items() <= groups.items()
