"""Which variants of a kernel give the same outputs, and so which of them may be called right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perfmodel.tuning.outputs import all_nan, differences

#: Variants that must agree before one is called right, and by how many they must outnumber those that differ.
LEAST = 3
#: Groups of variants with equal outputs whose outputs are kept; of later groups only the difference.
KEPT = 8
#: Variants that a text names, at most.
NAMED = 6
REFERENCE = "reference()"
"""Stands for the outputs that a kernel file's function of this name gives."""
ADVICE = "add reference() to the kernel file, which gives the right outputs"


@dataclass(frozen=True)
class Agreement:
    """Which variants gave the same outputs.

    Parameters
    ----------
    groups
        Names of the variants whose outputs are the same, the largest group first. With a reference the first group is
        that of the variants that agree with it, and may be empty.
    differs
        How the outputs of each variant outside of the first group differ from those of that group.
    uncompared
        Why the output of a variant could not be compared.
    reference
        Whether outputs were compared with those of ``reference()``, not of other variants.

    Examples
    --------
    >>> Agreement((("a", "b"), ("c",))).right, Agreement((("a",), ("c",))).right
    (('a', 'b'), ())
    """

    groups: tuple[tuple[str, ...], ...] = ()
    differs: Mapping[str, str] = field(default_factory=dict, hash=False)
    uncompared: Mapping[str, str] = field(default_factory=dict, hash=False)
    reference: bool = False

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of all variants whose outputs were compared."""
        return tuple(name for group in self.groups for name in group)

    @property
    def right(self) -> tuple[str, ...]:
        """Those that agree with the reference, or with more than half of all that were compared; none if none do."""
        first = self.groups[0] if self.groups else ()
        return first if self.reference or 2 * len(first) > len(self.compared) else ()

    @property
    def wrong(self) -> tuple[str, ...]:
        """Those that differ from the reference, or from the majority; none where there is no majority."""
        right = self.right
        return tuple(name for name in self.compared if name not in right) if right or self.reference else ()

    @property
    def undecided(self) -> bool:
        """Whether outputs differ and no majority agrees."""
        return not self.reference and bool(self.groups) and not self.right

    @property
    def settled(self) -> bool:
        """Whether no more variants need be compared: :data:`LEAST` more agree than differ, or there is a reference."""
        return self.reference or 2 * len(self.right) - len(self.compared) >= LEAST

    def allows(self, name: str) -> bool:
        """Whether a variant may be called the best: nothing says that it is wrong, and two others do not agree."""
        if self.reference or len(self.compared) > 1:
            return name in self.right
        return name not in self.uncompared

    def difference(self, name: str) -> str:
        """Return how the output of a variant that is wrong differs from what is right."""
        first = REFERENCE if self.reference else f"'{self.right[0]}'"
        return f"its output differs from that of {first}: {self.differs[name]}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was compared and what came out, one sentence each."""
        found = [self._outcome]
        found += [f"{name}: {self.difference(name)}" for name in self.wrong]
        found += [f"{name}: its output was not compared: {why}" for name, why in self.uncompared.items()]
        return tuple(filter(None, found))

    def to_json(self) -> dict[str, Any]:
        """Return it as a document."""
        return {
            "reference": self.reference,
            "groups": [list(group) for group in self.groups],
            "right": list(self.right),
            "wrong": [{"variant": name, "difference": self.differs[name]} for name in self.wrong],
            "undecided": self.undecided,
            "uncompared": [{"variant": name, "problem": why} for name, why in self.uncompared.items()],
        }

    @property
    def _outcome(self) -> str:
        compared, right = self.compared, self.right
        if self.reference:
            agree = f": {_names(right)}" * bool(right)
            return f"outputs of {len(right)} of {len(compared)} variants agree with {REFERENCE}{agree}"
        if not compared:
            return "no outputs were compared"
        if len(compared) == 1:
            return f"the output of {compared[0]} was compared with no other; {ADVICE}"
        if not right:
            against = " against ".join(_names(group) for group in self.groups[:NAMED])
            return f"outputs differ, and no majority agrees, so none is called right: {against}; {ADVICE}"
        if len(right) == len(compared):
            few = "only " * (len(compared) < LEAST)
            return f"outputs of {few}{len(compared)} variants were compared, and agree: {_names(compared)}"
        return f"outputs of {len(right)} of {len(compared)} variants agree ({_names(right)}); the others are wrong"


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + f" and {len(names) - NAMED} more" * (len(names) > NAMED)


