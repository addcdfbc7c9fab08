# ruff: noqa: E501 (tables of inputs are read by columns)
"""Trials of what surrounds a command: its environment, the kinds of its files, options that meet, odd kernels.

Each kind yields trials in a fixed order, so that a failure comes again by its number. The judge is that of the battery:
no traceback, a known status, one JSON document where ``--json`` ends with 0, no half file, an end within the limits.
"""

from __future__ import annotations

import codecs
import ctypes
import gzip
import io
import itertools
import json
import os
import random
import re
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perfmodel.cli.output import SHARED
from tests.cli.program import RUN
from tests.fuzz import battery
from tests.fuzz.battery import Ended, Trial
from tests.fuzz.cases import OPTIONS, Believed, Case, json_printed, nothing_more
from tests.fuzz.documented import rule
from tests.shadow import ROOT

COUNT = ("count", "kernel.py", "-p", "n=1024", "--json")
PREDICT = ("predict", "kernel.py", "-w", "weights.json", "-p", "n=1024", "--json")
RANK = ("rank", "variants.py", "-w", "weights.json", "-p", "n=1024", "--json")
EXPORT = ("export", "--from", "store", "-o", "-")
FIT = ("fit", "--from", "store", "-o", "out.json", "--family", "expr:w_a*launches+w_b*global_load_32_stride1")
OUTLIERS = ("outliers", "--from", "store", "-w", "fitted.json", "--factor", "1.01", "--json")
READ_BY = {
    "kernel.py": COUNT, "weights.json": PREDICT, "variants.py": RANK, "store/measurements.jsonl": EXPORT,
    "store/counts.jsonl": FIT, "fitted.json": OUTLIERS, "store/device.json": FIT, "store/facts.yaml": OUTLIERS,
    "declared.json": ("count", "opaque.py", "-p", "n=1024", "--declared", "declared.json", "--json"),
    "family.py": ("fit", "--from", "store", "-o", "out.json", "--family", "family.py"),
    "results.json": ("import", "results.json", "--kernel", "kernel.py", "--store", "imported", "-p", "n=1024"),
}  # fmt: skip


