"""From a translation unit to the C syntax tree of its device code and the launches that its host code makes.

Nothing here looks at Loopy's loop domains: device code is text that is parsed as C, host code is a Python function
that is run with an OpenCL that only takes notes.
"""

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import loopy as lp
from pycparser import c_ast, c_parser

from .dtypes import vector_names


class UnsupportedCode(NotImplementedError):
    """Generated code holds something that the oracle can't execute."""


@dataclass(frozen=True)
class Launch:
    name: str
    groups: tuple[int, int, int]
    items: tuple[int, int, int]
    arguments: tuple[tuple[int, Any], ...]  # (position, BufferName or number)


@dataclass(frozen=True)
class BufferName:
    """A buffer, or a floating-point number, in the host code."""

    name: str

    @property
    def real(self) -> "BufferName":
        """The host code packs the parts of a complex number."""
        return self

    imag = real

    def release(self) -> None:
        """As a real buffer can be released."""


@dataclass(frozen=True)
class Program:
    """Generated code, parsed."""

    functions: Mapping[str, c_ast.FuncDef]
    constants: tuple[c_ast.Decl, ...]
    host_code: str
    device_code: str
    separate: Mapping[str, tuple[str, int]]  # of each part of an array in separate parts: the array, and which part


_QUALIFIERS = {
    r"\b__kernel\b": "", r"\b__global\b": "", r"\b__private\b": "", r"\b__constant\b": "const",
    r"\b__local\b": "volatile", r"\b__restrict__\b": "", r"\binline\b": "", r"\bstatic\b": ""
}  # fmt: skip

_RANDOM123 = (r"typedef union\s*\{.*?\}\s*\w+;", r"^\w+ (?:philox|threefry)\w+\([^{]*\)\s*\{.*?^\}")


def _plain_c(text: str) -> str:
    """OpenCL C as C: no macros, no comments, ``__local`` as ``volatile`` (which Loopy uses for atomics only).

    The bodies of random123's functions are left out: they are known by their names.
    """
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for pattern in _RANDOM123:
        text = re.sub(pattern, "", text, flags=re.S | re.M)
    text = text.replace("\\\n", " ")
    text = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    text = re.sub(r"\bLOOPY_CALL_WITH_\w+\s*\(\w+\)", "", text)
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    for pattern, replacement in _QUALIFIERS.items():
        text = re.sub(pattern, replacement, text)
    return "\n".join(f"typedef int {name};" for name in vector_names()) + "\n" + text


def program(t_unit: lp.TranslationUnit) -> Program:
    """Generate code for *t_unit* and parse it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Loopy and islpy, about each other
        code = lp.generate_code_v2(t_unit)
    device_code = code.device_code()
    tree = c_parser.CParser().parse(_plain_c(device_code))
    functions = {node.decl.name: node for node in tree.ext if isinstance(node, c_ast.FuncDef)}
    constants = tuple(
        node for node in tree.ext if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.ArrayDecl)
    )
    return Program(functions, constants, code.host_code(), device_code, _separate(t_unit))


def _separate(t_unit: lp.TranslationUnit) -> dict[str, tuple[str, int]]:
    arrays = [a for a in t_unit.default_entrypoint.args if "sep" in map(str, getattr(a, "dim_tags", None) or ())]
    found = {}
    for array in arrays:
        axes = [range(n) for n, tag in zip(array.shape, array.dim_tags, strict=True) if str(tag) == "sep"]
        for number, index in enumerate(product(*axes)):
            found[f"{array.name}_s{'_'.join(map(str, index))}"] = (array.name, number)
    return found


class _Anything:
    """The number of arguments of a kernel, which the host code checks."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class _RecordedKernel:
    def __init__(self, name: str) -> None:
        self.name = name
        self.num_args = _Anything()
        self.arguments: dict[int, Any] = {}

    def _set_arg_buf_pack_multi(self, packed: tuple[Any, ...]) -> None:
        self.arguments.update(zip(packed[::3], packed[2::3], strict=True))

    def _set_arg_buf_multi(self, pairs: tuple[Any, ...]) -> None:
        self.arguments.update(zip(pairs[::2], pairs[1::2], strict=True))

    def _set_arg_multi(self, pairs: tuple[Any, ...]) -> None:
        self.arguments.update(zip(pairs[::2], pairs[1::2], strict=True))


class _RecordedKernels:
    def __getattr__(self, name: str) -> _RecordedKernel:
        return _RecordedKernel(name)


def _padded(shape: tuple[int, ...]) -> tuple[int, int, int]:
    first, second, third = (*(int(extent) for extent in shape), 1, 1, 1)[:3]
    return first, second, third


class _RecordedOpenCL:
    def __init__(self) -> None:
        self.launches: list[Launch] = []

    def enqueue_nd_range_kernel(
        self, queue: object, kernel: _RecordedKernel, groups: tuple[int, ...], items: tuple[int, ...], *rest: object
    ) -> None:
        # Loopy passes g_times_l=True: the global size is given in groups.
        self.launches.append(
            Launch(kernel.name, _padded(groups), _padded(items), tuple(sorted(kernel.arguments.items())))
        )


def launches(source: Program, parameters: Mapping[str, Any]) -> tuple[Launch, ...]:
    """Run the host code with an OpenCL that takes notes; which kernels it launched, with which grid, in order."""
    opencl = _RecordedOpenCL()
    header = re.search(r"def (_lpy_host_\w+)\((.*?)\)\s*:", source.host_code, flags=re.S)
    if header is None:
        raise UnsupportedCode(f"host code without a function: {source.host_code}")
    namespace: dict[str, Any] = {"_lpy_cl": opencl, "_lpy_pack": lambda form, number, *rest: number}
    body = re.sub(r"^(?:import|from) .*$", "", source.host_code, flags=re.M)
    body = body.replace("return _lpy_evt", "return")  # which Loopy leaves undefined where a test skips each launch
    exec(body, namespace)  # the text comes from Loopy's code generator
    names = [name.split("=")[0].strip() for name in header.group(2).split(",") if name.strip()]
    arguments = {
        name: parameters.get(name, BufferName(name)) for name in names[2:] if name not in ("wait_for", "allocator")
    }
    allocated = iter(re.findall(r"(\w+) = allocator\(", source.host_code))
    namespace[header.group(1)](
        _RecordedKernels(), None, **arguments, allocator=lambda size: BufferName(next(allocated))
    )
    return tuple(opencl.launches)
