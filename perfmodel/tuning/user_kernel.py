"""Variants of a user's kernel as kernel classes, and checks of the values of the user's ``arguments(**sizes)``."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from loopy import TranslationUnit
from loopy.kernel.array import ArrayBase

from perfmodel.counts.counting import statistics_of
from perfmodel.documents import canonical
from perfmodel.errors import ArgumentError, UnknownNameError, listed
from perfmodel.kernels import KernelClass, Ladder, Parameters
from perfmodel.measuring.subject import FailedError, Subject, array_arguments, offset_arguments, remembered, stage

# A prime, so that all rows and tiles of a matrix differ: a kernel that exchanges them has other outputs.
PERIOD = 2**20 + 7  #: Number of elements of an array that differ; after them the array repeats

Variant: TypeAlias = TranslationUnit | Callable[[], TranslationUnit]
Arguments: TypeAlias = Callable[..., Mapping[str, Any]]
Reference: TypeAlias = Callable[..., Mapping[str, Any] | TranslationUnit]


class UserKernel:
    """Builds each variant of a kernel once, and fills its arguments.

    ``arguments(**sizes)`` returns arrays and scalars by argument name. If it has a parameter ``variant``, the values
    are for this variant. Other arrays hold numbers in [0.5, 2) by the seed. Other scalars are 1, and offsets of arrays
    are 0. The kernel may run at the sizes of `ladder`, from small to large. Unless it `observes`, nothing is derived
    from the data, because their statistics are known.
    """

    def __init__(
        self, name: str, variants: Mapping[str, Variant], arguments: Arguments | None,
        ladder: Sequence[Mapping[str, int]], seed: int, observes: bool = True,
    ) -> None:  # fmt: skip
        self.name, self.variants = name, dict(variants)
        self.given = dict[str, Any]()  # what `arguments` returned for the last sizes
        self.arguments, self._ladder, self._seed = arguments, tuple(dict(sizes) for sizes in ladder), seed
        self._observes = observes and arguments is not None
        self._subjects: dict[str, Subject | FailedError] = {}
        self._found: dict[str, dict[str, float]] = {}  # statistics of each variant's data
        self._given_at = ""
        self.by_variant = arguments is not None and "variant" in inspect.signature(arguments).parameters

    def subject(self, name: str) -> Subject:
        """Return a variant, built at the first call. If the variant cannot be built, each call raises a FailedError."""
        self.check_name(name)
        return remembered(self._subjects, name, lambda: self._built(name))

    def described(self, name: str) -> Subject:
        """Return a variant for the record of a failure, with its code if there is any."""
        subject = self._subjects.get(name)
        return subject if isinstance(subject, Subject) and "generated" in vars(subject) else self.unbuilt(name)

    def unbuilt(self, name: str) -> Subject:
        """Return a variant that is never built, for a record."""
        kernel = KernelClass(
            name=self.name, group=self.name, build=lambda **variant: None,
            sizes=Ladder(lambda exponent: self._ladder[exponent : exponent + 1], start=0, rungs=1),
            reference=lambda arguments, **variant: {},
            variants=tuple({"variant": variant} for variant in self.variants), ranked=True,
        )  # fmt: skip
        return Subject(kernel, {"variant": name}).unbuilt

    def ask_for_arguments(self, name: str, at: Parameters) -> None:
        """Call the user's ``arguments`` for a variant and sizes, unless the last call was for them."""
        asked = {**at, "variant": name} if self.by_variant else dict(at)
        if self.arguments is not None and self._given_at != canonical(asked):
            self._given_at, self.given = canonical(asked), dict(self.arguments(**asked))

    def check_name(self, name: str) -> None:
        """Raise UnknownNameError if there is no such variant."""
        if name not in self.variants:
            raise UnknownNameError(f"no variant '{name}' exists", f"choose one of: {listed(self.variants)}")

    def _built(self, name: str) -> Subject:
        given = self.variants[name]
        with stage("compile"):
            unit = given if isinstance(given, TranslationUnit) else given()
            if not isinstance(unit, TranslationUnit):
                raise FailedError("compile", f"it is of type {type(unit).__name__}, and not a loopy.TranslationUnit")
            arguments = unit.default_entrypoint.args
            offsets = offset_arguments(unit.default_entrypoint)
        sizes = {parameter for point in self._ladder for parameter in point}
        arrays = [argument.name for argument in arguments if isinstance(argument, ArrayBase)]
        scalars = [argument.name for argument in arguments if argument.name not in {*arrays, *sizes}]
        kernel = replace(
            self.unbuilt(name).kernel, build=lambda **variant: unit,
            scalars=lambda **variant: {name: self.given.get(name, int(name not in offsets)) for name in scalars},
            contents={array: partial(self._contents, array) for array in arrays},
            statistics=lambda **variant: self._statistics(name, unit),
        )  # fmt: skip
        return Subject(kernel, {"variant": name})

    def _statistics(self, name: str, unit: TranslationUnit) -> dict[str, float]:
        """Return the statistics of the data that ``arguments()`` gave, for the first sizes."""
        if not self._observes:
            return {}
        if name not in self._found:
            if not self.given:
                self.ask_for_arguments(name, self._ladder[0])
            self._found[name] = statistics_of(unit, lambda: {**self.given, **self._ladder[0]})
        return self._found[name]

    def _contents(self, name: str, generator: Any, shape: tuple[int, ...]) -> Any:
        """Return the contents of an array before a run. Random contents depend only on the name, for all variants."""
        given = self.given.get(name)
        if given is not None:
            return given
        return np.resize(np.random.default_rng([self._seed, crc32(name.encode())]).uniform(0.5, 2.0, PERIOD), shape)


