"""A kernel class in one variant, which is what a campaign builds, checks and times; and how that can fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

from perfmodel.kernels import KernelClass, Parameters, Variant
from perfmodel.measuring.arguments import ArrayArgument, array_arguments
from perfmodel.measuring.generated_code import GeneratedCode
from perfmodel.threads import guest_streams


class FailedError(Exception):
    """A configuration failed with this status.

    It never leaves this package: the campaign turns it into a record.
    """

    def __init__(self, status: str, message: str) -> None:
        self.status = status
        self.message = message
        super().__init__(message)

    def __reduce__(self) -> tuple[type[FailedError], tuple[str, str]]:
        return type(self), (self.status, self.message)


@contextmanager
def stage(status: str) -> Iterator[None]:
    """Turn any exception of the block into a failure of this status."""
    try:
        yield
    except FailedError:
        raise
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        raise FailedError(status, message[:500]) from error


@dataclass(frozen=True, eq=False)
class Subject:
    """A kernel class in one variant.

    Once its code is generated, it travels to other processes with it, and is not built again there.
    """

    kernel: KernelClass
    variant: Variant

    @cached_property
    def generated(self) -> GeneratedCode:
        """Its code; building it may fail."""
        with stage("compile"), guest_streams():  # what a class prints is no result of a command
            generated = GeneratedCode(self.kernel.build(**self.variant))
            generated.hash  # noqa: B018 -- generates the code here, where a failure has its status
            return generated

    @property
    def unbuilt(self) -> Subject:
        """The same variant, which is never built: it has no code, and an empty hash."""
        return Subject(replace(self.kernel, build=_refuse), self.variant)

    @property
    def hash(self) -> str:
        """Hash of its code; empty if none can be generated."""
        try:
            return self.generated.hash
        except FailedError:
            return ""

    @property
    def smallest(self) -> Parameters:
        """Its smallest size, at which its output is checked."""
        return self.kernel.sizes.at(self.kernel.sizes.start)[0]

    @property
    def scalars(self) -> Mapping[str, float]:
        """Its floating-point arguments."""
        return self.kernel.scalars(**self.variant)

    @property
    def statistics(self) -> Mapping[str, float]:
        """What is known of its data, as of :func:`perfmodel.counts.count`."""
        return self.kernel.known_statistics(self.variant)

    def arrays(self, parameters: Parameters) -> tuple[ArrayArgument, ...]:
        """Its arrays at these parameters."""
        return array_arguments(self.generated.kernel, parameters)


def _refuse(**variant: object) -> NoReturn:
    raise FailedError("compile", "not to be built")
