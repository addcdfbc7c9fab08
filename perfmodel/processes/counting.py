"""Counts of many variants, made by several processes."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loopy import TranslationUnit

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.unused import statistics_of_variants
from perfmodel.documents import require
from perfmodel.errors import PerfModelError
from perfmodel.kernels.space import Space
from perfmodel.processes.pool import Pool
from perfmodel.processes.variants import CountedVariants, Variant, counts_as_json
from perfmodel.progress import Progress


@statistics_of_variants()
def count_all(
    variants: Mapping[str, Variant] | Space, jobs: int = -1, *, progress: Progress | bool | None = None, **options: Any
) -> CountedVariants:
    """Count many variants of a kernel in several processes, which share the cache of counts on disk.

    Parameters
    ----------
    variants
        A :class:`perfmodel.Space`, or by name translation units, their counts, or functions without arguments that make
        translation units. Functions are called in the processes, and may come from a notebook or a kernel file.
    jobs
        Number of processes: -1 is one for each core, -2 is one for all cores but one, 1 is this process. In a block of
        ``joblib.parallel_config(backend="dask")`` the cluster's workers are used.
    progress
        Receives a report for each variant. True shows a bar on standard error.
    **options
        As of :func:`perfmodel.count`.

    Returns
    -------
    CountedVariants
        A mapping of name to counts, in the order of the variants. ``errors`` has by name the errors of the others. A
        variant that ends its process twice has an error. A WorkerDiedWarning reports each end.

    Raises
    ------
    PerfModelError, OptionError, TypeError
        If no variant can be counted (the first error), or if `jobs` or an option of :func:`perfmodel.count` is invalid.
    VersionError, SchedulerError
        If a worker of a cluster has other versions, or if the scheduler does not answer.

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
    outcomes = dict(pool.stream(Counting(options, pool.alone), named, "counting"))
    errors = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, PerfModelError)}
    if errors and len(errors) == len(outcomes):
        raise next(iter(errors.values()))
    return CountedVariants({name: counts for name, counts in outcomes.items() if name not in errors}, errors)


@dataclass(frozen=True)
class Counting:
    """Counts a variant, with options of :func:`perfmodel.count`. Returns JSON, or counts if they stay `here`."""

    options: Mapping[str, Any]
    here: bool

    def __call__(self, kernel: TranslationUnit | KernelCounts) -> KernelCounts | bytes:
        """Count a kernel, unless it is counted already."""
        counts = kernel if isinstance(kernel, KernelCounts) else count(kernel, **self.options)
        return counts if self.here else counts_as_json(counts)
