"""Tables without rows, libraries that are missing, and disks that are full."""

from __future__ import annotations

import errno
import sys

import numpy as np
import pytest
from pyarrow import parquet

from perfmodel.errors import KernelFileMissingError, MissingExtraError, OutputFullError
from perfmodel.ranking import table
from tests.priced import MODEL, SQUARE

EMPTY = [({}, {"n": [1, 2]}), ({"a": SQUARE}, {"n": np.array([], int)}), ({"a": SQUARE}, {"n": []})]


@pytest.mark.parametrize(("variants", "sizes"), EMPTY)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_table_without_rows_has_the_columns_of_others(variants, sizes, jobs, tmp_path):
    full = table({"a": SQUARE}, MODEL, {"n": [1, 2]})
    found = table(variants, MODEL, sizes, jobs=jobs)
    assert 0 == len(found)
    assert [str(one) for one in full.dtypes] == [str(one) for one in found.dtypes]
    full = table({"a": SQUARE}, MODEL, {"n": [1, 2]}, library="polars")
    assert full.schema == table(variants, MODEL, sizes, jobs=jobs, library="polars").schema
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
    said = r"x\.parquet': No space left on device; what it held before is unchanged: make room"
    with pytest.raises(OutputFullError, match=said):
        table({"a": SQUARE}, MODEL, {"n": 4}, path=tmp_path / "x.parquet")
    assert [("x.parquet", "old")] == [(one.name, one.read_text()) for one in tmp_path.iterdir()]


def test_an_error_of_a_variant_is_none_of_the_file(tmp_path):
    """Some are errors of the system, too: a kernel file that is missing, a scheduler that does not answer."""
    def gone():
        raise KernelFileMissingError("gone.py", "a file")

    with pytest.raises(KernelFileMissingError):
        table({"a": gone}, MODEL, {"n": 4}, path=tmp_path / "x.parquet")
    assert [] == [*tmp_path.iterdir()]


@pytest.mark.parametrize(("library", "asked"), [("pyarrow", {"path": "x"}), ("polars", {"library": "polars"})])
def test_a_library_that_is_missing(library, asked, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=f"{library}.*perfmodel\\[scale\\]"):
        table({"a": SQUARE}, MODEL, {"n": 4}, **asked)
