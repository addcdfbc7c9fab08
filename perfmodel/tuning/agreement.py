"""Compares the outputs of a kernel's variants element by element, and decides which variants are right."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from loopy.kernel.array import ArrayBase

from perfmodel.errors import TuningError, listed

TOLERANCE = {2: 1e-2, 4: 1e-4, 8: 1e-8}  # largest relative difference [1], by the size of a real number [bytes]
LEAST = 3  # least number of agreeing variants minus differing ones
KEPT = 8  # groups whose outputs are kept in memory; later groups keep only their difference
NAMED = 6  # most wrong variants or groups that a text names
LONGEST = 60  # characters of the names of variants in a text
REFERENCE = "reference()"
ADVICE = "add reference() to the kernel file, which gives the right outputs, or accept all outputs with --tolerance inf"


def _all_nan(array: Any) -> bool:
    return bool(array.dtype.kind in "fc" and array.size and np.isnan(array).all())


def output_names(kernel: Any) -> tuple[str, ...]:
    """Return the names of the array arguments that a kernel writes, in the order of its arguments."""
    written = kernel.get_written_variables()
    return tuple(array.name for array in kernel.args if isinstance(array, ArrayBase) and array.name in written)


def tolerance_of(dtype: np.dtype[Any], terms: float = 1.0) -> float:
    r"""Return the largest relative difference of numbers of a type [1]. Integers must match exactly.

    For sums of k terms the result is at least :math:`2 \varepsilon \sqrt{k}`. Their rounding errors are about
    independent.
    """
    if dtype.kind not in "fc":
        return 0.0
    real = np.dtype(f"f{dtype.itemsize // (2 if dtype.kind == 'c' else 1)}")
    sums = 2 * float(np.finfo(real).eps) * float(np.sqrt(max(terms, 1.0)))
    return max(TOLERANCE.get(real.itemsize, TOLERANCE[8]), sums)


def differences(
    outputs: Mapping[str, Any], expected: Mapping[str, Any], tolerance: float | None = None, terms: float = 1.0
) -> tuple[str, ...]:
    r"""Return a phrase for each output that differs: argument, size of the difference, place, number of elements.

    Elements :math:`x` and :math:`y` differ if :math:`|x - y| > t \max(|y|, m)`. The :func:`magnitude` :math:`m` of the
    expected array is a bound, because differences of large numbers lose digits. The value :math:`t` is `tolerance`, by
    default :func:`tolerance_of` sums of `terms` numbers. NaN matches NaN. Only outputs in `expected` are compared.

    >>> differences({"c": np.array([1.0, 2.5])}, {"c": np.array([1.0, 2.0])})
    ("'c' by up to 0.5 (25 %), in 1 of 2 elements, first c[1] = 2.5 instead of 2.0",)
    """
    phrases = (_difference(name, outputs[name], expected[name], tolerance, terms) for name in expected)
    return tuple(filter(None, phrases))


def magnitude(values: Any) -> float:
    """Return the lower quartile of the finite nonzero elements of an array. A few large elements do not raise it."""
    known = values[np.isfinite(values) & (values != 0)]
    return float(np.quantile(known, 0.25)) if known.size else 0.0


def _difference(name: str, output: Any, expected: Any, tolerance: float | None, terms: float) -> str:
    if (output.shape, output.dtype) != (expected.shape, expected.dtype):
        kind, instead = (f"{array.dtype.name} of shape {array.shape}" for array in (output, expected))
        return f"'{name}' is {kind} instead of {instead}"
    kind = output.dtype.kind
    if output.dtype.names:
        parts = ((f"{name}.{part}", output[part], expected[part]) for part in output.dtype.names)
        return next(filter(None, (_difference(*part, tolerance, terms) for part in parts)), "")
    if kind not in "biufc":
        return "" if output.tobytes() == expected.tobytes() else f"'{name}'"
    wide = np.complex128 if kind == "c" else np.longdouble if kind in "iu" else np.float64
    most = tolerance if tolerance is not None and kind in "fc" else tolerance_of(output.dtype, terms)
    with np.errstate(all="ignore"):
        x, y = output.astype(wide), expected.astype(wide)
        deviation, size = np.abs(x - y), np.abs(y)
        scale = np.maximum(size, magnitude(size))
        same = (deviation <= most * scale) & np.isfinite(y) | (output == expected) | (np.isnan(x) & np.isnan(y))
        shares = deviation / scale
    if same.all():
        return ""
    deviation = np.where(same, 0, np.where(np.isnan(deviation), np.inf, deviation))
    first = tuple(int(index) for index in np.unravel_index(int(np.argmin(same)), same.shape))
    worst = np.unravel_index(int(np.argmax(deviation)), same.shape)
    where = f"{name}[{', '.join(map(str, first))}]" if first else name
    share = float(shares[worst]) if np.isfinite(shares[worst]) else float("inf")
    return (
        f"'{name}' by up to {float(deviation[worst]):.3g} ({100 * share:.3g} %), in {np.count_nonzero(~same)} of "
        f"{same.size} elements, first {where} = {output[first]!s} instead of {expected[first]!s}"
    )


def expected_outputs(value: object, outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of a reference, in the types of the variant's outputs. Raise a TuningError if impossible."""
    names = ", ".join(outputs) or "none"
    if not isinstance(value, Mapping) or not value:
        kind = "an empty dict" if isinstance(value, Mapping) else type(value).__name__
        raise _wrong_reference(f"returns {kind}", f"a dict with some of the outputs: {names}")
    arrays = {}
    for name, array in value.items():
        if name not in outputs:
            raise _wrong_reference(f"gives {name!r}, which is not an output", f"some of the outputs: {names}")
        arrays[str(name)] = _expected_array(str(name), array, outputs[name])
    return arrays


