"""``count``: from a Loopy translation unit to its :class:`KernelCounts`."""

import warnings
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache as once, partial
from typing import Any

import islpy as isl
import loopy as lp
import numpy as np

from perfmodel.counts.cache import key_of, remembered
from perfmodel.counts.kernel import KernelCounts
from perfmodel.counts.points.cardinality import Number
from perfmodel.counts.program.program import SPAN, Program
from perfmodel.counts.program.serialisation import read_program, write_program
from perfmodel.counts.quasipoly.arguments import INTEGERS
from perfmodel.counts.quasipoly.count import given
from perfmodel.counts.reading import schedule
from perfmodel.counts.reading.domains import Statistics
from perfmodel.counts.reading.instructions import Declared
from perfmodel.counts.reading.observed import CallData, call_data, data_needed
from perfmodel.counts.reading.statements import extract
from perfmodel.counts.reading.values import Options, array_bytes, untouched_arrays
from perfmodel.counts.rows import LaunchShape, read_row, reading_counts, size_types, write_row
from perfmodel.counts.tables import tabulate
from perfmodel.counts.unused import Report, report, unused
from perfmodel.documents import MOST_LANES, Schema, is_number, require
from perfmodel.errors import ArgumentError, OptionError, PerfModelError, PerfModelWarning
from perfmodel.libraries import failure_in_library

PARAM = isl.dim_type.param
PREPARED = Schema("perfmodel.prepared/1", "record the program again")


