"""Predictions of many variants at many sizes as one table: a pandas table, or a Parquet file written in parts."""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perfmodel.errors import OptionError, PerfModelError, optional
from perfmodel.io import output_error
from perfmodel.kernels.space import Space
from perfmodel.predicting.model import FittedModel
from perfmodel.predicting.predictions import ROWS, Predicted, Predicting, Sizes, columns_of, length_of
from perfmodel.processes.variants import Variant
from perfmodel.progress import Progress

TIMES = ("seconds", "low_s", "high_s")  # columns after ``variant`` and the sizes, before ``problem``


def table(
    variants: Mapping[str, Variant] | Space, model: FittedModel, sizes: Mapping[str, Any], *, level: float = 0.9,
    allow_unmeasured: bool = False, path: str | Path | None = None, jobs: int = 1, rows: int = ROWS,
    progress: Progress | bool | None = None, **options: Any
) -> Any:  # fmt: skip
    """Predict each variant at each size, as one pandas table, or as a Parquet file at `path` (needs pyarrow).

    The table has a row for each variant and size, variant by variant. Columns are ``variant``, the sizes, ``seconds``,
    ``low_s``, ``high_s`` [s] and ``problem``. If a prediction is missing, ``problem`` says why, and the times are NaN.
    If the model has no intervals, bounds are NaN. If nothing can be predicted, the first error is raised and no file is
    written.

    Parameters
    ----------
    variants, model, level, allow_unmeasured
        As in :func:`perfmodel.rank`.
    sizes
        Every size parameter with an integer or an array of integers, which are broadcast: shape (n_sizes,).
    jobs, progress, **options
        As in :func:`perfmodel.count_all` and :func:`perfmodel.count`.
    rows
        Rows in memory at once. In addition to the table, the process needs about 1 kB for each of these rows and 100 B
        for each size. With ``jobs=1``, isl adds up to half a megabyte for each kernel.
    """
    if rows < 1:
        raise OptionError(f"rows is {rows!r}", "give a positive integer, such as 50000")
    named = variants.variants if isinstance(variants, Space) else variants
    at = columns_of(sizes)
    asked = Predicting(
        model, level, allow_unmeasured, skipped=PerfModelError, jobs=jobs, progress=progress, options=options
    )
    with closing(asked.stream(named if length_of(at) else {}, at, rows)) as outcomes:
        columns = _columns(outcomes, length_of(at))
        if path is not None:
            return _parquet_file(Path(path), columns, at, rows)
        return _frame(((variant, slice(None)) for variant in columns), at)


class _Columns(NamedTuple):
    name: str
    times: Mapping[str, NDArray[np.float64]]
    allowed: NDArray[np.bool_]
    problem: str


_Part = tuple[_Columns, slice]  # some of the sizes of a variant


def _columns(outcomes: Iterator[tuple[str, Predicted | PerfModelError]], length: int) -> Iterator[_Columns]:
    good, failed, nothing = False, None, np.full(length, np.nan)
    for name, outcome in outcomes:
        if isinstance(outcome, Predicted):
            good = True
            times = (outcome.prediction.seconds, *(outcome.prediction.interval or (nothing, nothing)))
            columns = (np.broadcast_to(values, (length,)) for values in times)
            yield _Columns(name, dict(zip(TIMES, columns, strict=True)), outcome.allowed, outcome.problem)
        else:
            failed = failed or outcome
            yield _Columns(name, dict.fromkeys(TIMES, nothing), np.zeros(length, dtype=bool), str(outcome))
    if failed and not good:
        raise failed


def _frame(parts: Iterable[_Part], at: Sizes) -> Any:
    pd = optional("pandas", "pandas")

    def text(codes: Sequence[NDArray[np.int32]], texts: Sequence[str]) -> Any:
        distinct = {each: number for number, each in enumerate(dict.fromkeys(texts))}
        numbers = np.array([distinct[each] for each in texts], dtype=np.int32)
        return pd.Categorical.from_codes(numbers[np.concatenate(codes)], list(distinct))

    values = {name: [column[:0]] for name, column in {**at, **dict.fromkeys(TIMES, np.empty(0))}.items()}
    variants, problems = ([np.empty(0, dtype=np.int32)] for _ in range(2))
    names, texts = list[str](), [""]
    for variant, here in parts:
        for name, column in {**at, **variant.times}.items():
            values[name].append(column[here])
        allowed = variant.allowed[here]
        variants.append(np.full(len(allowed), len(names), dtype=np.int32))
        problems.append(np.where(allowed, 0, len(texts)).astype(np.int32))
        names.append(variant.name)
        texts.append(variant.problem)
    columns = {name: np.concatenate(values[name]) for name in values}
    return pd.DataFrame({"variant": text(variants, names), **columns, "problem": text(problems, texts)}, copy=False)


def _parquet_file(path: Path, variants: Iterator[_Columns], at: Sizes, rows: int) -> Path:
    pa, parquet = (optional(name, "scale") for name in ("pyarrow", "pyarrow.parquet"))
    text = pa.dictionary(pa.int32(), pa.string())
    numbers = [*((name, pa.int64()) for name in at), *((name, pa.float64()) for name in TIMES)]
    schema = pa.schema([("variant", text), *numbers, ("problem", text)])
    slices = [slice(first, first + rows) for first in range(0, length_of(at), rows)]
    temporary = path.with_name(f".{secrets.token_hex(8)}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with parquet.ParquetWriter(temporary, schema) as writer:
            for group in _grouped(((variant, here) for variant in variants for here in slices), rows):
                made = pa.Table.from_pandas(_frame(group, at), schema, preserve_index=False)
                writer.write_table(made, row_group_size=rows)
        temporary.replace(path)
    except OSError as error:
        raise output_error(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    return path


def _grouped(parts: Iterator[_Part], rows: int) -> Iterator[list[_Part]]:
    waiting, count = list[_Part](), 0
    for variant, here in parts:
        waiting.append((variant, here))
        count += len(variant.allowed[here])
        if count >= rows:
            yield waiting
            waiting, count = [], 0
    if waiting:
        yield waiting
