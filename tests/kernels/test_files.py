"""Kernel files: what is found, and one clear error for each way a file can be wrong."""

import pickle
import subprocess
import sys
from contextlib import redirect_stderr
from io import StringIO

import cloudpickle
import pytest

from perfmodel.errors import KernelFileError, PerfModelError, TuningError
from perfmodel.kernels import discover, load_kernel_file
from perfmodel.kernels.files import execute, pickled_by_value, surroundings
from tests.machine import ROOT

KERNEL = """
import loopy as lp

def kernel():
    return lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*i", lang_version=(2018, 2))
"""


@pytest.fixture
def file(tmp_path):
    def write(text: str, name: str = "mine.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_variants_keep_their_names_and_win_over_kernel(file):
    path = file(KERNEL + "\ndef variants():\n    return {'b': kernel(), 'a': kernel()}\n")
    assert ["b", "a"] == list(load_kernel_file(path).variants)


@pytest.mark.parametrize("name", ["kernel", "variants"])
def test_kernel_gets_only_the_sizes_that_its_attribute_names(file, name):
    text = f"{KERNEL}\nplain = kernel\ndef {name}(n=3, *, m=3):\n    print(n, m)\n"
    text += "    return plain()\n" if name == "kernel" else "    return {'kernel': plain()}\n"
    assert "3 3" == passed(file(text), {"n": 8, "m": 2, "k": 1})  # a user's own file chooses its sizes itself
    path = file(f"{text}{name}.sizes = ['n', 'm']\n")
    assert ["8 3", "3 3"] == [passed(path, {"n": 8, "k": 2}), passed(path, {})]


def passed(path, sizes):
    with redirect_stderr(StringIO()) as printed:
        assert ["kernel"] == list(load_kernel_file(path, sizes).variants)
    return printed.getvalue().strip()


def test_what_a_file_prints_stays_off_standard_output(file, capsys):
    _ = load_kernel_file(file("print('hello')\n" + KERNEL)).variants
    assert "" == capsys.readouterr().out


@pytest.mark.parametrize(("text", "problem"), [
    ("def kernel(:\n    pass\n", "line 1: not valid Python"),
    ("x = 1\ny = 1/0\n", "line 2: raised Zero"),
    ("raise SystemExit(3)\n", "SystemExit"),
    ("import no_such\n", "no_such"),
    ("def kernel():\n    raise KeyError('k')\n", "line 2: raised KeyError ('k') in 'raise KeyError('k')'; correct"),
    ("class Stop(BaseException): pass\ndef kernel():\n    raise Stop('now')\n", "line 3: raised Stop (now)"),
    ("class Odd(Exception):\n    def __str__(self): return 1/0\nraise Odd\n", "raised Odd (no message)"),
    ("x = '\0'\n", "null"),
    ("raise ValueError('x' * 5000)\n", "xxx ... xxx"),
    ("x = 1\n", "defines neither kernel() nor variants()"),
    ("kernel = 3\n", "defines neither kernel() nor variants()"),
    ("def kernel():\n    return 3\n", "kernel() is or returns int"),
    ("def variants():\n    return [1]\n", "variants() is or returns list"),
    ("async def kernel():\n    return 3\n", "a plain 'def'"),
    ("def kernel(): pass\nasync def arguments(): pass\n", "arguments() is or returns a coroutine"),
    ("def variants():\n    return {}\n", "empty dict"),
    ("class Odd(dict):\n    def __eq__(self, other):\n        1/0\ndef variants():\n    return Odd()\n", "empty dict"),
    ("def kernel(tile): pass\ndef space():\n    return {1: (2,)}\n",
     "space() is or returns a dict with 1: tuple; it must be a dict of each parameter's name"),
    ("def kernel(tile): pass\ndef space():\n    return {'tile': (1,)}\ndef allowed(tile):\n    1/0\n",
     "line 5: raised ZeroDivisionError"),
    ("def variants():\n    return {'a': 1}\n", "'a': int"),
])  # fmt: skip
def test_a_fault_is_reported_in_one_line(file, text, problem):
    path = file(text)
    with pytest.raises(KernelFileError) as caught:
        _ = load_kernel_file(path).variants
    message = str(caught.value)
    assert str(path) in message
    assert problem in message
    assert "\n" not in message


CLASS = """
from perfmodel.kernels import KernelClass, Ladder
KERNEL = KernelClass(name="{name}", group="g", build=lambda: 0, sizes=Ladder(None, 1), reference=None)
"""


def test_discover_sorts_by_name_and_passes_over_private_files(file, tmp_path):
    file(CLASS.format(name="zebra"), "a.py")
    file(CLASS.format(name="ant"), "b.py")
    file("1/0", "_helper.py")
    assert ["ant", "zebra"] == [kernel.name for kernel in discover(tmp_path)]


def test_discover_refuses_the_same_name_twice(file, tmp_path):
    file(CLASS.format(name="ant"), "a.py")
    file(CLASS.format(name="ant"), "b.py")
    with pytest.raises(KernelFileError, match="'ant'"):
        discover(tmp_path)


@pytest.mark.parametrize("text", ["x = 1", "KERNEL = 1"])
def test_discover_names_a_file_without_a_class(file, tmp_path, text):
    file(text, "odd.py")
    with pytest.raises(KernelFileError, match=r"odd\.py"):
        discover(tmp_path)


def test_files_of_a_folder_share_a_module_of_this_folder(tmp_path):
    found = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        (folder / "_shared.py").write_text(f"NAME = '{folder.name}'\n")
        for name in ("a", "b"):
            shared = f"from ._shared import NAME\nfrom dataclasses import replace\n{CLASS.format(name=name)}"
            (folder / f"{name}.py").write_text(f"{shared}KERNEL = replace(KERNEL, name=KERNEL.name + NAME)\n")
        found += [kernel.name for kernel in discover(folder)]
    assert ["afirst", "bfirst", "asecond", "bsecond"] == found


SPACE = """
from loopy import make_kernel

def kernel(tile, unroll=1):
    return make_kernel("{[i]: 0 <= i < %d}" % (tile * unroll), "out[i] = i", lang_version=(2018, 2))

def space():
    return {"tile": (8, 16), "unroll": (1, 2)}

def allowed(tile, unroll):
    return tile * unroll < 32
"""


def test_a_file_with_a_space_has_a_variant_for_each_configuration(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(SPACE)
    loaded = load_kernel_file(file)
    assert loaded.space is not None
    assert list(loaded.variants) == list(loaded.builders) == ["tile=8 unroll=1", "tile=8 unroll=2", "tile=16 unroll=1"]
    sizes = [unit.default_entrypoint.get_constant_iname_length("i") for unit in loaded.variants.values()]
    assert sizes == [8, 16, 16]
    some = loaded.only(["tile=8 unroll=2"])
    assert (list(some.builders), some.space) == (["tile=8 unroll=2"], None)
    assert loaded.only(list(loaded.builders)).space is loaded.space


@pytest.mark.parametrize(("change", "error", "problem"), [
    (("def space", "def spaces"), TuningError, "takes tile, and the file has no space(); add space()"),
    (('{"tile": (8, 16), "unroll": (1, 2)}', "8"), KernelFileError, "space() is or returns int"),
    (("(8, 16)", "range(10**18)"), TuningError, "the space has more than 10000000 configurations"),
    (('{"tile": (8, 16), "unroll": (1, 2)}', '{"tile": 8}'), KernelFileError, "a dict of each parameter"),
    (("tile * unroll < 32", "False"), TuningError, "no configuration satisfies all restrictions"),
    (("tile * unroll < 32", "1 / 0"), KernelFileError, "ZeroDivisionError"),
    (("allowed(tile, unroll)", "allowed(tile, lanes)"), TuningError, "a restriction takes 'lanes'"),
])  # fmt: skip
def test_a_space_that_is_not_well_defined(tmp_path, change, error, problem):
    file = tmp_path / "mine.py"
    file.write_text(SPACE.replace(*change))
    with pytest.raises(error) as raised:
        load_kernel_file(file)
    assert problem in str(raised.value)


def test_a_configuration_that_cannot_be_built_says_so_when_it_is_used(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(SPACE.replace("    return make_kernel", "    return None\n    return make_kernel"))
    loaded = load_kernel_file(file)
    with pytest.raises(KernelFileError, match=r"kernel\(\) is or returns NoneType"):
        loaded.builders["tile=8 unroll=1"]()


def test_arguments_get_the_sizes_that_they_name(file):
    found = load_kernel_file(file(KERNEL + "\ndef arguments(n):\n    return {'p': n}\n"))
    assert ["kernel"] == list(found.variants)
    assert found.arguments is not None
    assert {"p": 8} == found.arguments(n=8, m=3)
    every = load_kernel_file(file(KERNEL + "\ndef arguments(**sizes):\n    return sizes\n"))
    assert every.arguments is not None
    assert {"n": 8, "m": 3} == every.arguments(n=8, m=3)
    assert load_kernel_file(file(KERNEL)).arguments is None


@pytest.mark.parametrize(("text", "problem"), [
    ("return [1]", "arguments() is or returns list; it must be a dict of"),
    ("return {1: 2}", "arguments() is or returns dict"), ("return n[0]", "raised TypeError"),
])  # fmt: skip
def test_arguments_that_are_refused(file, text, problem):
    found = load_kernel_file(file(KERNEL + f"\ndef arguments(n):\n    {text}\n"))
    assert found.arguments is not None
    with pytest.raises(KernelFileError) as caught:
        found.arguments(n=8)
    assert problem in str(caught.value)
    with pytest.raises(KernelFileError, match="missing 1 required positional argument: 'n'"):
        found.arguments(m=8)


@pytest.mark.parametrize(("name", "content", "problem"), [
    ("paper.pdf", b"%PDF-1.7\n\x00\xff", "is not a Python file (source code string cannot contain null bytes)"),
    ("axpy.cl", b"__kernel void f() {}\n", "is not a Python file (invalid syntax in line 1); give a Python file"),
    ("k.py", b"import no_such_module\n", "install what it imports into the environment of perfmodel"),
])  # fmt: skip
def test_files_of_other_kinds(tmp_path, name, content, problem):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PerfModelError) as caught:
        _ = load_kernel_file(tmp_path / name).variants
    assert problem in str(caught.value)
    assert "None" not in str(caught.value)


@pytest.mark.parametrize(("wrong", "text"), [
    ("tags='memory'", "tags is 'memory'"), ("variants=({'digonals': 3},)", "'digonals'.*an argument of build"),
    ("dimensions=1, variants=({'work_group': (64,)},)", "dimensions is 1"), ("doubles='q'", "one of its sizes: n"),
])  # fmt: skip
def test_mistakes_in_a_kernel_class_are_named(file, wrong, text):
    sizes = "Ladder(lambda e: ({'n': 2**e},), 1)"
    build = "lambda diagonals=1, work_group=(64,): 0"
    content = CLASS.format(name="ant").replace("build=lambda: 0", f"build={build}, {wrong}")
    with pytest.raises(KernelFileError, match=text):
        discover(file(content.replace("Ladder(None, 1)", sizes)).parent)


def names(folder, text: str, name: str = "mine.py"):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    return execute(path)


def test_modules_beside_a_file_are_its_own(tmp_path):
    for folder, value in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "namesake.py").write_text(f"value = {value}")
    found = [names(tmp_path / folder, "from namesake import value")["value"] for folder in ("a", "b", "a")]
    assert [1, 2, 1] == found


def test_a_function_may_import_what_lies_beside_it_when_it_is_called(tmp_path):
    (tmp_path / "later.py").write_text("value = 3")
    found = names(tmp_path, "def kernel():\n    from later import value\n    return value\n")
    with surroundings(tmp_path / "mine.py"):
        assert 3 == found["kernel"]()


def test_what_a_file_defines_is_a_module_of_its_own(tmp_path):
    found = names(
        tmp_path,
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Tile:\n    width: int\n"
        "tile = Tile(8)\nplace = __file__\nas_a_program = __name__ == '__main__'\n",
    )
    assert found["tile"] == pickle.loads(pickle.dumps(found["tile"]))
    assert (str(tmp_path / "mine.py"), False) == (found["place"], found["as_a_program"])


def test_the_process_is_left_as_it_was(tmp_path):
    before = list(sys.path), sys.argv
    (tmp_path / "mine.py").write_text("import sys\narguments = sys.argv\nfirst = sys.path[0]\n")
    found = execute(tmp_path / "mine.py")
    assert ([str(tmp_path / "mine.py")], str(tmp_path)) == (found["arguments"], found["first"])
    with pytest.raises(KernelFileError):
        names(tmp_path, "raise GeneratorExit")
    assert before == (sys.path, sys.argv)


def test_an_error_next_to_the_file_names_that_line(tmp_path):
    tmp_path.joinpath("helping.py").write_text("def divide(a, b):\n    return a / b\n")
    with pytest.raises(KernelFileError) as caught:
        names(tmp_path, "import helping\nhelping.divide(1, 0)\n")
    assert f"'{tmp_path / 'helping.py'}' line 2: raised ZeroDivisionError (division by zero) in 'return a / b'" in str(
        caught.value
    )


DECLARED = """
import _beside
from perfmodel.kernels import KernelClass, Ladder

SCALE = 3

def build(factor):
    return _beside.twice(factor) + SCALE

KERNEL = KernelClass(
    name="one", group="g", build=build, variants=({"factor": 2},), sizes=Ladder(lambda e: ({"n": 2**e},), 1),
    reference=lambda arguments, factor: {"out": _beside.twice(factor)},
)
"""
#: Prints what a class from standard input does, in a process that has not run its file.
ELSEWHERE = """
import pickle, sys
kernel = pickle.load(sys.stdin.buffer)
print(kernel.build(2), kernel.reference({}, 2), kernel.sizes.at(3))
"""


@pytest.mark.parametrize("place", ["kernels", "site-packages/perfmodel/measurement_kernels"])
def test_a_class_of_a_file_and_the_modules_next_to_it_travel(tmp_path, place):
    folder = tmp_path / place
    folder.mkdir(parents=True)
    (folder / "_beside.py").write_text("def twice(x):\n    return 2*x\n")
    (folder / "one.py").write_text(DECLARED)
    (kernel,) = discover(folder)
    before = cloudpickle.list_registry_pickle_by_value()
    sent = pickled_by_value(kernel)
    assert before == cloudpickle.list_registry_pickle_by_value()
    command = [sys.executable, "-c", ELSEWHERE]
    done = subprocess.run(command, input=sent, capture_output=True, cwd=ROOT, check=False)
    assert "7 {'out': 4} ({'n': 8},)" == done.stdout.decode().strip(), done.stderr.decode()


def test_what_is_installed_is_pickled_by_name():
    import numpy as np

    assert len(pickled_by_value(np.testing.assert_allclose)) < 200