def count(
    t_unit: lp.TranslationUnit, subgroup_size: int = 32, statistics: Mapping[str, Number | float] | None = None,
    include_index_arithmetic: bool = False, group_multiply_add: bool = False, declared: Declared | None = None,
    cache: bool = True, *, dtypes: Mapping[str, Any] | None = None, within: str = "", access_tags: Collection[str] = (),
    budget: float = 1.0, check: bool = False, arrays: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
    sizes: Mapping[str, Any] | None = None,
) -> KernelCounts:  # fmt: skip
    """Count symbolically what a kernel executes (sections 2 and 3 of the 2016 paper).

    Parameters
    ----------
    t_unit : loopy.TranslationUnit
        A translation unit with one entry point. ``count`` preprocesses and schedules the unit if necessary.
    subgroup_size : int
        The number of work-items in a sub-group of the device.
    statistics : mapping of str to float, optional
        Numbers that depend on data, of three kinds:

        - the mean trip count of each data-dependent loop, by its iname
        - the probability of each data-dependent test, by its text
        - the *span* of each array with data-dependent indices: with ``{"x:span": 1000}`` the indices of one work-item
          (in a kernel without work-items: of one iteration of the outermost loop) lie in a window of 1000 indices,
          which moves evenly over the array (as a matrix's bandwidth)
    include_index_arithmetic : bool
        Whether to count also the integer arithmetic of addresses, and of tests of inames and size parameters.
    group_multiply_add : bool
        Whether a product and the addition that uses it count as one ``madd`` instead of a ``mul`` and an ``add``.
    declared : mapping of str to mapping, optional
        What one execution of each C instruction does, by the instruction's identifier, as in
        ``{"operations": {("float32", "mul"): 1}, "loads": {"a[i]": 1}, "stores": {"out": 1}}``. An access without an
        index is indirect.
    cache : bool
        Whether to use the caches in memory and on disk.
    dtypes : mapping of str to type, optional
        NumPy types for arguments that have no type, by name.
    within : str
        A match expression of Loopy, such as ``"id:update*"``. The expression selects the instructions of the
        preprocessed kernel to count. Launches, work-groups, work-items and barriers are always counted for the whole
        kernel.
    access_tags : collection of str
        Tags of the accesses to count, such as ``left`` in ``a$left[i]``. By default all accesses are counted.
    budget : float
        The limit of the work for a formula. 1 is half a million operations of isl for each set, about a second. A count
        that needs more work has no formula. Such a count is evaluated at given sizes only, and is just as exact.
    check : bool
        Whether to let Loopy check the kernel and write its code first, as the command line does. Each access is then
        compared with the memory that the code declares. This takes about as long as scheduling. The result is cached.
    arrays : mapping of str to numpy.ndarray or float, optional
        Arguments of one call, by name, or a function that returns the arguments. The function is called only if counts
        depend on data. Statistics that are not given are taken from the arguments: trip counts, probabilities and
        spans. If several loops of a nest depend on data, the mean of the product of their trips is taken. Sizes that
        are not in the mapping follow from the shapes of arrays. A warning names each statistic that cannot be found.
    sizes : mapping of str to int or array, optional
        Sizes at which the counts are needed. If the shape of the work-group depends on some of them, each of these
        must have one value. The counts hold for this value only, and a warning names it.

    Raises
    ------
    KernelError
        Arguments have no type, ``dtypes`` does not fit the kernel, or Loopy cannot schedule the kernel. If ``check``,
        also: Loopy cannot write its code, or an access lies outside of the memory that the code declares.
    CountError
        A loop has no bound, the kernel has undeclared C instructions, or the shape of its work-group depends on a size
        that does not have one value in ``sizes``. If the number of executions depends on data and has no bound, the
        error is a StatisticsNeededError. This error lists all such loops.
    ArgumentError, OptionError
        A statistic or another argument is out of range, or ``within`` or ``access_tags`` selects nothing.

    Examples
    --------
    >>> import loopy as lp, numpy as np
    >>> double = lp.make_kernel("{ [i]: 0 <= i < n }", "out[i] = 2*a[i]",
    ...                         lang_version=(2018, 2), assumptions="n >= 1")
    >>> counts = count(lp.add_dtypes(double, {"a": np.float32}))
    >>> str(counts.operations(kind="mul")), counts.accesses(array="a")(n=1000)
    ('n', 1000)
    """
    require(hasattr(t_unit, "callables_table"), "count: t_unit", t_unit, "a translation unit of Loopy")
    mappings = {"statistics": statistics, "declared": declared, "dtypes": dtypes, "sizes": sizes}
    mappings |= {} if callable(arrays) else {"arrays": arrays}
    for name, named in mappings.items():
        require(named is None or (isinstance(named, Mapping) and all(isinstance(key, str) for key in named)),
                f"count: {name}", named, "a mapping by names as text")  # fmt: skip
    require(is_number(budget), "count: budget", budget, "a number above 0")
    tags = (access_tags,) if isinstance(access_tags, str) else tuple(sorted(access_tags))
    options = Options(include_index_arithmetic, group_multiply_add, within or "", tags)
    t_unit = schedule.with_types(t_unit, dtypes or {})
    if not 0 < budget < float("inf"):
        advice = "give a positive number: 1 is the default, 10 allows ten times the work"
        raise OptionError(f"budget={budget!r}", advice)
    if not (isinstance(subgroup_size, int | np.integer) and 1 <= subgroup_size <= MOST_LANES):
        raise OptionError(f"subgroup_size={subgroup_size!r}", f"give an integer from 1 to {MOST_LANES}, such as 32")
    arguments = (subgroup_size, dict(statistics or {}), dict(declared or {}), options)
    scheduled = once(lambda: schedule.schedule(t_unit))
    try:
        _warn_of_atomics(t_unit)
        if check:
            key = key_of(t_unit, schedule.BuildCheck.__name__) if cache else None
            remembered(key, lambda: schedule.check(scheduled), schedule.BuildCheck).refuse()
        data = None if arrays is None else _data(t_unit, scheduled, arrays, cache)

        def counted(unit: lp.TranslationUnit) -> KernelCounts:
            key = key_of(unit, *arguments, float(budget)) if cache and data is None else None
            read = scheduled if unit is t_unit else partial(schedule.schedule, unit)
            prepared = partial(_prepared, read, *arguments[1:], data)
            return remembered(key, lambda: prepared().counted(subgroup_size, float(budget)), KernelCounts)

        note = partial(warnings.warn, category=PerfModelWarning, stacklevel=4)
        counts = schedule.read_at_sizes(counted, t_unit, sizes or {}, note)
        if statistics:
            keys = counts.statistic_keys
            if (within or tags) and unused(statistics, keys):
                with suppress(PerfModelError):  # code that is not selected may use them
                    keys += extract(scheduled(), _fractions(statistics), declared or {}, Options())[1]
            report(Report(unused(statistics, keys), keys))
        return counts
    except Exception as error:
        if failure := failure_in_library(error):
            raise failure from error
        raise


def statistics_of(t_unit: lp.TranslationUnit, arrays: Callable[[], Mapping[str, Any]]) -> dict[str, float]:
    """Return the statistics of a kernel's data, by their keys in ``statistics``; parameters are as in :func:`count`.

    A loop in several nests has one mean here, so :func:`count` is more exact with ``arrays``.
    """
    scheduled = once(lambda: schedule.schedule(t_unit))
    data = _data(t_unit, scheduled, arrays)
    return {} if data is None else dict(Prepared.of(scheduled, {}, {}, Options(), data).found)


