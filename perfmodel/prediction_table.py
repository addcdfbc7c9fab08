"""Predictions of many variants at many sizes as one table: a data frame, or a Parquet file written part by part."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.counts import KernelCounts
from perfmodel.counts.quasipoly.arguments import check_exact
from perfmodel.errors import (
    AssumptionError,
    MissingExtraError,
    OptionError,
    OutputError,
    ParameterError,
    PerfModelError,
)
from perfmodel.kernels.space import Space
from perfmodel.predictions import predict_allowed
from perfmodel.progress import Progress
from perfmodel.workers.counting import counts_of
from perfmodel.workers.parcels import Variant
from perfmodel.workers.pool import Pool

if TYPE_CHECKING:
    from loopy import TranslationUnit
    from numpy.typing import NDArray

    from perfmodel.predict import FittedModel

COLUMNS = ("seconds", "low_s", "high_s", "problem")
"""Columns of a table, after ``variant`` and the sizes."""
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
    progress: Progress | None = None,
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
    path
        Write a Parquet file there, and return its path. Needs pyarrow.
    library
        "pandas" or "polars": whose data frame is returned without `path`.
    jobs, progress
        As of :func:`perfmodel.count_all`.
    rows
        Rows at once. Beside the table, the caller's process needs about 1 kB for each of these and 100 B for each size,
        however many variants there are. What isl keeps of each kernel comes to that where `jobs` is 1: up to half a
        megabyte, and nothing of it stays with more processes.
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
    finish = _parquet(Path(path)) if path is not None else _frame(library, len(named))
    asked = {"subgroup_size": model.fitted.subgroup_size, **options}
    task = Tabulating(replace(model), at, level, allow_unmeasured, asked, rows)
    return finish(_tabulated(task, named, jobs, progress), at, rows)


# {{{ predicting

@dataclass(frozen=True)
class Predicted:
    """One variant at all sizes: times [s], shape (n_sizes,), NaN where ``allowed`` is false, and why it is there."""

    seconds: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    problem: str = ""


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
        return _length(self.at)

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
    task: Tabulating, variants: Mapping[str, Variant], jobs: int, progress: Progress | None
) -> Iterator[tuple[str, Predicted]]:
    """Yield each variant with its predictions; so many are made at once that their rows are about those wanted."""
    pool, places = Pool(jobs, progress), iter(variants)
    at_once = 1 if pool.alone else max(1, task.rows // task.count)
    good, failed = False, None
    while names := list(islice(places, at_once)):
        for name, found in pool.each(task, {name: variants[name] for name in names}, "predicting").items():
            if isinstance(found, ParameterError):
                raise found
            if isinstance(found, PerfModelError):
                failed = failed or found
                nothing = np.full(task.count, np.nan)
                yield name, Predicted(nothing, nothing, nothing, np.zeros(task.count, dtype=bool), str(found))
            else:
                good = True
                yield name, found
    if failed and not good:
        raise failed


def _columns(sizes: Mapping[str, Any]) -> dict[str, NDArray[np.int64]]:
    """Return the sizes as arrays of one length."""
    for name, values in sizes.items():
        check_exact(name, values, tuple(sizes))
    arrays = {name: np.atleast_1d(np.asarray(values)) for name, values in sizes.items()}
    for name, values in arrays.items():
        if values.dtype.kind not in "iu":
            raise ParameterError(name, f"holds {values.dtype.name}, and no integers", tuple(sizes))
    try:
        shape = np.broadcast_shapes(*(one.shape for one in arrays.values()))
    except ValueError:
        several = ", ".join(f"{name} {one.shape}" for name, one in arrays.items())
        raise ParameterError(next(iter(arrays)), f"has a shape that does not fit the others ({several})",
                             tuple(arrays)) from None  # fmt: skip
    return {name: np.broadcast_to(one, shape).ravel().astype(np.int64) for name, one in arrays.items()}


def _length(at: Mapping[str, NDArray[np.int64]]) -> int:
    return len(next(iter(at.values()))) if at else 1

# }}}


# {{{ data frames and files

Finish = Callable[[Iterator[tuple[str, Predicted]], Mapping[str, "NDArray[np.int64]"], int], Any]


def _frame(library: str, count: int) -> Finish:
    """Return what makes a data frame of so many variants."""
    module: Any
    try:
        if library == "pandas":
            import pandas as pd

            module = pd
        else:
            import polars as pl

            module = pl
    except ImportError as error:
        raise MissingExtraError(library, "pandas" if library == "pandas" else "scale") from error

    def finish(found: Iterator[tuple[str, Predicted]], at: Mapping[str, NDArray[np.int64]], rows: int) -> Any:
        length = _length(at)
        numbers = {name: np.empty(count * length) for name in COLUMNS[:3]}
        problems, texts, names = np.zeros(count * length, dtype=np.int32), [""], []
        for place, (name, one) in enumerate(found):
            here = slice(place * length, (place + 1) * length)
            for column, values in zip(COLUMNS, (one.seconds, one.low, one.high), strict=False):
                numbers[column][here] = values
            names.append(name)
            if one.problem:
                problems[here] = np.where(one.allowed, 0, len(texts))
                texts.append(one.problem)
        variant = np.repeat(np.arange(count, dtype=np.int32), length)
        columns = {name: np.tile(values, count) for name, values in at.items()} | numbers
        return _made(module, (variant, names), columns, (problems, texts))

    return finish


def _made(
    module: Any, variant: tuple[Any, list[str]], columns: Mapping[str, Any], problem: tuple[Any, list[str]]
) -> Any:
    """Return a data frame; of texts, each row has the place of its text."""
    coded = {"variant": variant, "problem": problem}
    if module.__name__ == "pandas":
        texts = {name: _categories(module, *one) for name, one in coded.items()}
    else:
        texts = {name: module.Series(words).gather(codes) for name, (codes, words) in coded.items()}
    return module.DataFrame({"variant": texts["variant"], **columns, "problem": texts["problem"]}, **(
        {"copy": False} if module.__name__ == "pandas" else {}
    ))  # fmt: skip


def _categories(pandas: Any, codes: Any, words: Sequence[str]) -> Any:
    distinct = list(dict.fromkeys(words))
    places = np.array([distinct.index(word) for word in words] if len(distinct) < len(words) else range(len(words)))
    return pandas.Categorical.from_codes(places[codes], distinct)


def _parquet(path: Path) -> Finish:
    """Return what writes a Parquet file."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "scale") from error
    return _Parquet(path, pa, parquet)


