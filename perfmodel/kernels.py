"""Kernel classes: what is measured, at which sizes, and what its output must be.

A kernel class is a value in a file of its own; :func:`discover` finds it by walking a
folder.  The work-group sets are those of Stevens and Kloeckner, section 4.1.
"""

from __future__ import annotations

import math
import runpy
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from perfmodel.errors import (
    DuplicateKernelError,
    KernelFileContentError,
    KernelFileExecutionError,
    KernelFileMissingError,
    KernelFileSyntaxError,
    KernelFileTypeError,
)

if TYPE_CHECKING:
    from loopy import TranslationUnit

Variant: TypeAlias = Mapping[str, Any]
Parameters: TypeAlias = Mapping[str, int]
WorkGroup: TypeAlias = tuple[int, ...]

#: The paper's six sets of work-group shapes (section 4.1), by dimensions and size.
WORK_GROUPS: Mapping[tuple[int, str], tuple[WorkGroup, ...]] = MappingProxyType(
    {
        (1, "small"): ((192,), (224,), (256,)),
        (1, "medium"): ((128,), (256,), (384,)),
        (1, "large"): ((256,), (384,), (512,)),
        (2, "small"): ((16, 12), (16, 14), (16, 16)),
        (2, "medium"): ((16, 12), (16, 16), (32, 16)),
        (2, "large"): ((16, 16), (24, 16), (32, 16)),
    }
)