def _data(
    t_unit: lp.TranslationUnit, scheduled: Callable[[], lp.TranslationUnit],
    arrays: Mapping[str, Any] | Callable[[], Mapping[str, Any]], cache: bool = True,
) -> CallData | None:  # fmt: skip
    if not callable(arrays):
        return call_data(scheduled().default_entrypoint, arrays)
    key = key_of(t_unit, data_needed.__name__) if cache else None  # most kernels need none, and are not scheduled again
    if not remembered(key, lambda: sorted(data_needed(scheduled().default_entrypoint))):
        return None
    kernel = scheduled().default_entrypoint
    return call_data(kernel, {name: value for name, value in arrays().items() if name in kernel.arg_dict})


def _prepared(*arguments: Any) -> "Prepared":
    prepared = Prepared.of(*arguments)
    for note in prepared.notes:
        warnings.warn(note, PerfModelWarning, stacklevel=5)
    return prepared


def _warn_of_atomics(t_unit: lp.TranslationUnit) -> None:
    if atomics := schedule.updated_atomically(t_unit):
        warnings.warn(
            f"{', '.join(atomics)}: atomic updates are counted as loads and stores; they can take many times as long "
            "as predicted, above all if several work-items update one cell, so time this kernel", PerfModelWarning,
            stacklevel=3,
        )


@dataclass(frozen=True)
class Prepared:
    """What :func:`count` reads of a scheduled kernel. The counts follow from it without Loopy."""

    program: Program | Mapping[str, Any]  #: The program, as a value or as JSON.
    shape: LaunchShape  #: The largest launch.
    untouched: tuple[str, ...] = ()  #: This and the next two are as in :class:`KernelCounts`.
    types: Mapping[str, str] = field(default_factory=dict)
    statistic_keys: tuple[str, ...] = ()
    found: Mapping[str, float] = field(default_factory=dict)  #: Statistics that follow from the data of a call, by key.
    notes: tuple[str, ...] = ()  #: The reasons why others do not follow.

    @classmethod
    def of(
        cls, scheduled: Callable[[], lp.TranslationUnit], statistics: Mapping[str, Number | float], declared: Declared,
        options: Options, data: CallData | None = None,
    ) -> "Prepared":
        """Read a kernel that a function schedules; the parameters are those of :func:`count`."""
        unit = scheduled()
        program, keys, observed = extract(unit, _fractions(statistics), declared, options, data)
        largest = max(program.launches, key=lambda launch: launch.group_size)
        accessed = {access.array for statement in program.statements for access in statement.accesses}
        return cls(
            program, LaunchShape(largest.group_shape, *array_bytes(unit)), untouched_arrays(unit, accessed),
            _size_types(unit, program.parameters), keys,
            observed.found if observed else {}, tuple(observed.notes) if observed else (),
        )

    def counted(self, subgroup_size: int, budget: float = 1.0) -> KernelCounts:
        """Return the counts; the parameters are those of :func:`count`."""
        program = self.program if isinstance(self.program, Program) else read_program(self.program)
        counts = tabulate(program, subgroup_size, self.shape, budget)
        return replace(counts, untouched=self.untouched, types=self.types, statistic_keys=self.statistic_keys)

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        program = write_program(self.program) if isinstance(self.program, Program) else dict(self.program)
        return {
            "schema": PREPARED.text, "program": program, "shape": write_row(self.shape),
            "untouched": list(self.untouched), "types": dict(self.types), "statistic_keys": list(self.statistic_keys),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Prepared":
        """Read what :meth:`to_json` wrote; another schema, or a missing or mistyped part, raises a DocumentError."""
        PREPARED.check(document)
        with reading_counts():
            return cls(
                given(document, "program", dict), read_row(LaunchShape, document["shape"]),
                tuple(given(document, "untouched", list, str)), size_types(document["types"]),
                tuple(given(document, "statistic_keys", list, str)),
            )


def _size_types(scheduled: lp.TranslationUnit, parameters: tuple[str, ...]) -> dict[str, str]:
    (entry,) = scheduled.entrypoints
    arguments = scheduled[entry].arg_dict
    types = {name: arguments[name].dtype.numpy_dtype.name if name in arguments else "" for name in parameters}
    return {name: kind if kind in INTEGERS else "int64" for name, kind in types.items() if kind != "int32"}


def _fractions(statistics: Mapping[str, Number | float]) -> Statistics:
    fractions = {}
    for key, value in statistics.items():
        fractions[key] = Fraction(-1)
        with suppress(ValueError):
            fractions[key] = Fraction(str(value))
        problem = f"statistics[{key!r}] is {value!r}"
        if fractions[key] < 0:
            advice = "give a non-negative number: the mean trip count of a loop, or the probability of a test"
            raise ArgumentError(problem, advice, key=key)
        if key.endswith(SPAN) and fractions[key] < 1:
            advice = "give the width of the window of indices that one work-item uses, at least 1"
            raise ArgumentError(problem, advice, key=key)
    return fractions
