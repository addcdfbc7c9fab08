"""Tables of predictions as data frames, and as Parquet files that are written part by part."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from perfmodel.errors import MissingExtraError
from perfmodel.io import output_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS = ("seconds", "low_s", "high_s", "problem")
"""Columns of a table, after ``variant`` and the sizes."""


@dataclass(frozen=True)
class Predicted:
    """One variant at all sizes: times [s], shape (n_sizes,), NaN where ``allowed`` is false, and why it is there."""

    seconds: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    allowed: NDArray[np.bool_]
    problem: str = ""

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Columns of numbers by name."""
        return dict(zip(COLUMNS, (self.seconds, self.low, self.high), strict=False))


#: Every size by its name, shape (n_sizes,).
Sizes: TypeAlias = "Mapping[str, NDArray[np.int64]]"
#: Makes a table of variants at sizes, in parts of so many rows.
Finish: TypeAlias = Callable[[Iterator[tuple[str, Predicted]], Sizes, int], Any]


def length_of(at: Sizes) -> int:
    """Return how many sizes there are; a kernel without size parameters has one."""
    return len(next(iter(at.values()))) if at else 1


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

    def finish(found: Iterator[tuple[str, Predicted]], at: Sizes, rows: int) -> Any:
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

    def __call__(self, found: Iterator[tuple[str, Predicted]], at: Sizes, rows: int) -> Path:
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

    def _groups(self, found: Iterator[tuple[str, Predicted]], at: Sizes, rows: int) -> Iterator[Any]:
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

    def _part(self, name: str, one: Predicted, at: Sizes, here: slice) -> Any:
        pa = self.arrow
        none = np.zeros(here.stop - here.start, dtype=np.int32)
        variant = pa.DictionaryArray.from_arrays(pa.array(none), pa.array([name]))
        codes = np.where(one.allowed[here], 0, 1).astype(np.int32)
        problem = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["", one.problem]))
        numbers = {column: values[here] for column, values in {**at, **one.numbers}.items()}
        return pa.table({"variant": variant, **numbers, "problem": problem}, schema=self._schema(at))

# }}}
