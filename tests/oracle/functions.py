"""Functions that generated code calls: what they compute, and which operations they count as.

A call of an OpenCL built-in is one operation with the function's own name. ``min``, ``max``, ``fmin`` and ``fmax``
are of kind ``minmax``; ``pow``, ``powf32``, ``loopy_pow_float32_int32`` and their like are one ``pow``; ``fma`` and
``mad`` are one ``mul`` and one ``add``; ``loopy_floor_div...`` and ``loopy_mod...`` are one ``div``. Complex helpers
count the real operations of ``pyopencl-complex.h``; a transcendental function of a complex argument is one operation
of the complex type.
"""

from __future__ import annotations

import cmath
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from .dtypes import REAL_OF_COMPLEX, CType, common

NEGATION = "negation"  # a product with -1, which is free
IN_INDEX = "index "  # prefix of the kind of an operation that is index arithmetic
Operations = tuple[tuple[str, str, int], ...]  # (dtype, kind, how many)


class Vec(tuple[Any, ...]):
    """A value of an OpenCL vector type: arithmetic lane by lane, scalars widened."""

    __slots__ = ()

    def _with(self, other: Any, function: Callable[[Any, Any], Any]) -> Vec:
        lanes = other if isinstance(other, Vec) else (other,) * len(self)
        return Vec(map(function, self, lanes))

    def replaced(self, lane: int, value: Any) -> Vec:
        return Vec((*self[:lane], value, *self[lane + 1 :]))

    def __add__(self, other: Any) -> Vec:
        return self._with(other, operator.add)

    def __sub__(self, other: Any) -> Vec:
        return self._with(other, operator.sub)

    def __mul__(self, other: Any) -> Vec:
        return self._with(other, operator.mul)

    def __truediv__(self, other: Any) -> Vec:
        return self._with(other, divided)

    def __rsub__(self, other: Any) -> Vec:
        return self._with(other, lambda left, right: right - left)

    def __rtruediv__(self, other: Any) -> Vec:
        return self._with(other, lambda left, right: divided(right, left))

    def __neg__(self) -> Vec:
        return self * -1

    __radd__ = __add__
    __rmul__ = __mul__


