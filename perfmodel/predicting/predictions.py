"""Predictions of many variants of a kernel at many sizes, in one process or in several, also as one table or file."""

import secrets
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from loopy import TranslationUnit
from numpy.typing import NDArray

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.quasipoly.arguments import check_exact, size_error
from perfmodel.counts.unused import statistics_of_variants
from perfmodel.errors import AssumptionError, OptionError, PerfModelError, SizeError, not_anchored, optional
from perfmodel.fitting.conformal import WIDEST, check_level
from perfmodel.fitting.selection import Scatter
from perfmodel.io import output_error
from perfmodel.kernels.files import built
from perfmodel.kernels.space import Space
from perfmodel.predicting.model import FittedModel
from perfmodel.predicting.prediction import Anchor, Prediction
from perfmodel.processes.pool import Pool, Processes
from perfmodel.processes.variants import Counting, Variant, attempt, counts_from_json
from perfmodel.progress import FailedStep, Progress, shown, task as reported
from perfmodel.values import FrozenValue

ROWS = 50_000  # about how many predictions are sent between processes at once
TITLE = "counting and predicting"
#: Every size by its name: an integer, or for several sizes an array, shape (n_sizes,).
Sizes: TypeAlias = Mapping[str, Any]


def columns_of(sizes: Sizes) -> dict[str, NDArray[np.int64]]:
    """Return the sizes as arrays of one length. Integers are repeated."""
    for name, values in sizes.items():
        check_exact(name, values, tuple(sizes))
    arrays = {name: np.atleast_1d(np.asarray(values)) for name, values in sizes.items()}
    for name, values in arrays.items():
        if values.size and values.dtype.kind not in "iu":  # an empty list has no integer type
            raise size_error(name, f"holds {values.dtype.name}, not integers", tuple(sizes))
    try:
        shape = np.broadcast_shapes(*(values.shape for values in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
        problem = f"has a shape that does not fit the others ({shapes})"
        raise size_error(next(iter(arrays)), problem, tuple(arrays)) from None
    return {name: np.broadcast_to(values, shape).ravel().astype(np.int64) for name, values in arrays.items()}


def length_of(sizes: Sizes) -> int:
    """Return the number of sizes: 1 for a kernel without size parameters."""
    return max((np.size(values) for values in sizes.values()), default=1)


def together(points: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    """Return points as one array of sizes for each name."""
    return {name: np.array([point[name] for point in points], dtype=np.int64) for name in points[0]}


@dataclass(frozen=True, eq=False)
class Predicted:
    """One variant at all sizes, as numbers or arrays of shape (n_sizes,). Sizes that the assumptions exclude have NaN.

    `problem` explains why predictions are missing. Sizes are predicted in parts. If a part has no allowed size,
    `broken` is the error of the last such part. `counts` are kept if this process made them.
    """

    prediction: Prediction
    allowed: NDArray[np.bool_]
    problem: str = ""
    broken: AssumptionError | None = None
    counts: KernelCounts | None = None

    def at_each_size(self) -> Iterator[tuple[bool, Prediction]]:
        """Yield whether each size is allowed, with the prediction there."""
        return zip(self.allowed.tolist(), self.prediction.at_each_size(), strict=True)


@dataclass(frozen=True, eq=False)
class Predictions(FrozenValue):
    """Predictions of a kernel's variants at sizes, in the given order, and the errors of the other variants, by name.

    `scatter` describes the errors between these variants (:func:`scatter_of`), or is None if the weights lack it.
    `anchors` are the runs that scale the predictions, by name.
    """

    sizes: Sizes
    variants: Mapping[str, Predicted]
    errors: Mapping[str, PerfModelError] = field(default_factory=dict)
    level: float = 0.9
    scatter: Scatter | None = None
    anchors: Mapping[str, Anchor] = field(default_factory=dict)

    @cached_property
    def points(self) -> tuple[dict[str, int], ...]:
        """Each of the sizes."""
        if not any(np.ndim(values) for values in self.sizes.values()):
            return (dict(self.sizes),)
        columns = (np.asarray(values).tolist() for values in self.sizes.values())
        return tuple(dict(zip(self.sizes, point, strict=True)) for point in zip(*columns, strict=True))

    @property
    def counts(self) -> dict[str, KernelCounts]:
        """The counts of the variants that were counted in this process, by name."""
        return {name: variant.counts for name, variant in self.variants.items() if variant.counts is not None}

    def required(self) -> "Predictions":
        """Return self. Raise an error if no variant has a prediction at any size."""
        if not any(variant.allowed.any() for variant in self.variants.values()):
            broken = (variant.broken for variant in self.variants.values() if variant.broken is not None)
            for error in (*broken, *self.errors.values()):
                raise error
        return self


@dataclass(frozen=True)
class Predicting:
    """How variants of a kernel are counted and predicted.

    `anchors` has, by name, a run of each variant that scales the variant's predictions. A variant with an error in
    `skipped` is left out. Other errors are raised. `jobs` and `progress` are as in :func:`perfmodel.count_all`. With
    ``jobs=None``, this process predicts, and errors of a variant's own function are raised unchanged. `options` are
    passed to :func:`perfmodel.count`. `processes` stay for later predictions, and by default end. An example::

        made = Predicting(model, skipped=PerfModelError, jobs=-1).predicted(variants, {"n": numpy.array([256, 512])})
        made.variants["tiled"].prediction.seconds, made.errors
    """

    model: FittedModel
    level: float = 0.9
    allow_unmeasured: bool = False
    anchors: Mapping[str, Anchor] | None = None
    skipped: type[PerfModelError] | tuple[type[PerfModelError], ...] = ()
    jobs: int | None = None
    progress: Progress | bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    processes: Processes | None = None

    @statistics_of_variants()
    def predicted(self, variants: Mapping[str, Variant], sizes: Sizes) -> Predictions:
        """Return all variants at all sizes. Raise an error of sizes, or the first error that is not skipped."""
        check_level(self.level)
        if any(map(np.ndim, sizes.values())):
            sizes = columns_of(sizes)
        outcomes = dict(self.stream(variants, sizes))
        good = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Predicted)}
        errors = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, PerfModelError)}
        scatter = scatter_of(
            self.model, [variant.prediction for variant in good.values()], anchored=self.anchors is not None
        )
        return Predictions(dict(sizes), good, errors, self.level, scatter, self.anchors or {})

    def stream(
        self, variants: Mapping[str, Variant], sizes: Sizes, rows: int | None = None
    ) -> Generator[tuple[str, Predicted | PerfModelError], None, None]:
        """Yield each variant with its prediction or its error, in the given order, as soon as the result is known.

        Give several sizes as :func:`columns_of` returns them. With `rows`, only so many sizes are predicted at once,
        without terms, to save memory. Raise the same errors as :meth:`predicted`.
        """
        model = self.model if self.anchors is None else self.model.to_be_anchored()
        options = {"subgroup_size": model.fitted.subgroup_size, "sizes": sizes, **self.options}
        asked = replace(self, model=model, anchors=None, progress=None, processes=None, options=options)
        task = _Task(asked, sizes, rows, here=rows is None and self.jobs in (None, 1))
        with closing(self._outcomes(task, variants)) as outcomes:
            for name, outcome in outcomes:
                if isinstance(outcome, Predicted):
                    yield name, self._anchored(name, outcome)
                elif isinstance(outcome, self.skipped) and not isinstance(outcome, SizeError):
                    yield name, outcome
                else:
                    raise outcome

    def _outcomes(
        self, task: "_Task", variants: Mapping[str, Variant]
    ) -> Generator[tuple[str, Predicted | PerfModelError], None, None]:
        if self.jobs is None:
            with reported(progress := shown(self.progress), TITLE, len(variants)):
                for name in variants:
                    outcome: Predicted | PerfModelError
                    try:
                        outcome = task(built(name, variants[name]))
                    except PerfModelError as error:
                        outcome = error
                    progress.advance(FailedStep(name, outcome) if isinstance(outcome, PerfModelError) else name)
                    yield name, outcome
            return
        pool = Pool(self.jobs, self.progress, self.processes)
        if pool.alone or not self.model.family.definition.endswith(".py"):
            most = max(1, (task.rows or ROWS) // max(1, length_of(task.sizes)))
            yield from pool.stream(task, variants, TITLE, most)
            return
        # Other processes cannot import a family from a user's file: they only count, and this process predicts.
        with closing(pool.stream(Counting(task.asked.options, here=False), variants, TITLE)) as counted:
            for name, counts in counted:
                failed = isinstance(counts, PerfModelError)
                yield name, counts if failed else attempt(task, name, counts_from_json(counts))

    def _anchored(self, name: str, plain: Predicted) -> Predicted:
        if self.anchors is None:
            return plain
        if name not in self.anchors:
            raise not_anchored(name, f"there are anchors only of {', '.join(self.anchors) or 'nothing'}")
        return replace(plain, prediction=self.anchors[name].applied(plain.prediction))

    def _prediction(self, counts: KernelCounts, sizes: Sizes) -> Prediction:
        return self.model.predict(counts, sizes, level=self.level, allow_unmeasured=self.allow_unmeasured)


@dataclass(frozen=True)
class _Task:
    """Counts and predicts a variant, `rows` sizes at a time and without terms. If `here`, the counts are kept."""

    asked: Predicting
    sizes: Sizes
    rows: int | None
    here: bool

    def __call__(self, kernel: TranslationUnit | KernelCounts) -> Predicted:
        counts = kernel if isinstance(kernel, KernelCounts) else count(kernel, **self.asked.options)
        if not self.here:
            counts = replace(counts)  # the counts in the cache stay small
        kept = counts if self.here else None
        if not any(map(np.ndim, self.sizes.values())):
            return Predicted(self.asked._prediction(counts, self.sizes), np.ones(1, dtype=bool), counts=kept)
        length = length_of(self.sizes)
        rows = self.rows or max(1, length)
        allowed, broken, parts = np.zeros(length, dtype=bool), None, []
        for first in range(0, length, rows):
            try:
                numbers, prediction = self._where_allowed(counts, np.arange(first, min(first + rows, length)))
            except AssumptionError as error:
                broken = error
            else:
                allowed[numbers] = True
                parts.append((numbers, prediction if self.rows is None else replace(prediction, terms={}, sizes={})))
        problem = "" if allowed.all() else f"breaks the kernel's assumptions {counts.assumptions}"
        return Predicted(self._joined(parts, length), allowed, problem, broken, kept)

    def _where_allowed(self, counts: KernelCounts, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], Prediction]:
        while True:
            try:
                at = {name: values[numbers] for name, values in self.sizes.items()}
                return numbers, self.asked._prediction(counts, at)
            except AssumptionError as error:
                if not error.indices or len(error.indices) == len(numbers):
                    raise
                numbers = np.delete(numbers, list(error.indices))

    def _joined(self, parts: Sequence[tuple[NDArray[np.int64], Prediction]], length: int) -> Prediction:
        def column(values: Iterator[Any]) -> NDArray[np.float64]:
            whole = np.full(length, np.nan)
            for (numbers, _), value in zip(parts, values, strict=True):
                whole[numbers] = value
            return whole

        first = parts[0][1] if parts else Prediction(np.nan, {})
        bounds = first.interval and (
            column(part.interval[0] for _, part in parts if part.interval),
            column(part.interval[1] for _, part in parts if part.interval),
        )
        return replace(
            first, seconds=column(part.seconds for _, part in parts), interval=bounds, sizes=self.sizes,
            terms={name: column(part.terms[name] for _, part in parts) for name in first.terms},
            cautions=tuple(dict.fromkeys(caution for _, part in parts for caution in part.cautions)),
            unmeasured=tuple(dict.fromkeys(name for _, part in parts for name in part.unmeasured)),
        )  # fmt: skip


def scatter_of(model: FittedModel, predictions: Iterable[Prediction] = (), anchored: bool = False) -> Scatter | None:
    r"""Return the scatter of a model's errors between variants of one kernel, or None if the weights lack it.

    The scatter comes from groups of kernels that fits left out. If the geometric mean of the scales :math:`\sigma` of
    `predictions` (:mod:`perfmodel.fitting.conformal`) is above 1, it multiplies the scatter.
    """
    if anchored:
        scatter, model = model.fitted.anchored.scatter if model.fitted.anchored else None, model.to_be_anchored()
    else:
        scatter = model.fitted.scatter
    if scatter is None:
        return None
    scales = np.concatenate([np.ones(0), *(np.ravel(model.local_scale(prediction)) for prediction in predictions)])
    scales = scales[np.isfinite(scales) & (scales > 0)]
    growth = float(np.exp(np.log(scales).mean())) if len(scales) else 1.0
    return scatter.model_copy(update={"deviation": min(scatter.deviation * max(growth, 1.0), WIDEST)})


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
