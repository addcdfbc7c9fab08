"""Scalars that are the same for all work-items of a group, although data give them.

``box = list[g, k]`` is one of them: its index is made of group indices and sequential loops. Where such a scalar
stands in another index, the distance between neighbouring lanes is known, and only the place depends on data.
"""

from __future__ import annotations

from collections.abc import Mapping

import loopy as lp
from loopy.symbolic import get_dependencies

from perfmodel.counts.reading.domains import Domains


def uniform_scalars(kernel: lp.LoopKernel, domains: Domains) -> Mapping[str, frozenset[str]]:
    """Return the private scalars that no work-item of a group has to itself, each with the loops around its writes.

    A scalar is uniform inside of these loops: outside of them, lanes may have left a loop at different turns. All that
    is written to it is made of loops that are not on a local axis, of arguments that the kernel does not write, and of
    other such scalars. A write that has a condition makes it none of these.
    """
    written = {name for instruction in kernel.instructions for name in instruction.assignee_var_names()}
    shared = frozenset(kernel.arg_dict.keys() - written)
    loops: dict[str, frozenset[str]] = {}
    needs: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {}  # of each write what it reads, and from where
    for instruction in kernel.instructions:
        around = frozenset(name for name in instruction.within_inames if not domains.axes[name].startswith("l"))
        plain = isinstance(instruction, lp.Assignment) and not instruction.predicates
        for name in instruction.assignee_var_names():
            variable = kernel.temporary_variables.get(name)
            if variable is not None and variable.shape == () and variable.address_space == lp.AddressSpace.PRIVATE:
                reads = get_dependencies(instruction.expression) if plain else frozenset({""})
                tied = domains.domain(0, instruction.within_inames).tied if plain else frozenset()
                needs.setdefault(name, []).append((reads - shared - (around - tied), around))
                loops[name] = loops.get(name, frozenset()) | around
    found: dict[str, frozenset[str]] = {}
    while more := [
        name for name in needs.keys() - found
        if all(one in found and found[one] <= around for reads, around in needs[name] for one in reads)
    ]:
        found.update((name, loops[name]) for name in more)
    return found
