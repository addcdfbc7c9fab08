"""``count_all``: the counts of many variants, made by several processes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.unused import statistics_of_variants
from perfmodel.documents import require
from perfmodel.errors import PerfModelError
from perfmodel.kernels.space import Space
from perfmodel.processes.pool import Pool
from perfmodel.processes.variants import CountedVariants, Variant, counts_as_json
from perfmodel.progress import Progress

if TYPE_CHECKING:
    from loopy import TranslationUnit


@statistics_of_variants()
def count_all(
    variants: Mapping[str, Variant] | Space, jobs: int = -1, *, progress: Progress | bool | None = None, **options: Any
) -> CountedVariants:
    """Count many variants of a kernel, in several processes.

    The processes share the cache of counts on disk. A variant that was counted before, by any of them, is read from
    there. They end with the call.

    Parameters
    ----------
    variants
        By name translation units, or functions without arguments that make them; or a :class:`perfmodel.Space`.
        Functions are called in the processes, so that Loopy's transformations run side by side too. Functions of a
        notebook, a kernel file, and lambdas may be given. Counts are returned as they are.
    jobs
        Number of processes; -1 is one for each core, -2 all cores but one. With 1 all is done in this process. In a
        block of ``joblib.parallel_config(backend="dask")`` the processes are those of the cluster.
    progress
        True shows a bar on standard error; or what is told of each variant that is done.
    **options
        As of :func:`perfmodel.count`.

    Returns
    -------
    CountedVariants
        A mapping of name to counts, in the order of the variants; its ``errors`` say by name why a variant has none.

    Raises
    ------
    PerfModelError
        The first error, if no variant can be counted.
    JobsError
        If `jobs` is 0 or no integer.
    TypeError
        If :func:`perfmodel.count` has no such option.
    WorkerVersionError, SchedulerError
        On a cluster: a worker has other versions than this process, or the scheduler does not answer any more.

    Warns
    -----
    WorkerDiedWarning
        If a process was killed or crashed; its variants are counted again. One that ends a process twice has an
        error instead of counts.

    Examples
    --------
    >>> import loopy as lp, numpy as np
    >>> def scale(width):
    ...     double = lp.make_kernel("{ [i]: 0 <= i < n }", "out[i] = 2*a[i]", [lp.GlobalArg("a, out", np.float32), ...],
    ...                             lang_version=(2018, 2), assumptions="n >= 1")
    ...     return lp.split_iname(double, "i", width, outer_tag="g.0", inner_tag="l.0")
    >>> counted = count_all({"8": lambda: scale(8), "16": lambda: scale(16), "none": lambda: scale(0)}, jobs=1)
    >>> {name: counts.work_groups()(n=64) for name, counts in counted.items()}, list(counted.errors)
    ({'8': 8, '16': 4}, ['none'])
    """
    inspect.signature(count).bind(None, **options)
    named = variants.variants if isinstance(variants, Space) else variants
    require(isinstance(named, Mapping), "count_all: variants", named, "a Space, or a mapping of names to kernels")
    pool = Pool(jobs, progress)
    outcomes = pool.each(Counting(options, pool.alone), named, "counting")
    errors = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, PerfModelError)}
    if errors and len(errors) == len(outcomes):
        raise next(iter(errors.values()))
    return CountedVariants({name: counts for name, counts in outcomes.items() if name not in errors}, errors)


@dataclass(frozen=True)
class Counting:
    """Counts a variant, with options of :func:`perfmodel.count`; the counts stay `here`, or travel as JSON."""

    options: Mapping[str, Any]
    here: bool

    def __call__(self, kernel: TranslationUnit | KernelCounts) -> KernelCounts | bytes:
        """Return the counts, as a value or as JSON."""
        counts = kernel if isinstance(kernel, KernelCounts) else count(kernel, **self.options)
        return counts if self.here else counts_as_json(counts)
