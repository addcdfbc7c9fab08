"""Variants of a user's kernel as kernel classes, and checks of what its ``arguments(**sizes)`` gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from loopy import TranslationUnit

from perfmodel.errors import GivenArgumentError, UnknownNameError, listed
from perfmodel.kernels import KernelClass, Ladder, Parameters
from perfmodel.measuring.subject import FailedError, Subject, array_arguments, offset_arguments, stage
from perfmodel.store import canonical

#: So many elements of an array differ, and are repeated then. It is a prime, so that no two rows or tiles of a matrix
#: hold the same, and a kernel that takes one for the other gives other outputs.
PERIOD = 2**20 + 7

Variant: TypeAlias = "TranslationUnit | Callable[[], TranslationUnit]"
Arguments: TypeAlias = Callable[..., Mapping[str, Any]]
Reference: TypeAlias = "Callable[..., Mapping[str, Any] | TranslationUnit]"


class UserKernel:
    """Makes each variant of a kernel once, and the contents of its arguments.

    Variants are translation units, or functions without arguments that make them. ``arguments(**sizes)`` gives arrays
    and scalars by argument name; if it has a parameter ``variant``, those of that one. `given` holds them for the sizes
    that were asked for last. Those that it leaves out,
    or all of them, are made: arrays hold numbers in [0.5, 2) by the seed, converted to their types, and scalars that
    are no sizes are 1; offsets of arrays are 0. The ladder has the sizes at which the kernel may run, from small to
    large.
    """

    def __init__(
        self,
        name: str,
        variants: Mapping[str, Variant],
        arguments: Arguments | None,
        ladder: Sequence[Mapping[str, int]],
        seed: int,
    ) -> None:
        self.name, self.variants, self.given = name, dict(variants), dict[str, Any]()
        self._arguments, self._ladder, self._seed = arguments, tuple(dict(sizes) for sizes in ladder), seed
        self._subjects: dict[str, Subject | FailedError] = {}
        self._given_at = ""
        #: Whether each variant has arguments of its own, as those with other layouts of their arrays.
        self.by_variant = arguments is not None and "variant" in inspect.signature(arguments).parameters

    def subject(self, name: str) -> Subject:
        """Return a variant, made at the first call; raise FailedError, each time, if it cannot be made."""
        self.check_name(name)
        if name not in self._subjects:
            try:
                self._subjects[name] = self._made(name)
            except FailedError as failure:
                self._subjects[name] = failure
        subject = self._subjects[name]
        if isinstance(subject, FailedError):
            raise subject
        return subject

    def described(self, name: str) -> Subject:
        """Return a variant for the record of a failure: with its code where that exists, else one never built."""
        subject = self._subjects.get(name)
        return subject if isinstance(subject, Subject) and "generated" in vars(subject) else self.stand_in(name)

    def stand_in(self, name: str) -> Subject:
        """Return a variant that is never built, to describe it in a record."""
        kernel = KernelClass(
            name=self.name,
            group=self.name,
            build=lambda **variant: None,
            sizes=Ladder(lambda exponent: self._ladder[exponent : exponent + 1], start=0, rungs=1),
            reference=lambda arguments, **variant: {},
            variants=tuple({"variant": variant} for variant in self.variants),
            ranked=True,
        )
        return Subject(kernel, {"variant": name}).unbuilt

    def ask_for_arguments(self, name: str, at: Parameters) -> None:
        """Call the user's function for the arguments of a variant, once while nothing changes that it asks for."""
        asked = {**at, "variant": name} if self.by_variant else dict(at)
        if self._arguments is not None and self._given_at != canonical(asked):
            self._given_at, self.given = canonical(asked), dict(self._arguments(**asked))

    def check_name(self, name: str) -> None:
        """Raise UnknownNameError if there is no such variant."""
        if name not in self.variants:
            raise UnknownNameError(f"the kernel has no variant '{name}'", f"choose among {listed(self.variants)}")

    def _made(self, name: str) -> Subject:
        from loopy.kernel.array import ArrayBase

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
        return Subject(
            replace(
                self.stand_in(name).kernel,
                build=lambda **variant: unit,
                scalars=lambda **variant: {name: self.given.get(name, int(name not in offsets)) for name in scalars},
                contents={array: partial(self._contents, array) for array in arrays},
            ),
            {"variant": name},
        )

    def _contents(self, name: str, generator: Any, shape: tuple[int, ...]) -> Any:
        """Return what an array holds before a run: what was given, else numbers by its name, as each variant has it."""
        given = self.given.get(name)
        if given is not None:
            return given
        drawn = np.random.default_rng([self._seed, crc32(name.encode())])
        return np.resize(drawn.uniform(0.5, 2.0, PERIOD), shape)


def check_given(kernel: Any, given: Mapping[str, Any], parameters: Parameters) -> None:
    """Check names, types and shapes of the arguments given for a kernel; the others are made as a campaign makes them.

    It raises GivenArgumentError if the kernel has no such argument, or it has another type, shape or value.
    """
    arrays = {array.name: array for array in array_arguments(kernel, parameters)}
    known = {argument.name: argument for argument in kernel.args}
    for name, value in given.items():
        if name not in known:
            raise GivenArgumentError(kernel.name, name, "is no argument of it", f"one of {', '.join(known)}")
        if name in parameters:
            if np.ndim(value) or not value == parameters[name]:
                raise GivenArgumentError(kernel.name, name, f"is {value!r}", f"the size {parameters[name]}")
        elif name in arrays:
            _check_array(kernel.name, name, value, arrays[name].dtype, arrays[name].shape)
        else:
            _check_scalar(kernel.name, name, value, known[name].dtype.numpy_dtype)


def _check_array(kernel: str, name: str, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    allowed = f"a numpy array of {dtype.name} and shape {shape}"
    if not isinstance(value, np.ndarray):
        raise GivenArgumentError(kernel, name, f"is of type {type(value).__name__}", allowed)
    if (value.dtype, value.shape) != (dtype, shape):
        raise GivenArgumentError(kernel, name, f"is an array of {value.dtype.name} and shape {value.shape}", allowed)


def _check_scalar(kernel: str, name: str, value: Any, dtype: np.dtype[Any]) -> None:
    """Numbers of Python are of any type that holds their value; those of numpy are of the kernel's own."""
    allowed = f"a number of {dtype.name}"
    if np.ndim(value) or not isinstance(value, (bool, int, float, complex, np.generic)):
        raise GivenArgumentError(kernel, name, f"is of type {type(value).__name__}", allowed)
    if isinstance(value, np.generic):
        if value.dtype != dtype:
            raise GivenArgumentError(kernel, name, f"is a number of {value.dtype.name}", allowed)
        return
    kinds = {"b": (bool,), "f": (int, float), "c": (int, float, complex)}
    if dtype.kind in "iu":
        fits = isinstance(value, int) and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    else:
        fits = isinstance(value, kinds.get(dtype.kind, ()))
    if not fits:
        raise GivenArgumentError(kernel, name, f"is {value!r}", allowed)