def work_groups(dimensions: int, max_work_group_size: int) -> tuple[WorkGroup, ...]:
    """Work-group shapes that a device with this limit runs, the paper's where they fit.

    The medium sets serve every device that allows 512 work-items, the small sets those
    that stop at 256 (as the paper's R9 Fury does); below that the largest powers of two.

    Parameters
    ----------
    dimensions : int
        1 or 2; 0 gives the one empty shape of a class that sets its own.
    max_work_group_size : int
        The device's limit [work-items].

    Examples
    --------
    >>> work_groups(2, 4096)
    ((16, 12), (16, 16), (32, 16))
    >>> work_groups(2, 64)
    ((8, 8),)
    """
    if dimensions == 0:
        return ((),)
    for size in ("medium", "small"):
        shapes = WORK_GROUPS[dimensions, size]
        if max(map(math.prod, shapes)) <= max_work_group_size:
            return shapes
    exponent = max_work_group_size.bit_length() - 1
    return ((2 ** (exponent // dimensions),) * dimensions,)


def assume(**multiples: WorkGroup) -> str:
    """Loopy assumptions: each size is positive and a multiple of its power-of-two tiles.

    Sizes are powers of two, so a tile of 16 needs no guard and a tile of 12 keeps one
    (the paper's sizes "are not multiples" of such groups, and its guards are counted).

    Examples
    --------
    >>> assume(n=(16, 12), m=())
    'n >= 1 and n mod 16 = 0 and m >= 1'
    """
    terms = []
    for name, tiles in multiples.items():
        terms.append(f"{name} >= 1")
        tile = max((tile for tile in tiles if tile & (tile - 1) == 0), default=1)
        if tile > 1:
            terms.append(f"{name} mod {tile} = 0")
    return " and ".join(terms)


@dataclass(frozen=True)
class Ladder:
    """Sizes from small to large: rung t holds ``at(p + step*t)``, p chosen on the device.

    Parameters
    ----------
    at : callable
        Exponent to the parameter sets of one rung, several where shapes are compared.
    start : int
        The smallest exponent worth trying.
    step : int
        Distance of two rungs: 1 for the paper's ``2**(p+t)``, 2 for ``2**(p+2*t)``.
    rungs : int
        How many rungs the paper has.
    longest : int, optional
        The sets of a rung are in order of their time, and only this many are measured: the
        longest that are short enough.  By default all are.
    """

    at: Callable[[int], tuple[Parameters, ...]]
    start: int
    step: int = 1
    rungs: int = 4
    longest: int | None = None

    def exponents(self, p: int, rungs: int | None = None) -> tuple[int, ...]:
        """Exponents of the ladder whose lowest rung is `p`."""
        return tuple(p + self.step * t for t in range(rungs or self.rungs))


@dataclass(frozen=True, eq=False)
class KernelClass:
    """One class of kernels: how to build it, what to run, and what must come out.

    Parameters
    ----------
    name : str
        Unique in its folder; the file's name by custom.
    group : str
        What is left out together when models are judged (matmul, transpose, stencil, ...).
    build : callable
        ``build(**variant)`` gives the transformed :class:`loopy.TranslationUnit`.
    sizes : Ladder
        Parameter sets; they never change the code.
    reference : callable
        ``reference(arguments, **variant)``: arguments by name (arrays, scalars, sizes) to
        the expected output arrays by name.
    variants : tuple of mappings
        Keyword arguments of `build` that change the code, the work-group left out.
    dimensions : int
        Axes of the work-group (1 or 2), passed to `build` as ``work_group``; 0 for none.
    scalars : callable
        ``scalars(**variant)``: the kernel's floating-point arguments by name.
    tags : tuple of str
        Words to choose classes by.
    isolates : str or callable, optional
        The feature that dominates the time, or a function of the variant that names it.
    doubles : str, optional
        The size parameter which, doubled, doubles the isolated feature's count; by it the
        isolation is proved on a device.
    raises : float
        Least fraction by which the time must rise then, 1 being in proportion [1].
    contents : mapping
        Array name to ``draw(generator, shape)``, for arrays that must not hold numbers in
        [0.5, 2), as the index array of a gather.
    tolerance : float
        Largest relative difference from `reference` [1].
    ranked : bool
        The variants are choices of one computation, to be ranked by their predicted times.
        All have the same arrays and sizes, and a campaign measures them at the same sizes: one
        ladder for all, on which the quickest stands out and the slowest is short enough.
    """

    name: str
    group: str
    build: Callable[..., TranslationUnit]
    sizes: Ladder
    reference: Callable[..., Mapping[str, Any]]
    variants: tuple[Variant, ...] = (MappingProxyType({}),)
    dimensions: int = 0
    scalars: Callable[..., Mapping[str, float]] = field(default=lambda **_: {})
    tags: tuple[str, ...] = ()
    isolates: str | Callable[..., str | None] | None = None
    doubles: str | None = None
    raises: float = 0.5
    contents: Mapping[str, Callable[..., Any]] = field(default_factory=lambda: MappingProxyType({}))
    tolerance: float = 1e-4
    ranked: bool = False

    def variants_on(self, max_work_group_size: int, shapes: int = 3) -> tuple[Variant, ...]:
        """Variants with their ``work_group``, for a device with this limit [work-items].

        `shapes` bounds how many work-group shapes each variant gets; one shape is the
        256-work-item group for which the paper reports its results.
        """
        groups = work_groups(self.dimensions, max_work_group_size)
        if shapes < len(groups):
            groups = tuple(sorted(groups, key=lambda g: abs(math.prod(g) - 256)))[:shapes]
        own = ({"work_group": group} if group else {} for group in sorted(groups))
        return tuple({**variant, **group} for group in own for variant in self.variants)

    def with_variants(self, variants: tuple[Variant, ...]) -> KernelClass:
        """The same class with only these variants."""
        return replace(self, variants=variants)

    def isolated(self, variant: Variant) -> str | None:
        """Name of the feature that this variant isolates, if any."""
        return self.isolates(**variant) if callable(self.isolates) else self.isolates


def discover(folder: Path | str) -> tuple[KernelClass, ...]:
    """Every ``KERNEL`` value of the Python files in `folder`, sorted by name.

    Raises
    ------
    KernelFileMissingError
        `folder` does not exist or holds no Python file.
    KernelFileContentError, KernelFileTypeError
        A file has no ``KERNEL``, or it is no :class:`KernelClass`.
    DuplicateKernelError
        Two classes have the same name.
    """
    paths = sorted(path for path in Path(folder).glob("*.py") if not path.name.startswith("_"))
    if not paths:
        raise KernelFileMissingError(folder, "a folder with kernel classes (*.py)")
    found = []
    for path in paths:
        value = _execute(path).get("KERNEL")
        if value is None:
            raise KernelFileContentError(path, ("KERNEL",))
        if not isinstance(value, KernelClass):
            raise KernelFileTypeError(path, "KERNEL", type(value).__name__, "a KernelClass")
        found.append(value)
    names = [kernel.name for kernel in found]
    for name in names:
        if names.count(name) > 1:
            raise DuplicateKernelError(name, folder)
    return tuple(sorted(found, key=lambda kernel: kernel.name))


def load_file(path: Path | str) -> dict[str, TranslationUnit]:
    """Load the translation units of a user's kernel file, by variant name.

    The file defines ``kernel()``, which returns a :class:`loopy.TranslationUnit`, or
    ``variants()``, which returns a dict of name to TranslationUnit.

    Raises
    ------
    KernelFileMissingError
        There is no such file.
    KernelFileSyntaxError
        The file is not Python; carries the line.
    KernelFileExecutionError
        The file, ``kernel()`` or ``variants()`` raised; carries the cause.
    KernelFileContentError
        The file defines neither function.
    KernelFileTypeError
        A function returned something else.
    """
    path = Path(path)
    if not path.is_file():
        raise KernelFileMissingError(path, "a Python file with kernel() or variants()")
    names = _execute(path)
    for name in ("variants", "kernel"):
        function = names.get(name)
        if callable(function):
            break
    else:
        raise KernelFileContentError(path, ("kernel()", "variants()"))
    try:
        with redirect_stdout(sys.stderr):
            value = function()
    except (Exception, SystemExit) as cause:
        raise KernelFileExecutionError(path, cause) from cause
    return _translation_units(path, name, value)


def _translation_units(path: Path, name: str, value: object) -> dict[str, TranslationUnit]:
    from loopy import TranslationUnit

    if name == "kernel":
        if not isinstance(value, TranslationUnit):
            raise KernelFileTypeError(path, "kernel()", type(value).__name__, "a loopy.TranslationUnit")
        return {"kernel": value}
    allowed = "a non-empty dict of name to loopy.TranslationUnit"
    if not isinstance(value, dict) or not value:
        found = "an empty dict" if value == {} else type(value).__name__
        raise KernelFileTypeError(path, "variants()", found, allowed)
    for key, unit in value.items():
        if not isinstance(key, str) or not isinstance(unit, TranslationUnit):
            found = f"{key!r}: {type(unit).__name__}"
            raise KernelFileTypeError(path, "variants()", found, allowed)
    return dict(value)


def _execute(path: Path) -> dict[str, Any]:
    """Names that the file defines, its own errors turned into ours."""
    try:
        with redirect_stdout(sys.stderr):
            return runpy.run_path(str(path))
    except SyntaxError as error:
        if error.filename == str(path):
            raise KernelFileSyntaxError(path, error.lineno, error.msg) from error
        raise KernelFileExecutionError(path, error) from error
    except OSError as error:
        if error.filename == str(path):
            raise KernelFileMissingError(path, "a readable Python file") from error
        raise KernelFileExecutionError(path, error) from error
    except (Exception, SystemExit) as cause:
        raise KernelFileExecutionError(path, cause) from cause