@dataclass(frozen=True)
class Odd:
    """A trial: what is prepared in the folder, the environment, and the command."""

    kind: str
    how: str
    arguments: tuple[str, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    environment: dict[str, str | None] = field(default_factory=dict)
    prepare: Callable[[Path], None] | None = None
    beside: Callable[[Path], AbstractContextManager[Any]] | None = None  # what happens while the command runs
    shell: str = ""  # what the shell does first, where the command is a program of its own
    believed: Believed | None = None

    def __str__(self) -> str:
        return f"{self.kind}, {self.how:.200}: {' '.join(self.arguments)!r:.200}"

    @property
    def trial(self) -> Trial:
        believed = self.believed or (json_printed if "--json" in self.arguments else nothing_more)
        return Trial(-1, Case(self.arguments[0], (), self.arguments, believed), "options", self.arguments, self.files)


def problems(one: Odd, folder: Path) -> list[str]:
    """Run a trial in the folder, and return what is wrong with how it ended; the folder is left undamaged."""
    variables, paths = dict(os.environ), [*sys.path]  # kernel files change them
    battery.place(folder, one.files)
    if one.prepare is not None:
        one.prepare(folder)
    try:
        beside = one.beside(folder) if one.beside else nullcontext()
        with environment(one.environment), battery.limited(), beside:
            ended = _program(one, folder) if one.shell else battery.run(one.arguments)
        ended = replace(ended, said=WARNED.sub("", ended.said))
        os.chdir(folder)
        cleared(folder)
        return battery.judged(one.trial, ended, folder)
    except TimeoutError as error:
        return [str(error)]
    finally:
        os.environ.clear()
        os.environ.update(variables)
        sys.path[:] = paths
        os.chdir(folder)
        cleared(folder)
        battery.restore(folder)


WARNED = re.compile(r"^\S*kernel\.py:\d+: \w+Warning: said by the file\n.*\n", re.MULTILINE)


def _program(one: Odd, folder: Path) -> Ended:
    """Run the command in a shell, as a program; permissions of files hold for a superuser too."""

    def privileges() -> None:
        for capability in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, for what is executed from here on
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)

    done = subprocess.run(
        ["bash", "-c", f'{one.shell}; "$@"', "bash", sys.executable, "-c", RUN, *one.arguments], cwd=folder,
        env={"PYTHONPATH": str(ROOT), **os.environ}, timeout=battery.WALL_S, preexec_fn=privileges,
        capture_output=True, check=False,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


@contextmanager
def environment(changed: dict[str, str | None]) -> Iterator[None]:
    """Change environment variables in a block; None takes one away."""
    before = {name: os.environ.get(name) for name in changed}
    _set(changed)
    try:
        yield
    finally:
        _set(before)


def _set(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def cleared(folder: Path) -> None:
    """Remove what is no regular file, and what is too large to be compared."""
    for path in sorted(folder.rglob("*"), reverse=True):
        with suppress(OSError):
            if path.is_symlink() or (not path.is_dir() and (not path.is_file() or path.stat().st_size > 2**28)):
                path.unlink()
            if path.is_dir() and path.name in {name.split("/")[-1] for name in READ_BY}:
                path.rmdir()


def environments() -> Iterator[Odd]:
    values: dict[str, tuple[str | None, ...]] = {
        "COLUMNS": ("0", "-1", "9" * 30, "1", "wide", "", "1e3", "²"),
        "LINES": ("0", "-5"),
        "NO_COLOR": ("", "1"),
        "TERM": ("", "dumb", "unknown", "\x1b[2J"),
        "LANG": ("tr_TR.UTF-8", "de_DE@euro", "x" * 300),
        "LC_ALL": ("C", "zz_ZZ.nothing"),
        "LC_NUMERIC": ("de_DE.UTF-8",),
        "HOME": (None, "", "/nowhere", "kernel.py", "relative", "~", "~nobody-at-all", "/dev/null"),
        "XDG_CACHE_HOME": ("relative", "", "~", "/dev/null", "kernel.py", "/proc", "\udcff", "é è"),
        "XDG_DATA_HOME": ("relative", "/dev/null", "kernel.py", "", "~nobody-at-all", "\udcff"),
        "TMPDIR": ("/nowhere", "kernel.py", "", "."),
        "TZ": ("", "Nowhere/City", ":/etc/passwd", "UTC+25", "x" * 2000),
        "PYTHONWARNINGS": ("error", "always"),
        "PERFMODEL_NO_CACHE": ("1", "0", "maybe"),
        "OMP_NUM_THREADS": ("0", "-1", "many"),
        "MPLBACKEND": ("nothing",),
        "PYOPENCL_CTX": ("99", "x"),
        "OCL_ICD_VENDORS": ("/nowhere", "kernel.py"),
        "LOOPY_NO_CACHE": ("1",),
    }  # fmt: skip
    for name, given in values.items():
        for value, command in zip(given, itertools.cycle((PREDICT, COUNT, EXPORT, RANK, OUTLIERS))):
            yield Odd("environment", f"{name}={value!r}", command, environment={name: value})
    for command in (FIT, ("roofline", "--from", "store", "--json"), ("evaluate", "--from", "store", "--json")):
        for name, value in (("COLUMNS", "1"), ("HOME", "kernel.py"), ("XDG_CACHE_HOME", "/proc"), ("TZ", "UTC+25")):
            yield Odd("environment", f"{name}={value!r}", command, environment={name: value})


def _zipped(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("content", content)
    return stream.getvalue()


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "with a byte order mark": lambda content: codecs.BOM_UTF8 + content,
    "as UTF-16": lambda content: content.decode().encode("utf-16"),
    "as UTF-32": lambda content: content.decode().encode("utf-32"),
    "with CRLF": lambda content: content.replace(b"\n", b"\r\n"),
    "with CR": lambda content: content.replace(b"\n", b"\r"),
    "with form feeds": lambda content: content.replace(b"\n", b"\n\f"),
    "zipped": _zipped,
    "gzipped": gzip.compress,
    "twice": lambda content: content + content,
    "in reverse": lambda content: content[::-1],
    "with a line separator": lambda content: content.replace(b"\n", "\u2028".encode()),
    "with zero bytes at its end": lambda content: content + b"\0" * 4096,
    "as a shell script": lambda content: b"#!/bin/sh\nexit 3\n" + content,
}


def forms() -> Iterator[Odd]:
    for (path, command), (how, form) in itertools.product(READ_BY.items(), FORMS.items()):
        content = battery.originals().get(path)
        if content is not None:
            yield Odd("form of a file", f"{path} {how}", command, {path: form(content)})


def _replaced(path: str, make: Callable[[Path], None]) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        with suppress(FileNotFoundError):
            (folder / path).unlink()
        make(folder / path)

    return prepare


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as found:
        found.bind(os.path.relpath(path))


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**30)


OTHERS: dict[str, Callable[[Path], None]] = {
    "a folder": lambda path: path.mkdir(),
    "a socket": _socket,
    "a loop of links": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "/dev/null": lambda path: path.symlink_to("/dev/null"),
    "/dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "/proc/self/mem": lambda path: path.symlink_to("/proc/self/mem"),
    "a GiB of zeros": _sparse,
}


def kinds_of_files() -> Iterator[Odd]:
    for (path, command), (how, make) in itertools.product(READ_BY.items(), OTHERS.items()):
        yield Odd("kind of file", f"{path} is {how}", command, prepare=_replaced(path, make))


def outputs() -> Iterator[Odd]:
    places = (
        "store", ".", "..", "", "/", "kernel.py/x", "new/deep/er/x.json", "x" * 300, "/dev/full", "/dev/null", "/proc/x",
        "/nowhere/x", "a\nb", "loop", "é.json", "-x", "store/measurements.jsonl/x", "/dev/fd/99", "~/x",
    )  # fmt: skip
    commands = (
        ("fit", "--from", "store", "--family", "expr:w_a*launches", "-o"), ("export", "--from", "store", "-o"),
        ("roofline", "--from", "store", "--out"), ("count", "kernel.py", "-p", "n=1024", "--graph"),
    )  # fmt: skip
    for command, place in itertools.product(commands, places):
        yield Odd(
            "place of an output", repr(place), (*command, place), prepare=lambda folder: (folder / "loop").symlink_to("loop")
        )  # fmt: skip


def pairs_of_options() -> Iterator[Odd]:
    """Two options of a command that may contradict each other, each with a value that it takes alone."""
    values = {
        "-p": "n=1024", "--weights": "weights.json", "--family": "expr:w_a*launches", "--from": "store", "--variant": "kernel",
        "--level": "0.5", "--jobs": "1", "--facts": "facts.yaml", "--device": "0", "--kernels": "classes", "--csv": "-",
        "--out": "o.json", "--declared": "declared.json", "--graph": "g.dot", "--memory": "m.png", "--picture": "p.png",
    }  # fmt: skip
    quick = [case for case in OPTIONS if case.name in ("predict", "rank", "count", "export", "fit", "outliers", "roofline")]
    for case in quick:
        parameters = [one for one in battery.commands()[case.arguments[0]].params if one.name not in SHARED]
        options = [one for one in parameters if one.param_type_name == "option"]
        pairs = list(itertools.combinations(options, 2))
        chosen = random.Random(case.name).sample(pairs, min(12, len(pairs)))
        for pair in chosen:
            given: list[str] = []
            for option in pair:
                name = next((one for one in option.opts if one in values), option.opts[0])
                given += [name] if option.is_flag else [name, values.get(name, "1")]
            yield Odd("two options", " ".join(given), (*case.arguments, *given))


def documents() -> Iterator[Odd]:
    """Values that are deep, long or many."""
    weights = json.loads(battery.originals()["weights.json"])
    row = json.loads(battery.originals()["store/measurements.jsonl"].splitlines()[0])
    deep = {"lists": "[" * 100_000 + "]" * 100_000, "objects": '{"a":' * 100_000 + "1" + "}" * 100_000}
    for how, text in deep.items():
        for path in ("weights.json", "declared.json", "store/device.json", "results.json"):
            yield Odd("deep value", f"{how} in {path}", READ_BY[path], {path: text.encode()})
    for name, value in itertools.product(sorted(weights)[:12], ("x" * 10**6, [0] * 10**5, {"a": "\x1b[2J"}, "=1+2", -1, 1e308)):
        yield Odd("odd value", f"weights: {name} = {value!r:.30}", PREDICT,
                  {"weights.json": json.dumps({**weights, name: value}).encode()})  # fmt: skip
    hostile = ("\x1b[2J\x1b]0;owned\x07", "=cmd|' /C calc'!A0", "@x", "+1+1", "\u202egnp.exe", "$\\x{$", "a\rb", "\x00", "\x85")
    for name, value in itertools.product(("kernel", "group", "device", "message", "platform"), hostile):
        lines = battery.originals()["store/measurements.jsonl"] + json.dumps({**row, name: value}).encode() + b"\n"
        yield Odd("hostile name", f"{name} = {value!r}", EXPORT, {"store/measurements.jsonl": lines})
    bombs = ("&a [x]\nb: *a", "a: &a [*a]", "? [1, 2]\n: 3", "!!python/object:os.system x", "%YAML 9.9\n---\nfacts: {}",
             "facts:\n\t- x", "--- a\n--- b", "facts: " + "{a: " * 500, "facts: 0x" + "f" * 5000)  # fmt: skip
    for text in bombs:
        for path in ("store/facts.yaml",):
            yield Odd("YAML", repr(text[:40]), OUTLIERS, {path: text.encode()})
    for terms in (100, 1000, 10_000):
        for sign in ("+", "*", "-"):
            formula = "expr:" + sign.join(["w_a*launches"] * terms)
            yield Odd("long formula", f"{terms} terms joined by {sign}", (*FIT[:-1], formula))


KERNEL = """
import loopy as lp, numpy as np
def kernel():
    unit = lp.make_kernel({domain!r}, {code!r}, [{arguments}], name={name!r}, lang_version=(2018, 2){more})
    return {then}
"""
ARRAYS = 'lp.GlobalArg("out, a", np.{dtype}, shape="{shape}"), lp.ValueArg("n", np.int32)'


def _kernel(
    how: str, domain: str = "{[i]: 0 <= i < n}", code: str = "out[i] = a[i] + 1", dtype: str = "float32", shape: str = "n",
    name: str = "k", more: str = "", then: str = "unit", size: str = "n=1024",
) -> Odd:  # fmt: skip
    arguments = ARRAYS.format(dtype=dtype, shape=shape)
    text = KERNEL.format(domain=domain, code=code, arguments=arguments, name=name, more=more, then=then)
    return Odd("odd kernel", how, ("count", "kernel.py", "-p", size, "--json"), {"kernel.py": text.encode()})


def kernels() -> Iterator[Odd]:
    for dtype in ("float16", "complex64", "complex128", "bool_", "uint64", "int8", "longdouble", "void", "str_", "datetime64"):
        yield _kernel(f"of {dtype}", dtype=dtype)
    for domain in (
        "{[i]: 0 <= i < 0}", "{[i]: n <= i < 0}", "{[i]: i = 0}", "{[i]: 0 <= i < n and i mod 7 = 9}", "{[i]: }",
        "{[i]: 0 <= i}", "{[i]: i >= n}", "{[i]: 0 <= 2*i < n}", "{[i]: -n < i < n}", "{[i]: 0 <= i < 4611686018427387904}",
        "{[i]: 0 <= i < n*n}", "{[i]: 0 <= i < m}", "{[i, i]: 0 <= i < n}", "{}", "not a set", "{[i]: false}",
    ):  # fmt: skip
        yield _kernel(f"over {domain}", domain=domain)
    for name in ("for", "int", "kernel", "out", "i", "n", "été", "_", "__kernel", "x" * 500, "1a", "a b", "a$b", "../x", "\x1b[2J", "=1", ""):
        yield _kernel(f"called {name!r:.30}", name=name)
    for iname in ("if", "lambda", "mod", "exists", "and", "float", "get_global_id", "n", "a", "out", "été", "e0", "l0", "g.0", "None"):
        yield _kernel(f"with the loop {iname}", domain=f"{{[{iname}]: 0 <= {iname} < n}}", code=f"out[{iname}] = a[{iname}]")
    for code in (
        "", "out[i] = ", "out[i] = out[i]", "out[-i] = 1", "out[n-1-i] = a[i]", "out[i*i] = a[0]", "out[i] = a[a[i]]",
        "out[i] = 1/0", "out[0] = sum(i, a[i])", "a[i] = nothing(i)", "<> t = a[i]", "... nop", "out[i] = 1e400", "n = 3",
        "out[i] = a[i]**a[i]**2", "out[i] = if(a[i] > 0, a[i], -a[i])", "out[i] = a", "out = a[i]", "out[i,i] = 1",
        "out[i] = a[9223372036854775807]", "out[i] = 99999999999999999999999", "out[i//0] = 1", "out[i%0] = 1",
    ):  # fmt: skip
        yield _kernel(f"that executes {code!r}", code=code)
    for shape in ("0", "n-n", "-1", "n*n*n", "2**62", "(n, 0)", "()", "m", "", "1.5", "n/2"):
        yield _kernel(f"of the shape {shape!r}", shape=shape)
    for assumed in ("n < 0", "n >= 1 and n <= 0", "n = 7", "exists (k: n = 2*k)", "m > 0", "true", "nonsense", "n mod 0 = 0"):
        yield _kernel(f"assuming {assumed}", more=f", assumptions={assumed!r}")
    for size in ("n=4611686018427387904", "n=9007199254740992", "n=0", "n=1", "n=2147483647", "n=2147483648"):
        yield _kernel(f"at {size}", size=size)
    for then in (
        "None", "3", "[unit]", "{}", "unit, unit", "(one for one in [unit])", "iter([])", "lambda: unit", "type(unit)", "kernel",
        "unit.default_entrypoint", "{'a': unit, 'a b': unit}", "{1: unit}", "{'': unit}", "unit.copy(callables_table={})",
        "lp.split_iname(unit, 'i', 0)", "lp.split_iname(unit, 'i', 2**20, inner_tag='l.0')", "lp.tag_inames(unit, 'i:l.0')",
        "lp.tag_inames(unit, 'i:g.0')", "lp.tag_inames(unit, 'i:unr')", "lp.tag_inames(unit, 'i:vec')",
    ):  # fmt: skip
        yield _kernel(f"returned as {then}", then=then)


FILES_THAT_ACT = {
    "prints": "print('x' * 100)", "prints escapes": "print('\\x1b[2J')", "exits": "import sys; sys.exit(0)",
    "exits at once": "import os; os._exit(0)", "raises KeyboardInterrupt": "raise KeyboardInterrupt",
    "raises MemoryError": "raise MemoryError", "raises GeneratorExit": "raise GeneratorExit", "raises a class": "raise BaseException",
    "raises a hostile text": "raise ValueError('\\x1b[2J\\u202e')", "raises without text": "raise ValueError",
    "raises an error without str": "class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E",
    "recurses": "def f(): f()\nf()", "changes the folder": "import os; os.chdir('/')", "deletes itself": "import os; os.remove(__file__)",
    "deletes the weights": "import os; os.remove('weights.json')",
    "takes warnings for errors": "import warnings; warnings.simplefilter('error')", "closes its output": "import sys; sys.stdout = None", "has no standard error": "import sys; sys.stderr = None",
    "has no input": "import sys; sys.stdin = None", "ends its output": "import sys; sys.stdout.close()", "ends its messages": "import sys; sys.stderr.close()",
    "has another output": "import sys, io; sys.stdout = sys.stderr = io.StringIO()",
    "has no kernel": "del_ = 1; kernel = None",
    "is a class": "class kernel:\n    pass", "generates": "def kernel():\n    yield 1",
    "asks for an argument": "def kernel(n): pass", "has both": "def variants(): return {}", "asks": "input('? ')",
    "changes numbers": "import decimal; decimal.getcontext().prec = 1", "sets a seed": "import numpy; numpy.seterr(all='raise')",
    "changes arguments": "import sys; sys.argv[:] = []", "empties the path": "import sys; sys.path[:] = []",
    "removes modules": "import sys; sys.modules.pop('perfmodel.predicting.model', None)", "leaves a thread": "import threading; threading.Thread(target=lambda: None).start()",
    "changes the environment": "import os; os.environ.clear()", "is a syntax error": "def", "has a null": "x = '\\0'", "is tabbed": "if 1:\n\tx = 1\n        y = 2",
    "declares an encoding": "# -*- coding: nothing -*-", "imports itself": "import kernel as itself", "imports nothing": "import no_such_module",
}  # fmt: skip


def files_that_act() -> Iterator[Odd]:
    whole = battery.originals()["kernel.py"].decode()
    for (how, code), command in itertools.product(FILES_THAT_ACT.items(), (COUNT, PREDICT)):
        first = how.startswith("declares")
        text = f"{code}\n{whole}" if first else f"{whole}\n{code}\n"
        yield Odd("kernel file that acts", how, command, {"kernel.py": text.encode()})

    rewrite = "import os; name = {!r}; text = open(name).read(); open(name, 'w').write({})"
    for path, (how, text) in itertools.product(("kernel.py", "weights.json"), SELF.items()):
        code = f"{whole}\n{rewrite.format(path, text)}\n".encode()
        # What the user's file itself writes is no change by the command.
        yield Odd("kernel file that acts", f"writes {path}: {how}", PREDICT, {"kernel.py": code}, beside=unjudged(path))
    for how, code in COROUTINES.items():
        for command in (COUNT, PREDICT):
            yield Odd("kernel file that acts", how, command, {"kernel.py": f"{whole}\n{code}\n".encode()}, believed=never)
    for category in ("UserWarning", "DeprecationWarning", "RuntimeWarning", "ResourceWarning"):
        text = f"{whole}\nimport warnings; warnings.warn('said by the file', {category})\n"
        yield Odd("kernel file that acts", f"warns of {category}", COUNT, {"kernel.py": text.encode()})


SELF = {
    "as it was": "text", "nothing": "''", "half": "text[:len(text) // 2]", "other text": "'x' * 1000", "twice": "text + text",
}  # fmt: skip
COROUTINES = {
    f"has async def {name}()": f"async def {name}():\n    return None"
    for name in ("kernel", "variants", "space", "arguments", "reference")
}
def never(folder: Path, printed: str) -> None:
    """Refuse: the command must not end with status 0."""
    rule(False, "status 0")


@contextmanager
def _put_back(folder: Path, path: str) -> Iterator[None]:
    content = (folder / path).read_bytes()
    try:
        yield
    finally:
        (folder / path).write_bytes(content)


def unjudged(path: str) -> Callable[[Path], AbstractContextManager[None]]:
    """Let a file be changed during the command by something other than perfmodel."""
    return lambda folder: _put_back(folder, path)


KINDS = (
    environments, forms, kinds_of_files, outputs, pairs_of_options, documents, kernels, files_that_act,
)  # fmt: skip


def trials() -> tuple[Odd, ...]:
    """Return all trials, the kinds in turn."""
    from tests.fuzz import neighbours  # whose trials are of the class above

    lists = [list(kind()) for kind in (*KINDS, *neighbours.KINDS)]
    mixed = itertools.chain.from_iterable(itertools.zip_longest(*lists))
    return tuple(one for one in mixed if one is not None)
