"""Reductions with few results in two stages: many work-items reduce parts, and a second kernel combines them."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from loopy import TranslationUnit

from perfmodel.recipes.loops import PARALLEL, REDUCTION, Nest, Statement, nest_of
from perfmodel.recipes.recipe import Step

LEAST_TERMS = 4096  # of a reduction that is worth a second kernel
MORE_TERMS = 256  # times as many terms as results
PARTS = 256  # of all results; a GPU has four times as many
LANES = 16  # sums that a work-item on a processor keeps in vectors


def in_stages(t_unit: TranslationUnit, nest: Nest, sizes: Mapping[str, int], *, cpu: bool) -> Iterator[Nest]:
    """Yield the loops of a kernel after steps that split its long reductions with few results in two stages.

    Of a sum over ``i``, each iteration of a new loop sums a part, on a processor also in several lanes.
    """
    if nest.step or nest.tagged or not any(_is_long(nest, one) for one in nest.statements):
        return
    begin = _Steps(t_unit)
    begin.add("make_reduction_inames_unique")
    if begin.t_unit.default_entrypoint.all_inames() == t_unit.default_entrypoint.all_inames():
        begin = _Steps(t_unit)
    nest = nest_of(begin.t_unit, sizes)
    chosen = [one for one in nest.statements if _is_long(nest, one)]
    for tag in ("ilp", "l.0") if cpu else ("",):
        with suppress(Exception):  # Loopy refuses a step, or the kernel after it, with errors of many kinds
            steps = replace(begin)
            outer, lanes = steps.split(nest, chosen, LANES if cpu else 1, PARTS if cpu else 4 * PARTS)
            steps.store(nest, chosen, lanes, tag)
            found = nest_of(steps.t_unit, sizes)
            # the second stage is short, and only a GPU needs work-items for it
            loops = tuple(loop for loop in found.loops if not cpu or loop.name not in {*outer, *lanes})
            yield replace(found, loops=loops, first=steps.steps)


def _is_long(nest: Nest, statement: Statement) -> bool:
    """Whether a statement has a long reduction and few results, which no loop around it reads."""
    loops = [nest.by_name[name] for name in statement.all if name in nest.by_name]
    kinds = {loop.name: loop.kind for loop in loops if not loop.by_data}
    known = kinds == {**dict.fromkeys(statement.loops, PARALLEL), **dict.fromkeys(statement.reductions, REDUCTION)}
    terms = math.prod(loop.trips for loop in loops if loop.kind == REDUCTION)
    results = math.prod(loop.trips for loop in loops if loop.kind == PARALLEL)
    return known and terms >= max(LEAST_TERMS, MORE_TERMS * results) and not (statement.loops and statement.scalar)


@dataclass
class _Steps:
    """Applies steps one by one, because the names in later ones depend on the kernel after earlier ones."""

    t_unit: TranslationUnit
    steps: tuple[Step, ...] = ()

    def add(self, name: str, *arguments: Any, **options: Any) -> None:
        step = Step.of(name, *arguments, **options)
        self.t_unit = step.apply(self.t_unit)
        self.steps = (*self.steps, step)

    def split(self, nest: Nest, chosen: Sequence[Statement], width: int, parts: int) -> tuple[list[str], list[str]]:
        """Make rules of the parts of reductions. Return the loops over parts, and those over lanes."""
        outer, lanes = list[str](), list[str]()
        for statement in chosen:
            first, *others = (loop for loop in nest.loops if loop.name in statement.all)
            longest = max([*reversed(others), first], key=lambda loop: (loop.kind == REDUCTION, loop.trips))
            results = math.prod(nest.by_name[loop].trips for loop in statement.loops)
            size = 1 << max(round(math.log2(longest.trips * results / parts)), 1)
            self.add("split_iname", longest.name, max(size, 2 * width) if first == longest else size)
            outer.append(f"{longest.name}_outer")
            if width > 1 and first.kind == REDUCTION:  # otherwise results of neighbouring work-items are contiguous
                whole = f"{first.name}_inner" if first == longest else first.name
                self.add("split_iname", whole, width)
                lanes.append(f"{whole}_inner")
        self.add("extract_parts", [*outer, *lanes])
        return outer, lanes

    def store(self, nest: Nest, chosen: Sequence[Statement], lanes: Sequence[str], tag: str) -> None:
        """Store the results of parts, and the scalars that other statements read, in global memory before a barrier."""
        after: dict[str, int] = {}
        for one in sorted(chosen, key=lambda one: len(one.depends_on)):
            after[one.name] = max((after[name] + 1 for name in one.depends_on if name in after), default=0)
        tagged: list[str] = []
        for stage in sorted(set(after.values())):
            some = [one for one in chosen if after[one.name] == stage]
            kernel = self.t_unit.default_entrypoint
            text, names = str([kernel.id_to_insn[one.name] for one in some]), kernel.get_var_name_generator()
            rules = {name: rule for name, rule in kernel.substitutions.items() if re.search(rf"\b{name}\b", text)}
            for name, rule in rules.items():
                inames, array = tuple(map(names, rule.arguments)), names(f"{name}s")
                self.add("precompute", name, rule.arguments, precompute_inames=inames, precompute_outer_inames=(),
                         temporary_name=array, compute_insn_id=name)  # fmt: skip
                self.add("set_temporary_address_space", array, "global")
                tagged += [iname for iname, plain in zip(inames, rule.arguments, strict=True) if plain in lanes]
            self._wait(rules, [one.name for one in some])
            readers = {one.name: [other.name for other in nest.statements if one.scalar in other.reads] for one in some}
            if read := [one for one in some if readers[one.name]]:
                self.add("set_temporary_address_space", [one.scalar for one in read], "global")
                self._wait([one.name for one in read], dict.fromkeys(chain(*readers.values())))
        if tagged:
            self.add("tag_inames", ", ".join(f"{name}:{tag}" for name in tagged))

    def _wait(self, before: Iterable[str], after: Iterable[str]) -> None:
        self.add("add_barrier", *(" or ".join(f"id:{name}" for name in names) for names in (before, after)))
