"""Which drawn kernels ship."""

from __future__ import annotations

from itertools import count

from perfmodel.kernels.samples import samples
from perfmodel.measuring.subject import FailedError
from scripts.lab.samples import archive
from tests.kernels.test_samples import kept


class Watch:
    """A device on which kernels take given times [s], or fail where there is none."""

    def __init__(self, *seconds: float | None) -> None:
        self.seconds = iter(seconds)

    def trial(self, subject, parameters) -> float:
        seconds = next(self.seconds)
        if seconds is None:
            raise FailedError("runtime", "it does not run")
        return seconds


def test_kernels_that_run_too_short_or_too_long_or_not_at_all_are_left_out(capsys):
    made = [*archive.accepted(count(1), Watch(1e-4, None, 1.0, 1e-6, 1e-3), 2)]
    assert ["sample_1", "sample_5"] == [document["name"] for document in made]
    left_out = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert ["2", "3", "4"] == left_out


def test_a_file_of_samples_is_read_as_it_was_written(tmp_path):
    first, second = tmp_path / "first.xz", tmp_path / "second.xz"
    for path in (first, second):
        archive.pack_samples(path, [kept().document, {**kept().document, "name": "other"}])
    assert first.read_bytes() == second.read_bytes()
    assert ["scale", "other"] == [sample.name for sample in samples(first)]
    assert kept().document == samples(first)[0].build().document
