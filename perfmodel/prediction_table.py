"""Predictions of many variants at many sizes as one table."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.counts import KernelCounts
from perfmodel.counts.quasipoly.arguments import check_exact
from perfmodel.errors import AssumptionError, OptionError, ParameterError, PerfModelError
from perfmodel.kernels.space import Space
from perfmodel.predictions import is_in_a_file, predict_allowed
from perfmodel.processes.batches import attempt
from perfmodel.processes.counting import Counting, counts_of
from perfmodel.processes.pool import Pool
from perfmodel.processes.variants import Variant
from perfmodel.progress import Progress
from perfmodel.table_files import Predicted, frame, length_of, parquet_file

if TYPE_CHECKING:
    from loopy import TranslationUnit
    from numpy.typing import NDArray

    from perfmodel.predict import FittedModel

ROWS = 50_000
"""Rows that are predicted, and written, at once."""
LIBRARIES = ("pandas", "polars")


def table(
    variants: Mapping[str, Variant] | Space,
    model: FittedModel,
    sizes: Mapping[str, Any],
    *,
    level: float = 0.9,
    allow_unmeasured: bool = False,
    path: str | Path | None = None,
    library: str = "pandas",
    jobs: int = 1,
    rows: int = ROWS,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Any:
    """Predict each variant at each size, as one table.

    A row for each variant and size, variant by variant: ``variant``, the sizes, ``seconds``, ``low_s``, ``high_s`` [s]
    and ``problem``, a text where there is no prediction (all three are NaN then) and empty else. Bounds are NaN, too,
    where the model has no intervals.

    Parameters
    ----------
    variants
        Name to counts, a translation unit, or a function without arguments that makes one; or a
        :class:`perfmodel.Space`.
    model, level, allow_unmeasured
        As of :meth:`perfmodel.predict.FittedModel.predict`.
    sizes
        Every size parameter with an integer or an array of integers, which are broadcast: shape (n_sizes,).
        Without any size the table has no rows.
    path
        Write a Parquet file there, and return its path. Needs pyarrow.
    library
        "pandas" or "polars": whose data frame is returned without `path`.
    jobs, progress
        As of :func:`perfmodel.count_all`.
    rows
        Rows at once. Beside the table, the caller's process needs about 1 kB for each of these and 100 B for each size,
        however many variants there are. With ``jobs=1``, isl adds up to half a megabyte for each kernel.
    **options
        As of :func:`perfmodel.count`.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame, or pathlib.Path

    Raises
    ------
    PerfModelError
        The first error, if nothing can be predicted. Nothing is written then.
    ParameterError
        If a size is left out, unknown, negative or no integer, or arrays do not fit together.
    OptionError
        If there is no such library, or `rows` is not positive.
    MissingExtraError
        If pandas, polars or pyarrow is needed and not installed.
    OutputError
        If the file cannot be written.
    """
    if library not in LIBRARIES:
        raise OptionError(f"library={library!r} makes no data frames here", f"choose one of: {', '.join(LIBRARIES)}")
    if rows < 1:
        raise OptionError(f"rows={rows!r} is no number of rows", "give a positive integer, such as 50000")
    named = variants.variants if isinstance(variants, Space) else variants
    at = _columns(sizes)
    finish = parquet_file(Path(path)) if path is not None else frame(library, len(named))
    asked = {"subgroup_size": model.fitted.subgroup_size, **options}
    task = Tabulating(replace(model), at, level, allow_unmeasured, asked, rows)
    with closing(_tabulated(task, named, Pool(jobs, progress))) as found:
        return finish(found, at, rows)


@dataclass(frozen=True)
class Tabulating:
    """Predicts one variant at all sizes, some at once; for the parameters see :func:`table`."""

    model: FittedModel
    at: Mapping[str, NDArray[np.int64]]
    level: float
    allow_unmeasured: bool
    options: Mapping[str, Any]
    rows: int

    @property
    def count(self) -> int:
        """Number of sizes."""
        return length_of(self.at)

    def __call__(self, kernel: TranslationUnit | KernelCounts) -> Predicted:
        """Return the predictions."""
        counts = replace(counts_of(kernel, self.options))  # what is computed of it goes with it
        seconds, low, high = np.full((3, self.count), np.nan)
        allowed = np.zeros(self.count, dtype=bool)
        for first in range(0, self.count, self.rows):
            part = {name: values[first : first + self.rows] for name, values in self.at.items()}
            with suppress(AssumptionError):
                kept, found = predict_allowed(self.model, counts, part, self.level, self.allow_unmeasured)
                places = kept + first
                seconds[places], allowed[places] = found.seconds, True
                if found.interval is not None:
                    low[places], high[places] = found.interval
        problem = "" if allowed.all() else f"breaks the kernel's assumptions {counts.assumptions}"
        return Predicted(seconds, low, high, allowed, problem)


def _tabulated(
    task: Tabulating, variants: Mapping[str, Variant], pool: Pool
) -> Generator[tuple[str, Predicted], None, None]:
    """Yield each variant with its predictions, or with why there are none."""
    if not task.count:
        return
    good, failed = False, None
    with closing(_each(task, variants, pool)) as found:
        for name, one in found:
            if isinstance(one, ParameterError):
                raise one
            if isinstance(one, PerfModelError):
                failed = failed or one
                nothing = np.full(task.count, np.nan)
                yield name, Predicted(nothing, nothing, nothing, np.zeros(task.count, dtype=bool), str(one))
            else:
                good = True
                yield name, one
    if failed and not good:
        raise failed


def _each(task: Tabulating, variants: Mapping[str, Variant], pool: Pool) -> Generator[tuple[str, Any], None, None]:
    """Yield each variant with its predictions, or the error; what travels at once has about the rows wanted."""
    if pool.alone or not is_in_a_file(task.model):
        yield from pool.stream(task, variants, "predicting", most=max(1, task.rows // task.count))
        return
    # no other process can import a family that is in a user's file: they count, and this one predicts
    for name, counts in pool.stream(Counting(task.options, here=False), variants, "counting and predicting"):
        failed = isinstance(counts, PerfModelError)
        yield name, counts if failed else attempt(task, name, KernelCounts.from_json(json.loads(counts)))


def _columns(sizes: Mapping[str, Any]) -> dict[str, NDArray[np.int64]]:
    """Return the sizes as arrays of one length."""
    for name, values in sizes.items():
        check_exact(name, values, tuple(sizes))
    arrays = {name: np.atleast_1d(np.asarray(values)) for name, values in sizes.items()}
    for name, values in arrays.items():
        if values.size and values.dtype.kind not in "iu":  # an empty list has no integers to be told by
            raise ParameterError(name, f"holds {values.dtype.name}, and no integers", tuple(sizes))
    try:
        shape = np.broadcast_shapes(*(one.shape for one in arrays.values()))
    except ValueError:
        several = ", ".join(f"{name} {one.shape}" for name, one in arrays.items())
        raise ParameterError(next(iter(arrays)), f"has a shape that does not fit the others ({several})",
                             tuple(arrays)) from None  # fmt: skip
    return {name: np.broadcast_to(one, shape).ravel().astype(np.int64) for name, one in arrays.items()}
