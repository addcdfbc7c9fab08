"""The value that every corpus module lists, and helpers to write kernels shortly."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import loopy as lp
import numpy as np

LANGUAGE = (2018, 2)
Arrays = Mapping[str, "np.ndarray[Any, Any]"]


@dataclass(frozen=True)
class CorpusKernel:
    """A kernel to count, at the sizes *parameters*; *realistic* ones are timed by benchmarks of the counters.

    *arrays* returns the contents that decide what is executed, and *statistics* what a counter needs of them: the mean
    trip count of a loop by its variable, the probability of a predicate by its text.
    """

    name: str
    builder: Callable[[], lp.TranslationUnit]
    parameters: tuple[tuple[tuple[str, int], ...], ...]
    arrays: Callable[[Mapping[str, int]], Arrays] | None = None
    theme: str = ""
    statistics: Callable[[Mapping[str, int]], Mapping[str, Fraction]] | None = None
    realistic: bool = False

    def build(self) -> lp.TranslationUnit:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.builder()

    @property
    def cases(self) -> tuple[dict[str, int], ...]:
        return tuple(dict(case) for case in self.parameters)

    def contents(self, parameters: Mapping[str, int]) -> Arrays:
        return self.arrays(parameters) if self.arrays is not None else {}


def at(**ranges: int | tuple[int, ...]) -> tuple[tuple[tuple[str, int], ...], ...]:
    """Parameter sets: ``at(n=(16, 17), m=3)`` is n=16, m=3 and n=17, m=3 (single numbers are repeated)."""
    longest = max(len(values) if isinstance(values, tuple) else 1 for values in ranges.values())
    columns = {name: values if isinstance(values, tuple) else (values,) * longest for name, values in ranges.items()}
    return tuple(tuple((name, values[row]) for name, values in columns.items()) for row in range(longest))


NONE = ((),)  # a kernel without size parameters


def declared(text: str, dtype: Any) -> Iterator[Any]:
    """Arguments and temporaries by text: names and a shape, or none for a scalar; a type, else *dtype*; and a place.

    ``"a, b: n, 4; int32 rows: n + 1; float64 p; local tile: 16, 16; temporary own: 8"``
    """
    for one in text.split("; "):
        place, kind, names, shape = re.fullmatch(r"(local |temporary )?([a-z]+\d+ )?([^:]*)(?:: (.*))?", one).groups()
        numbers = np.dtype(kind.strip()) if kind else dtype
        if place is not None:
            space = lp.AddressSpace.LOCAL if place == "local " else lp.auto
            yield from (lp.TemporaryVariable(name, numbers, shape, address_space=space) for name in names.split(", "))
        else:
            open_shape = None if shape == "None" else shape
            yield lp.GlobalArg(names, numbers, shape=open_shape) if shape else lp.ValueArg(names, numbers)


def make(
    domains: str | list[str], statements: str | list[Any], arguments: list[Any] | str | None = None,
    assumes: str | None = None, dtypes: Mapping[str, Any] | None = None, dtype: Any = np.float32, **options: Any,
) -> lp.TranslationUnit:  # fmt: skip
    """`lp.make_kernel` in the language version used here; *arguments* are :func:`declared`, of *dtype*.

    *dtypes* are by comma-separated names. Loopy adds arguments that are not named.
    """
    if assumes is not None:  # Loopy's main branch takes no None
        options["assumptions"] = assumes
    if isinstance(arguments, str):
        arguments = [*declared(arguments, dtype), ...]
    unit = lp.make_kernel(domains, statements, arguments or [...], lang_version=LANGUAGE, **options)
    return lp.add_dtypes(unit, {name: kind for names, kind in (dtypes or {}).items() for name in names.split(",")})


def line(unit: lp.TranslationUnit, iname: str = "i", size: int = 16, axis: int = 0) -> lp.TranslationUnit:
    """Split *iname* over groups and work-items of one axis."""
    return lp.split_iname(unit, iname, size, outer_tag=f"g.{axis}", inner_tag=f"l.{axis}")


def plane(
    unit: lp.TranslationUnit, slow: str = "i", fast: str = "j", size: tuple[int, int] = (8, 8)
) -> lp.TranslationUnit:
    """Split two inames over two axes; *fast* is axis 0."""
    return line(line(unit, slow, size[0], 1), fast, size[1], 0)


F32, F64, I8, I32, I64, C64, C128 = np.float32, np.float64, np.int8, np.int32, np.int64, np.complex64, np.complex128