def check_given(kernel: Any, given: Mapping[str, Any], parameters: Parameters) -> None:
    """Raise an ArgumentError if an argument is unknown to the kernel, or has another type, shape or value."""
    arrays = {array.name: array for array in array_arguments(kernel, parameters)}
    known = {argument.name: argument for argument in kernel.args}
    for name, value in given.items():
        if name not in known:
            found, allowed = "is not one of its arguments", f"one of {', '.join(known)}"
        elif name in parameters:
            found = f"is {value!r}" if np.ndim(value) or value != parameters[name] else ""
            allowed = f"the size {parameters[name]}"
        elif name in arrays:
            allowed = f"a numpy array of {arrays[name].dtype.name} and shape {arrays[name].shape}"
            found = _wrong_array(value, arrays[name].dtype, arrays[name].shape)
        else:
            dtype = known[name].dtype.numpy_dtype
            found, allowed = _wrong_scalar(value, dtype), f"a number of {dtype.name}"
        if found:
            problem = f"arguments() gives '{name}' for the kernel '{kernel.name}', and it {found}"
            raise ArgumentError(problem, f"give {allowed}, or leave it out and perfmodel makes it", argument=name)


def _wrong_array(value: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> str:
    if not isinstance(value, np.ndarray):
        return f"is of type {type(value).__name__}"
    if (value.dtype, value.shape) != (dtype, shape):
        return f"is an array of {value.dtype.name} and shape {value.shape}"
    return ""


def _wrong_scalar(value: Any, dtype: np.dtype[Any]) -> str:
    """Return what is wrong. Numbers of Python fit every type that holds them, numpy's only the kernel's type."""
    if np.ndim(value) or not isinstance(value, (bool, int, float, complex, np.generic)):
        return f"is of type {type(value).__name__}"
    if isinstance(value, np.generic):
        return "" if value.dtype == dtype else f"is a number of {value.dtype.name}"
    kinds = {"b": (bool,), "f": (int, float), "c": (int, float, complex)}
    if dtype.kind in "iu":
        fits = isinstance(value, int) and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    else:
        fits = isinstance(value, kinds.get(dtype.kind, ()))
    return "" if fits else f"is {value!r}"
