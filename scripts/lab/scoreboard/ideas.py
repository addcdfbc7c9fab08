"""Ideas: what the scoreboard scores next to the families, each a family with its own options, or a black box."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from perfmodel.compare.contenders import has_measured_weight
from perfmodel.documents import read_file, value_of
from perfmodel.errors import DocumentError, OptionError
from perfmodel.fitting.family_fits import FamilyFits
from perfmodel.fitting.weights_file import FitOptions
from perfmodel.models import families, find_family
from scripts.lab.scoreboard.black_box import choose_black_box

if TYPE_CHECKING:
    from perfmodel.models import Family
    from perfmodel.store import Measurements

BLACK_BOX = "black box"
"""Start of the names of black boxes."""
MEASURED_FACTS = " (measured)"
"""End of the names of models with facts that are fixed by measurements."""


@dataclass(frozen=True)
class Idea:
    """A model to be scored."""

    name: str  # what tables call it
    family: Family  # its family, or the one whose features a black box sees
    options: FitOptions = field(default_factory=FitOptions)  # how it is fitted
    measured_facts: bool = False  # whether facts that can be read off the measurements are fixed instead of fitted
    black_box: bool = False  # whether trees predict, in place of the family

    def fits(self, measured: Measurements) -> FamilyFits:
        """Return its fits to measured rows of a device."""
        readable = FamilyFits(measured, self.family, self.options)
        return choose_black_box(readable) if self.black_box else readable


class WrittenIdea(BaseModel):
    """An idea in a file of data: a family by its name or as ``expr:...``, never a Python file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    family: str
    options: FitOptions = FitOptions()
    measured_facts: bool = False


class WrittenIdeas(BaseModel):
    """The file of ideas by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    ideas: Mapping[str, WrittenIdea]


def read_ideas(path: Path) -> tuple[Idea, ...]:
    """Return the ideas of a JSON file, in its order.

    It is like ``{"ideas": {"signed": {"family": "gpuperf", "options": {"nonnegative": false}}}}``; options are the
    fields of :class:`~perfmodel.fitting.FitOptions`.

    Raises
    ------
    OptionError
        If the file cannot be read or is not what it should be, or names a Python file.
    UnknownNameError, FamilyError
        If a family cannot be used.
    """
    try:
        found = value_of(WrittenIdeas, read_file(path)).ideas
    except DocumentError as error:
        advice = 'write it as {"ideas": {"NAME": {"family": "gpuperf", "options": {"nonnegative": false}}}}'
        raise OptionError(f"the file of ideas '{path}' {error.problem}", advice) from error
    for name, one in found.items():
        if one.family.endswith(".py"):
            advice = "files of data run nothing: give the Python file on the command line, with --idea"
            raise OptionError(f"the idea '{name}' in '{path}' names the Python file '{one.family}'", advice)
    return tuple(
        Idea(name, replace(find_family(one.family), name=name), one.options, one.measured_facts)
        for name, one in found.items()
    )


def every_idea(
    written: Iterable[Idea] = (), files: Iterable[str] = (), seen_by_trees: Iterable[str] = ()
) -> tuple[Idea, ...]:
    """Return every family, written ideas, the families of Python files, and black boxes on the features of families.

    Python files are run.
    """
    named = (*families().values(), *map(find_family, files))
    boxes = map(find_family, seen_by_trees)
    return (
        *(Idea(family.name, family) for family in named),
        *written,
        *(Idea(f"{BLACK_BOX} ({family.name})", family, black_box=True) for family in boxes),
    )


def with_measured_twins(ideas: Iterable[Idea], plain: Measurements, known: Measurements) -> tuple[Idea, ...]:
    """Return ideas, each followed by its twin with measured facts, where the measurements give one of its weights."""
    found = []
    for idea in ideas:
        found.append(idea)
        if not idea.measured_facts and not idea.black_box and has_measured_weight(idea.family, plain, known):
            found.append(replace(idea, name=idea.name + MEASURED_FACTS, measured_facts=True))
    return tuple(found)
