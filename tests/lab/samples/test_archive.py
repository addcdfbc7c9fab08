"""Which drawn kernels ship."""

from __future__ import annotations

from perfmodel.kernels.samples import samples
from scripts.lab.samples import archive
from tests.kernels.test_samples import kept


def test_a_file_of_samples_is_read_as_it_was_written(tmp_path):
    first, second = tmp_path / "first.xz", tmp_path / "second.xz"
    for path in (first, second):
        archive.pack_samples(path, [kept().document, {**kept().document, "name": "other"}])
    assert first.read_bytes() == second.read_bytes()
    assert ["scale", "other"] == [sample.name for sample in samples(first)]
    assert kept().document == samples(first)[0].build().document