def _expected_array(name: str, value: Any, output: Any) -> Any:
    allowed = f"an array of {output.dtype.name} and shape {output.shape}"
    try:
        array = np.asarray(value)
    except Exception as error:  # a ragged list, or an object with a custom conversion
        raise _wrong_reference(f"gives '{name}', which is not an array ({error})", allowed) from error
    if array.shape != output.shape or not np.can_cast(array.dtype, output.dtype, "same_kind"):
        raise _wrong_reference(f"gives '{name}' as an array of {array.dtype.name} and shape {array.shape}", allowed)
    with np.errstate(all="ignore"):
        same = array.astype(output.dtype)
    if _all_nan(same):
        raise _wrong_reference(f"gives '{name}' with NaN in every element", "numbers that can be compared")
    return same


def _wrong_reference(found: str, allowed: str) -> TuningError:
    advice = f"give {allowed}, or leave the function out and variants are compared with each other"
    return TuningError(f"reference() {found}", advice)


@dataclass(frozen=True)
class Agreement:
    """Variants grouped by equal outputs."""

    #: Names of variants with the same outputs; the group that agrees with the reference is first, else the largest.
    groups: tuple[tuple[str, ...], ...] = ()
    differs: Mapping[str, str] = field(default_factory=dict, hash=False)  #: How others differ from the first group.
    uncompared: Mapping[str, str] = field(default_factory=dict, hash=False)  #: Reasons, by variant.
    reference: bool = False  #: Whether outputs were compared with right ones: of reference(), or of a plain kernel.

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of all variants whose outputs were compared."""
        return tuple(name for group in self.groups for name in group)

    @property
    def right(self) -> tuple[str, ...]:
        """The variants that agree with the reference. Without a reference, the majority of compared variants."""
        first = self.groups[0] if self.groups else ()
        return first if self.reference or 2 * len(first) > len(self.compared) else ()

    @property
    def wrong(self) -> tuple[str, ...]:
        """The variants that differ from the reference, or from the majority."""
        right = self.right
        return tuple(name for name in self.compared if name not in right) if right or self.reference else ()

    @property
    def undecided(self) -> bool:
        """Whether outputs differ and no majority agrees."""
        return not self.reference and bool(self.groups) and not self.right

    @property
    def settled(self) -> bool:
        """Whether there is a reference, or the variants that agree outnumber the others by at least :data:`LEAST`."""
        return self.reference or 2 * len(self.right) - len(self.compared) >= LEAST

    def allows(self, name: str) -> bool:
        """Whether a variant may be the best, because its output is right or was not compared with another."""
        if self.reference or len(self.compared) > 1:
            return name in self.right
        return name not in self.uncompared

    def difference(self, name: str) -> str:
        """Return how the output of a wrong variant differs from the right one."""
        first = "the expected one" if self.reference else f"that of '{self.right[0]}'"
        return f"its output differs from {first}: {self.differs[name]}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences on the variants compared and the result."""
        wrong = [f"{name}: {self.difference(name)}" for name in self.wrong[:NAMED]]
        wrong += [f"{len(self.wrong) - NAMED} others differ too"] * (len(self.wrong) > NAMED)
        uncompared = [f"{name}: its output was not compared: {why}" for name, why in self.uncompared.items()]
        return (self._outcome, *wrong, *uncompared)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON document."""
        return {
            "reference": self.reference, "groups": [list(group) for group in self.groups], "right": list(self.right),
            "wrong": [{"variant": name, "difference": self.differs[name]} for name in self.wrong],
            "undecided": self.undecided,
            "uncompared": [{"variant": name, "problem": why} for name, why in self.uncompared.items()],
        }  # fmt: skip

    @property
    def _outcome(self) -> str:
        compared, right, names = self.compared, self.right, listed(self.right, most=LONGEST)
        if self.reference:
            agree = f": {names}" if 0 < len(right) < len(compared) else ""
            return f"outputs of {len(right)} of {len(compared)} variants are as expected{agree}"
        if not compared:
            return "no outputs were compared"
        if len(compared) == 1:
            return f"the output of {compared[0]} was compared with no other; {ADVICE}"
        if not right:
            against = " against ".join(listed(group, most=LONGEST) for group in self.groups[:NAMED])
            return f"outputs differ without a majority, so no variant counts as right: {against}; {ADVICE}"
        if len(right) == len(compared):
            few = "only " * (len(compared) < LEAST)
            return f"outputs of {few}{len(compared)} variants were compared, and agree: {names}"
        return f"outputs of {len(right)} of {len(compared)} variants agree ({names}); the others are wrong"


@dataclass(eq=False)
class _Group:
    members: list[str]
    outputs: Mapping[str, Any] | None  # None if the outputs are not kept
    writes: frozenset[str]  # names of the arrays
    differs: str = ""  # difference from the first group


class OutputComparison:
    """Groups of variants with equal outputs at some sizes. `expected` are the right outputs, if they are known."""

    def __init__(self, expected: Mapping[str, Any] | None = None, tolerance: float | None = None) -> None:
        self._reference, self._tolerance = expected is not None, tolerance
        self._groups = [] if expected is None else [_Group([], expected, frozenset(expected))]
        self._uncompared: dict[str, str] = {}
        self._phrases: dict[tuple[str, str], str] = {}

    def add(self, name: str, outputs: Mapping[str, Any], terms: float = 1.0) -> None:
        """Compare the outputs of the first run of a variant. Each element is a sum of about `terms` numbers."""
        empty = next((output for output in outputs if _all_nan(outputs[output])), None)
        if empty is not None and not self._reference:
            advice = "give arguments(**sizes) with other contents, or reference()"
            self._uncompared[name] = f"every element of '{empty}' is NaN; {advice}"
            return
        writes = frozenset(outputs)
        difference = ""
        for group in self._groups[:1] if self._reference else self._groups:
            if lacking := group.writes - writes:
                difference = f"it does not write {', '.join(sorted(lacking))}" if self._reference else difference
            elif group.outputs is not None and (self._reference or group.writes == writes):
                phrases = differences(outputs, group.outputs, self._tolerance, terms)
                if not phrases:
                    group.members.append(name)
                    return
                difference = difference or "; ".join(phrases)
        kept = None if self._reference or len(self._groups) >= KEPT else outputs
        self._groups.append(_Group([name], kept, writes, difference))

    def expect(self, expected: Mapping[str, Any]) -> None:
        """Use these right outputs for the next variants, for example after a change of layout."""
        self._groups[0].outputs, self._groups[0].writes = expected, frozenset(expected)

    def again(self, name: str, outputs: Mapping[str, Any], terms: float = 1.0) -> None:
        """Compare the outputs of a second run. If the outputs differ, the variant agrees with no other."""
        group = next((group for group in self._groups if name in group.members), None)
        if group is None or group.outputs is None:
            return
        if phrases := differences(outputs, group.outputs, self._tolerance, terms):
            group.members.remove(name)
            difference = f"a second run gave other outputs: {'; '.join(phrases)}"
            self._groups.append(_Group([name], None, group.writes, difference))

    @property
    def agreement(self) -> Agreement:
        """The groups so far. Only variants that write the most frequent set of arrays are compared."""
        groups = [group for group in self._groups if group.members or (self._reference and group is self._groups[0])]
        uncompared = dict(self._uncompared)
        if groups and not self._reference:
            numbers = Counter(group.writes for group in groups for _ in group.members)
            writes = max(numbers, key=numbers.__getitem__)
            others = [group for group in groups if group.writes != writes]
            groups = sorted((group for group in groups if group.writes == writes), key=lambda one: -len(one.members))
            for group in others:
                first, own = ((", ".join(sorted(names)) or "nothing") for names in (writes, group.writes))
                why = f"it writes {own}, and '{groups[0].members[0]}' writes {first}"
                uncompared |= dict.fromkeys(group.members, why)
        differs = {name: self._phrase(group, groups[0]) for group in groups[1:] for name in group.members}
        return Agreement(tuple(tuple(group.members) for group in groups), differs, uncompared, self._reference)

    def _phrase(self, group: _Group, first: _Group) -> str:
        if group.outputs is None or first.outputs is None:
            return group.differs
        key = group.members[0], first.members[0]
        if key not in self._phrases:
            self._phrases[key] = "; ".join(differences(group.outputs, first.outputs, self._tolerance))
        return self._phrases[key] or group.differs
