"""Tables of predictions, against times worked out by hand."""

import errno
import sys
import tracemalloc
from functools import partial

import numpy as np
import pytest
from pyarrow import parquet

from perfmodel.errors import MissingExtraError, OptionError, OutputError, SizeError, TrialError, UnmeasuredFeatureError
from perfmodel.predicting.predictions import table
from perfmodel.processes.pool import Pool
from tests.priced import CUBE, MODEL, SQUARE, STRICT, adding
from tests.processes.variants import double

EVEN = adding("n", assumptions="[n] -> { : n mod 2 = 0 }")
VARIANTS = {"cube": CUBE, "square": SQUARE, "even": EVEN, "bad": lambda: 1 / 0}
SIZES = np.arange(1, 8)
TIMES = np.concatenate([SIZES**3, 64 * SIZES**2, np.where(SIZES % 2, np.nan, SIZES), np.full(7, np.nan)]) * 1e-12


def check(frame):
    assert ["variant", "n", "seconds", "low_s", "high_s", "problem"] == list(frame.columns)
    assert np.repeat([*VARIANTS], 7).tolist() == list(frame["variant"])
    assert [*SIZES] * 4 == list(frame["n"])
    assert np.array(frame["seconds"]) == pytest.approx(TIMES, nan_ok=True)
    problems = np.array([str(one) for one in frame["problem"]])
    assert ("" == problems).tolist() == np.isfinite(TIMES).tolist()
    assert "breaks the kernel's assumptions [n] -> { : n mod 2 = 0 }" == problems[14]
    assert "variant 'bad' failed (compile: ZeroDivisionError: division by zero)" in problems[21]


@pytest.mark.parametrize("rows", [1, 3, 10, 50_000])
def test_a_frame_of_pandas(rows):
    check(table(VARIANTS, MODEL, {"n": SIZES}, rows=rows))


@pytest.mark.parametrize("rows", [1, 3, 10, 50_000])
def test_a_parquet_file(rows, tmp_path):
    path = tmp_path / "new" / "times.parquet"
    assert path == table(VARIANTS, MODEL, {"n": SIZES}, path=path, rows=rows)
    check(parquet.read_table(path).to_pandas())
    assert [path] == [*path.parent.iterdir()]
    groups = parquet.ParquetFile(path).metadata
    assert max(groups.row_group(i).num_rows for i in range(groups.num_row_groups)) <= max(rows, 1)


def test_what_cannot_be_predicted_at_all(tmp_path):
    with pytest.raises(TrialError):
        table({"bad": lambda: 1 / 0}, MODEL, {"n": 4})
    with pytest.raises(UnmeasuredFeatureError):
        table({"a": adding("n", kind="div")}, STRICT, {"n": [4]})
    for wrong in ({"n": [-1]}, {"n": [1.5]}, {"m": 3}, {}):
        with pytest.raises(SizeError):
            table({"a": SQUARE}, MODEL, wrong)
    with pytest.raises(OptionError, match="give a positive"):
        table({"a": SQUARE}, MODEL, {"n": 4}, rows=0)


def test_no_file_is_left_where_nothing_is_predicted(tmp_path):
    with pytest.raises(TrialError):
        table({"bad": lambda: 1 / 0}, MODEL, {"n": 4}, path=tmp_path / "x.parquet")
    assert [] == [*tmp_path.iterdir()]
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OutputError):
        table({"a": SQUARE}, MODEL, {"n": 4}, path=tmp_path / "file" / "x.parquet")


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "written"), [
    (3, False), (50_000, True),
    pytest.param(3, True, marks=pytest.mark.nightly), pytest.param(50_000, False, marks=pytest.mark.nightly),
])
def test_processes_make_the_same_table(tmp_path, rows, written):
    """Sizes in several parts, and variants one by one or some at once; as a frame, and as a file."""
    variants = {str(width): partial(double, width) for width in (4, 8, 16)} | {"bad": VARIANTS["bad"]}
    sizes = np.arange(7)  # the kernels assume that there is at least one number
    asked = {"sizes": {"n": sizes}, "allow_unmeasured": True, "rows": rows}
    plain = table(variants, MODEL, **asked)
    if written:
        read = parquet.read_table(table(variants, MODEL, **asked, jobs=2, path=tmp_path / "x.parquet")).to_pandas()
        assert plain.astype({"variant": str, "problem": str}).equals(read.astype({"variant": str, "problem": str}))
    else:
        assert plain.equals(table(variants, MODEL, **asked, jobs=2))
    expected = np.tile(np.where(sizes, sizes * 1e-12, np.nan), 3)
    assert pytest.approx(expected, nan_ok=True) == plain["seconds"][:21].to_numpy()  # a multiplication for each number


