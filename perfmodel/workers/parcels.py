"""Variants on their way to another process: pickled, with the user's kernel files that the pickle needs.

A function is pickled by its module's name where the module can be imported, and else as a whole (cloudpickle), as
those of a notebook. A kernel file is a module that no other process can import: its text goes along, and the worker
runs it first (:func:`perfmodel.kernels.execution.restore`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import cloudpickle

from perfmodel.counts import KernelCounts
from perfmodel.errors import TrialError, UnpicklableVariantError
from perfmodel.kernels.execution import Source, restore, sources_in

if TYPE_CHECKING:
    from loopy import TranslationUnit

#: A translation unit, a function without arguments that makes one, or its counts.
Variant: TypeAlias = "TranslationUnit | KernelCounts | Callable[[], TranslationUnit]"
LONGEST = 500  # characters of what another library says


@dataclass(frozen=True)
class Parcel:
    """A variant on its way.

    Parameters
    ----------
    name
        Name of the variant.
    content
        Its pickle, or the JSON of its counts.
    sources
        The kernel files that are run before it is unpickled.
    counted
        Whether the content is JSON.
    """

    name: str
    content: bytes
    sources: tuple[Source, ...] = ()
    counted: bool = False


def packed(name: str, variant: Variant) -> Parcel:
    """Pickle a variant.

    Raises
    ------
    UnpicklableVariantError
        If that is not possible.
    """
    if isinstance(variant, KernelCounts):
        return packed_counts(name, variant)
    try:
        content: bytes = cloudpickle.dumps(variant)
    except Exception as error:  # whatever an object's own method raises
        raise UnpicklableVariantError(name, said(error)) from error
    return Parcel(name, content, sources_in(content))


def packed_counts(name: str, counts: KernelCounts | bytes) -> Parcel:
    """Pack counts, or their JSON."""
    return Parcel(name, counts if isinstance(counts, bytes) else counts_as_json(counts), counted=True)


def counts_as_json(counts: KernelCounts) -> bytes:
    """Return counts as JSON, which is smaller than a pickle and holds nothing of isl."""
    return json.dumps(counts.to_json(), separators=(",", ":")).encode()


def unpacked(parcel: Parcel) -> Variant:
    """Return the variant of a parcel, once the kernel files that it needs have run here."""
    if parcel.counted:
        return KernelCounts.from_json(json.loads(parcel.content))
    for source in parcel.sources:
        restore(source)
    variant: Variant = cloudpickle.loads(parcel.content)
    return variant


def made(name: str, variant: Variant) -> TranslationUnit | KernelCounts:
    """Return a variant's translation unit, built where a function was given, or its counts as they are.

    Raises
    ------
    TrialError
        If the function raises, or returns something else.
    PerfModelError
        Whatever the function raises of perfmodel's own errors.
    """
    if isinstance(variant, KernelCounts):
        return variant
    from loopy import TranslationUnit

    if isinstance(variant, TranslationUnit) or not callable(variant):
        return variant
    found = variant()
    if not isinstance(found, TranslationUnit):
        kind = type(found).__name__
        raise TrialError(name, "compile", f"its function returns {kind}, and not a loopy.TranslationUnit")
    return found


def said(error: BaseException) -> str:
    """Return in one line what another library's exception says."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