@dataclass(eq=False)
class _Group:
    """Variants with equal outputs: their names, these outputs, and how they differ from those of the first group."""

    members: list[str]
    outputs: Mapping[str, Any] | None
    writes: frozenset[str]
    differs: str = ""


class Comparison:
    """Outputs of variants at some sizes, sorted into groups of equal ones as they come.

    Parameters
    ----------
    expected
        The right outputs by name; None where there is no reference, and variants are compared with each other.
    tolerance
        As of :func:`differences`.
    """

    def __init__(self, expected: Mapping[str, Any] | None = None, tolerance: float | None = None) -> None:
        self._expected, self._tolerance = expected, tolerance
        self._groups = [] if expected is None else [_Group([], expected, frozenset(expected))]
        self._uncompared: dict[str, str] = {}
        self._phrases: dict[tuple[str, str], str] = {}

    def add(self, name: str, outputs: Mapping[str, Any], terms: float = 1.0) -> None:
        """Compare the outputs of a variant's first run, in which each element is a sum of about so many terms."""
        empty = next((one for one in outputs if all_nan(outputs[one])), None)
        if empty is not None and self._expected is None:
            advice = "give arguments(**sizes) with other contents, or reference()"
            self._uncompared[name] = f"every element of '{empty}' is NaN, which tells nothing; {advice}"
            return
        said = ""
        for group in self._groups:
            if group.outputs is None or not group.writes <= outputs.keys():
                continue
            if self._expected is None and group.writes != outputs.keys():
                continue
            if not (phrases := differences(outputs, group.outputs, self._tolerance, terms)):
                group.members.append(name)
                return
            said = said or "; ".join(phrases)
            if self._expected is not None:
                break
        kept = outputs if self._expected is None and len(self._groups) < KEPT else None
        lacking = ", ".join(sorted(self._groups[0].writes - outputs.keys())) if self._expected is not None else ""
        said = f"it does not write {lacking}" if lacking else said
        self._groups.append(_Group([name], kept, frozenset(outputs), said))

    def again(self, name: str, outputs: Mapping[str, Any], terms: float = 1.0) -> None:
        """Compare the outputs of another run of a variant; one that gives others agrees with no variant any more."""
        group = next((one for one in self._groups if name in one.members), None)
        if group is None or group.outputs is None:
            return
        if phrases := differences(outputs, group.outputs, self._tolerance, terms):
            group.members.remove(name)
            said = f"a second run of it gave other outputs: {'; '.join(phrases)}"
            self._groups.append(_Group([name], None, group.writes, said))

    @property
    def agreement(self) -> Agreement:
        """What is known now."""
        groups = [one for one in self._groups if one.members]
        if self._expected is not None:
            first, others = self._groups[0], [one for one in groups if one is not self._groups[0]]
            apart: list[_Group] = []
        else:
            voices = {one.writes: 0 for one in groups}
            for one in groups:
                voices[one.writes] += len(one.members)
            kind = max(voices, key=lambda writes: voices[writes], default=frozenset[str]())
            alike = sorted((one for one in groups if one.writes == kind), key=lambda one: -len(one.members))
            apart = [one for one in groups if one.writes != kind]
            first, others = (alike[0] if alike else _Group([], None, kind)), alike[1:]
        uncompared = dict(self._uncompared)
        for one in apart:
            why = f"it writes {', '.join(sorted(one.writes)) or 'nothing'}, and '{first.members[0]}' writes "
            uncompared |= dict.fromkeys(one.members, why + (", ".join(sorted(first.writes)) or "nothing"))
        differs = {name: self._phrase(one, first) for one in others for name in one.members}
        shown = tuple(tuple(one.members) for one in (first, *others) if one.members or self._expected is not None)
        return Agreement(shown, differs, uncompared, self._expected is not None)

    def _phrase(self, group: _Group, first: _Group) -> str:
        """Return how a group differs from the first one, compared once."""
        if group.outputs is None or first.outputs is None:
            return group.differs
        key = group.members[0], first.members[0]
        if key not in self._phrases:
            self._phrases[key] = "; ".join(differences(group.outputs, first.outputs, self._tolerance))
        return self._phrases[key] or group.differs
