"""Memory traces: the requests to global memory of some work-groups, in the order of the program.

What a work-item accesses, and when, follows from the polyhedral domains and the schedule; nothing is
executed. A sub-group runs in step: one access by its active lanes makes a request for each line that
they touch. Kim et al. 2012, section 4.2.3, collect such traces with probes in the kernel's source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl
import numpy as np

from perfmodel.counts.kernel import KernelCounts
from perfmodel.counts.quasipoly.arguments import whole
from perfmodel.counts.trace.fixed_sizes import Ints
from perfmodel.counts.trace.memory import first_lines, value_of
from perfmodel.counts.trace.requests import LaunchRequests
from perfmodel.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Trace:
    """The requests of the sampled work-groups of one launch.

    Attributes
    ----------
    launch : str
        Name of the device kernel.
    groups : tuple of int
        Linear numbers of the work-groups, axis 0 fastest.
    line_bytes : int
        Size of a line.
    arrays, first : tuple of str, tuple of int
        The arrays in global memory, and the number of each one's first line.
    group, subgroup, phase : int64 arrays of shape (requests,)
        Position of the work-group in ``groups``, number of the sub-group in it, and how many
        barriers it has met. Requests are sorted by group, then sub-group, then in program order.
    line, array, store : int64 arrays of shape (requests,)
        The line's number in memory, the array's position in ``arrays``, and 1 for a store.
    drawn : tuple of str
        Arrays with an index that data give: its cells are drawn evenly from the whole array.
    exact : bool
        False where something was drawn, or a test on data was taken to let everything through.
    """

    launch: str
    groups: tuple[int, ...]
    line_bytes: int
    arrays: tuple[str, ...]
    first: tuple[int, ...]
    group: Ints
    subgroup: Ints
    phase: Ints
    line: Ints
    array: Ints
    store: Ints
    drawn: tuple[str, ...] = ()
    exact: bool = True

    def __len__(self) -> int:
        return len(self.line)


def trace(
    counts: KernelCounts, sizes: Mapping[str, int], groups: int = 8, line_bytes: int = 64, seed: int = 0
) -> tuple[Trace, ...]:
    """Return the requests of a sample of each launch's work-groups.

    The groups follow one another in the middle of the launch; of launches that the host repeats, the
    first is traced. Arrays lie one after another, each on a page of its own.

    Parameters
    ----------
    counts
        The counted kernel; its sub-group size counts.
    sizes
        All size parameters.
    groups
        Work-groups of each launch, or all if there are less.
    line_bytes
        Size of a line [B].
    seed
        Of the generator that draws cells where data give the index.

    Raises
    ------
    ParameterError
        A size is missing or no natural number.
    UntraceableError
        Data decide how often a loop runs, or an indirect access is to an array of unknown shape.
    TraceTooLongError
        A work-group has too many accesses.

    Examples
    --------
    >>> import loopy as lp, numpy as np
    >>> from perfmodel.counts import count
    >>> copy = lp.make_kernel("{ [i]: 0 <= i < n }", "y[i] = x[i]", lang_version=(2018, 2))
    >>> copy = lp.split_iname(copy, "i", 64, outer_tag="g.0", inner_tag="l.0")
    >>> (one,) = trace(count(lp.add_dtypes(copy, {"x": np.float32})), {"n": 1024}, groups=1)
    >>> one.groups, one.line.tolist(), one.store.tolist()  # two sub-groups of 32, 16 floats to a line
    ((7,), [28, 29, 92, 93, 30, 31, 94, 95], [0, 0, 1, 1, 0, 0, 1, 1])
    """
    values = {name: whole(name, value, counts.parameters) for name, value in sizes.items()}
    for name in counts.parameters:
        if name not in values:
            raise ParameterError(name, "was left out", counts.parameters)
    lines = first_lines(counts.program, values, line_bytes)
    found = []
    for number in range(len(counts.program.launches)):
        generator = np.random.default_rng(seed)
        requests = LaunchRequests(
            counts.program, number, counts.subgroup_size, values, line_bytes, lines, generator
        )
        found.append(_trace_of_launch(requests, groups))
    return tuple(found)


def _trace_of_launch(requests: LaunchRequests, number: int) -> Trace:
    """Return the trace of ``number`` work-groups in the middle of a launch."""
    launch, accesses = requests.launch, requests.accesses
    extents = [value_of(isl.PwQPolynomial.from_pw_aff(extent), requests.sizes) for extent in launch.grid]
    total = prod(extents)
    number = min(number, total)
    groups = tuple(range((total - number) // 2, (total - number) // 2 + number))
    parts = [requests.of_group(k, _unravel(group, extents)) for k, group in enumerate(groups)]
    rows = np.concatenate(parts) if parts else np.zeros((0, 6), np.int64)
    drawn = tuple(sorted({one.access.array for one in accesses if one.access.cells is None}))
    exact = not drawn and all(one.domain.exact and one.domain.chance == 1 for one in accesses)
    group, subgroup, phase, line, array, store = rows.T
    return Trace(
        launch.name, groups, requests.line_bytes, tuple(requests.first_lines), tuple(requests.first_lines.values()),
        group, subgroup, phase, line, array, store, drawn, exact,
    )


def _unravel(group: int, extents: Sequence[int]) -> tuple[int, ...]:
    position = []
    for extent in extents:
        position.append(group % extent)
        group //= extent
    return tuple(position)
