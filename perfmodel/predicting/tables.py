"""Predictions of many variants at many sizes as one table: a data frame, or a Parquet file written part by part."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from perfmodel.errors import MissingExtraError, OptionError, PerfModelError
from perfmodel.io import output_error
from perfmodel.kernels.space import Space
from perfmodel.predicting.predictions import ROWS, Predicted, Predicting, Sizes, columns_of, length_of
from perfmodel.processes.variants import Variant
from perfmodel.progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfmodel.predicting.model import FittedModel

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
        As of :meth:`perfmodel.predicting.model.FittedModel.predict`.
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
    at = columns_of(sizes)
    finish = parquet_file(Path(path)) if path is not None else frame(library, len(named))
    asked = Predicting(
        model, level, allow_unmeasured, spared=PerfModelError, jobs=jobs, progress=progress, options=options
    )
    with closing(asked.stream(named if length_of(at) else {}, at, rows)) as found:
        return finish(_tabulated(found, length_of(at)), at, rows)


def _tabulated(
    found: Iterable[tuple[str, Predicted | PerfModelError]], count: int
) -> Iterator[tuple[str, TableColumns]]:
    """Yield the columns of each variant; where nothing could be predicted, raise the first error in the end."""
    good, failed = False, None
    for name, one in found:
        good = good or isinstance(one, Predicted)
        failed = failed or (None if isinstance(one, Predicted) else one)
        yield name, TableColumns.of(one, count)
    if failed and not good:
        raise failed


COLUMNS = ("seconds", "low_s", "high_s", "problem")
"""Columns of a table, after ``variant`` and the sizes."""


@dataclass(frozen=True)
class TableColumns:
    """One variant at all sizes: seconds and bounds [s], shape (n_sizes,), NaN where it has none, and the problem."""

    numbers: Mapping[str, NDArray[np.float64]]
    allowed: NDArray[np.bool_]
    problem: str = ""

    @classmethod
    def of(cls, found: Predicted | PerfModelError, count: int) -> TableColumns:
        """Take them of a prediction, or of the error in its place."""
        nothing = np.full(count, np.nan)
        if not isinstance(found, Predicted):
            return cls(dict.fromkeys(COLUMNS[:3], nothing), np.zeros(count, dtype=bool), str(found))
        times = (found.prediction.seconds, *(found.prediction.interval or (nothing, nothing)))
        numbers = {name: np.broadcast_to(values, (count,)) for name, values in zip(COLUMNS[:3], times, strict=True)}
        return cls(numbers, found.allowed, found.problem)


#: Makes a table of variants at sizes, in parts of so many rows.
Finish: TypeAlias = Callable[[Iterator[tuple[str, TableColumns]], Sizes, int], Any]


# {{{ data frames

def frame(library: str, count: int) -> Finish:
    """Return what makes a data frame of so many variants.

    Raises
    ------
    MissingExtraError
        If the library, "pandas" or "polars", is not installed.
    """
    made: Callable[..., Any]
    try:
        if library == "pandas":
            import pandas as pd

            made = _of_pandas(pd)
        else:
            import polars as pl

            made = _of_polars(pl)
    except ImportError as error:
        raise MissingExtraError(library, "pandas" if library == "pandas" else "scale") from error

    def finish(found: Iterator[tuple[str, TableColumns]], at: Sizes, rows: int) -> Any:
        length = length_of(at)
        numbers = {name: np.empty(count * length) for name in COLUMNS[:3]}
        problems, texts, names = np.zeros(count * length, dtype=np.int32), [""], []
        for place, (name, one) in enumerate(found):
            here = slice(place * length, (place + 1) * length)
            for column, values in one.numbers.items():
                numbers[column][here] = values
            names.append(name)
            if one.problem:
                problems[here] = np.where(one.allowed, 0, len(texts))
                texts.append(one.problem)
        variant = np.repeat(np.arange(count, dtype=np.int32), length)
        columns = {name: np.tile(values, count) for name, values in at.items()} | numbers
        return made((variant, names), columns, (problems, texts))

    return finish


def _of_pandas(pandas: Any) -> Callable[..., Any]:
    def text(codes: Any, words: Sequence[str]) -> Any:
        distinct = {word: place for place, word in enumerate(dict.fromkeys(words))}
        places = np.array([distinct[word] for word in words], dtype=np.int32)
        return pandas.Categorical.from_codes(places[codes], list(distinct))

    def made(variant: Any, columns: Mapping[str, Any], problem: Any) -> Any:
        return pandas.DataFrame({"variant": text(*variant), **columns, "problem": text(*problem)}, copy=False)

    return made


def _of_polars(polars: Any) -> Callable[..., Any]:
    def text(codes: Any, words: Sequence[str]) -> Any:
        return polars.Series(words, dtype=polars.String).gather(codes)

    def made(variant: Any, columns: Mapping[str, Any], problem: Any) -> Any:
        return polars.DataFrame({"variant": text(*variant), **columns, "problem": text(*problem)})

    return made

# }}}


# {{{ Parquet files

def parquet_file(path: Path) -> Finish:
    """Return what writes a Parquet file, and returns its path.

    Raises
    ------
    MissingExtraError
        If pyarrow is not installed.
    """
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

    def __call__(self, found: Iterator[tuple[str, TableColumns]], at: Sizes, rows: int) -> Path:
        temporary = self.path.with_name(f".{secrets.token_hex(8)}.new")
        try:
            with self._written():
                self.path.parent.mkdir(parents=True, exist_ok=True)
                writer = self.parquet.ParquetWriter(temporary, self._schema(at))
            try:
                for group in self._groups(found, at, rows):
                    with self._written():
                        writer.write_table(group, row_group_size=rows)
            except BaseException:
                with suppress(Exception):  # what ended the writing is told; closing writes, too
                    writer.close()
                raise
            with self._written():
                writer.close()
                temporary.replace(self.path)
        finally:
            with suppress(OSError):
                temporary.unlink()
        return self.path

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise output_error(self.path, error) from error

    def _schema(self, at: Sizes) -> Any:
        pa = self.arrow
        text = pa.dictionary(pa.int32(), pa.string())
        numbers = [*((name, pa.int64()) for name in at), *((name, pa.float64()) for name in COLUMNS[:3])]
        return pa.schema([("variant", text), *numbers, ("problem", text)])

    def _groups(self, found: Iterator[tuple[str, TableColumns]], at: Sizes, rows: int) -> Iterator[Any]:
        """Yield tables of about so many rows: parts of a variant, or several variants."""
        length, waiting, count = length_of(at), list[Any](), 0
        for name, one in found:
            for first in range(0, length, rows):
                waiting.append(self._part(name, one, at, slice(first, min(first + rows, length))))
                count += waiting[-1].num_rows
                if count >= rows:
                    yield self.arrow.concat_tables(waiting).unify_dictionaries()
                    waiting, count = [], 0
        if waiting:
            yield self.arrow.concat_tables(waiting).unify_dictionaries()

    def _part(self, name: str, one: TableColumns, at: Sizes, here: slice) -> Any:
        pa = self.arrow
        none = np.zeros(here.stop - here.start, dtype=np.int32)
        variant = pa.DictionaryArray.from_arrays(pa.array(none), pa.array([name]))
        codes = np.where(one.allowed[here], 0, 1).astype(np.int32)
        problem = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["", one.problem]))
        numbers = {column: values[here] for column, values in {**at, **one.numbers}.items()}
        return pa.table({"variant": variant, **numbers, "problem": problem}, schema=self._schema(at))

# }}}
