"""Tables of recorded spaces: their predictions, and the committed ones with the recorded times."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from perfmodel.documents import canonical
from perfmodel.store import read
from scripts.benchmarks import tuner_recorded
from scripts.benchmarks.tuner_table import read_table
from test_kernels import recorded

pytestmark = pytest.mark.nightly  # research code, and long

DATA = Path(__file__).resolve().parents[2] / "docs" / "data" / "tuner-recorded"


def test_a_space_is_predicted_for_each_card(monkeypatch: pytest.MonkeyPatch):
    """Two configurations that differ in a parameter that is not counted share a prediction."""
    rows = [row for row in recorded.recorded("convolution15", "a100") if row.configuration["use_shmem"] == 0]
    first = dict(rows[0].configuration)
    both = [{**first, "read_only": value} for value in (0, 1)]
    monkeypatch.setattr(tuner_recorded, "_chosen", lambda space: both)
    source = tuner_recorded.load(tuner_recorded.DEVICE / "multithreaded.json")
    tables = dict(tuner_recorded.kernel_tables("convolution15", source))
    assert [f"convolution15-{card}" for card in recorded.cards("convolution15")] == [*tables]
    for table in tables.values():
        once, again = table.rows
        assert both == [once.values, again.values]
        assert once.predicted is not None
        assert once.predicted == again.predicted > 0
        assert source.fitted.scatter is not None
        assert source.fitted.scatter.model_dump() == table.scatter
    assert tables["convolution15-a100"].rows[0].predicted != tables["convolution15-w6600"].rows[0].predicted


@pytest.mark.parametrize(("space", "card"), [("convolution15", "a100"), ("dedispersion", "w6600")])
def test_committed_tables_have_the_recorded_times(space: str, card: str):
    table = read_table(DATA / f"{space}-{card}.jsonl.gz")
    times = {canonical(row.configuration): row.seconds for row in recorded.recorded(space, card)}
    for row in table.rows:
        assert (row.seconds or 0) == pytest.approx(times[canonical(row.values)] or 0, rel=1e-3)


def test_committed_tables_of_the_titan_v_are_its_whole_spaces():
    spaces = Counter(" ".join(tuner_recorded._space(row)) for row in read(tuner_recorded.DEVICE))
    tables = [read_table(path) for path in sorted(DATA.glob("titan-v-*"))]
    assert spaces.most_common(8) == [(table.space, len(table.rows)) for table in tables]