def truncated_quotient(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def truncated_remainder(left: int, right: int) -> int:
    return left - right * truncated_quotient(left, right)


def divided(left: Any, right: Any) -> Any:
    """As C: a division of floats by zero is infinite, or not a number."""
    try:
        return left / right
    except ZeroDivisionError:
        return left * math.inf


def _lanewise(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*arguments: Any) -> Any:
        lanes = next((len(argument) for argument in arguments if isinstance(argument, Vec)), None)
        if lanes is None:
            return function(*arguments)
        spread = [argument if isinstance(argument, Vec) else (argument,) * lanes for argument in arguments]
        return Vec(map(function, *spread))

    return apply


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """As C: a domain error gives NaN, and never ends the execution."""

    def apply(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (ValueError, OverflowError, ZeroDivisionError):
            return math.nan

    return apply


_OF_MATH = (
    "sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh",
    "fabs", "floor", "ceil", "fmod", "hypot", "erf", "erfc", "log1p", "expm1", "copysign",
)  # fmt: skip
REAL: dict[str, Callable[..., Any]] = {name: _lanewise(_guarded(getattr(math, name))) for name in _OF_MATH} | {
    "rsqrt": _lanewise(_guarded(lambda x: 1 / math.sqrt(x))), "exp2": _lanewise(_guarded(lambda x: 2.0**x)),
    "cbrt": _lanewise(lambda x: math.copysign(abs(x) ** (1 / 3), x)), "abs": _lanewise(abs),
    **dict.fromkeys(("fmin", "min"), _lanewise(min)), **dict.fromkeys(("fmax", "max"), _lanewise(max)),
    **dict.fromkeys(("pow", "pown", "powr"), _lanewise(_guarded(math.pow))),
    **dict.fromkeys(("fma", "mad"), lambda x, y, z: x * y + z), "isnan": lambda x: int(x != x),
    "dot": lambda x, y: sum(x * y), "clamp": _lanewise(lambda x, least, most: min(max(x, least), most)),
    "floor_div": lambda x, y: x // y, "mod": lambda x, y: x % y,
}  # fmt: skip

COMPLEX: dict[str, tuple[Callable[..., Any], tuple[tuple[str, int], ...]]] = {
    # name: (value, real operations of pyopencl-complex.h)
    "new": (complex, ()),
    "fromreal": (complex, ()),
    "cast": (complex, ()),
    "real": (lambda z: z.real, ()),
    "imag": (lambda z: z.imag, ()),
    "conj": (lambda z: z.conjugate(), ()),
    "neg": (lambda z: -z, ()),
    "add": (lambda x, y: x + y, (("add", 2),)),
    "sub": (lambda x, y: x - y, (("add", 2),)),
    "addr": (lambda x, y: x + y, (("add", 1),)),
    "radd": (lambda x, y: x + y, (("add", 1),)),
    "mul": (lambda x, y: x * y, (("mul", 4), ("add", 2))),
    "mulr": (lambda x, y: x * y, (("mul", 2),)),
    "rmul": (lambda x, y: x * y, (("mul", 2),)),
    "fma": (lambda x, y, z: x * y + z, (("mul", 4), ("add", 4))),
    "divide": (divided, (("div", 3), ("mul", 4), ("add", 3))),
    "rdivide": (divided, (("div", 3), ("mul", 3), ("add", 1))),
    "divider": (divided, (("div", 2),)),
}
COMPLEX_FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(cmath, name) for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh")
}
COMPLEX_FUNCTIONS.update({"abs": abs, "pow": pow, "powr": pow, "rpow": pow})
_COMPLEX_NAME = re.compile(r"^c(float|double)_(\w+)$")
_POWER = re.compile(r"^(powf(32|64)|loopy_pow_\w+)$")
_RANDOM123 = re.compile(r"^(?:philox|threefry)(\d)x(32|64)_(gen|f32|f64)$")
_SUFFIX = re.compile(r"^loopy_(floor_div|mod)_(?:pos_b_)?(u?int\d+)$")


def call(name: str, arguments: tuple[CType, ...], minus_one_first: bool) -> tuple[str, CType, Operations] | None:
    """Resolve a call: (name of the Python function, type of the result, operations); None for an unknown function."""
    by_integers = _SUFFIX.match(name)
    if by_integers:
        kind = CType(by_integers.group(2))
        return by_integers.group(1), kind, ((kind.dtype, "div", 1),)
    if _POWER.match(name):
        found = re.search(r"f(?:loat)?(32|64)|(u?int\d+)", name)
        dtype = (f"float{found.group(1)}" if found.group(1) else found.group(2)) if found else "float64"
        return "pow", CType(dtype), ((dtype, "pow", 1),)
    is_complex = _COMPLEX_NAME.match(name)
    if is_complex:
        return _complex_call(is_complex.group(1), is_complex.group(2), minus_one_first)
    if name in REAL:
        return _real_call(name, common(*arguments))
    return None


def _real_call(name: str, kind: CType) -> tuple[str, CType, Operations]:
    if name in ("fma", "mad"):
        return name, kind, ((kind.dtype, "mul", kind.lanes), (kind.dtype, "add", kind.lanes))
    if name in ("fmin", "fmax", "min", "max"):
        return name, kind, ((kind.dtype, "minmax", kind.lanes),)
    if name in ("pow", "pown", "powr"):
        return name, kind, ((kind.dtype, "pow", kind.lanes),)
    if name == "dot":
        return name, CType(kind.dtype), ((kind.dtype, name, 1),)
    result = CType("int32") if name == "isnan" else kind
    if name == "abs" and kind.integral:
        result = CType("u" + kind.dtype.removeprefix("u"), kind.lanes)  # as OpenCL's abs
    return name, result, ((kind.dtype, name, kind.lanes),)


def _complex_call(base: str, name: str, minus_one_first: bool) -> tuple[str, CType, Operations] | None:
    kind = CType({"float": "complex64", "double": "complex128"}[base])
    real = REAL_OF_COMPLEX[kind.dtype]
    result = CType(real) if name in ("real", "imag", "abs") else kind
    if name in COMPLEX:
        operations = ((NEGATION, 2),) if name == "rmul" and minus_one_first else COMPLEX[name][1]
        return f"complex_{name}", result, tuple((real, kind_, n) for kind_, n in operations)
    if name in COMPLEX_FUNCTIONS:
        return f"complex_{name}", result, ((kind.dtype, "pow" if "pow" in name else name, 1),)
    return None


def random123(name: str) -> CType | None:
    """The type that a random123 function returns; None for any other name."""
    found = _RANDOM123.match(name)
    if found is None:
        return None
    width, bits, form = found.groups()
    return CType({"gen": f"uint{bits}", "f32": "float32", "f64": "float64"}[form], int(width))


def random_numbers(counter: Vec, new_counter: list[Any]) -> Vec:
    """Numbers that depend on a counter, which is moved on; they aren't those that random123 gives."""
    new_counter[0] = Vec((counter[0] + 1, *counter[1:]))
    return Vec((7919 * count + 13) % 101 for count in counter)


def opaque(kind: str, *arguments: Any) -> Any:
    """The result of a library's function whose code is not here, also written into each cell that it gets."""
    number = 0.5 + 0.5j if kind == "complex" else 0.5
    for cell in arguments:
        if isinstance(cell, list):
            cell[0] = number
    return number


def namespace() -> dict[str, Any]:
    names: dict[str, Any] = {f"f_{name}": function for name, function in REAL.items()}
    names.update({f"f_complex_{name}": function for name, (function, _) in COMPLEX.items()})
    names.update({f"f_complex_{name}": _guarded(function) for name, function in COMPLEX_FUNCTIONS.items()})
    names.update(random_numbers=random_numbers, divided=divided, opaque=opaque)
    names.update(quotient=truncated_quotient, remainder=truncated_remainder, Vec=Vec, inf=math.inf, nan=math.nan)
    return names