@dataclass(frozen=True)
class _Parquet:
    """Writes a Parquet file in groups of rows; it takes its place when it is whole."""

    path: Path
    arrow: Any
    parquet: Any

    def __call__(
        self, found: Iterator[tuple[str, Predicted]], at: Mapping[str, NDArray[np.int64]], rows: int
    ) -> Path:
        temporary = self.path.with_name(f".{secrets.token_hex(8)}.new")
        writer = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            for group in self._groups(found, at, rows):
                writer = writer or self.parquet.ParquetWriter(temporary, group.schema)
                writer.write_table(group, row_group_size=rows)
            if writer is not None:
                writer.close()
                temporary.replace(self.path)
        except OSError as error:
            raise OutputError(self.path, error.strerror or str(error)) from error
        finally:
            if writer is not None:
                writer.close()
            with suppress(OSError):
                temporary.unlink()
        return self.path

    def _groups(
        self, found: Iterator[tuple[str, Predicted]], at: Mapping[str, NDArray[np.int64]], rows: int
    ) -> Iterator[Any]:
        """Yield tables of about so many rows: parts of a variant, or several variants."""
        length, waiting, count = _length(at), list[Any](), 0
        for name, one in found:
            for first in range(0, length, rows):
                waiting.append(self._part(name, one, at, slice(first, min(first + rows, length))))
                count += waiting[-1].num_rows
                if count >= rows:
                    yield self.arrow.concat_tables(waiting).unify_dictionaries()
                    waiting, count = [], 0
        if waiting:
            yield self.arrow.concat_tables(waiting).unify_dictionaries()

    def _part(self, name: str, one: Predicted, at: Mapping[str, NDArray[np.int64]], here: slice) -> Any:
        pa = self.arrow
        none = np.zeros(here.stop - here.start, dtype=np.int32)
        variant = pa.DictionaryArray.from_arrays(pa.array(none), pa.array([name]))
        codes = np.where(one.allowed[here], 0, 1).astype(np.int32)
        problem = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["", one.problem]))
        numbers = zip(COLUMNS, (one.seconds, one.low, one.high), strict=False)
        return pa.table({
            "variant": variant, **{size: pa.array(values[here]) for size, values in at.items()},
            **{column: pa.array(values[here]) for column, values in numbers}, "problem": problem,
        })  # fmt: skip

# }}}