def test_processes_are_started_once(monkeypatch):
    """All variants are in one stream, in batches that have about the rows wanted; what is not read is given up."""
    asked, ended = [], []

    class Streaming(Pool):
        def stream(self, task, variants, title, most=8):
            asked.append((len(variants), most))
            try:
                yield from super().stream(task, variants, title, most)
            finally:
                ended.append(title)

    monkeypatch.setattr("perfmodel.predicting.predictions.Pool", Streaming)
    table(VARIANTS, MODEL, {"n": SIZES}, rows=20)
    assert [(4, 2)] == asked
    with pytest.raises(SizeError) as caught:
        table({"a": SQUARE, "b": SQUARE}, MODEL, {"m": 3})
    assert "n" == caught.value.name
    assert ["counting and predicting"] * 2 == ended


def test_a_million_sizes_in_bounded_memory(tmp_path):
    """The rows of ten variants are 480 MB in all; predicted whole, one variant's features are more than that."""
    count, rows = 1_000_000, 20_000
    variants = {f"v{place}": adding(f"{place + 1}*n") for place in range(10)}
    tracemalloc.start()
    try:
        table(variants, MODEL, {"n": np.arange(1, count + 1)}, path=tmp_path / "x.parquet", rows=rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < rows * 1000 + count * 100
    found = parquet.ParquetFile(tmp_path / "x.parquet")
    assert 10 * count == found.metadata.num_rows
    last = found.read_row_group(found.metadata.num_row_groups - 1, columns=["n", "seconds"])
    assert [1_000_000, pytest.approx(1e-5)] == [last["n"][-1].as_py(), last["seconds"][-1].as_py()]


EMPTY = [({}, {"n": [1, 2]}), ({"a": SQUARE}, {"n": np.array([], int)}), ({"a": SQUARE}, {"n": []})]


@pytest.mark.parametrize(("variants", "sizes"), EMPTY)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_table_without_rows_has_the_columns_of_others(variants, sizes, jobs, tmp_path):
    full = table({"a": SQUARE}, MODEL, {"n": [1, 2]})
    found = table(variants, MODEL, sizes, jobs=jobs)
    assert 0 == len(found)
    assert [str(one) for one in full.dtypes] == [str(one) for one in found.dtypes]
    full = parquet.read_schema(table({"a": SQUARE}, MODEL, {"n": [1, 2]}, path=tmp_path / "full"))
    found = parquet.read_table(table(variants, MODEL, sizes, jobs=jobs, path=tmp_path / "found"))
    assert (0, full) == (found.num_rows, found.schema)


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    class Full(parquet.ParquetWriter):
        def write_table(self, *given, **named):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            super().close()
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(parquet, "ParquetWriter", Full)
    (tmp_path / "x.parquet").write_text("old")
    said = r"x\.parquet': No space left on device; the earlier content is unchanged: make room"
    with pytest.raises(OutputError, match=said):
        table({"a": SQUARE}, MODEL, {"n": 4}, path=tmp_path / "x.parquet")
    assert [("x.parquet", "old")] == [(one.name, one.read_text()) for one in tmp_path.iterdir()]


def test_pyarrow_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pyarrow.*perfmodel\[scale\]"):
        table({"a": SQUARE}, MODEL, {"n": 4}, path="x")
